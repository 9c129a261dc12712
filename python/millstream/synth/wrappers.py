"""Generators that modify others: drift, wrong labels, rare classes, missing values. They can be nested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from millstream._part import forwarded
from millstream.synth.base import Generator

__all__ = ["Drift", "Imbalance", "LabelNoise", "Missing"]


class Drift(Generator):
    """Drift from one stream to another: abrupt, gradual, incremental or recurring.

    Each kind is one call, for streams `a` and `b`:

    - abrupt: `Drift(a, b, position=5000, width=0)`. From example 5000 on (counted from 0), all come from `b`.
    - gradual: `Drift(a, b, position=5000, width=1000)`. The probability of an example of `b` rises along a
      sigmoid, `1 / (1 + exp(-4 (t - position) / width))`; it is one half at the position.
    - incremental: `Drift(a, b, position=5000, width=1000, incremental=True)`. Each example
      is the weighted mean of two examples of one class, one from each stream, where the sigmoid is the weight of
      `b`. The concept itself moves continuously.
    - recurring: `Drift(a, b, position=5000, width=0, period=5000)`. `a` returns after 5000 examples, then `b`,
      and so on; with a width, each change is gradual or incremental.

    For more than two concepts, nest it: `Drift(Drift(a, b, 5000), c, 10_000)`. River counts examples from 1.

    Parameters
    ----------
    stream
        The generator before the change.
    drift_stream
        The generator after the change, with the same features.
    position
        Index of the example at which both generators are equally likely.
    width
        Number of examples of the transition; 0 for an abrupt change.
    incremental
        Whether examples of both streams are mixed during the transition, instead of choosing one of them.
    period
        Number of examples between recurring changes; None for a single change.
    angle
        Steepness of the transition in degrees, which sets the width to 1 / tan(angle). Also `alpha`.
    seed
        Seed of the random generator; the same seed gives the same stream.

    Examples
    --------
    >>> from millstream import evaluate, linear_model, synth
    >>> a, b = synth.Sine(classification_function=0), synth.Sine(classification_function=1)
    >>> abrupt = synth.Drift(a, b, position=5000, width=0)
    >>> result = evaluate.prequential(linear_model.LogisticRegression(), abrupt.take(10_000), every=2500)
    >>> [round(float(value), 2) for value in result.curve["rolling_Accuracy"]]
    [0.94, 0.96, 0.35, 0.9]

    The fraction of examples of the second stream around the change:

    >>> gradual = synth.Drift(a, b, position=5000, width=1000)
    >>> chunk = next(gradual.chunks(10_000))
    >>> wrong = [a.rule(x) != y for x, y in chunk.examples()]
    >>> [sum(wrong[start : start + 500]) / 500 for start in (4000, 4500, 5000, 5500)]
    [0.052, 0.278, 0.738, 0.946]

    References
    ----------
    Bifet, Holmes, Pfahringer, Kirkby and Gavaldà, 2009. New ensemble methods for evolving data streams.
    KDD, 139-148.

    Ksieniewicz and Zyblewski, 2022. Stream-learn: open-source Python library for difficult data stream batch
    analysis. Neurocomputing, 478, 11-21.
    """

    name: ClassVar[str] = "synth.Drift"

    @forwarded
    def __init__(
        self,
        stream: Generator,
        drift_stream: Generator,
        position: int = 5000,
        width: int = 1000,
        incremental: bool = False,
        period: int | None = None,
        angle: float | None = None,
        seed: int = 1,
    ) -> None: ...


class LabelNoise(Generator):
    """Another generator with wrong labels for a fraction of the examples.

    Parameters
    ----------
    stream
        The generator to modify; its targets must be classes.
    probability
        Probability of a wrong class, drawn uniformly from the others.
    seed
        Seed of the random generator; the same seed gives the same stream.

    Examples
    --------
    >>> from millstream import synth
    >>> digits = synth.LED(seed=42)
    >>> noisy = synth.LabelNoise(digits, probability=0.5)
    >>> [y for _, y in digits.take(8)]
    [1, 0, 8, 7, 4, 6, 4, 7]
    >>> [y for _, y in noisy.take(8)]
    [2, 0, 3, 7, 4, 2, 4, 3]

    References
    ----------
    Angluin and Laird, 1988. Learning from noisy examples. Machine Learning, 2(4), 343-370.
    """

    name: ClassVar[str] = "synth.LabelNoise"

    @forwarded
    def __init__(self, stream: Generator, probability: float = 0.1, seed: int = 1) -> None: ...


class Imbalance(Generator):
    """Another generator with classes in given proportions, such as few frauds among many payments.

    Surplus examples are discarded. The features of each class are therefore those of the stream; only its
    frequency changes.

    Parameters
    ----------
    stream
        The generator to modify; its targets must be classes.
    shares
        Relative frequency of each class.
    seed
        Seed of the random generator; the same seed gives the same stream.

    Examples
    --------
    >>> from millstream import synth
    >>> rare = synth.Imbalance(synth.SEA(seed=42), shares=(99, 1))
    >>> chunk = next(rare.chunks(10_000))
    >>> int(chunk.y.sum())
    111
    """

    name: ClassVar[str] = "synth.Imbalance"

    @forwarded
    def __init__(self, stream: Generator, shares: Sequence[float], seed: int = 1) -> None: ...


class Missing(Generator):
    """Another generator with missing values: each number or nominal value is missing with the same probability.

    A missing value is None in a dict, NaN in a matrix and null in a table.

    Parameters
    ----------
    stream
        The generator to modify.
    probability
        Probability that a value is missing.
    seed
        Seed of the random generator; the same seed gives the same stream.

    Examples
    --------
    >>> from millstream import synth
    >>> for x, y in synth.Missing(synth.STAGGER(seed=42), probability=0.3).take(3):
    ...     print(x, y)
    {'size': None, 'color': None, 'shape': 'circle'} 0
    {'size': None, 'color': 'green', 'shape': 'square'} 0
    {'size': 'large', 'color': 'blue', 'shape': 'square'} 0
    """

    name: ClassVar[str] = "synth.Missing"

    @forwarded
    def __init__(self, stream: Generator, probability: float = 0.1, seed: int = 1) -> None: ...
