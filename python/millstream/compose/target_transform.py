"""Regressors that learn a function of the target."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, ClassVar

from millstream._answers import number_of
from millstream._echo import quoted, typed
from millstream._examples import check_example
from millstream._native import Native, NativeWrapper
from millstream._part import shown_part, unlearned_copy
from millstream._python_loop import teach
from millstream.base import Features, Wrapper
from millstream.compose.members import compiles, refuse_learned
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.roles import REGRESSOR, role_of

__all__ = ["CompiledTarget", "TargetTransformRegressor", "TransformedTarget"]


class TransformedTarget(Wrapper):
    """A regressor that learns a function of the target and whose predictions are transformed back, in Python.

    A subclass defines `_updated`, `_forward` and `_inverse`. What it has learned of the targets is one immutable
    value, which takes the place of the previous one after the regressor has learned the example.
    """

    name: ClassVar[str]
    aliases = {"regressor": "model"}
    #: What was learned of the targets.
    _target: Any = None

    def _start(self, **parameters: Any) -> None:
        """Check and store the parameters."""
        model = parameters["model"]
        if isinstance(model, type) or role_of(model) is not REGRESSOR:
            raise InvalidType(f"{self.name}: model must be a regressor, got {shown_part(model)}")
        refuse_learned(self.name, [model])
        self._wrap(model)
        self._given = parameters
        self._now = unlearned_copy(model)
        self._learned = 0

    @property
    def parameters(self) -> dict[str, Any]:
        """The given parameters."""
        return dict(self._given)

    @property
    def model(self) -> Any:
        """The regressor; a native one as a copy in its current state."""
        return self._now

    @property
    def learned(self) -> int:
        """Number of learned examples."""
        return self._learned

    @property
    def features(self) -> list[Any]:
        """The features that the regressor has learned."""
        return list(self._now.features)

    @property
    def classes(self) -> list[Any]:
        """None: a regressor has no classes."""
        return list(self._now.classes)

    @property
    def max_classes(self) -> Any:
        """That of the regressor."""
        return self._now.max_classes

    def _updated(self, y: float, w: float) -> Any:
        """What is known of the targets after one more."""
        return None

    def _forward(self, target: Any, y: float) -> float:
        """The target that the regressor learns."""
        raise NotImplementedError

    def _inverse(self, target: Any, z: float) -> float:
        """A prediction in the units of the target."""
        raise NotImplementedError

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example with the transformed target."""
        check_example(self.name, self.role, y, w)
        if w == 0.0:
            return
        target = self._updated(float(y), w)
        teach(self._now, x, self._forward(target, float(y)), w)
        self._target = target
        self._learned += 1

    def _predict_one(self, x: Features) -> float:
        """Predict one example."""
        try:
            return self._back(number_of(self._now, x))
        except MillstreamError as error:
            raise error.by(self.name) from None

    def _predict_interval_one(self, x: Features, coverage: float = 0.9) -> tuple[float, float]:
        """An interval that contains the target with probability `coverage`."""
        low, high = sorted(map(self._back, self._now.predict_interval_one(x, coverage)))
        return low, high

    def _back(self, z: float) -> float:
        try:
            number = float(self._inverse(self._target, z))
        except OverflowError:
            number = math.inf
        if math.isnan(number):
            raise InvalidValue(f"{self.name}: the inverse of {z!r} must be a number, got nan")
        return max(-sys.float_info.max, min(number, sys.float_info.max))

    def inspect(self) -> Any:
        """The regressor as plain data."""
        return {"model": self._now.inspect() if callable(getattr(self._now, "inspect", None)) else None}


class CompiledTarget(NativeWrapper):
    """The compiled form, for native regressors."""

    def _build_around(self, **parameters: Any) -> None:
        refuse_learned(self.name, [parameters["model"]])
        NativeWrapper.__init__(self, **parameters)

    @classmethod
    def _revive(cls, source: Any) -> Any:
        model = cls.__new__(cls)
        model._load(source)
        model._publish()
        return model

    @property
    def model(self) -> Any:
        """A copy of the regressor in its current state."""
        return self._member(0)

    def inspect(self) -> Any:
        """What was learned of the targets, and the regressor, as plain data."""
        return Native.inspect(self)


def _square(z: float) -> float:
    return max(z, 0.0) ** 2


def _same(z: float) -> float:
    return z


#: Functions by name, with the names of their inverses and these.
_FUNCTIONS: dict[str, tuple[Callable[[float], float], str, Callable[[float], float]]] = {
    "identity": (_same, "identity", _same),
    "log": (math.log, "exp", math.exp),
    "log1p": (math.log1p, "expm1", math.expm1),
    "sqrt": (math.sqrt, "square", _square),
}


