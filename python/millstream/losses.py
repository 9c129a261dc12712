"""Loss functions of linear, kernel and network learners.

A loss is a function of a target `y` and a score `z`. `value` returns the loss and `slope` its derivative with
respect to `z`, for numbers or arrays. Classification losses accept targets `True` and `False`, 1 and 0, or 1 and
-1.

>>> from millstream import losses
>>> losses.Huber(epsilon=0.5).value(1.0, [1.25, 3.0])
array([0.03125, 0.875  ])
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream import _core
from millstream._echo import typed
from millstream._other_names import unknown_name
from millstream._part import Config, forwarded
from millstream.errors import InvalidValue

__all__ = [
    "Absolute",
    "EpsilonInsensitive",
    "Expectile",
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
    """Base class of losses."""

    def value(self, y: Any, z: Any) -> Any:
        """The loss of score `z` for target `y`."""
        return self._at(y, z, slope=False)

    def slope(self, y: Any, z: Any) -> Any:
        """The derivative of the loss with respect to the score."""
        return self._at(y, z, slope=True)

    def __call__(self, y_true: Any, y_pred: Any) -> Any:
        """The loss under River's name: `value`."""
        return self.value(y_true, y_pred)

    def gradient(self, y_true: Any, y_pred: Any) -> Any:
        """The derivative under River's name: `slope`."""
        return self.slope(y_true, y_pred)

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
    """Squared error `(z - y)²`; its minimiser is the mean.

    There is no factor of one half, as in River and Vowpal Wabbit: the slope is `2 (z - y)`. In scikit-learn it is
    half of that, so halve a learning rate taken from there.

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
    """Absolute error `|z - y|`; its minimiser is the median.

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
    """Huber loss: `r²/2` for errors up to epsilon, `epsilon (|r| - epsilon/2)` above.

    Choose it for targets with outliers.

    Parameters
    ----------
    epsilon
        Error at which the loss changes from squared to absolute.

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
    """Pinball loss; its minimiser is the `q`-quantile.

    It is `q (y - z)` below the target and `(1 - q) (z - y)` above it. Two models, for a low and a high quantile,
    give a prediction interval.

    Parameters
    ----------
    q
        Quantile to predict: the fraction of targets below the prediction.

    Examples
    --------
    >>> from millstream import losses
    >>> losses.Quantile(q=0.75).value([1.0, 0.0], [0.0, 1.0])
    array([0.75, 0.25])

    References
    ----------
    Koenker, R. and Bassett, G. (1978). Regression quantiles.
    """

    name = "losses.Quantile"

    @forwarded
    def __init__(self, q: float = 0.5) -> None: ...


class Expectile(Loss):
    """Asymmetric squared error; its minimiser is the `q`-expectile.

    It is `q (y - z)²` below the target and `(1 - q) (z - y)²` above it. Expectiles are to the mean what quantiles
    are to the median: with `q=0.5` the prediction is the mean, and a larger `q` gives a larger prediction. Choose
    it over `Quantile` if the size of large errors matters and not only their frequency.

    Parameters
    ----------
    q
        Expectile to predict; above 0.5, predictions below the target cost more.

    Examples
    --------
    >>> from millstream import losses
    >>> losses.Expectile(q=0.75).value([3.0, 1.0], [1.0, 3.0])
    array([3., 1.])

    References
    ----------
    Newey, W. K. and Powell, J. L. (1987). Asymmetric least squares estimation and testing.
    """

    name = "losses.Expectile"

    @forwarded
    def __init__(self, q: float = 0.5) -> None: ...


class EpsilonInsensitive(Loss):
    """Absolute error beyond a margin, `max(0, |z - y| - epsilon)`, as in support vector regression.

    Parameters
    ----------
    epsilon
        Errors up to this have no loss.

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
    """Poisson loss for counts: `exp(z) - y z`. The score is the log of the mean; the prediction is `exp(z)`.

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
    """Logistic loss `ln(1 + exp(-y z))`; its minimiser is the log-odds.

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
    """Hinge loss `max(0, margin - y z)` of support vector machines; with margin 0, of the perceptron.

    The hinge loss does not estimate probabilities: `predict_proba_one` returns the logistic function of the score,
    which ranks examples but is not calibrated.

    Parameters
    ----------
    margin
        Margin above which the loss is 0.

    Examples
    --------
    >>> from millstream import losses
    >>> losses.Hinge().value(True, [-1.0, 0.25, 2.0])
    array([2.  , 0.75, 0.  ])
    >>> losses.Hinge(margin=0.0).value(True, [-1.0, 0.25, 2.0])
    array([1., 0., 0.])
    """

    name = "losses.Hinge"

    @forwarded
    def __init__(self, margin: float = 1.0) -> None: ...


class SquaredHinge(Loss):
    """Squared hinge loss `max(0, 1 - y z)²`.

    Its minimiser is `2 P(y) - 1`, so the predicted probability is `(z + 1) / 2`, clipped to [0, 1].

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
    """Squared hinge loss, linear for large errors: `-4 y z` where `y z < -1`.

    Choose it for labels with outliers. The predicted probability is `(z + 1) / 2`, clipped to [0, 1], as in
    scikit-learn.

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
    """Logistic loss with less weight on well-classified examples: `-(1 - p)^focusing ln p`.

    `p` is the predicted probability of the true class. Choose it where one class is rare and the other mostly
    easy. Predicted probabilities are biased towards one half.

    Parameters
    ----------
    focusing
        How strongly well-classified examples are down-weighted; 0 gives the logistic loss. The paper's gamma.

    Examples
    --------
    >>> from millstream import losses
    >>> round(losses.Focal(focusing=2.0).value(True, 0.0), 4)
    0.1733

    References
    ----------
    Lin, T.-Y., Goyal, P., Girshick, R., He, K. and Dollár, P. (2017). Focal loss for dense object detection,
    equation 4.
    """

    name = "losses.Focal"

    @forwarded
    def __init__(self, focusing: float = 2.0) -> None: ...


class FocalStar(Loss):
    """Focal loss in the simplified form of the paper's appendix: `-ln sigmoid(steepness y z + shift) / steepness`.

    This is River's `BinaryFocalLoss`.

    Parameters
    ----------
    steepness
        Steepness of the loss. The paper's gamma.
    shift
        Shift of the margin. The paper's beta.

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
    def __init__(self, steepness: float = 2.0, shift: float = 1.0) -> None: ...


#: River's names for the same.
Log = Logistic
BinaryFocalLoss = FocalStar
EpsilonInsensitiveHinge = EpsilonInsensitive

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
