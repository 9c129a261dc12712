"""`KernelSGD` with a Python function or a string kernel: the native recursion, in NumPy.

The core does not call Python, and no Python runs under a model's lock. Kernel values are therefore computed first;
the rest is arithmetic. On any failure the model is unchanged.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from millstream import _core, losses
from millstream._echo import quoted
from millstream._part import Part, describe, from_description, to_json
from millstream.base import Classifier, Features, Label, Regressor
from millstream.errors import InvalidType, InvalidValue
from millstream.kernel.strings import String
from millstream.verbs import Scores

__all__ = ["Function", "PythonKernelModel", "PythonKernelSGD", "PythonKernelSGDRegressor"]

#: A point closer to the span of the others than this fraction of its length is in the span, up to rounding.
LEAST_FRACTION = 1e-10


class Function(Part):
    """A Python function of two examples as a kernel.

    `KernelSGD(kernel=f)`, `KernelRLS(kernel=f)` and `Nystroem(kernel=f)` wrap a plain function, which then
    receives vectors, as in scikit-learn: the numbers of each example in the order in which the features appeared,
    with 0 for missing values. The function should be symmetric and positive definite. The model can be pickled if
    the function can.

    Parameters
    ----------
    function
        Function of two examples that returns a finite number.
    takes
        Arguments of the function: "vectors" of numbers, or "dicts", the examples as they were given.

    Examples
    --------
    >>> from millstream import kernel
    >>> model = kernel.KernelSGD(lambda a, b: (1.0 + a @ b) ** 2)
    >>> for x, y in [(-2.0, True), (0.1, False), (2.0, True), (-0.3, False)] * 10:
    ...     model.learn_one({"x": x}, y)
    >>> [model.predict_one({"x": x}) for x in (-3.0, 0.0, 3.0)]
    [True, False, True]
    >>> model = kernel.KernelSGD(kernel.Function(lambda a, b: float(a["size"] == b["size"]), takes="dicts"))
    >>> model.learn_one({"size": "XL"}, True)
    >>> model.predict_one({"size": "XL"}), model.predict_one({"size": "S"})
    (True, False)
    """

    def __init__(self, function: Callable[[Any, Any], Any], takes: str = "vectors") -> None:
        if not callable(function):
            raise InvalidType(f"kernel.Function: function must be callable, got {quoted(function)}")
        if takes not in ("vectors", "dicts"):
            raise InvalidValue(f"kernel.Function: takes must be one of vectors, dicts, got {quoted(takes)}")
        self.function = function
        self.takes = takes

    def __call__(self, a: Any, b: Any) -> float:
        return float(self.function(a, b))

    def row(self, x: Any, points: list[Any]) -> Any:
        """The kernel between an example and each point."""
        called = getattr(self.function, "__name__", type(self.function).__name__)
        values = np.zeros(len(points))
        for index, point in enumerate(points):
            try:
                values[index] = self.function(point, x)
            except Exception as error:
                raise InvalidValue(f"the kernel {called} raised {type(error).__name__}: {error}") from error
            if not math.isfinite(values[index]):
                raise InvalidValue(f"the kernel {called} must return a finite number, got {values[index]}")
        return values


#: From scores to the slopes of the loss by output, the loss and the margin.
_Slopes: TypeAlias = Callable[[Any], tuple[Any, float, float]]
#: A kernel that is a Python function.
KernelFunction: TypeAlias = Function | Callable[[Any, Any], Any]


def needs_python(kernel: Any) -> bool:
    """Whether a kernel needs Python: a function, or the string kernel."""
    if isinstance(kernel, type):
        return False
    given = describe(kernel) if not isinstance(kernel, Function) else kernel
    name = given.get("name") if isinstance(given, dict) else given
    return (isinstance(name, str) and name == String.name) or callable(given)


class PythonKernelModel(Part):
    """Base class of kernel learners in Python: validated parameters, and examples as the kernel receives them."""

    tolerance: float

    def _set_up(self, kernel: Any, parameters: dict[str, Any]) -> None:
        given = {name: describe(value) for name, value in parameters.items()}
        model = _core.Model()
        model._build(to_json({"name": self.name, "parameters": {**given, "kernel": "kernel.Linear"}}))
        self._described = json.loads(model._description())["parameters"]
        del self._described["kernel"]
        for name, value in self._described.items():
            setattr(self, name, from_description(value))
        kernel = (
            from_description({"name": kernel})
            if isinstance(kernel, str)
            else from_description(describe_or_keep(kernel))
        )
        self.kernel: Any = kernel if isinstance(kernel, (String, Function)) else Function(kernel)
        self._features: dict[Any, int] = {}
        self._points: list[Any] = []

    @property
    def parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("kernel", *self._described)}

    def describe(self) -> dict[str, Any]:
        if not isinstance(self.kernel, String):
            raise InvalidType(f"{self.name}: a Python function as kernel has no description; use pickle")
        return {"name": self.name, "parameters": {"kernel": self.kernel.describe(), **self._described}}

    def _read(self, x: Features, learning: bool) -> tuple[Any, dict[Any, int]]:
        """An example as the kernel receives it, and the known features."""
        try:
            if isinstance(self.kernel, String):
                return self.kernel.read(x), self._features
            if self.kernel.takes == "dicts":
                return dict(x), self._features
            return self._vector(x, learning)
        except (InvalidType, InvalidValue) as error:
            raise error.by(str(self.name)) from None

    def _vector(self, x: Features, learning: bool) -> tuple[Any, dict[Any, int]]:
        features = dict(self._features) if learning else self._features
        numbers: dict[int, float] = {}
        for name, value in x.items():
            if value is None or (isinstance(value, float) and math.isnan(value)):
                continue
            if isinstance(value, str):
                raise InvalidType(
                    f"the kernel takes vectors of numbers, feature {quoted(name)} is {quoted(value)}; "
                    "kernel.Function(…, takes='dicts') gives it examples as they are"
                )
            if not math.isfinite(value):
                raise InvalidValue(f"feature {quoted(name)} must be finite, got {value}")
            if learning:
                features.setdefault(name, len(features))
            if name in features:
                numbers[features[name]] = float(value)
        vector = np.zeros(len(features))
        vector[list(numbers)] = list(numbers.values())
        return vector, features

    def _row(self, point: Any, points: list[Any]) -> Any:
        try:
            return self.kernel.row(point, points)
        except (InvalidType, InvalidValue) as error:
            raise error.by(str(self.name)) from error.__cause__

    def _meet(self, x: Features) -> tuple[Any, dict[Any, int], list[Any], Any, float]:
        """An example to learn, as the kernel receives it, the features then known, the points padded to its width,
        and its kernel values with each of them and with itself."""
        point, features = self._read(x, True)
        missing = len(features) - len(self._features)
        points = [np.append(known, np.zeros(missing)) for known in self._points] if missing else self._points
        return point, features, points, self._row(point, points), float(self._row(point, [point])[0])

    def _check_weight(self, w: float) -> None:
        if not (math.isfinite(w) and w >= 0.0):
            raise InvalidValue(f"{self.name}: the weight must be finite and not negative, got {w}")

    def _overflow(self) -> InvalidValue:
        return InvalidValue(f"{self.name}: this example would make the state overflow; it was not learned")


class _Descent(PythonKernelModel):
    """Base class of the classifier and the regressor."""

    loss: losses.Loss
    l2: float
    intercept: bool
    budget: int | None
    maintenance: str

    def __init__(
        self,
        kernel: Any,
        loss: Any,
        learning_rate: Any = 0.1,
        l2: float = 0.0,
        intercept: bool = False,
        budget: int | None = 1000,
        maintenance: str = "auto",
        tolerance: float = 0.01,
    ) -> None:
        others = (loss, learning_rate, l2, intercept, budget, maintenance, tolerance)
        names = ("loss", "learning_rate", "l2", "intercept", "budget", "maintenance", "tolerance")
        self._set_up(kernel, dict(zip(names, others, strict=True)))
        self._gram = np.zeros((0, 0))
        self._norms = np.zeros(0)
        self._born = np.zeros(0)
        self._c = np.zeros((0, 0))
        self._b = np.zeros(0)
        self._t = 0
        self._admitted = 0
        self._cost = 0.0

    @property
    def learned(self) -> int:
        """Examples learned."""
        return self._t

    @property
    def points(self) -> list[dict[str, Any]]:
        """The stored points and their coefficients by output."""
        return [{"coefficients": self._c[:, i].tolist(), "example": x} for i, x in enumerate(self._points)]

    def _scores(self, x: Features) -> Any:
        return self._c @ self._row(self._read(x, False)[0], self._points) + self._b

    def _learn(self, x: Features, w: float, outputs: Any, slopes: _Slopes) -> None:
        """One step: `outputs` are coefficients and intercepts, possibly of more outputs than before."""
        self._check_weight(w)
        if w == 0.0:
            return
        point, features, points, row, itself = self._meet(x)
        c, b = outputs
        slope, loss, margin = slopes(c @ row + b)
        rate = _core.rate(json.dumps(self._described["learning_rate"]), self._t + 1.0)
        step, decay = -rate * w * slope, max(0.0, 1.0 - rate * self.l2)
        with np.errstate(over="ignore", invalid="ignore"):
            kept = _Points(self, points, decay * c, row, itself, step, rate, (loss, margin))
            if step.any():
                kept.admit(point)
        if not (np.isfinite(kept.c).all() and np.isfinite(b + step).all()):
            raise self._overflow()
        self._features, self._c = features, kept.c
        self._b = b + step if self.intercept else b
        self._points, self._gram, self._norms, self._born = kept.points, kept.gram, kept.norms, kept.born
        self._cost, self._admitted, self._t = kept.cost, kept.admitted, self._t + 1


def describe_or_keep(kernel: Any) -> Any:
    """The description of a string kernel, or the function itself."""
    return kernel.describe() if isinstance(kernel, String) else kernel


class _Points:
    """The points while a new one is admitted; see crates/millstream-core/src/kernel/budget.rs."""

    def __init__(
        self, of: Any, points: list[Any], c: Any, row: Any, itself: float, step: Any, rate: float, fit: Any
    ) -> None:
        self.maintenance, self.budget, self.tolerance = of.maintenance, of.budget, of.tolerance
        self.full = self.budget is not None and len(points) >= self.budget
        self.points, self.c, self.gram, self.norms, self.born = list(points), c, of._gram, of._norms, of._born
        self.cost, self.admitted, self.t = of._cost, of._admitted, of._t + 1
        self.row, self.itself, self.step, self.rate = row, itself, step, rate
        self.loss, self.margin = fit
        projects = self.maintenance.startswith("projectron") or (self.maintenance == "projection" and self.budget)
        self.pairs = bool(projects) or self.maintenance == "forgetron"

    def admit(self, point: Any) -> None:
        self.admitted += 1
        if self.maintenance.startswith("projectron"):
            self.projectron(point)
        elif self.maintenance == "projection" and self.budget is not None:
            self.project(point)
        elif not self.full:
            self.push(point)
        elif self.maintenance == "forgetron":
            self.forget(point)
        elif (index := self.least()) is not None:
            self.replace(index, point)

    def push(self, point: Any) -> None:
        self.points.append(point)
        self.c = np.column_stack([self.c, self.step])
        self.norms, self.born = np.append(self.norms, self.itself), np.append(self.born, self.t)
        if self.pairs:
            self.gram = np.block(
                [[self.gram, self.row[:, None]], [self.row[None, :], np.full((1, 1), self.itself)]]
            )

    def replace(self, index: int, point: Any) -> None:
        self.points[index] = point
        self.c, self.norms, self.born = self.c.copy(), self.norms.copy(), self.born.copy()
        self.c[:, index], self.norms[index], self.born[index] = self.step, self.itself, self.t
        if self.pairs:
            self.gram = self.gram.copy()
            self.gram[index], self.gram[:, index] = self.row, self.row
            self.gram[index, index] = self.itself

    def least(self) -> int | None:
        sizes = np.sum(self.c**2, axis=0) * self.norms
        index = int(np.lexsort((self.born, sizes))[0])
        return index if sizes[index] <= float(np.sum(self.step**2)) * self.itself else None

    def projection(self) -> tuple[Any, float]:
        """Coefficients of the new point's projection onto the others, and its squared distance from their span."""
        a = np.linalg.solve(self.gram, self.row) if self.points else np.zeros(0)
        return a, self.itself - float(self.row @ a)

    def projectron(self, point: Any) -> None:
        a, distance = self.projection()
        fraction = 1.0
        if self.maintenance.endswith("+") and self.margin > 0.0:
            length = max(0.0, self.itself - distance) * self.rate
            eta = math.sqrt(max(self.tolerance, LEAST_FRACTION) * abs(self.itself))
            gain = self.loss - math.sqrt(max(0.0, distance)) / eta
            fraction = min(self.loss, 2 * gain, length) / length if gain > 0.0 and length > 0.0 else 0.0
        elif distance > max(self.tolerance, LEAST_FRACTION) * abs(self.itself) and not self.full:
            self.push(point)
            return
        self.step = fraction * self.step
        self.c = self.c + np.outer(self.step, a)

    def project(self, point: Any) -> None:
        a, distance = self.projection()
        apart = distance > LEAST_FRACTION * abs(self.itself)
        if apart and not self.full:
            self.push(point)
        elif not apart or (index := self.least()) is None:
            self.c = self.c + np.outer(self.step, a)
        else:
            gone, values = self.c[:, index].copy(), self.gram[index].copy()
            values[index] = self.row[index]
            self.replace(index, point)
            self.c += np.outer(gone, np.linalg.solve(self.gram, values))

    def forget(self, point: Any) -> None:
        oldest = int(np.argmin(self.born))
        f = self.c @ self.gram[oldest] + self.step * self.row[oldest]
        halves = (2.0 if len(self.c) > 1 else 1.0) / self.rate**2
        square, product = halves * float(np.sum(self.c[:, oldest] ** 2)), halves * float(self.c[:, oldest] @ f)
        room = 15.0 / 32.0 * self.admitted - self.cost
        a, b = square - 2.0 * product, 2.0 * math.sqrt(square)
        phi = 1.0
        if a + b > room:
            phi = min(1.0, max(0.0, 2.0 * room / (b + math.sqrt(max(0.0, b * b + 4.0 * a * room)))))
        self.cost += a * phi * phi + b * phi
        self.c, self.step = phi * self.c, phi * self.step
        self.replace(oldest, point)


