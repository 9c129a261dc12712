"""Generators with numeric targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from millstream._part import forwarded
from millstream.synth.base import Generator

__all__ = ["Friedman", "Planes2D"]


class Friedman(Generator):
    """A number from five of ten features, with or without drift.

    `10 sin(π x0 x1) + 20 (x2 - 0.5)² + 10 x3 + 5 x4` plus Gaussian noise of variance 1, features uniform in [0,
    1); the other five are irrelevant. The expected squared error of any model is at least 1. With drift, it is
    `FriedmanDrift` in River.

    The kinds of drift: `"lea"` (local, expanding, abrupt) changes the function in two regions that grow at each
    of three positions; `"gra"` (global, recurring, abrupt) permutes features at the first position and
    restores them at the second; `"gsg"` (global, slow, gradual) uses three functions in turn; the
    probability of the next one grows during `transition_window` examples after each position. In River both are
    equally likely during that time, and in `"gra"` one feature differs (x5 for x4).

    Parameters
    ----------
    seed
        Seed of the random generator; the same seed gives the same stream.
    drift_type
        The kind of drift: `"lea"`, `"gra"`, `"gsg"`, or None.
    position
        Number of examples before each change, ascending; three for `"lea"`, the first two for the others.
    transition_window
        Number of examples of a transition, for `"gsg"`.

    Examples
    --------
    >>> from millstream import evaluate, linear_model, synth
    >>> for x, y in synth.Friedman(seed=42).take(2):
    ...     print([round(value, 2) for value in x.values()], round(y, 2))
    [0.1, 0.59, 0.53, 0.73, 0.19, 0.54, 0.78, 0.97, 0.03, 0.35] 9.93
    [0.36, 0.13, 0.43, 0.92, 0.94, 0.8, 0.98, 0.69, 0.98, 0.78] 14.67

    Half of this stream has another function, to which a linear model with a fixed learning rate adapts quickly:

    >>> for kind in (None, "gra"):
    ...     stream = synth.Friedman(drift_type=kind, position=(5000, 15000), seed=42)
    ...     result = evaluate.prequential(linear_model.LinearRegression(), stream.take(20_000))
    ...     print(kind, round(result.values["MAE"], 2))
    None 2.14
    gra 2.16

    References
    ----------
    Friedman, 1991. Multivariate adaptive regression splines. The Annals of Statistics, 19(1), 1-67.

    Ikonomovska, Gama and Džeroski, 2011. Learning model trees from evolving data streams. Data Mining and
    Knowledge Discovery, 23(1), 128-168.
    """

    name: ClassVar[str] = "synth.Friedman"

    @forwarded
    def __init__(
        self,
        seed: int = 1,
        drift_type: str | None = None,
        position: Sequence[int] = (50_000, 100_000, 150_000),
        transition_window: int = 10_000,
    ) -> None: ...


class Planes2D(Generator):
    """A number from one of two planes, chosen by the first feature.

    Feature 0 is -1 or 1, the others are -1, 0 or 1. With 1 the target is `3 + 3 x1 + 2 x2 + x3`, with -1 it is
    `-3 + 3 x4 + 2 x5 + x6`, plus Gaussian noise of variance 1; three features are irrelevant. The true
    model is a tree with one split and linear models in its leaves. The noise variance is 2 in the book, and 1 in
    the data set known as 2dplanes. River counts the features from 1.

    Parameters
    ----------
    seed
        Seed of the random generator; the same seed gives the same stream.

    Examples
    --------
    >>> from millstream import synth
    >>> for x, y in synth.Planes2D(seed=42).take(2):
    ...     print(list(x.values()), round(y, 2))
    [-1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 1.0, 1.0, -1.0, 0.0] -5.25
    [-1.0, -1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0] 2.2

    References
    ----------
    Breiman, Friedman, Olshen and Stone, 1984. Classification and regression trees. Wadsworth, 237-242.
    """

    name: ClassVar[str] = "synth.Planes2D"

    @forwarded
    def __init__(self, seed: int = 1) -> None: ...
