"""Optimisers and learning rates, the parts that linear learners are built from.

A weight takes a step when its feature is present and not 0, so that a step costs what the example holds, and a
dense row and the same row written sparsely give the same weights. For optimisers with a memory (momentum, Adam)
this is their lazy form: River's and scikit-learn's results are the same where no feature is 0. Defaults are
River's.

Some optimisers look at the whole example: `Adaptive`, `CoinBetting`, `OnlineNewtonStep` and `AdaGrad(full=True)`.
They are for `linear_model.LinearRegression` and `linear_model.LogisticRegression`, and step the constant term as
they do the other weights; `l1`, `l2`, `averaging` and `intercept_learning_rate` of the learner are refused with
them. For several classes put `multiclass.OneVsRest` around the learner.

A learner also takes an optimiser by its name in lower case: `optimizer="adaptive"` is
`optimizer=optim.Adaptive()`.
"""

from __future__ import annotations

import sys

from millstream import losses as losses  # River has them here: `optim.losses.Huber`
from millstream._part import Config, forwarded

__all__ = [
    "SGD",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "Adaptive",
    "CoinBetting",
    "Constant",
    "FTRLProximal",
    "InverseScaling",
    "InverseSquareRoot",
    "Momentum",
    "Nesterov",
    "OnlineNewtonStep",
    "Optimal",
    "Optimizer",
    "RMSProp",
    "Schedule",
]


class Schedule(Config):
    """A learning rate over time."""


class Optimizer(Config):
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

    @forwarded
    def __init__(self, learning_rate: float = 0.01) -> None: ...


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

    @forwarded
    def __init__(self, learning_rate: float = 0.01) -> None: ...


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

    @forwarded
    def __init__(self, learning_rate: float = 0.01, power: float = 0.5) -> None: ...


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

    @forwarded
    def __init__(self, alpha: float = 0.0001) -> None: ...


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

    @forwarded
    def __init__(self, learning_rate: float | Schedule = 0.01) -> None: ...


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

    @forwarded
    def __init__(self, learning_rate: float | Schedule = 0.1, rho: float = 0.9) -> None: ...


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

    @forwarded
    def __init__(self, learning_rate: float | Schedule = 0.1, rho: float = 0.9) -> None: ...


class AdaGrad(Optimizer):
    """A rate for each weight that falls with the sum of squares of its gradients.

    Choose it where features differ in scale or are rare: each finds its own rate, which only falls. With `full`
    the rate is a matrix, the inverse root of the sum of the outer products of gradients, which also knows how
    features go together; a step then costs about 2 d³ operations for d features (10 features: some microseconds;
    100: a millisecond), and there may be up to 512 features and nominal values. The root is not computed anew at
    each step: eigenvalues and eigenvectors are kept, and each gradient changes them by a matrix of rank one.

    Parameters
    ----------
    learning_rate
        The size of a step: a number, or a schedule.
    epsilon
        Added to the sum, to keep the division from being by 0.
    full
        Whether to take the root of the whole matrix of products of gradients, and not of its diagonal.

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.LinearRegression(optimizer=optim.AdaGrad(0.1), intercept=False)
    >>> for x, y in [({"x": 1.0}, 1.0)] * 2:
    ...     model.learn_one(x, y)
    >>> round(model.weights["x"], 4)
    0.1669
    >>> model = linear_model.LinearRegression(optimizer=optim.AdaGrad(0.1, full=True), intercept=False)
    >>> for x, y in [({"a": 3.0, "b": 4.0}, 1.0), ({"a": -4.0, "b": 3.0}, 1.0)]:
    ...     model.learn_one(x, y)
    >>> {name: round(weight, 4) for name, weight in model.weights.items()}
    {'a': -0.02, 'b': 0.14}

    References
    ----------
    Duchi, J., Hazan, E. and Singer, Y. (2011). Adaptive subgradient methods for online learning and stochastic
    optimization.
    """

    name = "optim.AdaGrad"

    @forwarded
    def __init__(
        self, learning_rate: float | Schedule = 0.1, epsilon: float = 1e-8, full: bool = False
    ) -> None: ...


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

    @forwarded
    def __init__(self, rho: float = 0.95, epsilon: float = 1e-8) -> None: ...


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

    @forwarded
    def __init__(self, learning_rate: float | Schedule = 0.1, rho: float = 0.9, epsilon: float = 1e-8) -> None: ...


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

    @forwarded
    def __init__(
        self,
        learning_rate: float | Schedule = 0.1,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
    ) -> None: ...


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

    @forwarded
    def __init__(self, alpha: float = 0.05, beta: float = 1.0, l1: float = 0.0, l2: float = 1.0) -> None: ...


