"""Linear learners that follow the gradient of a loss."""

from __future__ import annotations

from typing import Any

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Classifier, Label, Regressor
from millstream.linear_model.planes import OnePlane
from millstream.losses import Loss
from millstream.optim import Optimizer, Schedule
from millstream.verbs import Scores

__all__ = ["LinearRegression", "LogisticRegression", "SoftmaxRegression"]

_ALIASES = {"intercept_lr": "intercept_learning_rate"}


class LinearRegression(OnePlane, Regressor):
    """Linear regression by stochastic gradient descent.

    With the default loss it follows the mean of the target; `losses.Quantile` follows a quantile,
    `losses.Huber` is not drawn far by outliers, and `losses.Poisson` is for counts, with predictions
    `exp(score)`. Parameters and defaults are those of River, and so are the figures, as long as no feature is
    exactly 0 (see `optim`) and `l1` is not used: here it is a proximal step, in River a cumulative penalty.

    Parameters
    ----------
    optimizer
        How the weights follow the gradient: one of `optim`, or its name. With `"adaptive"` nothing needs to be
        scaled or tuned.
    loss
        The loss that is followed downhill; one for numbers.
    l2
        Pull of weights towards 0.
    l1
        Pull of weights to exactly 0.
    intercept
        Whether there is a constant term.
    intercept_init
        The constant term to begin with.
    intercept_learning_rate
        The size of a step of the constant term: a number, or a schedule.
    clip_gradient
        The largest slope of the loss that is followed.
    averaging
        Predict with the mean of all weights so far (Polyak and Juditsky, 1992).

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.LinearRegression(optimizer=optim.SGD(0.1))
    >>> for x in (1.0, 2.0, 3.0) * 10:
    ...     model.learn_one({"x": x}, 2.0 * x + 1.0)
    >>> round(model.predict_one({"x": 4.0}), 3)
    8.893
    >>> {name: round(weight, 3) for name, weight in model.weights.items()}
    {'x': 2.168}

    References
    ----------
    Bottou, L. (2012). Stochastic gradient descent tricks.
    Polyak, B. T. and Juditsky, A. B. (1992). Acceleration of stochastic approximation by averaging.
    """

    name = "linear_model.LinearRegression"
    aliases = _ALIASES

    @forwarded
    def __init__(
        self,
        optimizer: Optimizer | str = "optim.SGD",
        loss: Loss | str = "losses.Squared",
        l2: float = 0.0,
        l1: float = 0.0,
        intercept: bool = True,
        intercept_init: float = 0.0,
        intercept_learning_rate: float | Schedule = 0.01,
        clip_gradient: float = 1e12,
        averaging: bool = False,
    ) -> None: ...


class LogisticRegression(OnePlane, Scores, Classifier):
    """Logistic regression of two classes by stochastic gradient descent.

    With another loss it becomes another classifier: `losses.Hinge` makes it a linear support vector machine,
    `losses.Hinge(threshold=0)` a perceptron. For more than two classes take `SoftmaxRegression`, or wrap it in
    `multiclass.OneVsRest`. Parameters and defaults are those of River, and so are the figures, as long as no
    feature is exactly 0 (see `optim`) and `l1` is not used: here it is a proximal step, in River a cumulative
    penalty.

    Parameters
    ----------
    optimizer
        How the weights follow the gradient: one of `optim`, or its name. With `"adaptive"` nothing needs to be
        scaled or tuned.
    loss
        The loss that is followed downhill; one for classes.
    l2
        Pull of weights towards 0.
    l1
        Pull of weights to exactly 0.
    intercept
        Whether there is a constant term.
    intercept_init
        The constant term to begin with.
    intercept_learning_rate
        The size of a step of the constant term: a number, or a schedule.
    clip_gradient
        The largest slope of the loss that is followed.
    averaging
        Predict with the mean of all weights so far (Polyak and Juditsky, 1992).

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.LogisticRegression(optimizer=optim.SGD(0.5))
    >>> model.learn_one({"x": 2.0}, True)
    >>> model.weights
    {'x': 0.5}
    >>> model.learn_one({"x": -2.0}, False)
    >>> round(model.predict_proba_one({"x": 2.0})[True], 4)
    0.8238
    >>> round(model.score_one({"x": 2.0}), 4)
    1.5422

    References
    ----------
    Bottou, L. (2012). Stochastic gradient descent tricks.
    Polyak, B. T. and Juditsky, A. B. (1992). Acceleration of stochastic approximation by averaging.
    """

    name = "linear_model.LogisticRegression"
    aliases = _ALIASES

    @forwarded
    def __init__(
        self,
        optimizer: Optimizer | str = "optim.SGD",
        loss: Loss | str = "losses.Logistic",
        l2: float = 0.0,
        l1: float = 0.0,
        intercept: bool = True,
        intercept_init: float = 0.0,
        intercept_learning_rate: float | Schedule = 0.01,
        clip_gradient: float = 1e12,
        averaging: bool = False,
    ) -> None: ...


class SoftmaxRegression(Native, Classifier):
    """Logistic regression of any number of classes by stochastic gradient descent.

    Each class has weights of its own, from its first example on, and one example moves them all. Choose it
    over `OneVsRest` for probabilities that belong together. River's version has no constant term: with
    `intercept=False` the figures are River's, as long as no feature is exactly 0 (see `optim`).

    Parameters
    ----------
    optimizer
        How the weights follow the gradient. Each class counts its own steps.
    l2
        Pull of weights towards 0.
    l1
        Pull of weights to exactly 0.
    intercept
        Whether each class has a constant term.
    intercept_learning_rate
        The size of a step of the constant terms: a number, or a schedule.
    clip_gradient
        The largest slope of the loss that is followed.
    averaging
        Predict with the mean of all weights so far (Polyak and Juditsky, 1992).

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.SoftmaxRegression(optimizer=optim.SGD(0.1))
    >>> for label, x in [("low", -2.0), ("middle", 0.1), ("high", 2.0)] * 20:
    ...     model.learn_one({"x": x}, label)
    >>> model.predict_one({"x": 3.0})
    'high'
    >>> {label: round(p, 3) for label, p in model.predict_proba_one({"x": 0.0}).items()}
    {'low': 0.323, 'middle': 0.354, 'high': 0.323}

    References
    ----------
    Bishop, C. M. (2006). Pattern recognition and machine learning, section 4.3.4.
    Polyak, B. T. and Juditsky, A. B. (1992). Acceleration of stochastic approximation by averaging.
    """

    name = "linear_model.SoftmaxRegression"
    aliases = _ALIASES

    @forwarded
    def __init__(
        self,
        optimizer: Optimizer | str = "optim.SGD",
        l2: float = 0.0,
        l1: float = 0.0,
        intercept: bool = True,
        intercept_learning_rate: float | Schedule = 0.01,
        clip_gradient: float = 1e12,
        averaging: bool = False,
    ) -> None: ...

    @property
    def weights(self) -> dict[Label, dict[str, Any]]:
        """The weights of each class."""
        return {label: plane["weights"] for label, plane in self._planes(self.inspect())}

    @property
    def bias(self) -> dict[Label, float]:
        """The constant term of each class."""
        return {label: plane["intercept"] for label, plane in self._planes(self._numbers())}

    def _planes(self, told: Any) -> list[tuple[Label, dict[str, Any]]]:
        planes = zip(self._labels(), told["classes"], strict=False)
        return [(label, plane) for label, plane in planes if label is not None]
