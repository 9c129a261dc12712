"""`bandit.Contextual` over a regressor written in Python."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from millstream._echo import typed
from millstream._part import shown_part, unlearned_copy
from millstream.bandit import explore as explorers
from millstream.bandit.base import locked
from millstream.bandit.context_in_python import ContextInPython, labels_of
from millstream.compose.rollback import Rollback
from millstream.errors import InvalidType, InvalidValue
from millstream.registry import build
from millstream.roles import REGRESSOR, role_of

__all__ = ["PythonContextual"]


class PythonContextual(ContextInPython):
    """`Contextual` over a regressor in Python: it gets the features of context and action as one dict."""

    def __init__(
        self,
        model: Any = None,
        explore: Any = None,
        estimate: str | None = None,
        reward_range: Any = None,
        products: bool | None = None,
        l2: float = 1.0,
        max_pending: int = 10000,
        max_features: int | None = None,
        seed: int = 0,
    ) -> None:
        who = self._who
        if role_of(model) != REGRESSOR:
            raise InvalidType(f"{who}: model must be a regressor, got {shown_part(model)}")
        if estimate not in (None, "dm", "mtr", "ips", "dr"):
            raise InvalidValue(f"{who}: estimate must be 'dm', 'mtr', 'ips' or 'dr', got {estimate!r}")
        if reward_range is not None and not (len(reward_range) == 2 and reward_range[0] < reward_range[1]):
            raise InvalidValue(
                f"{who}: reward_range must be a lowest and a higher highest reward, got {reward_range}"
            )
        self.model, self.explore, self.estimate, self.reward_range = model, explore, estimate, reward_range
        self.products, self.l2, self.max_pending = products, l2, max_pending
        self.max_features, self.seed = max_features, seed
        self._explorer = _explorer(who, explore)
        count = self._explorer.n_models if isinstance(self._explorer, explorers.Bag) else 1
        #: The models of the reward; the last one is the direct model of estimate "dr".
        self.models = [unlearned_copy(model) for _ in range(count + (estimate == "dr"))]
        self._votes = count
        self._start()

    @property
    def _who(self) -> str:
        return "bandit.Contextual"

    @locked
    def rewards_one(self, x: Any, actions: Any) -> dict[Any, float]:
        """The predicted reward of each action; changes nothing."""
        labels = labels_of(self._who, actions)
        return dict(zip(labels, self._predicted(self.models[0], self._rows(x, actions, labels)), strict=True))

    @locked
    def probabilities_one(self, x: Any, actions: Any) -> dict[Any, float]:
        labels = labels_of(self._who, actions)
        rows = self._rows(x, actions, labels)
        found = [
            self._explorer.probabilities(self._predicted(model, rows), self.learned)
            for model in self.models[: self._votes]
        ]
        mean = np.sum(found, axis=0) / len(found)
        return dict(zip(labels, mean.tolist(), strict=True))

    def _predicted(self, model: Any, rows: list[dict[Any, Any]]) -> list[float]:
        found = [float(model.predict_one(row)) for row in rows]
        if not all(map(math.isfinite, found)):
            raise InvalidValue(f"{self._who}: the model must predict finite rewards, got {found}")
        return found

    def _rows(self, x: Any, actions: Any, labels: list[Any]) -> list[dict[Any, Any]]:
        """The features of context and action as one dict for each action."""
        shared = _features(x, "x")
        if isinstance(actions, Mapping):
            own = [_features(features, "a") for features in actions.values()]
        else:
            listed = list(actions)
            bare = listed == labels and not isinstance(listed[0], (Mapping, list, tuple, np.ndarray))
            own = [
                {"action": label} if bare else _features(item, "a")
                for item, label in zip(listed, labels, strict=True)
            ]
        if self.products:
            own = [
                {**row, **{f"{s} × {a}": v * w for s, v in shared.items() for a, w in row.items() if _both(v, w)}}
                for row in own
            ]
        return [
            {**shared, **{name if name not in shared else f"action {name}": v for name, v in row.items()}}
            for row in own
        ]

    def _teach(self, x: Any, actions: Any, action: Any, reward: float, probability: float | None) -> None:
        labels = labels_of(self._who, actions)
        rows, place = self._rows(x, actions, labels), labels.index(action)
        estimate = self.estimate or "mtr"
        if probability is None and estimate != "dm":
            raise InvalidValue(
                f"{self._who}: probability of the action taken must be given with this estimate, got none"
            )
        p = 1.0 if probability is None else probability
        lessons = [(rows[place], reward, 1.0 / (p * len(rows)) if estimate == "mtr" else 1.0)]
        direct = self.models[-1] if estimate == "dr" else None
        if estimate in ("ips", "dr"):
            base = [0.0] * len(rows) if direct is None else self._predicted(direct, rows)
            base[place] += (reward - base[place]) / p
            lessons = [(row, target, 1.0) for row, target in zip(rows, base, strict=True)]
        state = self._random.getstate()
        rollback = Rollback()
        rollback.begin(self.models)
        try:
            if direct is not None:
                rollback.teach(direct, rows[place], reward, 1.0)
            for index, model in enumerate(self.models[: self._votes]):
                copies = (
                    1 if self._votes == 1 or (index == 0 and self._explorer.greedify) else _poisson(self._random)
                )
                for row, target, w in lessons if copies else ():
                    rollback.teach(model, row, target, w * copies)
        except BaseException:
            self._random.setstate(state)
            rollback.undo()
            raise
        rollback.commit()


# Users know it by this name.
PythonContextual.__name__ = "Contextual"


def _explorer(who: str, given: Any) -> Any:
    if given is None:
        return explorers.SquareCB()
    if isinstance(given, str):
        found = {name.lower(): getattr(explorers, name) for name in explorers.__all__ if name != "Explorer"}
        given = given.replace("_", "")
        if given.lower() not in found:
            raise InvalidValue(f"{who}: explore must be one of {', '.join(sorted(found))}, got {given!r}")
        given = found[given.lower()]()
    elif isinstance(given, Mapping):
        given = build(dict(given))
    if not isinstance(given, explorers.Explorer):
        raise InvalidType(f"{who}: explore must be an explorer, got {shown_part(given)}")
    if isinstance(given, (explorers.RegCB, explorers.Cover)):
        raise InvalidValue(
            f"{who}: explore.{type(given).__name__} needs a model of millstream, got one written in Python"
        )
    return given


def _features(given: Any, letter: str) -> dict[Any, Any]:
    """Features by name; a vector has the names x0, x1, … or a0, a1, …"""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    try:
        vector = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidType(f"bandit.Contextual: features must be a dict or a vector, got {typed(given)}") from None
    return {f"{letter}{place}": value for place, value in enumerate(vector.reshape(-1).tolist())}


def _both(one: Any, other: Any) -> bool:
    return isinstance(one, (int, float)) and isinstance(other, (int, float))


def _poisson(draw: random.Random) -> int:
    """Draw from the Poisson distribution with mean 1."""
    left, share, count = draw.random(), math.exp(-1.0), 0
    while left >= share and count < 20:
        left -= share
        count += 1
        share /= count
    return count
