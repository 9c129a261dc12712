"""Optimisers and learning rate schedules of linear learners.

A weight is updated when its feature is present and not 0. The cost of a step therefore depends on the features
present in the example, and a dense row and its sparse form give the same weights. For optimisers with memory
(momentum, Adam) this is the lazy form: results equal those of River and scikit-learn where no feature is 0.
Defaults are River's.

Full-vector optimisers use all features of an example at once: `Adaptive`, `CoinBetting`, `OnlineNewtonStep` and
`AdaGrad(full=True)`. They work with `linear_model.LinearRegression` and `linear_model.LogisticRegression` and
update the intercept like any other weight. The parameters `averaging` and `intercept_learning_rate` of the learner
cannot be used with them, and `l1` and `l2` only with `Adaptive`. For several classes, `Adaptive` works with
`linear_model.SoftmaxRegression`; for the others, wrap the learner in `multiclass.OneVsRest`.

A learner also accepts an optimiser by its lower-case name: `optimizer="adaptive"` is `optimizer=optim.Adaptive()`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from millstream import losses as losses  # River has them here: `optim.losses.Huber`
from millstream._other_names import unknown_name
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
    """Base class of learning rate schedules."""


class Optimizer(Config):
    """Base class of optimisers."""

    aliases = {"lr": "learning_rate", "eps": "epsilon"}


class Constant(Schedule):
    """The same learning rate at every step.

    Parameters
    ----------
    learning_rate
        Learning rate.

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
    """A learning rate that falls as `learning_rate / sqrt(t)`, as in the regret bound of gradient descent.

    Parameters
    ----------
    learning_rate
        Learning rate at the first step.

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
        Learning rate at the first step.
    power
        Exponent of the decay.

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
    """Bottou's learning rate `1 / (l2 (t0 + t - 1))`, for a problem with an L2 penalty.

    `t0` is chosen so that the first steps are as large as typical weights, as in scikit-learn.

    Parameters
    ----------
    l2
        L2 penalty of the problem; set the learner's `l2` to the same value. (`alpha` in River and scikit-learn.)

    Examples
    --------
    >>> from millstream import linear_model, optim
    >>> model = linear_model.LogisticRegression(optimizer=optim.SGD(optim.Optimal(l2=0.01)), l2=0.01)
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
    def __init__(self, l2: float = 0.0001) -> None: ...


class SGD(Optimizer):
    """Stochastic gradient descent: `w ← w - learning_rate · g`.

    A good first choice: it is the fastest optimiser and, with scaled features, often as good as any.

    Parameters
    ----------
    learning_rate
        Learning rate: a number, or a schedule.

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
    """Stochastic gradient descent with momentum: `v ← momentum v + learning_rate · g`, `w ← w - v`.

    Parameters
    ----------
    learning_rate
        Learning rate: a number, or a schedule.
    momentum
        Fraction of the previous step that is kept.

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
    def __init__(self, learning_rate: float | Schedule = 0.1, momentum: float = 0.9) -> None: ...


class Nesterov(Optimizer):
    """Nesterov momentum: the gradient is taken at `w - momentum v`. River's `NesterovMomentum`.

    Parameters
    ----------
    learning_rate
        Learning rate: a number, or a schedule.
    momentum
        Fraction of the previous step that is kept.

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
    def __init__(self, learning_rate: float | Schedule = 0.1, momentum: float = 0.9) -> None: ...


class AdaGrad(Optimizer):
    """One learning rate per weight that falls with the sum of its squared gradients.

    Choose it for features of different scales and for rare features: each weight has its own decreasing learning
    rate. With `full=True` the rate is a matrix, the inverse square root of the sum of the outer products of
    gradients, which accounts for correlated features. A step then costs about 2 d³ operations for d features (10
    features: a few microseconds; 100: a millisecond), and up to 512 features and nominal values are supported. The
    root is not recomputed at each step: eigenvalues and eigenvectors receive a rank-one update.

    Parameters
    ----------
    learning_rate
        Learning rate: a number, or a schedule.
    epsilon
        Constant added to the sum to avoid division by 0.
    full
        Whether to use the full matrix of products of gradients instead of its diagonal.

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
    """Steps scaled by running means of squared steps and squared gradients; there is no learning rate.

    The first steps are small.

    Parameters
    ----------
    rho
        Decay of the running means of squares.
    epsilon
        Constant added to the means to avoid division by 0.

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
    """One learning rate per weight by the running mean of its squared gradients.

    Like AdaGrad with forgetting: choose it for streams with drift.

    Parameters
    ----------
    learning_rate
        Learning rate: a number, or a schedule.
    rho
        Decay of the running mean of squared gradients.
    epsilon
        Constant added to the mean to avoid division by 0.

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
    """Running means of gradients and of their squares, with bias correction.

    Parameters
    ----------
    learning_rate
        Learning rate: a number, or a schedule.
    beta_1
        Decay of the running mean of gradients.
    beta_2
        Decay of the running mean of squared gradients.
    epsilon
        Constant added to the root of the mean to avoid division by 0.

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
    """Follow the regularised leader (FTRL-Proximal), for sparse weights of very many features.

    The penalties are parameters of the optimiser; `l1` and `l2` of the learner must be 0. With `l1` above 0 most
    weights are exactly 0. This is algorithm 1 of the paper, in which predictions use the complete state. River
    computes a weight from the state one step before and does not reset it to 0, so its results differ.

    Parameters
    ----------
    learning_rate
        Learning rate, before the scaling per weight. The paper's alpha.
    rate_offset
        Dampens the first steps of each weight. The paper's beta.
    l1
        L1 penalty: shrinks weights to exactly 0.
    l2
        L2 penalty: shrinks weights towards 0.

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
    def __init__(
        self, learning_rate: float = 0.05, rate_offset: float = 1.0, l1: float = 0.0, l2: float = 1.0
    ) -> None: ...


