"""Gradient descent in the space of a kernel."""

from __future__ import annotations

from typing import Any, cast

from millstream._native import Native
from millstream._part import describe
from millstream.base import Classifier, Regressor
from millstream.kernel.kernels import Kernel
from millstream.kernel.own import Own, PythonKernelSGD, PythonKernelSGDRegressor, is_own
from millstream.losses import Loss
from millstream.optim import Schedule
from millstream.verbs import Scores

__all__ = ["KernelSGD", "KernelSGDRegressor"]

#: The losses for numbers: with one of them the learner is a regressor.
NUMBERS = frozenset(
    f"losses.{name}" for name in ("Absolute", "EpsilonInsensitive", "Huber", "Poisson", "Quantile", "Squared")
)


def for_numbers(loss: Any) -> bool:
    """Whether a loss, given as an object, a name or a description, is one for numbers."""
    given = describe(loss)
    name = given.get("name") if isinstance(given, dict) else given
    return isinstance(name, str) and name in NUMBERS


class KernelSGD(Native, Scores, Classifier):
    """Gradient descent in the space of a kernel: nonlinear classification, or regression, of any loss.

    The prediction is `f(x) = Σ c_i k(x_i, x)` over points that were kept. An example whose loss has a slope
    becomes a point, with the coefficient `-learning_rate * slope`, after all others were multiplied by `1 -
    learning_rate * l2`. The loss says what is learned: with one for classes this is a classifier of two or more
    classes, with one for numbers `KernelSGD(loss=losses.Squared())` gives a `KernelSGDRegressor`.

    A prediction costs one kernel value for each point, so their number is bounded: up to `budget` examples every
    point is kept, and from then on `maintenance` says which one pays. `budget=None` keeps every point for ever, as
    the textbook does; then time and memory grow with the stream. For a linear model of fixed cost instead, see
    `RandomFourierFeatures` and `Nystroem`.

    With `loss=losses.Hinge(threshold=0)` and `learning_rate=1` it is the kernel perceptron, with
    `maintenance="forgetron"` the Forgetron and with "projectron" the Projectron; with the hinge, `l2` and
    `optim.Optimal(alpha=l2)` it is Pegasos.

    Parameters
    ----------
    kernel
        What makes two examples alike: one of `millstream.kernel`, or a function of your own that takes two vectors
        and gives a number (see `Function`). With a function, or with `String`, the model runs in Python.
    loss
        The loss that is followed downhill.
    learning_rate
        The size of a step: a number, or a schedule.
    l2
        Pull of all coefficients towards 0, so that old points fade.
    intercept
        Whether there is a constant term, which takes the same steps.
    budget
        The most points that are kept; None keeps every one.
    maintenance
        What happens when the budget is full. "auto" is "merging" for `RBF` and "removal" for the others. "removal"
        drops the point that matters least (and the oldest among equals); "projection" drops it too, but lets the
        others take over what they can of it; "merging" makes one point of two that are close, for `RBF`;
        "forgetron" shrinks all and drops the oldest; "projectron" gives each new point to the others, also before
        the budget is full if it lies near their span; "projectron++" as well, and learns from examples that are
        right but not by enough. Those that project cost the square of the budget.
    tolerance
        For "projectron": the share of `k(x, x)` up to which a point that lies near the span of the others is
        projected on it.

    Examples
    --------
    Whether two numbers have the same sign is nothing that a line can tell.

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
        if cls is KernelSGD and is_own(kernel):
            return PythonKernelSGD(kernel, loss, *others, **more)
        return super().__new__(cls)

    def __init__(
        self,
        kernel: Kernel | Own | str = "kernel.RBF",
        loss: Loss | str = "losses.Hinge",
        learning_rate: float | Schedule = 0.1,
        l2: float = 0.0,
        intercept: bool = False,
        budget: int | None = 1000,
        maintenance: str = "auto",
        tolerance: float = 0.01,
    ) -> None:
        super().__init__(
            kernel=cast("Any", kernel),
            loss=loss,
            learning_rate=learning_rate,
            l2=l2,
            intercept=intercept,
            budget=budget,
            maintenance=maintenance,
            tolerance=tolerance,
        )

    @property
    def points(self) -> list[dict[str, Any]]:
        """The points that are kept: their features, and their coefficient by output (one for two classes)."""
        return list(self.inspect()["points"])


class KernelSGDRegressor(Native, Regressor):
    """Gradient descent in the space of a kernel: nonlinear regression with any loss for numbers.

    With the squared loss it is the textbook's recursion (but for its rate, which is half as large there, because
    the loss has no half before it here); `losses.Quantile` follows a quantile, `losses.EpsilonInsensitive` makes
    it support vector regression on a stream. What is said of `KernelSGD` holds here too.

    Parameters
    ----------
    kernel
        What makes two examples alike: one of `millstream.kernel`, or a function of your own that takes two vectors
        and gives a number (see `Function`).
    loss
        The loss that is followed downhill; one for numbers.
    learning_rate
        The size of a step: a number, or a schedule.
    l2
        Pull of all coefficients towards 0, so that old points fade.
    intercept
        Whether there is a constant term, which takes the same steps.
    budget
        The most points that are kept; None keeps every one.
    maintenance
        What happens when the budget is full: "auto", "removal", "projection", "merging" or "projectron", see
        `KernelSGD`.
    tolerance
        For "projectron": the share of `k(x, x)` up to which a point that lies near the span of the others is
        projected on it.

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
        if cls is KernelSGDRegressor and is_own(kernel):
            return PythonKernelSGDRegressor(kernel, *others, **more)
        return super().__new__(cls)

    def __init__(
        self,
        kernel: Kernel | Own | str = "kernel.RBF",
        loss: Loss | str = "losses.Squared",
        learning_rate: float | Schedule = 0.1,
        l2: float = 0.0,
        intercept: bool = False,
        budget: int | None = 1000,
        maintenance: str = "auto",
        tolerance: float = 0.01,
    ) -> None:
        super().__init__(
            kernel=cast("Any", kernel),
            loss=loss,
            learning_rate=learning_rate,
            l2=l2,
            intercept=intercept,
            budget=budget,
            maintenance=maintenance,
            tolerance=tolerance,
        )

    @property
    def points(self) -> list[dict[str, Any]]:
        """The points that are kept: their features, and their coefficient in a list of one."""
        return list(self.inspect()["points"])
