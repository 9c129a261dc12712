"""Least squares in the space of a kernel."""

from __future__ import annotations

from typing import Any, cast

from millstream._native import Native
from millstream.base import Regressor
from millstream.kernel.kernels import Kernel
from millstream.kernel.own import Own, is_own
from millstream.kernel.own_span import PythonKernelRLS

__all__ = ["KernelRLS"]


class KernelRLS(Native, Regressor):
    """Kernel recursive least squares: the best fit to all examples so far over a small dictionary of them.

    An example joins the dictionary if it is not nearly a combination of those that are in it already; all others
    are learned through their projection. So the dictionary stays as small as the data are simple, and after each
    example the fit is that of least squares, without a learning rate to choose. A step costs the square of the
    size of the dictionary, where `KernelSGD` costs the size itself: choose this one for quick learning of smooth
    functions of few features, with little noise or much data.

    The dictionary is never forgotten and neither is an example: it does not follow a drift.

    Parameters
    ----------
    kernel
        What makes two examples alike: one of `millstream.kernel`, or a function of your own that takes two vectors
        and gives a number (see `Function`). With a function, or with `String`, the model runs in Python.
    tolerance
        The share of `k(x, x)` that the dictionary may miss of an example: the smaller, the larger the dictionary.
        The paper's nu.
    l2
        Pull of the function towards 0, in the norm of the kernel's space; 0 is the paper's.
    budget
        The most examples in the dictionary; when it is full, all that come are projected. None leaves it to the
        tolerance.

    Examples
    --------
    >>> from millstream import kernel
    >>> import numpy as np
    >>> x = np.random.default_rng(1).uniform(-3, 3, size=(500, 1))
    >>> model = kernel.KernelRLS(kernel.RBF(gamma=1.0), tolerance=0.001)
    >>> said = model.step_many(x, np.sin(2 * x[:, 0]))
    >>> round(model.predict_one({0: 0.5}), 3), round(float(np.sin(1.0)), 3)
    (0.841, 0.841)
    >>> len(model.points)
    15

    References
    ----------
    Engel, Y., Mannor, S. and Meir, R. (2004). The kernel recursive least-squares algorithm.
    """

    name = "kernel.KernelRLS"
    aliases = {"nu": "tolerance"}

    def __new__(cls, kernel: Any = "kernel.RBF", *others: Any, **more: Any) -> Any:
        if cls is KernelRLS and is_own(kernel):
            return PythonKernelRLS(kernel, *others, **{cls.aliases.get(name, name): more[name] for name in more})
        return super().__new__(cls)

    def __init__(
        self,
        kernel: Kernel | Own | str = "kernel.RBF",
        tolerance: float = 0.01,
        l2: float = 0.01,
        budget: int | None = 500,
    ) -> None:
        super().__init__(kernel=cast("Any", kernel), tolerance=tolerance, l2=l2, budget=budget)

    @property
    def points(self) -> list[dict[str, Any]]:
        """The dictionary: the features of each example in it, and its coefficient in a list of one."""
        return list(self.inspect()["points"])