class Adaptive(Optimizer):
    """Scale-free, importance-aware steps as in Vowpal Wabbit: needs neither scaled features nor tuning.

    A good first choice for unscaled features. It combines three ideas. Weights are in units of the largest value
    of their feature (normalised). Each weight has a learning rate that falls with its gradients (adaptive). A step
    follows the loss instead of extrapolating its gradient (importance-aware): an example of weight 1000 moves a
    regression to its target and not beyond. Predictions do not depend on the unit of any feature.
    `optimizer="adaptive"` is the same.

    These are VW's updates (`vw --loss_function logistic` with no other options) in 64-bit arithmetic; VW's
    predictions are reproduced to its precision. For regression there is one difference: VW clips predictions to
    the range of the targets so far, and this optimiser does not; `PredClipper(model, seen_range=True)` of
    `preprocessing` does. Centring the features (with `preprocessing.StandardScaler`) still helps, since the
    optimiser only scales them.

    The penalties `l1` and `l2` of the optimiser are added to those of the learner. They are applied as proximal
    steps to the weights of the features in the row, with the learning rate of each weight; VW shrinks all weights
    at every example. An example without loss does not shrink weights. In `linear_model.SoftmaxRegression`, each
    score follows its loss with the other scores fixed.

    Parameters
    ----------
    learning_rate
        Initial learning rate. Results depend little on it, since the rates of weights fall with their gradients.
    power
        Power of the sum of squared gradients by which the rate of a weight falls: VW's `--power_t`. With 0 rates
        are constant, with 1 they fall as fast as the number of examples grows.
    l1
        L1 penalty, in addition to that of the learner: sets weights to 0.
    l2
        L2 penalty, in addition to that of the learner: shrinks weights.

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
    def __init__(
        self, learning_rate: float = 0.5, power: float = 0.5, l1: float = 0.0, l2: float = 0.0
    ) -> None: ...


class CoinBetting(Optimizer):
    """Parameter-free steps: each weight bets on the sign of its next gradient.

    Choose it to avoid a search for the learning rate. Each weight bets a fraction of its wealth, which never
    reaches 0. While gradients have mostly one sign, the wealth, and with it the weight, grows exponentially. The
    regret is that of the best learning rate in hindsight, up to a logarithmic factor. Predictions do not depend on
    the units of features.

    Parameters
    ----------
    wealth
        Initial wealth of the weights of an example, in units of loss. Results depend little on it: the regret
        grows by it and with the logarithm of its inverse.

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
    """Steps scaled by the inverse of the summed outer products of gradients, for exp-concave losses.

    Choose it for the logistic loss with up to a few hundred correlated features. For exp-concave losses its regret
    grows as the logarithm of the number of examples, that of gradient descent as the square root. Scale the
    features first. For the squared loss use `linear_model.RLS`, which needs no learning rate; here it should be
    about 16 times the square of the largest error. A step costs O(d²), and up to 4096 features and nominal values
    are supported.

    Parameters
    ----------
    learning_rate
        Learning rate, 1 / γ in the paper: a number, or a schedule.
    epsilon
        Initial diagonal of the matrix; larger values dampen the first steps.

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

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
