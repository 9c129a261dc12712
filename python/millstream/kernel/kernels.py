"""Kernels: how alike two examples are, as an inner product in a space of the kernel's own."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from millstream import _core
from millstream._part import Config, forwarded
from millstream.errors import InvalidValue

__all__ = ["RBF", "Kernel", "Laplace", "Linear", "Polynomial", "Sigmoid"]


class Kernel(Config):
    """How alike two examples are. Called with two vectors, or two matrices of rows, it says so.

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
            raise InvalidValue(f"{self.name}: vectors must be of one length, got shapes {x.shape} and {z.shape}")
        gram = _core.kernel(json.dumps(self.describe()), np.atleast_2d(x), np.atleast_2d(z))
        return gram.reshape(x.shape[:-1] + z.shape[:-1])[()]


class Linear(Kernel):
    """The inner product of two examples, `x·z`: a linear model, kept as its examples.

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
    """A power of the inner product, `(gamma x·z + coef0)^degree`: all products of up to `degree` features.

    Choose it where features act together and there are too many pairs to write down.

    Parameters
    ----------
    degree
        The power.
    gamma
        The factor of the inner product.
    coef0
        What is added to the inner product; with 0 only products of exactly `degree` features count.

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
    """The Gaussian of the distance, `exp(-gamma |x - z|²)`: near examples are alike, far ones are not.

    The kernel to begin with. Scale the features first: it goes by distance. scikit-learn's `gamma="scale"` needs
    all data before the first example and cannot be had here; `1 / (number of features)` is the same for scaled
    ones.

    Parameters
    ----------
    gamma
        How fast likeness falls with distance; `1 / (number of features)` is a good first try.

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
    """The exponential of the sum of absolute differences, `exp(-gamma Σ |x - z|)`.

    Rougher than `RBF`, and less impressed by one feature that is far off.

    Parameters
    ----------
    gamma
        How fast likeness falls with distance; `1 / (number of features)` is a good first try.

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
    """The hyperbolic tangent of the inner product, `tanh(gamma x·z + coef0)`.

    It is not an inner product for every `gamma` and `coef0`, so what rests on that (projecting, least squares) may
    find the points dependent where they are not.

    Parameters
    ----------
    gamma
        The factor of the inner product.
    coef0
        What is added to the inner product.

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
