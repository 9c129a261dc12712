"""Optimisers and learning rates, the parts that linear learners are built from.

A weight takes a step when its feature is present and not 0, so that a step costs what the example holds, and a
dense row and the same row written sparsely give the same weights. For optimisers with a memory (momentum, Adam)
this is their lazy form: River's and scikit-learn's results are the same where no feature is 0. Defaults are
River's.
"""

from __future__ import annotations

import sys

from millstream import losses as losses  # River has them here: `optim.losses.Huber`
from millstream.base import Described

__all__ = [
    "SGD",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "Constant",
    "FTRLProximal",
    "InverseScaling",
    "InverseSquareRoot",
    "Momentum",
    "Nesterov",
    "Optimal",
    "Optimizer",
    "RMSProp",
    "Schedule",
]


class Schedule(Described):
    """A learning rate over time."""


class Optimizer(Described):
    """How weights follow a gradient."""

    aliases = {"lr": "learning_rate", "eps": "epsilon"}


class Constant(Schedule):
    """The same learning rate at every step.

    Parameters
    ----------
    learning_rate
        The rate.

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.LinearRegression(optimizer=optim.SGD(optim.Constant(0.1)), intercept=False)
    >>> for x, y in [({"x": 1.0}, 1.0)] * 2:
    ...     model.learn_one(x, y)
    >>> round(model.weights["x"], 4)
    0.36
    """

    name = "optim.Constant"

    def __init__(self, learning_rate: float = 0.01) -> None:
        super().__init__(learning_rate=learning_rate)


class InverseSquareRoot(Schedule):
    """A learning rate that falls as `learning_rate / sqrt(t)`, as the regret bound of gradient descent asks.

    Parameters
    ----------
    learning_rate
        The rate at the first step.

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.LinearRegression(optimizer=optim.SGD(optim.InverseSquareRoot(0.1)), intercept=False)
    >>> for x, y in [({"x": 1.0}, 1.0)] * 2:
    ...     model.learn_one(x, y)
    >>> round(model.weights["x"], 4)
    0.3131

    References
    ----------
    Zinkevich, M. (2003). Online convex programming and generalized infinitesimal gradient ascent.
    """

    name = "optim.InverseSquareRoot"

    def __init__(self, learning_rate: float = 0.01) -> None:
        super().__init__(learning_rate=learning_rate)


class InverseScaling(Schedule):
    """A learning rate that falls as `learning_rate / t ** power`.

    Parameters
    ----------
    learning_rate
        The rate at the first step.
    power
        How fast it falls.

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.LinearRegression(optimizer=optim.SGD(optim.InverseScaling(0.1, 1.0)), intercept=False)
    >>> for x, y in [({"x": 1.0}, 1.0)] * 2:
    ...     model.learn_one(x, y)
    >>> round(model.weights["x"], 4)
    0.28
    """

    name = "optim.InverseScaling"

    def __init__(self, learning_rate: float = 0.01, power: float = 0.5) -> None:
        super().__init__(learning_rate=learning_rate, power=power)


class Optimal(Schedule):
    """Bottou's rate `1 / (alpha (t0 + t - 1))`, for a problem with an l2 penalty of `alpha`.

    `t0` is chosen so that the first steps are as large as typical weights, as in scikit-learn.

    Parameters
    ----------
    alpha
        The strength of the l2 penalty that the rate is meant for; give the learner the same as its `l2`.

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.LogisticRegression(optimizer=optim.SGD(optim.Optimal(alpha=0.01)), l2=0.01)
    >>> for x, y in [({"x": 1.0}, True), ({"x": -1.0}, False)]:
    ...     model.learn_one(x, y)
    >>> round(model.weights["x"], 4)
    2.0579

    References
    ----------
    Bottou, L. (2012). Stochastic gradient descent tricks.
    """

    name = "optim.Optimal"

    def __init__(self, alpha: float = 0.0001) -> None:
        super().__init__(alpha=alpha)