class TargetTransformRegressor(TransformedTarget):
    """A regressor that learns a function of the target, such as its logarithm, and predicts by the inverse.

    Choose it for a target with a skewed distribution, such as prices and counts: with `"log1p"`, errors of a
    few percent weigh the same for small and for large targets. The predictions are then closer to medians than
    to means.

    Functions by name are compiled together with a native regressor. Functions in Python work with any regressor;
    rows then cross to Python one by one. A target at which the function has no finite value is refused, and the
    model stays as it was. If the regressor predicts intervals, their limits are transformed too.

    Parameters
    ----------
    model
        Regressor: any native model or pipeline, or a Python model of your own, which is cloned.
    func
        Function of the target: "log", "log1p", "sqrt", "identity", or a function in Python.
    inverse_func
        Inverse of a function in Python. A function by name has its inverse, which need not be given: "exp",
        "expm1", "square", "identity".

    Examples
    --------
    >>> import math
    >>> from millstream import compose, linear_model
    >>> model = compose.TargetTransformRegressor(linear_model.LeastSquares(), "log")
    >>> for x in range(1, 9):
    ...     model.learn_one({"x": float(x)}, 2.0 * math.exp(0.5 * x))
    >>> round(model.predict_one({"x": 10.0}) / (2.0 * math.exp(5.0)), 2)
    1.0

    The same with functions in Python:

    >>> model = compose.TargetTransformRegressor(linear_model.LeastSquares(), math.log, math.exp)
    """

    name = "compose.TargetTransformRegressor"

    def __new__(cls, model: Any = None, func: Any = None, inverse_func: Any = None, **others: Any) -> Any:
        model = others.get("regressor", model)
        if cls is TargetTransformRegressor and compiles(model) and isinstance(func, str):
            return _NativeTargetTransformRegressor.__new__(_NativeTargetTransformRegressor)
        return super().__new__(cls)

    def __init__(
        self,
        model: Any,
        func: str | Callable[[float], float],
        inverse_func: str | Callable[[float], float] | None = None,
    ) -> None:
        self._functions = _functions(self.name, func, inverse_func)
        self._start(model=model, func=func, inverse_func=inverse_func)

    @classmethod
    def _revive(cls, source: Any) -> Any:
        return _NativeTargetTransformRegressor._revive(source)

    @property
    def func(self) -> Any:
        """The function of the target."""
        return self.parameters["func"]

    @property
    def inverse_func(self) -> Any:
        """The inverse in Python, or None."""
        return self.parameters.get("inverse_func")

    def _forward(self, target: Any, y: float) -> float:
        z = _value(f"{self.name}: func", self._functions[0], y)
        if not math.isfinite(z):
            raise InvalidValue(f"{self.name}: func must return a finite number for the target {y!r}, got {z!r}")
        return z

    def _inverse(self, target: Any, z: float) -> float:
        return _value(f"{self.name}: inverse_func", self._functions[1], z)


def _value(who: str, function: Callable[[float], float], x: float) -> float:
    """The value of a user's function; infinite if it is too large for a float."""
    try:
        value = function(x)
    except MillstreamError:
        raise
    except OverflowError:
        return math.inf
    except (ArithmeticError, TypeError, ValueError) as error:
        raise InvalidValue(f"{who} must return a number for {x!r}, got {type(error).__name__}: {error}") from error
    if not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise InvalidType(f"{who} must return a number for {x!r}, got {typed(value)}")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        raise InvalidType(f"{who} must return a number for {x!r}, got {typed(value)}") from None


def _functions(who: str, func: Any, inverse_func: Any) -> tuple[Any, Any]:
    if isinstance(func, str):
        if func not in _FUNCTIONS:
            names = ", ".join(_FUNCTIONS)
            raise InvalidValue(f"{who}: func must be one of {names}, or a function, got {quoted(func)}")
        function, name, inverse = _FUNCTIONS[func]
        if inverse_func not in (None, name):
            raise InvalidValue(
                f"{who}: inverse_func must be {name!r} for func={func!r}, got {quoted(inverse_func)}"
            )
        return function, inverse
    for name, function in (("func", func), ("inverse_func", inverse_func)):
        if not callable(function):
            raise InvalidType(f"{who}: {name} must be a function, got {quoted(function)}")
    return func, inverse_func


class _NativeTargetTransformRegressor(CompiledTarget, TargetTransformRegressor):
    def __init__(self, model: Any, func: Any, inverse_func: Any = None) -> None:
        _functions("compose.TargetTransformRegressor", func, inverse_func)
        self._build_around(model=model, func=func, inverse_func=inverse_func)


_NativeTargetTransformRegressor.__name__ = "TargetTransformRegressor"