class PythonKernelSGD(_Descent, Scores, Classifier):
    """`KernelSGD` for a Python function or a string kernel."""

    name = "kernel.KernelSGD"

    def __init__(self, kernel: Any, loss: Any = "losses.Hinge", *others: Any, **more: Any) -> None:
        super().__init__(kernel, loss, *others, **more)
        #: By code, as in native models: 1 and True have code 1, whichever came first.
        self._labels: list[Label | None] = []

    @property
    def classes(self) -> list[Label]:
        """The classes learned so far."""
        return [label for label in self._labels if label is not None]

    def _with(self, y: Any) -> list[Label | None]:
        """The labels by code with y among them."""
        if not isinstance(y, (bool, int, str, np.bool_, np.integer)):
            raise InvalidType(f"{self.name}: the target must be a class label (bool, int or str), got {quoted(y)}")
        label = y.item() if isinstance(y, np.generic) else y
        if label in self.classes:
            return self._labels
        if not self._labels:
            return [False, True] if isinstance(label, bool) else [None, label] if label == 1 else [label]
        if None in self._labels:
            return [label, *self._labels[1:]]
        return [*self._labels, label]

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example."""
        labels = self._with(y)
        code = labels.index(y)
        c, b = self._c, self._b
        if not len(c):
            c, b = np.zeros((1, len(self._points))), np.zeros(1)
        if code > 1 and len(c) == 1:
            c, b = np.vstack([-0.5 * c, 0.5 * c]), np.array([-0.5 * b[0], 0.5 * b[0]])
        if code > 1:
            more = max(0, code + 1 - len(c))
            c, b = np.vstack([c, np.zeros((more, c.shape[1]))]), np.append(b, np.zeros(more))
        loss = self.loss

        def slopes(scores: Any) -> tuple[Any, float, float]:
            if len(scores) == 1:
                sign = 1.0 if code == 1 else -1.0
                score = float(scores[0])
                return np.array([loss.slope(sign, score)]), float(loss.value(sign, score)), sign * score
            others = np.array(scores)
            others[code] = -math.inf
            rival = int(np.argmax(others))
            margin = float(scores[code] - others[rival])
            slope = np.zeros(len(scores))
            slope[code], slope[rival] = 0.5 * loss.slope(1.0, margin), -0.5 * loss.slope(1.0, margin)
            return slope, float(loss.value(1.0, margin)), margin

        before = self._t
        self._learn(x, w, (c, b), slopes)
        if self._t > before:
            self._labels = labels

    def score_one(self, x: Features) -> float:
        """The signed distance to the boundary between two classes."""
        scores = self._scores(x)
        if len(scores) > 1:
            raise InvalidType(f"{self.name}: there is no single score with more than two classes")
        return float(scores[0]) if len(scores) else 0.0

    def predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example."""
        scores = self._scores(x)
        if not len(scores):
            return {}
        if len(scores) == 1:
            p = self._probability(float(scores[0]))
            probabilities = [1.0 - p, p]
        else:
            e = np.exp(scores - np.max(scores))
            probabilities = (e / e.sum()).tolist()
        known = {label: p for label, p in zip(self._labels, probabilities, strict=False) if label is not None}
        total = sum(known.values())
        return {label: p / total if total > 0 else 1.0 / len(known) for label, p in known.items()}

    def _probability(self, score: float) -> float:
        if isinstance(self.loss, (losses.SquaredHinge, losses.ModifiedHuber)):
            return 0.5 * (min(1.0, max(-1.0, score)) + 1.0)
        return 1.0 / (1.0 + math.exp(-score)) if score > -700.0 else 0.0


class PythonKernelSGDRegressor(_Descent, Regressor):
    """`KernelSGDRegressor` for a Python function or a string kernel."""

    name = "kernel.KernelSGDRegressor"

    def __init__(self, kernel: Any, loss: Any = "losses.Squared", *others: Any, **more: Any) -> None:
        super().__init__(kernel, loss, *others, **more)

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example."""
        if isinstance(y, (str, bytes)) or y is None or not math.isfinite(y):
            raise InvalidValue(f"{self.name}: the target must be a finite number, got {quoted(y)}")
        loss = self.loss
        if isinstance(loss, losses.Poisson) and y < 0:
            raise InvalidValue(f"{self.name}: the target of losses.Poisson must not be negative, got {y}")
        c, b = self._c, self._b
        if not len(c):
            c, b = np.zeros((1, len(self._points))), np.zeros(1)
        self._learn(x, w, (c, b), lambda scores: (np.array([loss.slope(y, float(scores[0]))]), 0.0, 0.0))

    def predict_one(self, x: Features) -> float:
        """Predict one example."""
        scores = self._scores(x)
        score = float(scores[0]) if len(scores) else 0.0
        return math.exp(min(score, 709.0)) if isinstance(self.loss, losses.Poisson) else score