class SGD(Optimizer):
    """Stochastic gradient descent: `w ← w - learning_rate · g`.

    Choose it first: it is the fastest, and with scaled features often as good as any.

    Parameters
    ----------
    learning_rate
        The size of a step: a number, or a schedule.

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> linear_model.LinearRegression(optimizer=optim.SGD(optim.InverseSquareRoot(0.1)))
    LinearRegression(optimizer=SGD(learning_rate=InverseSquareRoot(learning_rate=0.1)))

    References
    ----------
    Robbins, H. and Monro, S. (1951). A stochastic approximation method.
    """

    name = "optim.SGD"

    def __init__(self, learning_rate: float | Schedule = 0.01) -> None:
        super().__init__(learning_rate=learning_rate)


class Momentum(Optimizer):
    """Gradient descent with a velocity that outlives the step: `v ← rho v + learning_rate · g`, `w ← w - v`.

    Parameters
    ----------
    learning_rate
        The size of a step: a number, or a schedule.
    rho
        The share of the last step that goes on.

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.LinearRegression(optimizer=optim.Momentum(0.1), intercept=False)
    >>> for x, y in [({"x": 1.0}, 1.0)] * 2:
    ...     model.learn_one(x, y)
    >>> round(model.weights["x"], 4)
    0.54

    References
    ----------
    Polyak, B. T. (1964). Some methods of speeding up the convergence of iteration methods.
    """

    name = "optim.Momentum"

    def __init__(self, learning_rate: float | Schedule = 0.1, rho: float = 0.9) -> None:
        super().__init__(learning_rate=learning_rate, rho=rho)


class Nesterov(Optimizer):
    """Momentum with the gradient taken where the velocity leads, at `w - rho v`. River's `NesterovMomentum`.

    Parameters
    ----------
    learning_rate
        The size of a step: a number, or a schedule.
    rho
        The share of the last step that goes on.

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.LinearRegression(optimizer=optim.Nesterov(0.1), intercept=False)
    >>> for x, y in [({"x": 1.0}, 1.0)] * 2:
    ...     model.learn_one(x, y)
    >>> round(model.weights["x"], 4)
    0.504

    References
    ----------
    Nesterov, Y. (1983). A method of solving a convex programming problem with convergence rate O(1/k²).
    Sutskever, I., Martens, J., Dahl, G. and Hinton, G. (2013). On the importance of initialization and momentum
    in deep learning.
    """

    name = "optim.Nesterov"

    def __init__(self, learning_rate: float | Schedule = 0.1, rho: float = 0.9) -> None:
        super().__init__(learning_rate=learning_rate, rho=rho)


class AdaGrad(Optimizer):
    """A rate for each weight that falls with the sum of squares of its gradients.

    Choose it where features differ in scale or are rare: each finds its own rate, which only falls.

    Parameters
    ----------
    learning_rate
        The size of a step: a number, or a schedule.
    epsilon
        Added to the sum, to keep the division from being by 0.

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.LinearRegression(optimizer=optim.AdaGrad(0.1), intercept=False)
    >>> for x, y in [({"x": 1.0}, 1.0)] * 2:
    ...     model.learn_one(x, y)
    >>> round(model.weights["x"], 4)
    0.1669

    References
    ----------
    Duchi, J., Hazan, E. and Singer, Y. (2011). Adaptive subgradient methods for online learning and stochastic
    optimization.
    """

    name = "optim.AdaGrad"

    def __init__(self, learning_rate: float | Schedule = 0.1, epsilon: float = 1e-8) -> None:
        super().__init__(learning_rate=learning_rate, epsilon=epsilon)


