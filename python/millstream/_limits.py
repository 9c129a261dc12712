"""Declared ranges of features, one for all or by name, as a parameter `limits`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from millstream._echo import quoted
from millstream.errors import InvalidType

if TYPE_CHECKING:
    from millstream._native import Native as _Base
else:
    _Base = object

__all__ = ["Limited", "Limits", "described"]

Limits: TypeAlias = (
    Mapping[str | int, tuple[float, float]] | tuple[float, float] | Sequence[tuple[str | int, float, float]]
)


def described(who: str, limits: Any) -> Any:
    """Limits as in a description: a pair, or a list of feature, low, high."""
    if isinstance(limits, Mapping):
        triples = []
        for feature, pair in limits.items():
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                start = f"{who}: limits of {quoted(feature)}"
                raise InvalidType(f"{start} must be a pair low < high, got {quoted(pair)}")
            triples.append([feature, *pair])
        return triples
    return limits


class Limited(_Base):
    """A native component with a parameter `limits`."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters, defaults included."""
        parameters = super().parameters
        limits = parameters["limits"]
        if isinstance(limits, list):
            named = len(limits) != 2 or isinstance(limits[0], list)
            parameters["limits"] = {name: (low, high) for name, low, high in limits} if named else tuple(limits)
        return parameters

    @property
    def limits(self) -> Any:
        """The range of each feature, as given."""
        return self.parameters["limits"]
