"""Losses that linear learners follow downhill."""

from __future__ import annotations

from millstream.base import Described

__all__ = ["Logistic", "Loss"]


class Loss(Described):
    """A loss of a target and a score."""


class Logistic(Loss):
    """The logistic loss `ln(1 + exp(−y z))`, whose minimiser is the log odds."""

    name = "losses.Logistic"

    def __init__(self) -> None:
        super().__init__()
