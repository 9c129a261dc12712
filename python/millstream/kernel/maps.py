"""Feature maps whose inner products approximate a kernel, for use in front of a linear learner."""

from __future__ import annotations

from typing import Any

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Transformer
from millstream.kernel.kernels import Kernel
from millstream.kernel.python_kernels import KernelFunction, needs_python
from millstream.kernel.python_span import PythonNystroem

__all__ = ["Nystroem", "RandomFourierFeatures"]


class RandomFourierFeatures(Native, Transformer):
    """Random cosine features whose inner products approximate the `RBF` kernel.

    Put it between a scaler and any linear learner to learn nonlinear boundaries in constant time and memory. The
    approximation error of the kernel falls as `1 / sqrt(n_components)`. Nothing is learned: the frequencies are a
    function of the seed and the feature, the same on every platform, so features may appear at any time, and the
    cost of a sparse row depends only on its nonzero values. Whether the learner needs an intercept does not
    change.

    Parameters
    ----------
    n_components
        Number of output features.
    gamma
        Kernel coefficient: how fast similarity falls with distance. `1 / (number of features)` is a good start.
    seed
        Random seed of the frequencies.

    Examples
    --------
    >>> from millstream import kernel, linear_model, optim
    >>> import numpy as np
    >>> X = np.random.default_rng(1).uniform(-1, 1, size=(5000, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = kernel.RandomFourierFeatures(gamma=2.0) | linear_model.LogisticRegression(optim.AdaGrad(0.3))
    >>> said = model.step_many(X, y)
    >>> round(float(np.mean(said[2000:] == y[2000:])), 2)
    0.98

    References
    ----------
    Rahimi, A. and Recht, B. (2007). Random features for large-scale kernel machines.
    """

    name = "kernel.RandomFourierFeatures"
    aliases = {"random_state": "seed"}

    @forwarded
    def __init__(self, n_components: int = 100, gamma: float = 0.1, seed: int = 1) -> None: ...


class Nystroem(Native, Transformer):
    """Nyström approximation: features from landmarks whose inner products approximate any kernel.

    The landmarks are examples of the stream. With the same number of features it is usually more accurate than
    `RandomFourierFeatures`, and it accepts every kernel, at a cost that grows with the square of the number of
    landmarks. The first rows that are not nearly linear combinations of earlier landmarks become landmarks, up to
    `n_components`; features of missing landmarks are 0. A new landmark adds a feature and changes no other, so the
    weights of the following learner stay valid. Landmarks are therefore not drawn at random as in scikit-learn;
    with equal landmarks the features differ from scikit-learn's by a rotation.

    Parameters
    ----------
    kernel
        Kernel function: one of `millstream.kernel`, or a Python function of two vectors that returns a number (see
        `Function`). With a function or `String` this step runs in Python.
    n_components
        Number of landmarks, and of output features.
    tolerance
        Approximation error, as a fraction of `k(x, x)`, above which a row becomes a landmark; larger values space
        landmarks further apart.

    Examples
    --------
    >>> from millstream import kernel, linear_model, optim
    >>> import numpy as np
    >>> X = np.random.default_rng(1).uniform(-1, 1, size=(5000, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> landmarks = kernel.Nystroem(kernel.RBF(gamma=2.0), n_components=30)
    >>> model = landmarks | linear_model.LogisticRegression(optim.AdaGrad(0.3))
    >>> said = model.step_many(X, y)
    >>> round(float(np.mean(said[2000:] == y[2000:])), 2)
    0.98

    References
    ----------
    Williams, C. K. I. and Seeger, M. (2001). Using the Nyström method to speed up kernel machines.
    """

    name = "kernel.Nystroem"

    def __new__(cls, kernel: Any = "kernel.RBF", *others: Any, **more: Any) -> Any:
        if cls is Nystroem and needs_python(kernel):
            return PythonNystroem(kernel, *others, **more)
        return super().__new__(cls)

    @forwarded
    def __init__(
        self,
        kernel: Kernel | KernelFunction | str = "kernel.RBF",
        n_components: int = 100,
        tolerance: float = 0.01,
    ) -> None: ...

    @property
    def landmarks(self) -> list[dict[str, Any]]:
        """The features of each landmark."""
        return list(self.inspect()["landmarks"])


#: scikit-learn's name for the same.
RBFSampler = RandomFourierFeatures
