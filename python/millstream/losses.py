"""Losses that linear learners follow downhill.

A loss is a function of a target `y` and a score `z`. `value` gives it and `slope` its derivative by `z`, for
numbers or arrays. Losses for classes take targets `True` and `False`, or 1 and 0, or 1 and -1.

>>> from millstream import losses
>>> losses.Huber(epsilon=0.5).value(1.0, [1.25, 3.0])
array([0.03125, 0.875  ])
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from millstream import _core
from millstream._echo import typed
from millstream._part import Config, forwarded
from millstream.errors import InvalidValue

__all__ = [
    "Absolute",
    "EpsilonInsensitive",
    "Focal",
    "FocalStar",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "ModifiedHuber",
    "Poisson",
    "Quantile",
    "Squared",
    "SquaredHinge",
]


class Loss(Config):
    """A loss of a target and a score."""

    def value(self, y: Any, z: Any) -> Any:
        """The loss of score `z` for target `y`."""
        return self._at(y, z, slope=False)

    def slope(self, y: Any, z: Any) -> Any:
        """The derivative of the loss by the score."""
        return self._at(y, z, slope=True)

    def _at(self, y: Any, z: Any, *, slope: bool) -> Any:
        targets, scores = np.broadcast_arrays(self._numbers("y", y), self._numbers("z", z))
        flat = _core.loss(json.dumps(self.describe()), targets.ravel(), scores.ravel(), slope)
        return flat.reshape(targets.shape) if targets.ndim else float(flat[0])

    def _numbers(self, what: str, values: Any) -> Any:
        try:
            return np.asarray(values, dtype=np.float64)
        except OverflowError:
            raise InvalidValue(f"{self.name}: {what} must fit in a float, got {typed(values)}") from None


class Squared(Loss):
    """The squared error `(z - y)²`, whose minimiser is the mean.

    There is no factor of one half before it, as in River and Vowpal Wabbit: its slope is `2 (z - y)`. In
    scikit-learn the slope is half of that, so a learning rate from there is to be halved here.

    Examples
    --------
    >>> from millstream import losses
    >>> losses.Squared().slope(1.0, 4.0)
    6.0
    """

    name = "losses.Squared"

    @forwarded
    def __init__(self) -> None: ...


class Absolute(Loss):
    """The absolute error `|z - y|`, whose minimiser is the median.

    Examples
    --------
    >>> from millstream import losses
    >>> losses.Absolute().value(1.0, 4.0)
    3.0
    """

    name = "losses.Absolute"

    @forwarded
    def __init__(self) -> None: ...


class Huber(Loss):
    """Squared for small errors, absolute for large ones: `r²/2`, from epsilon on `epsilon (|r| - epsilon/2)`.

    Choose it where some targets are far off.

    Parameters
    ----------
    epsilon
        The error at which it turns from squared to absolute.

    Examples
    --------
    >>> from millstream import losses
    >>> losses.Huber(epsilon=0.5).value(1.0, 3.0)
    0.875

    References
    ----------
    Huber, P. J. (1964). Robust estimation of a location parameter.
    """

    name = "losses.Huber"

    @forwarded
    def __init__(self, epsilon: float = 0.1) -> None: ...


class Quantile(Loss):
    """The pinball loss, whose minimiser is the `alpha`-quantile.

    It is `alpha (y - z)` below the target and `(1 - alpha) (z - y)` above it. Two of them make an interval.

    Parameters
    ----------
    alpha
        The share of targets that should lie below the prediction.

    Examples
    --------
    >>> from millstream import losses
    >>> losses.Quantile(alpha=0.75).value([1.0, 0.0], [0.0, 1.0])
    array([0.75, 0.25])

    References
    ----------
    Koenker, R. and Bassett, G. (1978). Regression quantiles.
    """

    name = "losses.Quantile"

    @forwarded
    def __init__(self, alpha: float = 0.5) -> None: ...


class EpsilonInsensitive(Loss):
    """The absolute error beyond a margin, `max(0, |z - y| - epsilon)`, as in support vector regression.

    Parameters
    ----------
    epsilon
        Errors up to this cost nothing.

    Examples
    --------
    >>> from millstream import losses
    >>> losses.EpsilonInsensitive(epsilon=0.5).value(1.0, [1.25, 3.0])
    array([0. , 1.5])

    References
    ----------
    Vapnik, V. (1995). The nature of statistical learning theory.
    """

    name = "losses.EpsilonInsensitive"
    aliases = {"eps": "epsilon"}

    @forwarded
    def __init__(self, epsilon: float = 0.1) -> None: ...


class Poisson(Loss):
    """For counts: `exp(z) - y z`. The score is the log of the mean, and `exp(z)` is predicted.

    Targets must not be negative.

    Examples
    --------
    >>> from millstream import losses
    >>> losses.Poisson().slope(3.0, 0.0)
    -2.0
    """

    name = "losses.Poisson"

    @forwarded
    def __init__(self) -> None: ...


class Logistic(Loss):
    """The logistic loss `ln(1 + exp(-y z))`, whose minimiser is the log odds.

    Examples
    --------
    >>> from millstream import losses
    >>> losses.Logistic().slope(True, 0.0)
    -0.5
    """

    name = "losses.Logistic"

    @forwarded
    def __init__(self) -> None: ...


class Hinge(Loss):
    """The hinge `max(0, threshold - y z)` of support vector machines, or the perceptron's with threshold 0.

    It says which side an example lies on, and nothing of probabilities; `predict_proba_one` then gives the
    logistic function of the score, which has the right order but is not calibrated.

    Parameters
    ----------
    threshold
        The margin from which an example costs nothing.

    Examples
    --------
    >>> from millstream import losses
    >>> losses.Hinge().value(True, [-1.0, 0.25, 2.0])
    array([2.  , 0.75, 0.  ])
    """

    name = "losses.Hinge"

    @forwarded
    def __init__(self, threshold: float = 1.0) -> None: ...


class SquaredHinge(Loss):
    """The squared hinge `max(0, 1 - y z)²`.

    Its minimiser is `2 P(y) - 1`, so the probability that is given is `(z + 1) / 2`, cut off at 0 and 1.

    Examples
    --------
    >>> from millstream import losses
    >>> losses.SquaredHinge().value(True, [-1.0, 0.5, 2.0])
    array([4.  , 0.25, 0.  ])
    """

    name = "losses.SquaredHinge"

    @forwarded
    def __init__(self) -> None: ...


class ModifiedHuber(Loss):
    """The squared hinge made linear for gross errors: `-4 y z` where `y z < -1`.

    Choose it for labels with some plain errors. The probability that is given is `(z + 1) / 2`, cut off at 0
    and 1, as in scikit-learn.

    Examples
    --------
    >>> from millstream import losses
    >>> losses.ModifiedHuber().value(True, [-2.0, 0.5, 2.0])
    array([8.  , 0.25, 0.  ])

    References
    ----------
    Zhang, T. (2004). Solving large scale linear prediction problems using stochastic gradient descent.
    """

    name = "losses.ModifiedHuber"

    @forwarded
    def __init__(self) -> None: ...


class Focal(Loss):
    """The logistic loss with less weight on examples that are already right: `-(1 - p)^gamma ln p`.

    `p` is the probability of the truth. Choose it where one class is rare and the other is mostly easy. The
    probabilities that come of it are drawn towards one half.

    Parameters
    ----------
    gamma
        How much less they weigh; 0 is the logistic loss.

    Examples
    --------
    >>> from millstream import losses
    >>> round(losses.Focal(gamma=2.0).value(True, 0.0), 4)
    0.1733

    References
    ----------
    Lin, T.-Y., Goyal, P., Girshick, R., He, K. and Dollár, P. (2017). Focal loss for dense object detection,
    equation 4.
    """

    name = "losses.Focal"

    @forwarded
    def __init__(self, gamma: float = 2.0) -> None: ...


class FocalStar(Loss):
    """The focal loss in the simpler form of its paper's appendix: `-ln sigmoid(gamma y z + beta) / gamma`.

    This is River's `BinaryFocalLoss`.

    Parameters
    ----------
    gamma
        How steep it is.
    beta
        How far it is shifted.

    Examples
    --------
    >>> from millstream import losses
    >>> round(losses.FocalStar().slope(True, 0.0), 4)
    -0.2689

    References
    ----------
    Lin, T.-Y., Goyal, P., Girshick, R., He, K. and Dollár, P. (2017). Focal loss for dense object detection,
    appendix A.
    """

    name = "losses.FocalStar"

    @forwarded
    def __init__(self, gamma: float = 2.0, beta: float = 1.0) -> None: ...


#: River's names for the same.
Log = Logistic
BinaryFocalLoss = FocalStar
EpsilonInsensitiveHinge = EpsilonInsensitive
