"""Networks with one hidden layer that predict a number.

Both learners have the same network, one hidden layer of tanh units with a linear output, and the same initial
weights for the same `seed`; an untrained network predicts 0. They differ in how an example updates it.
"""

from __future__ import annotations

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Regressor
from millstream.basis import Bounds
from millstream.losses import Loss
from millstream.neural_network.layers import HasLayers
from millstream.optim import Optimizer

__all__ = ["IRMARegressor", "MLPRegressor"]


class IRMARegressor(Native, Regressor):
    """Small network; each example changes its function as little as possible over a region.

    The incremental risk functional of IRMA, for a network: each step minimises the squared error of the example
    plus `stiffness` times the mean squared change of the network's function over the region, measured at fixed
    quasi-random points. The network is linearised and the linear problem solved (Gauss-Newton). A step is accepted
    only if the functional decreases, so the error of the learned example never increases.

    Choose it where examples are expensive and few, the inputs are bounded, and a millisecond per example is
    acceptable: control, calibration, experiments. On three streams (one, two and five inputs) its error after
    2,000 examples is a quarter to a thirtieth of that of `MLPRegressor` with the best of SGD and Adam at two
    learning rates each. However, a step costs about a hundred times as much: if examples are cheap, or can be
    learned repeatedly, `MLPRegressor` with the same CPU time is as accurate with one input and two to four times
    as accurate with more. docs/notes/irma.md has the figures.

    The cost of a step grows with `samples` times the square of the number of parameters, 1 + hidden_units × (2 +
    features), and with its cube. Targets should be of the order of 1, because `damping` is relative to them. A
    missing number is replaced by the centre of its bounds. A nominal feature has one weight per value and unit,
    and its values have equal weight in the region. Sample weights multiply the error of the example.

    Parameters
    ----------
    bounds
        Lower and upper bound of all inputs, or a pair for each input.
    hidden_units
        Number of tanh units in the hidden layer.
    stiffness
        Cost of changing the function at the first example. It multiplies the mean change over the region, not the
        integral as in `linear_model.IRMA`, and so does not depend on the units of the inputs.
    growth
        Growth factor of the stiffness per example; 1 keeps it constant.
    schedule
        "geometric" multiplies the stiffness by `growth` with each example, "linear" adds
        `stiffness * (growth - 1)`.
    cap
        Maximum stiffness. Higher values give more robustness to noise and slower adaptation to drift.
    damping
        Cost of changing the parameters, relative to changing the function.
    samples
        Number of points of the region at which the change is measured; should exceed the number of parameters.
    inner_steps
        Maximum number of linearisations per example.
    outside
        Treatment of values beyond the bounds: "refuse", "clamp" or "extrapolate".
    seed
        Random seed of the initial weights and of the points.

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


class MLPRegressor(HasLayers, Native, Regressor):
    """Neural network with one hidden layer of tanh units, by stochastic gradient descent.

    Choose it where a linear model is not flexible enough and examples are plentiful: a step takes about a
    microsecond. Scale the features (with `preprocessing.StandardScaler`), and the target to the order of 1. A
    missing value contributes nothing; a nominal feature has one weight per value and unit. With few examples and
    bounded inputs, `IRMARegressor` learns more from each.

    Parameters
    ----------
    hidden_units
        Number of tanh units in the hidden layer.
    optimizer
        Optimiser of the weights. `optim.FTRLProximal` is not supported: it computes weights from its own state
        only and would lose the initial weights of the hidden layer.
    loss
        Loss to minimise: a regression loss.
    clip_gradient
        Maximum absolute gradient of the loss; larger ones are clipped.
    seed
        Random seed of the initial weights.

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
