"""Generators that draw the class first, and then the features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from millstream._part import forwarded
from millstream.synth.base import Generator

__all__ = ["LED", "RandomRBF", "Waveform"]


class RandomRBF(Generator):
    """Classes of Gaussian balls around random centroids, which may move.

    Each centroid has a class, a weight and a width. The boundary between classes is nonlinear, so linear
    models perform poorly, while trees, nearest neighbours and naive Bayes perform well. With `change_speed` the
    centroids move after each example: an endless incremental drift, `RandomRBFDrift` in River.

    Parameters
    ----------
    seed
        Seed of the random generator; the same seed gives the same stream.
    seed_model
        Seed of the centroids; None for `seed`. Streams that differ in `seed` only are samples of the same concept.
    n_classes
        Number of classes.
    n_features
        Number of features.
    n_centroids
        Number of centroids.
    change_speed
        Distance that a moving centroid travels per example. The literature uses 0.0001 and 0.001.
    n_drift_centroids
        Number of moving centroids; None for all.

    Examples
    --------
    >>> from millstream import evaluate, naive_bayes, synth
    >>> stream = synth.RandomRBF(seed=42, n_classes=4, n_features=4)
    >>> chunk = next(stream.chunks(1000))
    >>> chunk.X.shape, sorted(set(chunk.y.tolist()))
    ((1000, 4), [0, 1, 2, 3])

    A model that does not forget cannot follow moving centroids:

    >>> for speed in (0.0, 0.001):
    ...     chunk = next(synth.RandomRBF(seed=42, change_speed=speed).chunks(50_000))
    ...     result = evaluate.prequential(naive_bayes.GaussianNB(), (chunk.X, chunk.y))
    ...     print(speed, round(result.values["Accuracy"], 2))
    0.0 0.62
    0.001 0.54

    References
    ----------
    Bifet, Holmes, Pfahringer, Kirkby and Gavaldà, 2009. New ensemble methods for evolving data streams.
    KDD, 139-148.
    """

    name: ClassVar[str] = "synth.RandomRBF"
    aliases: ClassVar[Mapping[str, str]] = {"seed_sample": "seed"}

    @forwarded
    def __init__(
        self,
        seed: int = 1,
        seed_model: int | None = None,
        n_classes: int = 2,
        n_features: int = 10,
        n_centroids: int = 50,
        change_speed: float = 0.0,
        n_drift_centroids: int | None = None,
    ) -> None: ...


class LED(Generator):
    """Ten digits by the seven segments of a display, some of them inverted.

    Features are 0 or 1. With the book's 10 % noise the best possible accuracy is 74 %, so it shows how close a
    model comes to the optimum. `irrelevant_features` adds 17 random features. For drift, combine it with one whose
    segments are swapped with those (`Drift`); this is `LEDDrift` in River.

    Parameters
    ----------
    seed
        Seed of the random generator; the same seed gives the same stream.
    noise_percentage
        Probability that a segment is inverted; 0.1 in the book.
    irrelevant_features
        Whether to add 17 irrelevant features.
    n_drift_features
        Number of segments swapped with irrelevant features; needs `irrelevant_features`.

    Examples
    --------
    >>> from millstream import evaluate, naive_bayes, synth
    >>> for x, y in synth.LED(seed=42).take(2):
    ...     print(list(x.values()), y)
    [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0] 1
    [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0] 0

    Close to the optimum, until four segments are swapped:

    >>> before = synth.LED(noise_percentage=0.1, irrelevant_features=True, seed=1)
    >>> after = before.clone(n_drift_features=4)
    >>> for stream in (before, synth.Drift(before, after, position=10_000, width=0)):
    ...     result = evaluate.prequential(naive_bayes.GaussianNB(), stream.take(20_000))
    ...     print(round(result.values["Accuracy"], 2))
    0.73
    0.62

    References
    ----------
    Breiman, Friedman, Olshen and Stone, 1984. Classification and regression trees. Wadsworth, 43-49.
    """

    name: ClassVar[str] = "synth.LED"

    @forwarded
    def __init__(
        self,
        seed: int = 1,
        noise_percentage: float = 0.0,
        irrelevant_features: bool = False,
        n_drift_features: int = 0,
    ) -> None: ...


class Waveform(Generator):
    """Three classes of mixed triangular waves with noise.

    Each example is a mixture of two of three waves, at 21 points, plus Gaussian noise of variance 1; the class
    is the pair. The best possible accuracy is about 86 %, and a linear model with three outputs comes close to
    it.

    Parameters
    ----------
    seed
        Seed of the random generator; the same seed gives the same stream.
    has_noise
        Whether to add 19 features of pure noise.

    Examples
    --------
    >>> from millstream import evaluate, linear_model, synth
    >>> result = evaluate.prequential(linear_model.SoftmaxRegression(), synth.Waveform(seed=42).take(50_000))
    >>> round(result.values["Accuracy"], 2)
    0.83

    References
    ----------
    Breiman, Friedman, Olshen and Stone, 1984. Classification and regression trees. Wadsworth, 49-55.
    """

    name: ClassVar[str] = "synth.Waveform"

    @forwarded
    def __init__(self, seed: int = 1, has_noise: bool = False) -> None: ...