class AdaDelta(Optimizer):
    """Steps as large as recent steps, in units of recent gradients; there is no learning rate to choose.

    It starts slowly.

    Parameters
    ----------
    rho
        The share of the past in the running means of squares.
    epsilon
        Added to the means, to keep the division from being by 0.

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.LinearRegression(optimizer=optim.AdaDelta(epsilon=0.001), intercept=False)
    >>> for x, y in [({"x": 1.0}, 1.0)] * 2:
    ...     model.learn_one(x, y)
    >>> round(model.weights["x"], 4)
    0.2729

    References
    ----------
    Zeiler, M. D. (2012). ADADELTA: an adaptive learning rate method.
    """

    name = "optim.AdaDelta"

    def __init__(self, rho: float = 0.95, epsilon: float = 1e-8) -> None:
        super().__init__(rho=rho, epsilon=epsilon)


class RMSProp(Optimizer):
    """A rate for each weight by the running mean of its squared gradients.

    Like AdaGrad, but it forgets: choose it where the world changes.

    Parameters
    ----------
    learning_rate
        The size of a step: a number, or a schedule.
    rho
        The share of the past in the running mean of squares.
    epsilon
        Added to the mean, to keep the division from being by 0.

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.LinearRegression(optimizer=optim.RMSProp(0.1), intercept=False)
    >>> for x, y in [({"x": 1.0}, 1.0)] * 2:
    ...     model.learn_one(x, y)
    >>> round(model.weights["x"], 4)
    0.5011

    References
    ----------
    Tieleman, T. and Hinton, G. (2012). Lecture 6.5: RMSProp.
    """

    name = "optim.RMSProp"

    def __init__(self, learning_rate: float | Schedule = 0.1, rho: float = 0.9, epsilon: float = 1e-8) -> None:
        super().__init__(learning_rate=learning_rate, rho=rho, epsilon=epsilon)


class Adam(Optimizer):
    """Running means of gradients and of their squares, corrected for the zeros that they began with.

    Parameters
    ----------
    learning_rate
        The size of a step: a number, or a schedule.
    beta_1
        The share of the past in the running mean of gradients.
    beta_2
        The share of the past in the running mean of squares.
    epsilon
        Added to the root of the mean, to keep the division from being by 0.

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.LinearRegression(optimizer=optim.Adam(0.1), intercept=False)
    >>> for x, y in [({"x": 1.0}, 1.0)] * 2:
    ...     model.learn_one(x, y)
    >>> round(model.weights["x"], 4)
    0.1996

    References
    ----------
    Kingma, D. P. and Ba, J. (2015). Adam: a method for stochastic optimization.
    """

    name = "optim.Adam"

    def __init__(
        self,
        learning_rate: float | Schedule = 0.1,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
    ) -> None:
        super().__init__(learning_rate=learning_rate, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon)


class FTRLProximal(Optimizer):
    """Follow the proximally regularised leader, for sparse weights of very many features.

    It takes its penalties itself; `l1` and `l2` of the learner must be 0. With `l1` above 0 most weights are
    exactly 0. This is algorithm 1 of the paper: predictions use all that was learned. River's version makes a
    weight of what was known one step before, and does not set it back to 0, so its figures differ.

    Parameters
    ----------
    alpha
        The learning rate, before it is divided for each weight.
    beta
        Holds back the first steps of each weight.
    l1
        Pull of weights to exactly 0.
    l2
        Pull of weights towards 0.

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.LogisticRegression(optimizer=optim.FTRLProximal(l1=0.4))
    >>> model.learn_one({"strong": 1.0, "weak": 0.1}, True)
    >>> {name: round(weight, 4) for name, weight in model.weights.items()}
    {'strong': 0.0032, 'weak': 0.0}

    References
    ----------
    McMahan, H. B. et al. (2013). Ad click prediction: a view from the trenches, algorithm 1.
    """

    name = "optim.FTRLProximal"

    def __init__(self, alpha: float = 0.05, beta: float = 1.0, l1: float = 0.0, l2: float = 1.0) -> None:
        super().__init__(alpha=alpha, beta=beta, l1=l1, l2=l2)


#: River's name for the same.
NesterovMomentum = Nesterov
#: River has the schedules in a module of their own: `optim.schedulers.Constant`.
schedulers = sys.modules[__name__]
