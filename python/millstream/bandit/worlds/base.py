"""The base class of worlds, and checks of their parameters."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from millstream import _core
from millstream._echo import quoted, typed
from millstream._part import Part
from millstream.errors import InvalidType, InvalidValue

__all__ = ["World", "count", "number", "numbers"]

Action = bool | int | str


class World(Part):
    """A world that pays rewards and knows their expectations.

    A world of your own defines `reset`, `round`, `reward` and `means`, as the worlds of this module do.
    """

    #: The smallest and largest possible reward; None if there is no bound.
    reward_range: tuple[float, float] | None = None
    #: True if rounds have features.
    uses_context: bool = False

    def _start(self, actions: Sequence[Action], description: Mapping[str, Any]) -> None:
        self.actions: list[Action] = list(actions)
        self._indices = {action: index for index, action in enumerate(self.actions)}
        self._described = json.dumps(description)
        self._native = _core.World(self._described)
        self._seed, self._begun = 0, 0

    def reset(self, seed: int = 0) -> None:
        """Return to the start, with the draws of a seed."""
        try:
            self._seed = operator.index(seed)
        except TypeError:
            raise InvalidType(f"{self._who}: seed must be an integer, got {typed(seed)}") from None
        if not 0 <= self._seed < 2**63:
            raise InvalidValue(f"{self._who}: seed must be an integer >= 0, got {seed}")
        self._begun = 0
        self._native.reset(self._seed)

    def round(self) -> tuple[dict[str, float] | None, list[Action]]:
        """Begin the next round: its features, None without context, and its actions."""
        self._begun += 1
        features = self._native.begin()
        x = {f"x{index}": value for index, value in enumerate(features)} if features else None
        return x, list(self.actions)

    def reward(self, action: Action) -> float:
        """The reward of an action in the present round."""
        index = self._indices.get(action) if isinstance(action, (bool, int, str)) else None
        if index is None:
            raise InvalidValue(f"{self._who}: action must be one of {quoted(self.actions)}, got {quoted(action)}")
        return self._native.reward(index)

    def means(self) -> dict[Action, float]:
        """The expected reward of each action in the present round."""
        return dict(zip(self.actions, self._native.means(), strict=True))

    @property
    def _who(self) -> str:
        return f"bandit.worlds.{type(self).__name__}"

    def __getstate__(self) -> dict[str, Any]:
        if self._begun:
            raise InvalidType(f"{self._who}: cannot be copied within a game; call reset() first")
        return {name: value for name, value in self.__dict__.items() if name != "_native"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._native = _core.World(self._described)
        self._native.reset(self._seed)


def number(who: str, name: str, value: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number within bounds, the lower one excluded."""
    if isinstance(value, (str, bool)) or not hasattr(value, "__float__"):
        raise InvalidType(f"{who}: {name} must be a number, got {typed(value)}")
    found = float(value)
    if not (math.isfinite(found) and low < found <= min(high, 1e100) and found >= -1e100):
        bounds = f" > {low:g}" if math.isfinite(low) else ""
        upper = f" and <= {high:g}" if math.isfinite(high) else ""
        raise InvalidValue(f"{who}: {name} must be a finite number{bounds}{upper}, got {quoted(found)}")
    return found


def numbers(who: str, name: str, values: Any) -> list[float]:
    """At least one finite number."""
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        raise InvalidType(f"{who}: {name} must be a list of numbers, got {typed(values)}")
    found = [number(who, name, value) for value in values]
    if not found:
        raise InvalidValue(f"{who}: {name} must have at least one number, got none")
    return found


def count(who: str, name: str, value: Any) -> int:
    """An integer >= 1."""
    try:
        found = operator.index(value)
    except TypeError:
        raise InvalidType(f"{who}: {name} must be an integer, got {typed(value)}") from None
    if not 1 <= found < 2**63:
        raise InvalidValue(f"{who}: {name} must be an integer >= 1, got {found}")
    return found
