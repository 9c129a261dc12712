"""Learners that are linear in the space of a kernel: nonlinear boundaries and curves.

A prediction is a sum over examples that were kept, each weighted by how alike it is to the one at hand. Numbers
enter as they are, so put a `StandardScaler` in front; a value of a nominal feature is a number that is 1 or 0, and
what is missing is 0.
"""

from __future__ import annotations

from millstream.kernel.kernels import RBF, Kernel, Laplace, Laplacian, Linear, Polynomial, Sigmoid
from millstream.kernel.least_squares import KernelRLS
from millstream.kernel.maps import Nystroem, RandomFourierFeatures, RBFSampler
from millstream.kernel.own import Function
from millstream.kernel.sgd import KernelSGD, KernelSGDRegressor
from millstream.kernel.texts import String

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
