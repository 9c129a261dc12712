"""Small neural networks.

`MLPClassifier` and `MLPRegressor` learn by stochastic gradient descent. `IRMARegressor` changes its function as
little as possible with each example. `OSELM` and `EchoState` have random layers that never change, and an output
by recursive least squares; `EchoState` remembers earlier rows. For networks of PyTorch, see `compat.torch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.neural_network.classifiers import MLPClassifier
from millstream.neural_network.layers import Layer
from millstream.neural_network.random_layers import OSELM, EchoState
from millstream.neural_network.regressors import IRMARegressor, MLPRegressor

__all__ = ["OSELM", "EchoState", "IRMARegressor", "Layer", "MLPClassifier", "MLPRegressor"]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
