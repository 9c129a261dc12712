"""Kernel learners by stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from millstream._native import Native
from millstream._part import describe, forwarded
from millstream.base import Classifier, Regressor
from millstream.kernel.kernels import Kernel
from millstream.kernel.python_kernels import (
    KernelFunction,
    PythonKernelSGD,
    PythonKernelSGDRegressor,
    needs_python,
)
from millstream.losses import Loss
from millstream.optim import Schedule
from millstream.verbs import Scores

__all__ = ["KernelSGD", "KernelSGDRegressor"]

#: The regression losses: with one of them the learner is a regressor.
NUMBERS = frozenset(
    f"losses.{name}"
    for name in ("Absolute", "EpsilonInsensitive", "Expectile", "Huber", "Poisson", "Quantile", "Squared")
)


def for_numbers(loss: Any) -> bool:
    """Whether a loss, given as an object, a name or a description, is a regression loss."""
    given = describe(loss)
    name = given.get("name") if isinstance(given, dict) else given
    return isinstance(name, str) and name in NUMBERS


class KernelSGD(Native, Scores, Classifier):
    """Kernel classification or regression by stochastic gradient descent, with any loss.

    The prediction is `f(x) = Σ c_i k(x_i, x)` over stored points. An example with a nonzero slope of the loss
    becomes a point with the coefficient `-learning_rate * slope`, after all other coefficients were multiplied by
    `1 - learning_rate * l2`. The loss determines the task: a classification loss gives a classifier for two or
    more classes, and a regression loss, as in `KernelSGD(loss=losses.Squared())`, a `KernelSGDRegressor`.

    A prediction costs one kernel value per point, so the number of points is bounded by `budget`. When the budget
    is full, `maintenance` determines which point is given up. `budget=None` stores every point; time and memory
    then grow with the stream. For a linear model of constant cost, see `RandomFourierFeatures` and `Nystroem`.

    With `loss=losses.Hinge(margin=0)` and `learning_rate=1` it is the kernel perceptron; with
    `maintenance="forgetron"` the Forgetron, with "projectron" the Projectron. With the hinge loss, `l2` and
    `optim.Optimal(l2)` it is Pegasos.

    Parameters
    ----------
    kernel
        Kernel function: one of `millstream.kernel`, or a Python function of two vectors that returns a number (see
        `Function`). With a function or `String` the model runs in Python.
    loss
        Loss to minimise.
    learning_rate
        Learning rate: a number, or a schedule.
    l2
        L2 penalty: decay of all coefficients, so that old points fade.
    intercept
        Whether to fit an intercept, which takes the same steps.
    budget
        Maximum number of stored points; None for no limit.
    maintenance
        Strategy when the budget is full. "auto" is "merging" for `RBF` and "removal" for other kernels. "removal"
        drops the point with the smallest contribution (the oldest among equals). "projection" also projects the
        dropped point onto the others. "merging" replaces two close points by one, for `RBF` only. "forgetron"
        shrinks all coefficients and drops the oldest point. "projectron" projects each new point onto the stored
        ones, also before the budget is full if it lies near their span. "projectron++" does so too and also learns
        from correctly classified examples with a small margin. Projecting costs the square of the budget.
    tolerance
        For "projectron": distance to the span of the stored points, as a fraction of `k(x, x)`, below which a new
        point is projected onto it.

    Examples
    --------
    Whether two numbers have the same sign is not linearly separable.

    >>> from millstream import kernel
    >>> import numpy as np
    >>> X = np.random.default_rng(1).uniform(-1, 1, size=(2000, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = kernel.KernelSGD(kernel.RBF(gamma=2.0), budget=100)
    >>> said = model.step_many(X, y)
    >>> round(float(np.mean(said[1000:] == y[1000:])), 2)
    0.97
    >>> len(model.points)
    100

    References
    ----------
    Kivinen, J., Smola, A. J. and Williamson, R. C. (2004). Online learning with kernels.
    Wang, Z., Crammer, K. and Vucetic, S. (2012). Breaking the curse of kernelization: budgeted stochastic gradient
    descent for large-scale SVM training.
    Dekel, O., Shalev-Shwartz, S. and Singer, Y. (2008). The Forgetron: a kernel-based perceptron on a budget.
    Orabona, F., Keshet, J. and Caputo, B. (2009). Bounded kernel-based online learning.
    """

    name = "kernel.KernelSGD"

    def __new__(cls, kernel: Any = "kernel.RBF", loss: Any = "losses.Hinge", *others: Any, **more: Any) -> Any:
        if cls is KernelSGD and for_numbers(loss):
            return KernelSGDRegressor(kernel, loss, *others, **more)
        if cls is KernelSGD and needs_python(kernel):
            return PythonKernelSGD(kernel, loss, *others, **more)
        return super().__new__(cls)

    @forwarded
    def __init__(
        self,
        kernel: Kernel | KernelFunction | str = "kernel.RBF",
        loss: Loss | str = "losses.Hinge",
        learning_rate: float | Schedule = 0.1,
        l2: float = 0.0,
        intercept: bool = False,
        budget: int | None = 1000,
        maintenance: str = "auto",
        tolerance: float = 0.01,
    ) -> None: ...

    @property
    def points(self) -> list[dict[str, Any]]:
        """The stored points: their features and their coefficients by output (one for two classes)."""
        return list(self.inspect()["points"])


class KernelSGDRegressor(Native, Regressor):
    """Kernel regression by stochastic gradient descent, with any regression loss.

    With the squared loss it is the textbook recursion with twice the learning rate, since the loss has no factor
    of one half here. `losses.Quantile` estimates a quantile, and `losses.EpsilonInsensitive` gives support vector
    regression. See `KernelSGD` for points, budget and maintenance.

    Parameters
    ----------
    kernel
        Kernel function: one of `millstream.kernel`, or a Python function of two vectors that returns a number (see
        `Function`).
    loss
        Loss to minimise: a regression loss.
    learning_rate
        Learning rate: a number, or a schedule.
    l2
        L2 penalty: decay of all coefficients, so that old points fade.
    intercept
        Whether to fit an intercept, which takes the same steps.
    budget
        Maximum number of stored points; None for no limit.
    maintenance
        Strategy when the budget is full: "auto", "removal", "projection", "merging" or "projectron"; see
        `KernelSGD`.
    tolerance
        For "projectron": distance to the span of the stored points, as a fraction of `k(x, x)`, below which a new
        point is projected onto it.

    Examples
    --------
    >>> from millstream import kernel
    >>> import numpy as np
    >>> x = np.random.default_rng(1).uniform(-3, 3, size=(2000, 1))
    >>> model = kernel.KernelSGDRegressor(kernel.RBF(gamma=2.0))
    >>> said = model.step_many(x, np.sin(2 * x[:, 0]))
    >>> round(model.predict_one({0: 0.5}), 2), round(float(np.sin(1.0)), 2)
    (0.84, 0.84)

    References
    ----------
    Kivinen, J., Smola, A. J. and Williamson, R. C. (2004). Online learning with kernels.
    Wang, Z., Crammer, K. and Vucetic, S. (2012). Breaking the curse of kernelization: budgeted stochastic gradient
    descent for large-scale SVM training.
    """

    name = "kernel.KernelSGDRegressor"

    def __new__(cls, kernel: Any = "kernel.RBF", *others: Any, **more: Any) -> Any:
        if cls is KernelSGDRegressor and needs_python(kernel):
            return PythonKernelSGDRegressor(kernel, *others, **more)
        return super().__new__(cls)

    @forwarded
    def __init__(
        self,
        kernel: Kernel | KernelFunction | str = "kernel.RBF",
        loss: Loss | str = "losses.Squared",
        learning_rate: float | Schedule = 0.1,
        l2: float = 0.0,
        intercept: bool = False,
        budget: int | None = 1000,
        maintenance: str = "auto",
        tolerance: float = 0.01,
    ) -> None: ...

    @property
    def points(self) -> list[dict[str, Any]]:
        """The stored points: their features and their coefficient in a list of one."""
        return list(self.inspect()["points"])
