"""Common code of running importances: the reservoir, the decay, the standard errors, the curve."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from millstream._display import held_by
from millstream._echo import plain, quoted, typed
from millstream._examples import check_example
from millstream._python_loop import Features, restore
from millstream.base import Wrapper
from millstream.errors import InvalidType, InvalidValue
from millstream.evaluate.frames import frame, table
from millstream.explain.explanation import bars_of, drawn
from millstream.roles import CLASSIFIER, REGRESSOR, role_of

__all__ = ["RunningImportance"]

#: Losses by name, and the probability that stands for 0 in the log loss.
_LOSSES = {CLASSIFIER: ("log", "zero_one"), REGRESSOR: ("squared", "absolute")}
_LEAST = 1e-15
#: Maximum number of points of the curves.
_MOST_POINTS = 200


class RunningImportance(Wrapper):
    """Wraps a model and updates the importances of its features before the model learns each example."""

    #: Meaning of the importances.
    about = ""

    def __init__(
        self, model: Any, loss: str, reservoir_size: int, decay: float, every: int, max_features: int, seed: int
    ) -> None:
        role = role_of(model)
        name = type(self).__name__
        if role not in _LOSSES:
            raise InvalidType(f"explain.{name}: model must be a classifier or a regressor, got {plain(model, 60)}")
        for word, value, least in (
            ("reservoir_size", reservoir_size, 1),
            ("every", every, 1),
            ("max_features", max_features, 1),
            ("seed", seed, 0),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidValue(f"explain.{name}: {word} must be an integer >= {least}, got {quoted(value)}")
        if isinstance(decay, bool) or not isinstance(decay, (int, float)) or not 0.0 <= decay < 1.0:
            raise InvalidValue(f"explain.{name}: decay must be in [0, 1), got {quoted(decay)}")
        possible = _LOSSES[role]
        if not isinstance(loss, str) or (loss != "auto" and loss not in possible):
            raise InvalidValue(f"explain.{name}: loss must be auto or {' or '.join(possible)}, got {quoted(loss)}")
        self.model = model
        self.loss = possible[0] if loss == "auto" else loss
        self.reservoir_size, self.decay, self.every = reservoir_size, float(decay), every
        self.max_features, self.seed = max_features, seed
        self._random = np.random.default_rng(seed)
        self._rows: list[dict[Any, Any]] = []
        self._seen = 0
        #: By feature: number of updates, mean, mean of squares, and the sum of the squared weights.
        self._sums: dict[Any, tuple[int, float, float, float]] = {}
        self._points: list[tuple[int, dict[Any, float]]] = []
        self._spacing = 1
        self._wrap(model)

    @property
    def importances(self) -> dict[Any, float]:
        """The current importance of each feature, in descending order."""
        return dict(sorted(((name, sums[1]) for name, sums in self._sums.items()), key=lambda pair: -pair[1]))

    @property
    def errors(self) -> dict[Any, float]:
        """The standard error of each importance."""
        return {
            name: math.sqrt(max(squares - mean * mean, 0.0) * weight)
            for name, (_, mean, squares, weight) in self._sums.items()
        }

    @property
    def memory(self) -> int:
        """Memory of the model, the reservoir and the curves, in bytes."""
        points = sum(len(point) for _, point in self._points)
        return held_by(self.model) + 100 * sum(map(len, self._rows)) + 200 * len(self._sums) + 100 * points

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Update the importances with an example, then learn it."""
        name = f"explain.{type(self).__name__}"
        if not isinstance(x, Mapping):
            raise InvalidType(f"{name}: an example must be a dict, got {typed(x)}")
        if y is not None:
            check_example(name, self.role, y, w)
        before = copy.deepcopy(self._random.bit_generator.state)
        gains: dict[Any, float] = {}
        due = self._seen % self.every == 0 and bool(self._rows) and y is not None
        try:
            if due:
                gains = self._gains({name: x[name] for name in x}, y)
            self.model.learn_one(x, y, w=w) if w != 1.0 else self.model.learn_one(x, y)
        except BaseException:
            self._random.bit_generator.state = before
            raise
        self._commit(dict(x), gains)

    def _commit(self, x: dict[Any, Any], gains: Mapping[Any, float]) -> None:
        for name, gain in gains.items():
            if not math.isfinite(gain * gain) or (name not in self._sums and len(self._sums) >= self.max_features):
                continue
            count, mean, squares, weight = self._sums.get(name, (0, 0.0, 0.0, 0.0))
            # The plain mean at first, then the exponential one.
            rate = max(self.decay, 1.0 / (count + 1))
            self._sums[name] = (
                count + 1,
                mean + rate * (gain - mean),
                squares + rate * (gain * gain - squares),
                (1.0 - rate) ** 2 * weight + rate * rate,
            )
        if gains and self._seen % self._spacing == 0:
            self._points.append((self._seen, {name: sums[1] for name, sums in self._sums.items()}))
            if len(self._points) >= _MOST_POINTS:
                self._points = self._points[::2]
                self._spacing *= 2
        self._seen += 1
        self._store(x)

    def _store(self, x: dict[Any, Any]) -> None:
        """Sample the row: with decay a geometric reservoir, which prefers recent rows, otherwise a uniform one."""
        if len(self._rows) < self.reservoir_size:
            self._rows.append(x)
            return
        place = int(self._random.integers(self.reservoir_size if self.decay else self._seen))
        if place < self.reservoir_size:
            self._rows[place] = x

    def _gains(self, x: dict[Any, Any], y: Any) -> dict[Any, float]:
        """By feature, the number whose mean is its importance."""
        raise NotImplementedError

    def _answer(self, x: dict[Any, Any]) -> Any:
        return self.model.predict_proba_one(x) if self.role is CLASSIFIER else self.model.predict_one(x)

    def _loss(self, answer: Any, y: Any) -> float:
        if self.role is CLASSIFIER:
            own = answer.get(y, 0.0)
            if self.loss == "log":
                return -math.log(max(own, _LEAST))
            return 0.0 if answer and max(answer, key=answer.__getitem__) == y else 1.0
        distance = float(answer or 0.0) - float(y)
        return distance * distance if self.loss == "squared" else abs(distance)

    def _predict_one(self, x: Features) -> Any:
        """Predict one example."""
        return self.model.predict_one(x)

    def _predict_proba_one(self, x: Features) -> Any:
        """The probability of each class for one example."""
        return self.model.predict_proba_one(x)

    def _return_to(self, before: RunningImportance) -> None:
        restore(self.model, before.model)
        self.__dict__.update({name: value for name, value in before.__dict__.items() if name != "model"})

    def to_frame(self, kind: str | None = None, *, over_time: bool = False) -> Any:
        """A frame with a row per feature, or with `over_time` a row per point of the curves and feature."""
        if over_time:
            rows = [(row, str(name), value) for row, point in self._points for name, value in point.items()]
            columns = list(zip(*rows, strict=True)) or [(), (), ()]
            return frame(dict(zip(("row", "feature", "importance"), map(list, columns), strict=True)), kind)
        found, errors = self.importances, self.errors
        names = list(found)
        numbers = {"importance": list(found.values()), "standard_error": [errors[name] for name in names]}
        return frame({"feature": [str(name) for name in names], **numbers}, kind)

    def plot(self, ax: Any = None, *, over_time: bool = True) -> Any:
        """Plot the importances over the stream, or those of now as bars, with matplotlib; returns the axes."""
        if not over_time:
            return drawn(self.importances, self.errors, self.about, ax)
        try:
            import matplotlib.pyplot as pyplot
        except ImportError:
            raise ImportError("plot() needs matplotlib: pip install matplotlib") from None
        if ax is None:
            _, ax = pyplot.subplots(figsize=(8.0, 4.0), layout="constrained")
        for name in list(self.importances)[:8]:
            known = [(row, point[name]) for row, point in self._points if name in point]
            ax.plot(*zip(*known, strict=True), linewidth=1.5, label=str(name)[:40])
        ax.axhline(0, color="#808080", linewidth=0.8)
        ax.set_xlabel("rows")
        ax.set_ylabel(self.about)
        if self._points:
            ax.legend(frameon=False, fontsize=9)
        return ax

    def __repr__(self) -> str:
        name = type(self).__name__
        found, errors = self.importances, self.errors
        if not found:
            return f"{name}({self.model!r})"
        rows = [[plain(key, 40), f"{value:.4f}", f"± {errors[key]:.4f}"] for key, value in found.items()]
        return (
            f"{name}({self.model!r}) after {self._seen:,} rows\n{table(['feature', 'importance', ''], rows[:20])}"
        )

    def _repr_html_(self) -> str:
        return bars_of(self.importances, self.errors, f"{self.about}, after {self._seen:,} rows")
