"""What all decompositions have in common."""

from __future__ import annotations

import warnings
from typing import Any

from millstream._native import Native
from millstream.base import Transformer

__all__ = ["Centred", "Decomposition"]


class _Compiled(Native, Transformer):
    """Has the compiled verbs, for `super()`."""


class Decomposition(_Compiled):
    """Base class of decompositions."""

    @property
    def ready(self) -> bool:
        """Whether there are components; before that, the output is zeros."""
        return bool(self._numbers()["ready"])

    @property
    def components(self) -> list[dict[str, Any]]:
        """Each component: the entry of each feature; of a nominal one, the entry of each of its values."""
        return list(self.inspect()["components"])

    def transform_many(self, X: Any) -> Any:
        """Transform rows, exactly as `transform_one` would. Warns once per model if it is not `ready`."""
        if not self.__dict__.get("_warned") and not self.ready:
            self.__dict__["_warned"] = True
            message = f"{self.name}: no components after {self.learned} rows, so the output is zeros (see `ready`)"
            warnings.warn(message, stacklevel=2)
        return super().transform_many(X)


class Centred(Decomposition):
    """Base class of decompositions about the mean."""

    @property
    def mean(self) -> dict[str, Any]:
        """The mean of each feature; of a nominal one, the fraction of each of its values."""
        return dict(self.inspect()["mean"])

    @property
    def explained_variance(self) -> list[float]:
        """The variance along each component."""
        return list(self._numbers()["explained_variance"])