class Adaptive(Optimizer):
    """Scale-free, importance-aware steps in the manner of Vowpal Wabbit: nothing needs to be scaled or tuned.

    Choose it first where features come as they are. Three ideas at once: weights live in units of the largest
    value of their feature (normalised), each has a rate that falls with its gradients (adaptive), and a step
    follows the loss all the way instead of jumping along its slope (importance-aware): an example of weight 1000
    takes a regression to its target and not beyond. Predictions do not depend on the unit of any feature.
    `optimizer="adaptive"` is the same.

    These are VW's own updates (`vw --loss_function logistic` with no other options), with 64-bit numbers; VW's
    predictions are reproduced to its precision. One thing differs, for regression: VW keeps predictions within the
    range of the targets so far, and this does not. Centred features (`preprocessing.StandardScaler` in front) help
    it too, since scaling is all that it does by itself.

    Parameters
    ----------
    learning_rate
        How far the first steps go. It matters little, as the rates of weights fall with their gradients.

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> from millstream.synth import SEA
    >>> def accuracy(unit):
    ...     model, right = linear_model.LogisticRegression(optimizer="adaptive"), 0
    ...     for x, y in SEA(noise=0.1, seed=1).take(2000):
    ...         right += model.step_one({**x, 0: x[0] * unit}, y) == y
    ...     return right / 2000
    >>> accuracy(1), accuracy(1e6), accuracy(1e-6)
    (0.7895, 0.7895, 0.7895)

    References
    ----------
    Ross, S., Mineiro, P. and Langford, J. (2013). Normalized online learning.
    Karampatziakis, N. and Langford, J. (2011). Online importance weight aware updates.
    Duchi, J., Hazan, E. and Singer, Y. (2011). Adaptive subgradient methods for online learning and stochastic
    optimization.
    """

    name = "optim.Adaptive"

    @forwarded
    def __init__(self, learning_rate: float = 0.5) -> None: ...


class CoinBetting(Optimizer):
    """Parameter-free steps: each weight is a bet on the sign of its next gradient.

    Choose it where no learning rate is known and none should be searched for. A weight's gambler bets a share of
    his wealth; he is never ruined, and on gradients that lean to one side his wealth, and the weight with it,
    grows exponentially. The regret is that of the best learning rate in hindsight, but for a logarithm.
    Predictions do not depend on the units of features.

    Parameters
    ----------
    wealth
        What the weights of an example have to bet at first, in units of loss. It matters little: the regret grows
        by it, and with the logarithm of its inverse.

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.LinearRegression(optimizer=optim.CoinBetting(), intercept=False)
    >>> for x, y in [({"x": 1.0}, 1.0)] * 2:
    ...     model.learn_one(x, y)
    >>> round(model.weights["x"], 4)
    0.4375

    References
    ----------
    Orabona, F. and Pál, D. (2016). Coin betting and parameter-free online learning.
    Orabona, F. and Tommasi, T. (2017). Training deep networks without learning rates through coin betting.
    """

    name = "optim.CoinBetting"

    @forwarded
    def __init__(self, wealth: float = 1.0) -> None: ...


class OnlineNewtonStep(Optimizer):
    """Steps by the inverse of the sum of outer products of gradients, for losses that bend.

    Choose it for the logistic loss with up to some hundred features that go together: on losses that bend
    everywhere (exp-concave ones) its regret grows as the logarithm of the number of examples, where that of
    gradient descent grows as its root. Scale the features first. For the squared loss take `linear_model.RLS`,
    which needs no learning rate: here it should be about 16 times the square of the largest error. A step costs
    O(d²), and there may be up to 4096 features and nominal values.

    Parameters
    ----------
    learning_rate
        The size of a step, 1 / γ of the paper: a number, or a schedule.
    epsilon
        The diagonal of the matrix before anything is learned; what holds back the first steps.

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.LogisticRegression(optimizer=optim.OnlineNewtonStep(), intercept=False)
    >>> for x, y in [({"x": 1.0}, True)] * 2:
    ...     model.learn_one(x, y)
    >>> round(model.weights["x"], 4)
    0.6844

    References
    ----------
    Hazan, E., Agarwal, A. and Kale, S. (2007). Logarithmic regret algorithms for online convex optimization.
    """

    name = "optim.OnlineNewtonStep"

    @forwarded
    def __init__(self, learning_rate: float | Schedule = 1.0, epsilon: float = 1.0) -> None: ...


#: River's name for the same.
NesterovMomentum = Nesterov
#: River has the schedules in a module of their own: `optim.schedulers.Constant`.
schedulers = sys.modules[__name__]
