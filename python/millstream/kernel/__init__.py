"""Kernel methods: learners that are linear in the feature space of a kernel.

A prediction is a sum over stored examples, each weighted by its similarity to the new one. Numbers are not scaled,
so put a `StandardScaler` in front. Nominal features are one-hot encoded, and missing values are 0.
"""

from __future__ import annotations

from millstream.kernel.kernels import RBF, Kernel, Laplace, Laplacian, Linear, Polynomial, Sigmoid
from millstream.kernel.least_squares import KernelRLS
from millstream.kernel.maps import Nystroem, RandomFourierFeatures, RBFSampler
from millstream.kernel.python_kernels import Function
from millstream.kernel.sgd import KernelSGD, KernelSGDRegressor
from millstream.kernel.strings import String

__all__ = [
    "RBF",
    "Function",
    "Kernel",
    "KernelRLS",
    "KernelSGD",
    "KernelSGDRegressor",
    "Laplace",
    "Laplacian",
    "Linear",
    "Nystroem",
    "Polynomial",
    "RBFSampler",
    "RandomFourierFeatures",
    "Sigmoid",
    "String",
]
