"""Kernels: the similarity of two examples as an inner product in a feature space."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from millstream import _core
from millstream._part import Config, forwarded
from millstream.errors import InvalidValue

__all__ = ["RBF", "Kernel", "Laplace", "Linear", "Polynomial", "Sigmoid"]


class Kernel(Config):
    """Base class of kernels. Call it with two vectors, or two matrices of rows, for the kernel values.

    Examples
    --------
    >>> from millstream import kernel
    >>> round(float(kernel.RBF(gamma=0.5)([0.0, 0.0], [1.0, 1.0])), 4)
    0.3679
    >>> kernel.Linear()([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0]])
    array([[1.],
           [3.]])
    """

    def __call__(self, a: Any, b: Any) -> Any:
        x, z = (np.ascontiguousarray(given, dtype=np.float64) for given in (a, b))
        if x.shape[-1:] != z.shape[-1:] or not {x.ndim, z.ndim} <= {1, 2}:
            raise InvalidValue(f"{self.name}: vectors must have one length, got shapes {x.shape} and {z.shape}")
        gram = _core.kernel(json.dumps(self.describe()), np.atleast_2d(x), np.atleast_2d(z))
        return gram.reshape(x.shape[:-1] + z.shape[:-1])[()]


class Linear(Kernel):
    """Linear kernel: the inner product of two examples, `x·z`.

    Examples
    --------
    >>> from millstream import kernel
    >>> float(kernel.Linear()([1.0, 2.0], [3.0, -1.0]))
    1.0
    """

    name = "kernel.Linear"

    @forwarded
    def __init__(self) -> None: ...


class Polynomial(Kernel):
    """Polynomial kernel, `(gamma x·z + coef0)^degree`: all products of up to `degree` features.

    Choose it for interactions of features that are too many to list.

    Parameters
    ----------
    degree
        Degree of the polynomial.
    gamma
        Kernel coefficient: factor of the inner product.
    coef0
        Constant added to the inner product; with 0 only products of exactly `degree` features count.

    Examples
    --------
    >>> from millstream import kernel
    >>> float(kernel.Polynomial(degree=2, gamma=1.0)([1.0, 2.0], [3.0, -1.0]))
    4.0
    """

    name = "kernel.Polynomial"

    @forwarded
    def __init__(self, degree: int = 3, gamma: float = 0.1, coef0: float = 1.0) -> None: ...


class RBF(Kernel):
    """Gaussian (radial basis function) kernel, `exp(-gamma |x - z|²)`.

    A good first choice. Scale the features first, since it depends on distances. scikit-learn's `gamma="scale"` is
    not available because it needs all data before the first example; for scaled features `1 / (number of
    features)` is the same.

    Parameters
    ----------
    gamma
        Kernel coefficient: how fast similarity falls with distance. `1 / (number of features)` is a good start.

    Examples
    --------
    >>> from millstream import kernel
    >>> round(float(kernel.RBF(gamma=0.1)([1.0, 2.0], [3.0, -1.0])), 6)
    0.272532
    """

    name = "kernel.RBF"

    @forwarded
    def __init__(self, gamma: float = 0.1) -> None: ...


class Laplace(Kernel):
    """Laplacian kernel, `exp(-gamma Σ |x - z|)`.

    Less smooth than `RBF`, and less sensitive to an outlier in a single feature.

    Parameters
    ----------
    gamma
        Kernel coefficient: how fast similarity falls with distance. `1 / (number of features)` is a good start.

    Examples
    --------
    >>> from millstream import kernel
    >>> round(float(kernel.Laplace(gamma=0.2)([1.0, 2.0], [3.0, -1.0])), 6)
    0.367879
    """

    name = "kernel.Laplace"

    @forwarded
    def __init__(self, gamma: float = 0.1) -> None: ...


class Sigmoid(Kernel):
    """Sigmoid kernel, `tanh(gamma x·z + coef0)`.

    It is not positive definite for every `gamma` and `coef0`, so methods that rely on this (projection, least
    squares) may treat independent points as dependent.

    Parameters
    ----------
    gamma
        Kernel coefficient: factor of the inner product.
    coef0
        Constant added to the inner product.

    Examples
    --------
    >>> from millstream import kernel
    >>> round(float(kernel.Sigmoid(gamma=0.5, coef0=-1.0)([1.0, 2.0], [3.0, -1.0])), 6)
    -0.462117
    """

    name = "kernel.Sigmoid"

    @forwarded
    def __init__(self, gamma: float = 0.1, coef0: float = 1.0) -> None: ...


#: scikit-learn's name for the same.
Laplacian = Laplace
