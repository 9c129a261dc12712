"""Optimisers and learning rates, the parts that linear learners are built from."""

from __future__ import annotations

from millstream.base import Described

__all__ = ["SGD", "Constant", "Optimizer", "Schedule"]


class Schedule(Described):
    """A learning rate over time."""


class Optimizer(Described):
    """How weights follow a gradient."""

    aliases = {"lr": "learning_rate"}


class Constant(Schedule):
    """The same learning rate at every step.

    Parameters
    ----------
    learning_rate
        The rate.
    """

    name = "optim.Constant"

    def __init__(self, learning_rate: float = 0.01) -> None:
        super().__init__(learning_rate=learning_rate)


class SGD(Optimizer):
    """Stochastic gradient descent: `w ← w − learning_rate · gradient`.

    Parameters
    ----------
    learning_rate
        The size of a step: a number, or a schedule.

    References
    ----------
    Robbins, H. and Monro, S. (1951). A stochastic approximation method.
    """

    name = "optim.SGD"

    def __init__(self, learning_rate: float | Schedule = 0.01) -> None:
        super().__init__(learning_rate=learning_rate)
