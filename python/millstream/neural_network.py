"""Small neural networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.base import Native, Regressor
from millstream.losses import Loss
from millstream.optim import Optimizer

__all__ = ["IRMARegressor", "MLPRegressor"]


class IRMARegressor(Native, Regressor):
    """A small network that changes its function over a region as little as each example allows."""

    name = "neural_network.IRMARegressor"

    def __init__(
        self,
        bounds: Sequence[Any],
        hidden_units: int = 16,
        stiffness: float = 0.1,
        growth: float = 1.05,
        cap: float = 100.0,
        damping: float = 0.01,
        samples: int = 128,
        inner_steps: int = 2,
        outside: str = "refuse",
        seed: int = 0,
    ) -> None:
        super().__init__(
            bounds=bounds,
            hidden_units=hidden_units,
            stiffness=stiffness,
            growth=growth,
            cap=cap,
            damping=damping,
            samples=samples,
            inner_steps=inner_steps,
            outside=outside,
            seed=seed,
        )


class MLPRegressor(Native, Regressor):
    """A network with one hidden layer of tanh units, by stochastic gradient descent."""

    name = "neural_network.MLPRegressor"

    def __init__(
        self,
        hidden_units: int = 16,
        optimizer: Optimizer | str = "optim.SGD",
        loss: Loss | str = "losses.Squared",
        clip_gradient: float = 1e12,
        seed: int = 0,
    ) -> None:
        super().__init__(
            hidden_units=hidden_units, optimizer=optimizer, loss=loss, clip_gradient=clip_gradient, seed=seed
        )
