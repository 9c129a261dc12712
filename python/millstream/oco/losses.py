"""The loss of one round: a user's own functions, or a built-in loss.

A loss has a value and a (sub)gradient at each decision. Built-in losses are functions of ⟨w, x⟩, so that many of
them can be summed in one operation (`total.py`); `many` creates a sequence of them from a matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self, overload

import numpy as np

from millstream.errors import InvalidType, InvalidValue
from millstream.oco.vectors import Array, matrix, number, shown, vector

__all__ = ["Linear", "Loss", "Losses", "SquaredDistance", "as_loss", "as_losses"]


class Loss:
    """The convex loss of a round, defined by your own functions.

    Choose it for losses that are not built in. With a value and a gradient, every learner accepts it. With a
    gradient alone, the report contains the linearised losses ⟨∇, w⟩, whose regret is an upper bound. With a value
    alone, learners that require gradients raise an error unless `numerical` is set.

    Parameters
    ----------
    value
        returns the loss of a decision, a number
    gradient
        returns the gradient at a decision, or any subgradient
    numerical
        without a gradient, compute it by central differences, which takes 2 d values
    strong_convexity
        a number σ such that the loss minus σ/2 ‖w‖² is convex; 0 if unknown
    dimension
        the length of a decision, if the decision set does not define it

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import oco
    >>> loss = oco.Loss(lambda w: float(np.exp(w[0]) + w[1] ** 2), numerical=True)
    >>> loss.value([0.0, 3.0]), loss.gradient([0.0, 3.0]).round(6).tolist()
    (10.0, [1.0, 6.0])
    """

    def __init__(
        self,
        value: Callable[[Array], Any] | None = None,
        gradient: Callable[[Array], Any] | None = None,
        *,
        numerical: bool = False,
        strong_convexity: float = 0.0,
        dimension: int | None = None,
    ) -> None:
        for what, given in (("value", value), ("gradient", gradient)):
            if given is not None and not callable(given):
                raise InvalidType(f"oco.Loss: {what} must be a function of a decision, got {shown(given)}")
        if value is None and gradient is None:
            raise InvalidValue("oco.Loss: a loss needs a value, a gradient or both")
        self._value, self._gradient, self.numerical = value, gradient, bool(numerical)
        self._dimension = dimension
        self.strong_convexity = number("oco.Loss", "strong_convexity", strong_convexity)
        if self.strong_convexity < 0:
            raise InvalidValue(f"oco.Loss: strong_convexity must be at least 0, got {strong_convexity}")

    @property
    def dimension(self) -> int | None:
        """The length of a decision, if the loss defines it."""
        return self._dimension

    def value(self, w: Any) -> float:
        """The loss of a decision."""
        w = np.asarray(w, dtype=np.float64)
        if self._value is None:
            return float(w @ self.gradient(w))
        return number("oco.Loss", "a loss", self._value(w.copy()))

    def gradient(self, w: Any) -> Array:
        """A subgradient at a decision."""
        w = np.asarray(w, dtype=np.float64)
        if self._gradient is not None:
            return vector("oco.Loss", "a gradient", self._gradient(w.copy()), len(w))
        if not self.numerical:
            raise InvalidValue("oco.Loss: this loss has no gradient: give gradient=…, or numerical=True")
        step = float(np.finfo(np.float64).eps) ** (1 / 3) * np.maximum(np.abs(w), 1.0)
        sides = np.array([[self.value(w + sign * shift) for sign in (1, -1)] for shift in np.diag(step)])
        return vector("oco.Loss", "a numerical gradient", (sides[:, 0] - sides[:, 1]) / (2 * step), len(w))

    def __call__(self, w: Any) -> float:
        return self.value(w)


class Linear(Loss):
    """The linear loss ⟨z, w⟩; on the simplex, z holds the loss of each expert.

    Parameters
    ----------
    z
        the coefficients

    Examples
    --------
    >>> from millstream import oco
    >>> oco.Linear([1.0, -2.0]).value([3.0, 1.0])
    1.0
    """

    def __init__(self, z: Any) -> None:
        self.z = vector("oco.Linear", "z", z)
        self.strong_convexity = 0.0

    @property
    def dimension(self) -> int:
        return len(self.z)

    def value(self, w: Any) -> float:
        # Multiplied and summed, not `@`, so that the result is bit-identical to that of a matrix row.
        return float((self.z * w).sum())

    def gradient(self, w: Any) -> Array:
        return self.z.copy()

    @classmethod
    def many(cls, z: Any) -> Losses:
        """A sequence of linear losses from a matrix of rounds by coordinates."""
        return Losses(cls, matrix("oco.Linear", "z", z))

    def __repr__(self) -> str:
        return f"Linear({shown(self.z.tolist())})"


class SquaredDistance(Loss):
    """‖w − x‖²: online quadratic optimisation, in which the leader is the mean of the points.

    Parameters
    ----------
    x
        the point

    Examples
    --------
    >>> from millstream import oco
    >>> oco.SquaredDistance([1.0, 1.0]).gradient([3.0, 1.0]).tolist()
    [4.0, 0.0]
    """

    def __init__(self, x: Any) -> None:
        self.x = vector("oco.SquaredDistance", "x", x)
        self.strong_convexity = 2.0

    @property
    def dimension(self) -> int:
        return len(self.x)

    def value(self, w: Any) -> float:
        away = w - self.x
        return float(away @ away)

    def gradient(self, w: Any) -> Array:
        return np.asarray(2.0 * (w - self.x), dtype=np.float64)

    @classmethod
    def many(cls, x: Any) -> Losses:
        """A sequence of such losses from a matrix of rounds by coordinates."""
        return Losses(cls, matrix("oco.SquaredDistance", "x", x))

    def __repr__(self) -> str:
        return f"SquaredDistance({shown(self.x.tolist())})"


class MarginLoss(Loss):
    """φ(⟨w, x⟩, y). A subclass defines φ, its slope, the lines below φ, and a smooth φ if φ has a kink.

    All except the square are one of three curves, up to a linear function of r = margin − kink:

    - "kink": rise · max(0, r)
    - "softplus": log(1 + exp(r)), whose slope rises by 1
    - "logarithm": −log(r), which is infinite where r is not above 0
    """

    #: Whether the slope is continuous.
    smooth: ClassVar[bool] = True
    #: "square", "kink", "softplus" or "logarithm".
    curve: ClassVar[str]
    #: Whether all losses are nonnegative.
    nonnegative: ClassVar[bool] = True
    #: The size of the constants in `below`, which bounds their rounding error.
    constant: ClassVar[float] = 0.0

    def __init__(self, x: Any, y: float) -> None:
        self.x = vector(f"oco.{type(self).__name__}", "x", x)
        self.y = number(f"oco.{type(self).__name__}", "y", y)
        self._check(np.array([self.y]))
        self.strong_convexity = 0.0

    @classmethod
    def _check(cls, y: Array) -> None:
        """Raise an error for invalid targets."""

    @property
    def dimension(self) -> int:
        return len(self.x)

    @staticmethod
    def phi(margin: Array, y: Array) -> Array:
        """The losses of many margins."""
        raise NotImplementedError

    @staticmethod
    def slope(margin: Array, y: Array) -> Array:
        """Their derivatives with respect to the margin."""
        raise NotImplementedError

    @classmethod
    def rounded(cls, margin: Array, y: Array, width: float) -> tuple[Array, Array]:
        """A smooth function below φ, with its slope; the smaller the `width`, the closer to φ."""
        return cls.phi(margin, y), cls.slope(margin, y)

    @classmethod
    def pieces(cls, y: Array) -> tuple[Array, Array, Array]:
        """The kink of each curve, the slope far to its left, and by how much the slope rises to the right."""
        raise NotImplementedError

    @classmethod
    def allowed(cls, slope: Array, y: Array) -> Array:
        """The nearest slopes that a line below φ can have."""
        _, left, rise = cls.pieces(y)
        return np.clip(slope, left, left + rise)

    @classmethod
    def below(cls, margin: Array, slope: Array, y: Array) -> Array:
        """The height at a margin of the highest line below φ that has an allowed slope."""
        raise NotImplementedError

    def _margin(self, w: Any) -> Array:
        return np.atleast_1d(self.x @ np.asarray(w, dtype=np.float64))

    def value(self, w: Any) -> float:
        return float(self.phi(self._margin(w), np.array([self.y]))[0])

    def gradient(self, w: Any) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self.slope(self._margin(w), np.array([self.y]))[0] * self.x, dtype=np.float64)

    @classmethod
    def many(cls, x: Any, y: Any) -> Losses:
        """A sequence of such losses from a matrix of rounds by features and a vector of targets."""
        rows = matrix(f"oco.{cls.__name__}", "x", x)
        targets = vector(f"oco.{cls.__name__}", "y", y, len(rows)) if len(rows) else np.zeros(0)
        cls._check(targets)
        return Losses(cls, rows, targets)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({shown(self.x.tolist())}, {self.y:g})"


class Losses(Sequence[Loss]):
    """A sequence of losses of one kind, stored as a matrix; created by `Linear.many`, `Squared.many`, …

    Examples
    --------
    >>> from millstream import oco
    >>> losses = oco.Squared.many([[1.0, 0.0], [0.0, 2.0]], [3.0, 1.0])
    >>> len(losses), losses[1]
    (2, Squared([0.0, 2.0], 1))
    """

    def __init__(self, kind: type[Any], rows: Array, targets: Array | None = None) -> None:
        self.kind, self.rows, self.targets = kind, rows, targets

    @property
    def dimension(self) -> int:
        """The length of a decision."""
        return int(self.rows.shape[1])

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Loss: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Loss | Self:
        if isinstance(index, slice):
            targets = None if self.targets is None else self.targets[index]
            return type(self)(self.kind, self.rows[index], targets)
        found: Loss = (
            self.kind(self.rows[index])
            if self.targets is None
            else self.kind(self.rows[index], self.targets[index])
        )
        return found

    def __repr__(self) -> str:
        return f"<{len(self):,} losses {self.kind.__name__} of {self.dimension} numbers>"


def as_loss(loss: Any) -> Loss:
    """A loss from a loss, a vector (linear), a function, or a pair of value and gradient."""
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, tuple) and len(loss) == 2 and all(callable(part) for part in loss):
        return Loss(*loss)
    if callable(loss):
        return Loss(loss)
    if isinstance(loss, (np.ndarray, list, tuple)) or hasattr(loss, "__array__"):
        return Linear(loss)
    raise InvalidType(
        f"oco: a loss must be an oco.Loss, a vector, a function or a pair of value and gradient, got {shown(loss)}"
    )


def as_losses(losses: Any) -> Losses | None:
    """Losses of one kind from a matrix or a table of numbers; None for other losses."""
    if isinstance(losses, Losses):
        return losses
    if isinstance(losses, np.ndarray) and losses.dtype != object:
        return Linear.many(losses)
    if isinstance(losses, (list, tuple)) and losses and not any(isinstance(each, Loss) for each in losses):
        if all(isinstance(each, (list, tuple, np.ndarray)) and np.ndim(each) == 1 for each in losses[:1]):
            return None if any(callable(part) for part in losses[0]) else Linear.many(losses)
        return None
    if hasattr(losses, "to_numpy"):
        return Linear.many(losses.to_numpy())
    return None
