"""One-vs-one: one binary classifier per pair of classes."""

from __future__ import annotations

from typing import Any

from millstream.base import Features, Label
from millstream.compose.reduction import Lesson
from millstream.multiclass.members import BinaryReduction
from millstream.multiclass.one_vs_rest import vote

__all__ = ["OneVsOne", "OneVsOneClassifier"]


class OneVsOne(BinaryReduction):
    """One-vs-one: multiclass classification with one binary classifier per pair of classes.

    The member of a pair learns only the examples of both classes. With k classes an example is learned by k - 1 of
    the k (k - 1) / 2 members, each of which has an easier task than a member of `OneVsRest` and sees balanced
    classes. Choose it for members whose cost grows faster than the number of examples, such as kernel models, or
    if class frequencies are very different. All members predict, so prediction is slower than that of `OneVsRest`.

    The probability of a class is the expected fraction of comparisons that it wins.

    Parameters
    ----------
    model
        Classifier of a pair: any native model or pipeline, or your own classifier in Python, which is cloned for
        each pair. An example that a member refuses leaves all members unchanged.

    Examples
    --------
    >>> from millstream import linear_model, multiclass, preprocessing
    >>> model = multiclass.OneVsOne(preprocessing.StandardScaler() | linear_model.LogisticRegression())
    >>> for x, y in [(1.0, "low"), (5.0, "middle"), (9.0, "high")] * 20:
    ...     model.learn_one({"x": x}, y)
    >>> model.predict_one({"x": 0.0}), model.predict_one({"x": 5.0}), model.predict_one({"x": 10.0})
    ('low', 'middle', 'high')

    References
    ----------
    Hastie, T. and Tibshirani, R. (1998). Classification by pairwise coupling.
    """

    aliases = {"classifier": "model", "estimator": "model"}
    _who = "multiclass.OneVsOne"

    def __init__(self, model: Any) -> None:
        self._check_model(model)
        self.model = model
        #: The classes so far, in the order of their first example.
        self.classes: list[Label] = []
        #: The member of each pair of classes, by their order; it learns whether an example is of the first one.
        self.members: dict[tuple[Label, Label], Any] = {}
        self._start()

    def _admit(self, y: Label) -> None:
        self.members |= {(other, y): self.model.clone() for other in self.classes}
        self.classes.append(y)

    def _remove(self, y: Label) -> None:
        self.classes.pop()
        for other in self.classes:
            del self.members[other, y]

    def _lessons(self, x: Features, y: Label, w: float) -> list[Lesson]:
        at = self.classes.index(y)
        first = [(self.members[y, other], x, True, w) for other in self.classes[at + 1 :]]
        return [*first, *((self.members[other, y], x, False, w) for other in self.classes[:at])]

    def predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example."""
        wins: dict[Label, float] = dict.fromkeys(self.classes, 0.0)
        if len(wins) < 2:
            return dict.fromkeys(wins, 1.0)
        for (a, b), member in self.members.items():
            # One half before the member has learned anything.
            share = vote(member, x) if getattr(member, "learned", 1) else 0.5
            wins[a] += share
            wins[b] += 1.0 - share
        comparisons = len(self.members)
        return {label: won / comparisons for label, won in wins.items()}


#: The name in River and scikit-learn.
OneVsOneClassifier = OneVsOne
