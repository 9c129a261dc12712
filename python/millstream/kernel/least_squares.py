"""Kernel recursive least squares."""

from __future__ import annotations

from typing import Any

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Regressor
from millstream.kernel.kernels import Kernel
from millstream.kernel.python_kernels import KernelFunction, needs_python
from millstream.kernel.python_span import PythonKernelRLS

__all__ = ["KernelRLS"]


class KernelRLS(Native, Regressor):
    """Kernel recursive least squares over a small dictionary of examples.

    An example joins the dictionary unless it is nearly a linear combination of the examples in it; all other
    examples are learned through their projection. After each example the fit is the least squares solution,
    without a learning rate. A step costs the square of the size of the dictionary, a step of `KernelSGD` the size
    itself. Choose it to learn smooth functions of few features from few examples.

    Nothing is forgotten: it does not adapt to drift.

    Parameters
    ----------
    kernel
        Kernel function: one of `millstream.kernel`, or a Python function of two vectors that returns a number (see
        `Function`). With a function or `String` the model runs in Python.
    tolerance
        Approximation error, as a fraction of `k(x, x)`, above which an example joins the dictionary; smaller
        values give a larger dictionary. The paper's nu.
    l2
        L2 penalty on the function, in the norm of the feature space; 0 in the paper.
    budget
        Maximum number of examples in the dictionary; when it is full, new examples are projected. None for no
        limit but the tolerance.

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
        if cls is KernelRLS and needs_python(kernel):
            return PythonKernelRLS(kernel, *others, **{cls.aliases.get(name, name): more[name] for name in more})
        return super().__new__(cls)

    @forwarded
    def __init__(
        self,
        kernel: Kernel | KernelFunction | str = "kernel.RBF",
        tolerance: float = 0.01,
        l2: float = 0.01,
        budget: int | None = 500,
    ) -> None: ...

    @property
    def points(self) -> list[dict[str, Any]]:
        """The dictionary: the features of each example in it, and its coefficient in a list of one."""
        return list(self.inspect()["points"])
