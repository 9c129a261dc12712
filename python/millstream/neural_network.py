"""Small neural networks: functions whose parameters do not enter linearly.

Both learners have the same network, one hidden layer of tanh units with a linear output, and begin with the same
weights for the same `seed`: the network says 0 until it has learned. They differ in how an example changes it.
"""

from __future__ import annotations

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Regressor
from millstream.basis import Bounds
from millstream.losses import Loss
from millstream.optim import Optimizer

__all__ = ["IRMARegressor", "MLPRegressor"]


class IRMARegressor(Native, Regressor):
    """A small network that changes its function over a region as little as each example allows.

    The incremental risk functional of IRMA, for a network: each step minimises the squared error of the example
    plus `stiffness` times the mean squared change of the network's function over the region, measured at fixed
    quasi-random points. The network is linearised and the system of the linear problem solved (Gauss and
    Newton); a step is taken only if the functional falls, so the error of the example that is learned never
    rises.

    Choose it where examples are dear and few, the inputs are bounded, and a millisecond for each is no matter:
    control, calibration, experiments. On three streams (one, two and five inputs) it is four to thirty times
    nearer to the truth after 2,000 examples than `MLPRegressor` with the best of SGD and Adam at two rates each.
    But a step costs some hundred times as much: where examples are cheap, or may be learned over and over,
    `MLPRegressor` in the same CPU time is as near with one input and two to four times nearer with more.
    docs/notes/irma.md has the figures.

    Time grows with the square of the number of parameters, 1 + hidden_units × (2 + features), times `samples`,
    and with its cube. Targets should be of the order of 1, because `damping` is relative to them. A missing
    number stands in the middle of its bounds; a nominal feature has a weight for each value and unit, and its
    values count alike in the region. Sample weights multiply the error of the example.

    Parameters
    ----------
    bounds
        The least and the greatest value of every input, or a pair for each.
    hidden_units
        How many tanh units the hidden layer has.
    stiffness
        What a change of the function costs at the first example. It multiplies the mean change over the region,
        not the integral as in `linear_model.IRMA`, so that it does not depend on the units of inputs.
    growth
        The factor by which the stiffness grows with each example; 1 keeps it.
    schedule
        Whether each example multiplies the stiffness by `growth`, or adds what the first one would: "geometric" or
        "linear".
    cap
        The stiffness grows up to this and stays. The higher it is, the less noise is followed, and the less drift.
    damping
        What a change of the parameters costs, relative to one of the function.
    samples
        How many points of the region the change of the function is measured at; better more than parameters.
    inner_steps
        How many times the network is linearised for one example, at most.
    outside
        What happens to a value beyond the bounds: "refuse", "clamp" or "extrapolate".
    seed
        The seed of the weights to begin with, and of the points.

    Examples
    --------
    >>> import math
    >>> from millstream import neural_network
    >>> model = neural_network.IRMARegressor(bounds=(0, 3), hidden_units=8)
    >>> for step in range(200):
    ...     x = step * 0.618 % 1 * 3
    ...     model.learn_one({"x": x}, x * math.exp(-x * x))
    >>> round(model.predict_one({"x": 0.7}), 2), round(0.7 * math.exp(-0.49), 2)
    (0.43, 0.43)

    References
    ----------
    Buschermöhle, A., Schoenke, J., Rosemann, N. and Brockmann, W. (2013). The incremental risk functional:
    basics of a novel incremental learning approach. IEEE SMC. Section V leaves this case open.
    Levenberg, K. (1944). A method for the solution of certain non-linear problems in least squares.
    Richtmyer, R. D. (1951). The evaluation of definite integrals, and a quasi-Monte-Carlo method.
    """

    name = "neural_network.IRMARegressor"

    @forwarded
    def __init__(
        self,
        bounds: Bounds,
        hidden_units: int = 16,
        stiffness: float = 0.1,
        growth: float = 1.05,
        schedule: str = "geometric",
        cap: float = 100.0,
        damping: float = 0.01,
        samples: int = 128,
        inner_steps: int = 2,
        outside: str = "refuse",
        seed: int = 0,
    ) -> None: ...


class MLPRegressor(Native, Regressor):
    """A network with one hidden layer of tanh units, by stochastic gradient descent.

    Choose it where a linear model is too stiff and examples are many: a step takes about a microsecond. Features
    should be scaled (`preprocessing.StandardScaler` before it), and the target of the order of 1. A missing
    value weighs nothing; a nominal feature has a weight for each value and unit. With few examples and bounded
    inputs, `IRMARegressor` learns more from each.

    Parameters
    ----------
    hidden_units
        How many tanh units the hidden layer has.
    optimizer
        How the weights follow the gradient. `optim.FTRLProximal` cannot: it makes weights of its memory alone, and
        would forget those that the hidden layer begins with.
    loss
        The loss that is followed downhill; one for numbers.
    clip_gradient
        The largest slope of the loss that is followed.
    seed
        The seed of the weights to begin with.

    Examples
    --------
    >>> import math
    >>> from millstream import neural_network, optim, preprocessing
    >>> model = preprocessing.StandardScaler() | neural_network.MLPRegressor(optimizer=optim.Adam(0.01))
    >>> for step in range(5000):
    ...     x = step * 0.618 % 1 * 3
    ...     model.learn_one({"x": x}, x * math.exp(-x * x))
    >>> round(model.predict_one({"x": 0.7}), 1), round(0.7 * math.exp(-0.49), 1)
    (0.4, 0.4)

    References
    ----------
    Rumelhart, D. E., Hinton, G. E. and Williams, R. J. (1986). Learning representations by back-propagating
    errors. Nature 323.
    """

    name = "neural_network.MLPRegressor"

    @forwarded
    def __init__(
        self,
        hidden_units: int = 16,
        optimizer: Optimizer | str = "optim.SGD",
        loss: Loss | str = "losses.Squared",
        clip_gradient: float = 1e12,
        seed: int = 0,
    ) -> None: ...
