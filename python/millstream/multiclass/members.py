"""What the reductions to binary classifiers in Python have in common."""

from __future__ import annotations

from typing import Any

from millstream._examples import check_example
from millstream._part import shown_part
from millstream.base import Classifier, Features, Label, Model
from millstream.compose.reduction import Lesson, Reduction
from millstream.errors import InvalidType
from millstream.roles import role_of

__all__ = ["BinaryReduction"]


class BinaryReduction(Reduction, Classifier):
    """A classifier whose members separate sets of classes. An example that one of them refuses changes nothing."""

    _who: str

    def _check_model(self, model: Any) -> None:
        if isinstance(model, type) or not isinstance(model, Model) or role_of(model) is not Classifier.role:
            raise InvalidType(f"{self._who}: model must be a classifier, got {shown_part(model)}")

    #: The classes so far, in the order of their first example.
    classes: list[Label]

    def _lessons(self, x: Features, y: Label, w: float) -> list[Lesson]:
        """What the members learn from an example."""
        raise NotImplementedError

    def _admit(self, y: Label) -> None:
        """Add a class."""
        raise NotImplementedError

    def _remove(self, y: Label) -> None:
        """Remove the class that was added last."""
        raise NotImplementedError

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example."""
        check_example(self._who, self.role, y, w)
        if w == 0.0:
            return
        is_new = y not in self.classes
        if is_new:
            self._admit(y)
        try:
            self._teach(self._lessons(x, y, w))
        except BaseException:
            if is_new:
                self._remove(y)
            raise
