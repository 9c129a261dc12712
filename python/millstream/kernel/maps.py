"""Features whose inner products are nearly a kernel, so that a linear learner stands in for a kernel machine."""

from __future__ import annotations

from typing import Any, cast

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Transformer
from millstream.kernel.kernels import Kernel
from millstream.kernel.own import Own, is_own
from millstream.kernel.own_span import PythonNystroem

__all__ = ["Nystroem", "RandomFourierFeatures"]


class RandomFourierFeatures(Native, Transformer):
    """Random cosines of the features, whose inner products are nearly the `RBF` kernel.

    Put it between a scaler and any linear learner: together they learn nonlinear boundaries at a cost and in a
    memory that stay the same for ever. The error of the kernel falls as `1 / sqrt(n_components)`. Nothing is
    learned: the frequencies are a function of the seed and the feature, the same on every platform, so features
    may come at any time, and wide sparse rows cost what they hold. The learner behind it needs an intercept, or
    not, as without it.

    Parameters
    ----------
    n_components
        How many features.
    gamma
        How fast likeness falls with distance; `1 / (number of features)` is a good first try.
    seed
        What the frequencies are drawn from.

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
    """Features by likeness to landmarks, whose inner products are nearly any kernel.

    The landmarks are examples of the stream, so the features lie where the data are: with the same number of them
    it is mostly more exact than `RandomFourierFeatures`, and it takes every kernel, at a cost that grows with the
    square of their number. The first rows that are not nearly a combination of the landmarks so far become
    landmarks, up to `n_components`; until then the features to come are 0. A landmark adds a feature and changes
    no other, so what the learner behind it has learned stays true. That is why landmarks are not drawn at random
    as in scikit-learn, whose features are the same but for a rotation when the landmarks are.

    Parameters
    ----------
    kernel
        What makes two examples alike: one of `millstream.kernel`, or a function of your own that takes two vectors
        and gives a number (see `Function`). With a function, or with `String`, this step runs in Python.
    n_components
        How many landmarks, and features.
    tolerance
        The share of `k(x, x)` that the landmarks may miss of a row before it becomes one: a larger one spreads
        them.

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
        if cls is Nystroem and is_own(kernel):
            return PythonNystroem(kernel, *others, **more)
        return super().__new__(cls)

    def __init__(
        self, kernel: Kernel | Own | str = "kernel.RBF", n_components: int = 100, tolerance: float = 0.01
    ) -> None:
        super().__init__(kernel=cast("Any", kernel), n_components=n_components, tolerance=tolerance)

    @property
    def landmarks(self) -> list[dict[str, Any]]:
        """The features of each landmark."""
        return list(self.inspect()["landmarks"])


#: scikit-learn's name for the same.
RBFSampler = RandomFourierFeatures
