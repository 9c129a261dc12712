"""Linear learners by stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Classifier, Label, Regressor
from millstream.linear_model.weights import SingleVector
from millstream.losses import Loss
from millstream.optim import Optimizer, Schedule
from millstream.verbs import Scores

__all__ = ["LinearRegression", "LogisticRegression", "SoftmaxRegression"]

_ALIASES = {"intercept_lr": "intercept_learning_rate"}


class LinearRegression(SingleVector, Regressor):
    """Linear regression by stochastic gradient descent.

    The default loss estimates the mean of the target; `losses.Quantile` estimates a quantile, `losses.Huber` is
    robust to outliers, and `losses.Poisson` is for counts, with predictions `exp(score)`. Defaults are those of
    River, and so are the results, as long as no feature is exactly 0 (see `optim`) and `l1` is not used: here it
    is a proximal step, in River a cumulative penalty.

    Parameters
    ----------
    optimizer
        Optimiser of the weights: one of `optim`, or its name. `"adaptive"` needs neither scaled features nor
        tuning.
    loss
        Loss to minimise: a regression loss.
    l2
        L2 penalty: shrinks weights towards 0.
    l1
        L1 penalty: shrinks weights to exactly 0.
    intercept
        Whether to fit an intercept.
    intercept_init
        Initial intercept.
    intercept_learning_rate
        Learning rate of the intercept: a number, or a schedule.
    clip_gradient
        Maximum absolute gradient of the loss; larger ones are clipped.
    averaging
        Whether to predict with the mean of all weights so far (Polyak and Juditsky, 1992).

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


class LogisticRegression(SingleVector, Scores, Classifier):
    """Logistic regression for two classes by stochastic gradient descent.

    Another loss gives another classifier: `losses.Hinge` a linear support vector machine, `losses.Hinge(margin=0)`
    a perceptron. For more than two classes use `SoftmaxRegression`, or wrap it in `multiclass.OneVsRest`.
    Defaults are those of River, and so are the results, as long as no feature is exactly 0 (see `optim`) and `l1`
    is not used: here it is a proximal step, in River a cumulative penalty.

    Parameters
    ----------
    optimizer
        Optimiser of the weights: one of `optim`, or its name. `"adaptive"` needs neither scaled features nor
        tuning.
    loss
        Loss to minimise: a classification loss.
    l2
        L2 penalty: shrinks weights towards 0.
    l1
        L1 penalty: shrinks weights to exactly 0.
    intercept
        Whether to fit an intercept.
    intercept_init
        Initial intercept.
    intercept_learning_rate
        Learning rate of the intercept: a number, or a schedule.
    clip_gradient
        Maximum absolute gradient of the loss; larger ones are clipped.
    averaging
        Whether to predict with the mean of all weights so far (Polyak and Juditsky, 1992).

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
    """Logistic regression for any number of classes by stochastic gradient descent.

    Each class has its own weights from its first example on, and every example updates the weights of all classes.
    Choose it over `OneVsRest` for jointly estimated probabilities. River's version has no intercept: with
    `intercept=False` the results are River's, as long as no feature is exactly 0 (see `optim`).

    Parameters
    ----------
    optimizer
        Optimiser of the weights: `"adaptive"`, or one that updates each weight on its own. Each class counts its
        own steps.
    l2
        L2 penalty: shrinks weights towards 0.
    l1
        L1 penalty: shrinks weights to exactly 0.
    intercept
        Whether to fit an intercept for each class.
    intercept_learning_rate
        Learning rate of the intercepts: a number, or a schedule.
    clip_gradient
        Maximum absolute gradient of the loss; larger ones are clipped.
    averaging
        Whether to predict with the mean of all weights so far (Polyak and Juditsky, 1992).

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
        """The intercept of each class."""
        return {label: plane["intercept"] for label, plane in self._planes(self._numbers())}

    def _planes(self, told: Any) -> list[tuple[Label, dict[str, Any]]]:
        planes = zip(self._labels(), told["classes"], strict=False)
        return [(label, plane) for label, plane in planes if label is not None]
