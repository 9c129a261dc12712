"""`KernelRLS` and `Nystroem` with a Python function or a string kernel, in NumPy.

Both express an example in an orthonormal basis of the span of the points. L⁻¹ of the Gram matrix K = L Lᵀ is
stored: it gains a row when a point joins, and no row ever changes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millstream._echo import quoted
from millstream.base import Features, Regressor, Transformer
from millstream.errors import InvalidValue
from millstream.kernel.python_kernels import LEAST_FRACTION, PythonKernelModel

__all__ = ["PythonKernelRLS", "PythonNystroem"]


class _Span(PythonKernelModel):
    """Points of which none is nearly a linear combination of the earlier ones."""

    def _begin(self) -> None:
        #: L⁻¹
        self._inverse = np.zeros((0, 0))

    def _coordinates(self, x: Features) -> Any:
        """An example in the basis of the points."""
        return self._inverse @ self._row(self._read(x, False)[0], self._points)

    def _place(self, row: Any, itself: float, room: bool) -> tuple[Any, Any]:
        """The coordinates of an example, and L⁻¹ including it if it joins the points."""
        u = self._inverse @ row
        distance = itself - float(u @ u)
        if not (np.isfinite(u).all() and math.isfinite(distance)):
            raise self._overflow()
        if not room or distance <= max(self.tolerance, LEAST_FRACTION) * abs(itself):
            return u, None
        height = math.sqrt(distance)
        n = len(u)
        inverse = np.zeros((n + 1, n + 1))
        inverse[:n, :n] = self._inverse
        inverse[n, :n], inverse[n, n] = -(u @ self._inverse) / height, 1.0 / height
        return np.append(u, height), inverse


class PythonKernelRLS(_Span, Regressor):
    """`KernelRLS` for a Python function or a string kernel."""

    name = "kernel.KernelRLS"
    l2: float
    budget: int | None

    def __init__(self, kernel: Any, tolerance: float = 0.01, l2: float = 0.01, budget: int | None = 500) -> None:
        self._set_up(kernel, {"tolerance": tolerance, "l2": l2, "budget": budget})
        self._begin()
        #: R and z of R θ = z, side by side.
        self._squares = np.zeros((0, 1))
        self._theta = np.zeros(0)
        self._t = 0

    @property
    def learned(self) -> int:
        """Examples learned."""
        return self._t

    @property
    def points(self) -> list[dict[str, Any]]:
        """The dictionary: each example in it, and its coefficient in a list of one."""
        coefficients = self._theta @ self._inverse
        return [
            {"coefficients": [float(c)], "example": x} for c, x in zip(coefficients, self._points, strict=True)
        ]

    def predict_one(self, x: Features) -> float:
        """Predict one example."""
        return float(self._theta @ self._coordinates(x)) if self._points else 0.0

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example."""
        if isinstance(y, (str, bytes)) or y is None or not math.isfinite(y):
            raise InvalidValue(f"{self.name}: the target must be a finite number, got {quoted(y)}")
        self._check_weight(w)
        if w == 0.0:
            return
        point, features, points, row, itself = self._meet(x)
        with np.errstate(all="ignore"):
            u, inverse = self._place(row, itself, self.budget is None or len(points) < self.budget)
            squares = self._squares
            if inverse is not None:
                n = len(points)
                squares = np.insert(np.vstack([squares, np.zeros(n + 1)]), n, 0.0, axis=1)
                squares[n, n] = math.sqrt(self.l2)
            squares, theta = _rotated(squares, math.sqrt(w) * np.append(u, float(y)))
        if not (np.isfinite(squares).all() and np.isfinite(theta).all()):
            raise self._overflow()
        self._features, self._points, self._squares, self._theta = features, points, squares, theta
        self._t += 1
        if inverse is not None:
            self._points, self._inverse = [*points, point], inverse


def _rotated(squares: Any, row: Any) -> tuple[Any, Any]:
    """R and z after rotating one more row into them, and θ."""
    squares = squares.copy()
    n = len(squares)
    for j in range(n):
        length = math.hypot(squares[j, j], row[j])
        if length > 0.0:
            cosine, sine = squares[j, j] / length, row[j] / length
            upper, row_rest = squares[j, j:].copy(), row[j:].copy()
            squares[j, j:], row[j:] = cosine * upper + sine * row_rest, cosine * row_rest - sine * upper
            squares[j, j] = length
    theta = squares[:, n].copy()
    for j in reversed(range(n)):
        theta[j] /= squares[j, j]
        theta[:j] -= theta[j] * squares[:j, j]
    return squares, theta


class PythonNystroem(_Span, Transformer):
    """`Nystroem` for a Python function or a string kernel."""

    name = "kernel.Nystroem"
    n_components: int

    def __init__(self, kernel: Any, n_components: int = 100, tolerance: float = 0.01) -> None:
        self._set_up(kernel, {"n_components": n_components, "tolerance": tolerance})
        self._begin()

    @property
    def landmarks(self) -> list[Any]:
        """The landmarks, as the kernel receives them."""
        return list(self._points)

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example."""
        self._check_weight(w)
        if w == 0.0 or len(self._points) == self.n_components:
            return
        point, features, points, row, itself = self._meet(x)
        with np.errstate(all="ignore"):
            _, inverse = self._place(row, itself, True)
        self._features, self._points = features, points
        if inverse is not None:
            self._points, self._inverse = [*points, point], inverse

    def transform_one(self, x: Features) -> dict[str, float]:
        """Transform one example."""
        u = np.zeros(self.n_components)
        if self._points:
            u[: len(self._points)] = self._coordinates(x)
        return {f"nystroem_{index}": value for index, value in enumerate(u.tolist())}
