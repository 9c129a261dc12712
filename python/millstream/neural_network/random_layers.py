"""Networks with random layers that never change, and an output by recursive least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Regressor
from millstream.neural_network.layers import HasLayers

__all__ = ["OSELM", "EchoState"]


class OSELM(HasLayers, Native, Regressor):
    """Random hidden layer and recursive least squares on it: exact ridge regression on random features.

    Choose it for smooth functions of a few scaled features: it has no learning rate, and after every example its
    output weights are exactly those of ridge regression on the random features of all examples so far. A step
    costs the square of `hidden_units`. `MLPRegressor` learns its features instead and is better with many
    inputs.

    Scale the features (with `preprocessing.StandardScaler`): `input_scale` is relative to them. A missing number
    contributes nothing; a nominal feature has random weights per value.

    Parameters
    ----------
    hidden_units
        Number of random tanh units.
    l2
        L2 penalty of the output weights; the intercept is penalised too.
    forgetting
        Forgetting factor: weight of an example relative to the next one.
    input_scale
        Largest absolute weight of a feature in the hidden layer; higher values for functions with more detail.
    seed
        Random seed of the hidden layer.

    Examples
    --------
    >>> import math
    >>> from millstream import neural_network
    >>> model = neural_network.OSELM(hidden_units=30, input_scale=3.0)
    >>> for step in range(500):
    ...     x = step * 0.618 % 1 * 3
    ...     model.learn_one({"x": x}, x * math.exp(-x * x))
    >>> round(model.predict_one({"x": 0.7}), 2), round(0.7 * math.exp(-0.49), 2)
    (0.43, 0.43)

    References
    ----------
    Liang, N.-Y., Huang, G.-B., Saratchandran, P. and Sundararajan, N. (2006). A fast and accurate online
    sequential learning algorithm for feedforward networks. IEEE Transactions on Neural Networks 17.
    """

    name = "neural_network.OSELM"

    @forwarded
    def __init__(
        self,
        hidden_units: int = 50,
        l2: float = 1e-3,
        forgetting: float = 1.0,
        input_scale: float = 1.0,
        seed: int = 0,
    ) -> None: ...


class EchoState(HasLayers, Native, Regressor):
    """Echo state network: fixed recurrent layer, and recursive least squares on its state.

    Choose it for targets that depend on an unknown number of earlier rows: the recurrent layer, the
    *reservoir*, keeps a fading memory of all rows, and the output is linear in it and in the features. There is no
    learning rate and no backpropagation through time. Rows must arrive in time order: learning an example
    advances the reservoir by one step, and predicting does not. Predict each row just before learning it, as
    `step_one` does.

    Parameters
    ----------
    hidden_units
        Number of units in the reservoir. A step costs about their square.
    spectral_radius
        Largest absolute eigenvalue of the recurrent weights: closer to 1 for a longer memory. Measured to about
        one thousandth.
    leak
        Fraction of its state that a unit replaces in each step; lower values for slower series.
    density
        Fraction of recurrent weights that are not 0.
    input_scale
        Largest absolute weight of a feature; higher values use more of the nonlinearity.
    l2
        L2 penalty of the output weights.
    forgetting
        Forgetting factor: weight of an example relative to the next one.
    warm_up
        Number of initial examples that advance the reservoir but are not learned.
    seed
        Random seed of the reservoir.

    Examples
    --------
    The target is the feature of three rows before:

    >>> import random
    >>> from millstream import neural_network
    >>> series = [random.Random(step).uniform(-0.5, 0.5) for step in range(1000)]
    >>> model = neural_network.EchoState(hidden_units=50, warm_up=20)
    >>> errors = [abs(model.step_one({"x": now}, past) - past) for now, past in zip(series[3:], series)]
    >>> round(sum(errors[:100]) / 100, 2), round(sum(errors[-100:]) / 100, 2)
    (0.1, 0.01)

    References
    ----------
    Jaeger, H. (2001). The "echo state" approach to analysing and training recurrent neural networks. GMD report
    148. Jaeger, H., Lukoševičius, M., Popovici, D. and Siewert, U. (2007). Optimization and applications of echo
    state networks with leaky-integrator neurons. Neural Networks 20.
    """

    name = "neural_network.EchoState"

    @forwarded
    def __init__(
        self,
        hidden_units: int = 100,
        spectral_radius: float = 0.9,
        leak: float = 1.0,
        density: float = 0.1,
        input_scale: float = 1.0,
        l2: float = 1e-6,
        forgetting: float = 1.0,
        warm_up: int = 0,
        seed: int = 0,
    ) -> None: ...

    @property
    def reservoir(self) -> Any:
        """The state of the reservoir after the last learned row."""
        return np.array(self.inspect()["reservoir"])
