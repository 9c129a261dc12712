"""Learners that are linear in their parameters."""

from __future__ import annotations

from millstream.base import Classifier, Native
from millstream.losses import Loss
from millstream.optim import Optimizer, Schedule

__all__ = ["LogisticRegression"]


class LogisticRegression(Native, Classifier):
    """Logistic regression of two classes by stochastic gradient descent.

    Nominal features get a weight for each value. Put a `StandardScaler` in front of numbers.

    Parameters
    ----------
    optimizer
        How the weights follow the gradient.
    loss
        The loss that is followed downhill; one for classes.
    l1
        Pull of weights to exactly 0.
    l2
        Pull of weights towards 0.
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
    >>> round(model.predict_proba_one({"x": 2.0})[True], 4)
    0.7319
    """

    name = "linear_model.LogisticRegression"
    aliases = {"intercept_lr": "intercept_learning_rate"}

    def __init__(
        self,
        optimizer: Optimizer | str = "optim.SGD",
        loss: Loss | str = "losses.Logistic",
        l1: float = 0.0,
        l2: float = 0.0,
        intercept: bool = True,
        intercept_init: float = 0.0,
        intercept_learning_rate: float | Schedule = 0.01,
        clip_gradient: float = 1e12,
        averaging: bool = False,
    ) -> None:
        super().__init__(
            optimizer=optimizer,
            loss=loss,
            l1=l1,
            l2=l2,
            intercept=intercept,
            intercept_init=intercept_init,
            intercept_learning_rate=intercept_learning_rate,
            clip_gradient=clip_gradient,
            averaging=averaging,
        )
