"""Values that are derived from a model and kept while the model exists."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Generic, TypeVar

__all__ = ["PerModel"]

_Value = TypeVar("_Value")


class PerModel(Generic[_Value]):
    """A value for each of the models that were used last, without keeping the models alive.

    It is not an attribute of the model, which would be saved with it, and slows the verbs of a compiled model.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[int, tuple[weakref.ref[Any], _Value]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, model: Any) -> _Value | None:
        """The value of a model; None if there is none."""
        kept = self._kept.get(id(model))
        return kept[1] if kept is not None and kept[0]() is model else None

    def set(self, model: Any, value: _Value) -> None:
        """Keep a value; beyond the limit, the one that was set first is dropped."""
        place, kept = id(model), self._kept

        def forget(gone: weakref.ref[Any]) -> None:
            # Another object may have this place by now.
            if (found := kept.get(place)) is not None and found[0] is gone:
                kept.pop(place, None)

        known = weakref.ref(model, forget)
        with self._lock:
            kept.pop(place, None)
            while len(kept) >= self._most:
                kept.pop(next(iter(list(kept))), None)
            kept[place] = (known, value)

    def drop(self, model: Any) -> None:
        """Forget the value of a model."""
        self._kept.pop(id(model), None)
