"""Wrappers that scale the targets of a regressor, or clip its predictions."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from millstream._echo import quoted
from millstream.compose.members import compiles
from millstream.compose.target_transform import CompiledTarget, TransformedTarget
from millstream.errors import InvalidValue

__all__ = ["PredClipper", "TargetMinMaxScaler", "TargetStandardScaler"]


class _Moments(NamedTuple):
    targets: int = 0
    weight: float = 0.0
    mean: float = 0.0
    squares: float = 0.0

    @property
    def deviation(self) -> float:
        if self.targets < 2:
            return 0.0
        return math.sqrt(self.squares / self.weight * (self.targets / (self.targets - 1)))


class TargetStandardScaler(TransformedTarget):
    """A regressor whose targets are scaled to mean 0 and variance 1 over the stream so far.

    Choose it for a learner whose steps depend on the size of the target, such as `LinearRegression` with
    stochastic gradients or a neural network, if the target is not of size 1. Trees and least squares do not need
    it.

    As in River, the mean and the sample variance are first updated with the target, and the regressor then learns
    the scaled target. A prediction is scaled back with the mean and the variance before its target is known.
    Before the first target, the prediction is 0, and then the first target. If the regressor predicts intervals,
    their limits are scaled back too.

    Parameters
    ----------
    model
        Regressor: any native model or pipeline, or a Python model of your own, which is cloned.

    Examples
    --------
    >>> from millstream import linear_model, optim, preprocessing
    >>> model = preprocessing.TargetStandardScaler(linear_model.LinearRegression(optim.SGD(0.1)))
    >>> for x in [0.1, 0.9, 0.5, 0.3] * 100:
    ...     model.learn_one({"x": x}, 1e6 * x)
    >>> round(model.predict_one({"x": 0.6}), -4)
    600000.0
    """

    name = "preprocessing.TargetStandardScaler"
    _target: _Moments = _Moments()

    def __new__(cls, model: Any = None, **others: Any) -> Any:
        if cls is TargetStandardScaler and compiles(others.get("regressor", model)):
            return _NativeTargetStandardScaler.__new__(_NativeTargetStandardScaler)
        return super().__new__(cls)

    def __init__(self, model: Any) -> None:
        self._start(model=model)

    @classmethod
    def _revive(cls, source: Any) -> Any:
        return _NativeTargetStandardScaler._revive(source)

    def _updated(self, y: float, w: float) -> _Moments:
        targets, before, mean, squares = self._target
        weight, delta = before + w, y - mean
        mean += delta * (w / weight)
        squares += delta * (w * (before / weight)) * delta
        if not math.isfinite(squares):
            raise InvalidValue(f"{self.name}: the target must be smaller, got {quoted(y)}")
        return _Moments(targets + 1, weight, mean, squares)

    def _forward(self, target: _Moments, y: float) -> float:
        return (y - target.mean) / target.deviation if target.deviation else 0.0

    def _inverse(self, target: _Moments, z: float) -> float:
        return z * target.deviation + target.mean


class _NativeTargetStandardScaler(CompiledTarget, TargetStandardScaler):
    def __init__(self, model: Any) -> None:
        self._build_around(model=model)


class _Extremes(NamedTuple):
    least: float = math.inf
    greatest: float = -math.inf


class TargetMinMaxScaler(TransformedTarget):
    """A regressor whose targets are scaled to [0, 1] by their minimum and maximum over the stream so far.

    Choose it for a learner that expects targets in [0, 1]. One outlier compresses all other targets; if outliers
    can occur, choose `TargetStandardScaler`.

    As in River, the extremes are first updated with the target, and the regressor then learns the scaled target. A
    prediction is scaled back with the extremes before its target is known; before the first target it is that of
    the regressor. Predictions may exceed the extremes: add a `PredClipper` if they must not.

    Parameters
    ----------
    model
        Regressor: any native model or pipeline, or a Python model of your own, which is cloned.

    Examples
    --------
    >>> from millstream import linear_model, optim, preprocessing
    >>> model = preprocessing.TargetMinMaxScaler(linear_model.LinearRegression(optim.SGD(0.1)))
    >>> for x in [0.1, 0.9, 0.5, 0.3] * 100:
    ...     model.learn_one({"x": x}, 1e6 * x)
    >>> round(model.predict_one({"x": 0.6}), -4)
    600000.0
    """

    name = "preprocessing.TargetMinMaxScaler"
    _target: _Extremes = _Extremes()

    def __new__(cls, model: Any = None, **others: Any) -> Any:
        if cls is TargetMinMaxScaler and compiles(others.get("regressor", model)):
            return _NativeTargetMinMaxScaler.__new__(_NativeTargetMinMaxScaler)
        return super().__new__(cls)

    def __init__(self, model: Any) -> None:
        self._start(model=model)

    @classmethod
    def _revive(cls, source: Any) -> Any:
        return _NativeTargetMinMaxScaler._revive(source)

    def _updated(self, y: float, w: float) -> _Extremes:
        target = _Extremes(min(self._target.least, y), max(self._target.greatest, y))
        if not math.isfinite(target.greatest - target.least):
            raise InvalidValue(f"{self.name}: the target must be smaller, got {quoted(y)}")
        return target

    def _forward(self, target: _Extremes, y: float) -> float:
        span = target.greatest - target.least
        return (y - target.least) / span if span else 0.0

    def _inverse(self, target: _Extremes, z: float) -> float:
        if target.least > target.greatest:
            return z
        return z * (target.greatest - target.least) + target.least


class _NativeTargetMinMaxScaler(CompiledTarget, TargetMinMaxScaler):
    def __init__(self, model: Any) -> None:
        self._build_around(model=model)


class PredClipper(TransformedTarget):
    """A regressor whose predictions are clipped to a range.

    Choose it if the target has known bounds, such as a count or a percentage, or, with `seen_range=True`, to
    exclude predictions far from every target so far, as Vowpal Wabbit does. The regressor learns targets as they
    are, even beyond the bounds. Intervals are clipped too. Models that can be merged still can, unless
    `seen_range` is set.

    Parameters
    ----------
    model
        Regressor: any native model or pipeline, or a Python model of your own, which is cloned.
    y_min
        Least prediction; None or `-math.inf` for no bound.
    y_max
        Greatest prediction, at least `y_min`; None or `math.inf` for no bound.
    seen_range
        Whether to clip predictions to the range of the targets so far, too. Before the first target only `y_min`
        and `y_max` are used.

    Examples
    --------
    >>> from millstream import linear_model, preprocessing
    >>> model = preprocessing.PredClipper(linear_model.LinearRegression(), y_min=0, y_max=200)
    >>> for x, y in [({"a": 2.0, "b": 4.0}, 80), ({"a": 3.0, "b": 5.0}, 100), ({"a": 4.0, "b": 6.0}, 120)]:
    ...     model.learn_one(x, y)
    >>> model.predict_one({"a": -100.0, "b": -200.0}), model.predict_one({"a": 50.0, "b": 60.0})
    (0.0, 200.0)
    >>> model = preprocessing.PredClipper(linear_model.LinearRegression(), seen_range=True)
    >>> for x, y in [({"a": 2.0}, 80), ({"a": 3.0}, 100)]:
    ...     model.learn_one(x, y)
    >>> model.predict_one({"a": -100.0}), model.predict_one({"a": 50.0})
    (80.0, 100.0)
    """

    name = "preprocessing.PredClipper"
    _target: _Extremes = _Extremes()

    def __new__(cls, model: Any = None, *bounds: Any, **others: Any) -> Any:
        if cls is PredClipper and compiles(others.get("regressor", model)):
            return _NativePredClipper.__new__(_NativePredClipper)
        return super().__new__(cls)

    def __init__(
        self, model: Any, y_min: float | None = None, y_max: float | None = None, seen_range: bool = False
    ) -> None:
        # The compiled form checks the bounds.
        _NativePredClipper("baseline.TargetMean", y_min, y_max, seen_range)
        self._start(model=model, y_min=y_min, y_max=y_max, seen_range=seen_range)

    @classmethod
    def _revive(cls, source: Any) -> Any:
        return _NativePredClipper._revive(source)

    @property
    def y_min(self) -> float | None:
        """Least prediction, or None."""
        return self.parameters["y_min"]  # type: ignore[no-any-return]

    @property
    def y_max(self) -> float | None:
        """Greatest prediction, or None."""
        return self.parameters["y_max"]  # type: ignore[no-any-return]

    @property
    def seen_range(self) -> bool:
        """Whether predictions are clipped to the range of the targets so far, too."""
        return self.parameters["seen_range"]  # type: ignore[no-any-return]

    def _updated(self, y: float, w: float) -> _Extremes:
        if not self.seen_range:
            return self._target
        return _Extremes(min(self._target.least, y), max(self._target.greatest, y))

    def _forward(self, target: _Extremes, y: float) -> float:
        return y

    def _inverse(self, target: _Extremes, z: float) -> float:
        if target.least <= target.greatest:
            z = max(target.least, min(z, target.greatest))
        low = -math.inf if self.y_min is None else self.y_min
        high = math.inf if self.y_max is None else self.y_max
        return max(low, min(z, high))


class _NativePredClipper(CompiledTarget, PredClipper):
    def __init__(
        self, model: Any, y_min: float | None = None, y_max: float | None = None, seen_range: bool = False
    ) -> None:
        y_min = None if isinstance(y_min, float) and y_min == -math.inf else y_min
        y_max = None if isinstance(y_max, float) and y_max == math.inf else y_max
        self._build_around(model=model, y_min=y_min, y_max=y_max, seen_range=seen_range)


for _compiled in (_NativeTargetStandardScaler, _NativeTargetMinMaxScaler, _NativePredClipper):
    _compiled.__name__ = _compiled.__name__.removeprefix("_Native")
