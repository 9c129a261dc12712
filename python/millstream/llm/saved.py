"""Saved files of `llm`: a description, and a state of plain values and saved components."""

from __future__ import annotations

import base64
import copy
import json
import os
from typing import Any, Self

from millstream import _core
from millstream._display import memory_of
from millstream._files import write_whole
from millstream._part import Part
from millstream.errors import InvalidState

__all__ = ["DAMAGED", "MOST_COUNTED", "Saved", "opened", "packed", "sealed", "unpacked"]

#: What reading a damaged state may raise.
DAMAGED = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
#: The largest count of a file.
MOST_COUNTED = 2**63 - 1


def packed(component: Any) -> str:
    """A component of the registry as text."""
    return base64.b64encode(component.to_bytes()).decode()


def unpacked(text: str) -> Any:
    """The component of a text."""
    from millstream.registry import from_bytes

    return from_bytes(base64.b64decode(text, validate=True))


def sealed(description: dict[str, Any], count: int, state: dict[str, Any]) -> bytes:
    """Versioned, checksummed bytes."""
    whole = {"parameters": description["parameters"], **state}
    return _core.seal(json.dumps(description), count, json.dumps(whole, allow_nan=False).encode())


def opened(name: str, saved: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the state of a saved file."""
    if saved.name != name:
        raise InvalidState(f"{name}: the file has another component: {saved.name}")
    try:
        state = json.loads(saved.take_state()[0])
        parameters = dict(state["parameters"])
    except DAMAGED:
        raise InvalidState(f"{name}: the saved state is not valid") from None
    return parameters, state


class Saved(Part):
    """A part with a state of plain values and saved components."""

    def _state(self) -> dict[str, Any]:
        raise NotImplementedError

    def _adopt(self, state: dict[str, Any]) -> None:
        raise NotImplementedError

    def _count(self) -> int:
        raise NotImplementedError

    def to_bytes(self) -> bytes:
        """The state as versioned, checksummed bytes, without code."""
        return sealed(self.describe(), self._count(), self._state())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it atomically to a file that `millstream.load` reads."""
        write_whole(path, self.to_bytes())

    @classmethod
    def _revive(cls, saved: Any) -> Self:
        parameters, state = opened(str(cls.name), saved)
        try:
            part = cls._from_parameters(parameters)
            part._adopt(state)
        except DAMAGED:
            raise InvalidState(f"{cls.name}: the saved state is not valid") from None
        return part

    def copy(self) -> Self:
        """An independent copy with the same state."""
        return copy.deepcopy(self)

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    @property
    def memory(self) -> int:
        """Memory in bytes."""
        return memory_of(self)
