"""One-vs-rest: one binary classifier per class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream._answers import probabilities_of
from millstream._examples import check_example
from millstream._native import Native
from millstream._part import shown_part
from millstream._python_loop import restore
from millstream.base import Classifier, Features, Label, Model
from millstream.compose.rollback import Rollback
from millstream.errors import InvalidType
from millstream.roles import CLASSIFIER

__all__ = ["OneVsRest", "OneVsRestClassifier", "vote"]


class OneVsRest(Classifier):
    """One-vs-rest: multiclass classification with one binary classifier per class.

    Choose it to use a binary classifier, such as `LogisticRegression`, for more than two classes. One member per
    class learns whether an example has that class; the probability of a class is that of its member, divided by
    the sum over members. The cost is proportional to the number of classes; `linear_model.SoftmaxRegression` is
    cheaper for linear models.

    A class that appears late starts with a new member, which learns the examples from then on. It therefore
    overestimates the frequency of the class for a while.

    Parameters
    ----------
    model
        Classifier that separates one class from the rest: any native model or pipeline, or your own classifier in
        Python, which is cloned for each class. An example that a member refuses leaves all members unchanged; for
        members written in Python, see `compose.Pipeline`.

    Examples
    --------
    >>> from millstream import linear_model, multiclass, preprocessing
    >>> model = multiclass.OneVsRest(preprocessing.StandardScaler() | linear_model.LogisticRegression())
    >>> for x, y in [(1.0, "low"), (5.0, "middle"), (9.0, "high")] * 20:
    ...     model.learn_one({"x": x}, y)
    >>> model.predict_one({"x": 0.0}), model.predict_one({"x": 10.0})
    ('low', 'high')

    References
    ----------
    Rifkin, R. and Klautau, A. (2004). In defense of one-vs-all classification.
    """

    name = "multiclass.OneVsRest"
    aliases = {"classifier": "model"}

    def __new__(cls, model: Any = None, **others: Any) -> Any:
        model = others.get("classifier", model)
        if cls is OneVsRest and isinstance(model, (Native, dict, str)):
            return _NativeOneVsRest.__new__(_NativeOneVsRest)
        return super().__new__(cls)

    def __init__(self, model: Model | Mapping[str, Any] | str) -> None:
        if not isinstance(model, Model) or model.role != CLASSIFIER:
            raise InvalidType(f"{self.name}: model must be a classifier, got {shown_part(model)}")
        self.model: Any = model
        #: The member of each class.
        self.members: dict[Label, Any] = {}
        self._rollback = Rollback()

    def __getstate__(self) -> dict[str, Any]:
        self._rollback.retry()
        return {name: value for name, value in self.__dict__.items() if name != "_rollback"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._rollback = Rollback()

    def _return_to(self, before: OneVsRest) -> None:
        for label in list(self.members):
            if label in before.members:
                restore(self.members[label], before.members[label])
            else:
                del self.members[label]
        self._rollback = Rollback()

    @classmethod
    def _revive(cls, source: Any) -> Any:
        return _NativeOneVsRest._revive(source)

    @property
    def classes(self) -> list[Label]:
        """The classes so far."""
        return list(self.members)

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example with every member."""
        check_example(self.name, self.role, y, w)
        if w == 0.0:
            return
        members = self.members if y in self.members else {**self.members, y: self.model.clone()}
        self._rollback.begin(self.members.values())
        try:
            for label, member in members.items():
                self._rollback.teach(member, x, bool(label == y), w)
        except BaseException:
            self._rollback.undo()
            raise
        self._rollback.commit()
        self.members.update(members)

    def predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example."""
        votes = {label: vote(member, x) for label, member in self.members.items()}
        total = sum(votes.values())
        if total > 0:
            return {label: vote / total for label, vote in votes.items()}
        return dict.fromkeys(votes, 1.0 / len(votes)) if votes else {}


def vote(member: Any, x: Features) -> float:
    """The probability of a member's class; 0 or 1 if it predicts no probabilities."""
    if type(member).predict_proba_one is Classifier.predict_proba_one:
        return float(member.predict_one(x) is True)
    return float(probabilities_of(member, x).get(True, 0.0))


class _NativeOneVsRest(Native, OneVsRest):
    def __init__(self, model: Model | Mapping[str, Any] | str) -> None:
        Native.__init__(self, model=model)

    @classmethod
    def _revive(cls, source: Any) -> Any:
        model = cls.__new__(cls)
        model._load(source)
        return model


_NativeOneVsRest.__name__ = "OneVsRest"

#: The name in River and scikit-learn.
OneVsRestClassifier = OneVsRest
