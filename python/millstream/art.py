"""Adaptive resonance theory: categories are boxes that grow with their rows as far as a vigilance allows.

A row that no box may grow to becomes a new one, so nothing is forgotten, and the number of categories follows the
data. Features must lie in [0, 1] or have declared `limits`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream._limits import Limited, Limits, described
from millstream._native import Native
from millstream._other_names import unknown_name
from millstream.base import Classifier, Clusterer
from millstream.prototype.prototypes import label_of

__all__ = ["FuzzyART", "FuzzyARTMAP"]

_ALIASES = {"rho": "vigilance", "alpha": "choice", "beta": "learning_rate", "range": "limits"}


class FuzzyART(Limited, Native, Clusterer):
    """Fuzzy ART: clusters are boxes that grow as far as the vigilance allows; new ones appear as needed.

    Choose it if the number of clusters is not known, and if clusters that were learned must not change when new
    ones appear. Of the boxes that may grow to a row, the one with the largest choice value learns it. If there is
    none, the row becomes a box. With fast learning (`learning_rate=1`) a box contains all its rows, and the sum of
    its edges is at most `(1 - vigilance)` times the number of features. The clusters depend on the order of the
    rows.

    `predict_one` returns the category that would learn the row, or -1 if none would. Once there are
    `max_prototypes` categories, a row that belongs to none is not learned, and counted in `n_skipped`: a box that
    learned it would be larger than the vigilance allows.

    A feature without declared `limits` must lie in [0, 1]: learning a row with another value is refused. A range
    that follows the data would change the meaning of all categories so far, so prefer `limits` to a scaler that
    learns.

    A missing value is left out of all sums. A nominal feature has a coordinate for each value, 1 or 0. A new
    feature joins a category with the first row that has it.

    Parameters
    ----------
    vigilance
        Least match of a row and its category, in [0, 1]. Larger values make more and smaller categories.
    choice
        Choice parameter; the smaller, the more small categories are preferred to large ones.
    learning_rate
        Fraction of the way that a box grows towards its row; 1 for fast learning. A row of weight w counts as
        `1 - (1 - learning_rate) ** w`.
    limits
        Range of each feature: a dict of feature to (low, high), or one pair for all features. Values outside count
        as the nearest limit. The range of other features is (0, 1).
    max_prototypes
        Largest number of categories.

    Notes
    -----
    Rows are complement coded inside. The categories are those of artlib's `FuzzyART` with the same rho
    (vigilance), alpha (choice) and beta (learning_rate). Its `predict` ignores the vigilance and never returns -1.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import art
    >>> random = np.random.default_rng(1)
    >>> X = random.choice([0.2, 0.5, 0.8], size=(1000, 1)) + random.normal(scale=0.03, size=(1000, 2))
    >>> model = art.FuzzyART(vigilance=0.7)
    >>> model.learn_many(X)
    0
    >>> sorted(round(centre["0"], 1) for centre in model.centers.values())
    [0.2, 0.5, 0.8]
    >>> model.predict_one({0: 0.2, 1: 0.8})
    -1

    Other ranges are declared:

    >>> model = art.FuzzyART(limits={"age": (0, 100), "height": (100, 220)})
    >>> model.learn_one({"age": 31, "height": 172})
    >>> model.learn_one({"age": 31, "height": 172, "income": 40_000.0})
    Traceback (most recent call last):
        ...
    millstream.errors.InvalidValue: art.FuzzyART: feature 'income' must be in [0, 1], got 40000; declare its
    range with limits, or scale it first

    References
    ----------
    Carpenter, G. A., Grossberg, S. and Rosen, D. B. (1991). Fuzzy ART: fast stable learning and categorization of
    analog patterns by an adaptive resonance system. Neural Networks, 4(6), 759-771.
    """

    name = "art.FuzzyART"
    aliases = _ALIASES

    def __init__(
        self,
        vigilance: float = 0.7,
        choice: float = 0.01,
        learning_rate: float = 1.0,
        limits: Limits | None = None,
        max_prototypes: int = 1000,
    ) -> None:
        super().__init__(
            vigilance=vigilance,
            choice=choice,
            learning_rate=learning_rate,
            limits=described(self.name, limits),
            max_prototypes=max_prototypes,
        )

    @property
    def boxes(self) -> dict[int, dict[str, Any]]:
        """The lower and the upper corner of each category, by feature."""
        found = self.inspect()["clusters"]
        return {index: {"low": box["low"], "high": box["high"]} for index, box in enumerate(found)}

    @property
    def centers(self) -> dict[int, dict[Any, Any]]:
        """The centre of the box of each category, by feature."""
        return {index: box["centre"] for index, box in enumerate(self.inspect()["clusters"])}

    @property
    def weights(self) -> dict[int, float]:
        """The weight of the rows of each category."""
        return {index: box["weight"] for index, box in enumerate(self.inspect()["clusters"])}

    @property
    def n_skipped(self) -> int:
        """Number of rows that were not learned, because there were `max_prototypes` categories already."""
        return int(self._numbers()["skipped"])


class FuzzyARTMAP(Limited, Native, Classifier):
    """Fuzzy ARTMAP: boxes of one class each, which grow and appear as rows require.

    Choose it if every row must be remembered at once, in one pass, and if the boxes should be read as rules. A
    row is learned by a box of its class. If a box of another class would have been chosen first, match tracking
    raises the vigilance for this row until another box, or a new one, is found. So each row that is learned is
    classified correctly right afterwards, noise included: noisy classes make many categories.

    Limits, missing and nominal values and new features are treated as by `FuzzyART`. Once there are
    `max_prototypes` categories, a row that needs another one is not learned, and counted in `n_skipped`.

    Parameters
    ----------
    vigilance
        Least match of a row and its category, before match tracking raises it. 0 makes the fewest categories.
    match_tracking
        Vigilance above the match of a category of another class, for the rest of the search (MT+). A small
        negative number (MT-) makes fewer categories and lets equal rows of different classes share a place.
    choice
        Choice parameter; the smaller, the more small categories are preferred to large ones.
    learning_rate
        Fraction of the way that a box grows towards its row; 1 for fast learning. Less is slow recoding: new
        categories still start at their row.
    limits
        Range of each feature: a dict of feature to (low, high), or one pair for all features. Values outside count
        as the nearest limit. The range of other features is (0, 1), and rows with values outside are refused.
    max_prototypes
        Largest number of categories.

    Notes
    -----
    The prediction is the class of the category with the largest choice value T < 1. The probability of a class is
    proportional to 1 / (1 - T) of its best category; it is not calibrated.

    Examples
    --------
    Inside a circle or not:

    >>> import numpy as np
    >>> from millstream import art
    >>> random = np.random.default_rng(1)
    >>> X = random.random((2000, 2))
    >>> y = ((X - 0.5) ** 2).sum(axis=1) < 1 / (2 * np.pi)
    >>> model = art.FuzzyARTMAP()
    >>> predicted = model.step_many(X, y)
    >>> round(float(np.mean(predicted[1000:] == y[1000:])), 2)
    0.95

    References
    ----------
    Carpenter, G. A., Grossberg, S., Markuzon, N., Reynolds, J. H. and Rosen, D. B. (1992). Fuzzy ARTMAP: a neural
    network architecture for incremental supervised learning of analog multidimensional maps. IEEE Transactions on
    Neural Networks, 3(5), 698-713.
    """

    name = "art.FuzzyARTMAP"
    aliases = _ALIASES

    def __init__(
        self,
        vigilance: float = 0.0,
        match_tracking: float = 0.001,
        choice: float = 0.01,
        learning_rate: float = 1.0,
        limits: Limits | None = None,
        max_prototypes: int = 1000,
    ) -> None:
        super().__init__(
            vigilance=vigilance,
            match_tracking=match_tracking,
            choice=choice,
            learning_rate=learning_rate,
            limits=described(self.name, limits),
            max_prototypes=max_prototypes,
        )

    @property
    def prototypes(self) -> list[dict[str, Any]]:
        """The categories: class, weight of their rows, and corners of their box by feature."""
        return [
            {
                "class": label_of(self, found["class"]),
                "weight": found["weight"],
                "low": found["low"],
                "high": found["high"],
            }
            for found in self.inspect()["prototypes"]
        ]

    @property
    def n_skipped(self) -> int:
        """Number of rows that were not learned, because there were `max_prototypes` categories already."""
        return int(self._numbers()["skipped"])


if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
