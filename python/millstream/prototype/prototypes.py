"""What classifiers with prototypes report."""

from __future__ import annotations

from typing import Any

from millstream._native import Native
from millstream.base import Classifier

__all__ = ["PrototypeClassifier", "label_of"]


def label_of(model: Any, code: int) -> Any:
    """The label of a class by its code. A code may be left free for a label that has not come yet."""
    classes = model.classes
    return classes[code] if code < len(classes) else classes[-1]


class PrototypeClassifier(Native, Classifier):
    """A classifier with prototypes, each of which belongs to a class."""

    @property
    def prototypes(self) -> list[dict[str, Any]]:
        """The prototypes: class, weight of the rows nearest to each, and position by feature."""
        return [
            {"class": label_of(self, found["class"]), "weight": found["weight"], "at": found["at"]}
            for found in self.inspect()["prototypes"]
        ]

    @property
    def n_skipped(self) -> int:
        """Number of rows that were not learned, because there was no prototype left for their class."""
        return int(self._numbers()["skipped"])
