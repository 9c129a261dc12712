"""Classes by chance: the class is drawn first, and the features around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from millstream._part import forwarded
from millstream.synth.base import Generator

__all__ = ["LED", "RandomRBF", "Waveform"]


class RandomRBF(Generator):
    """Classes of Gaussian balls around random centroids, which may move.

    Each centroid has a class, a weight and a width. The boundary between classes is bent and lies anywhere, so
    linear models do badly and trees, neighbours and naive Bayes do well. With `change_speed` the centroids move
    after each example: an incremental drift without end. River calls the moving one `RandomRBFDrift`.

    Parameters
    ----------
    seed
        Where the random numbers start; the same seed gives the same stream.
    seed_model
        The seed of the centroids, None for `seed`: streams that differ in `seed` alone are samples of one truth.
    n_classes
        The number of classes.
    n_features
        The number of features.
    n_centroids
        The number of centroids.
    change_speed
        How far a moving centroid goes after each example. The literature uses 0.0001 and 0.001.
    n_drift_centroids
        How many of the centroids move; None for all.

    Examples
    --------
    >>> from millstream import evaluate, naive_bayes, synth
    >>> stream = synth.RandomRBF(seed=42, n_classes=4, n_features=4)
    >>> chunk = next(stream.chunks(1000))
    >>> chunk.X.shape, sorted(set(chunk.y.tolist()))
    ((1000, 4), [0, 1, 2, 3])

    The centroids that move away are lost on a model that does not forget:

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
    """Ten digits by the seven segments of a display, some of which are wrong.

    Features are 0 or 1. With the book's 10 % of noise no classifier does better than 74 % of right answers, so
    it shows how close a model comes to the best. `irrelevant_features` adds 17 features of pure chance. To let
    it drift, let it turn into one whose segments have changed places with those: River calls that `LEDDrift`.

    Parameters
    ----------
    seed
        Where the random numbers start; the same seed gives the same stream.
    noise_percentage
        The chance with which each segment is inverted; 0.1 in the book.
    irrelevant_features
        Whether there are 17 more features that mean nothing.
    n_drift_features
        How many segments have changed places with features that mean nothing; needs `irrelevant_features`.

    Examples
    --------
    >>> from millstream import evaluate, naive_bayes, synth
    >>> for x, y in synth.LED(seed=42).take(2):
    ...     print(list(x.values()), y)
    [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0] 1
    [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0] 0

    Close to the best, then four segments move away:

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
        Where the random numbers start; the same seed gives the same stream.
    has_noise
        Whether there are 19 more features that are only noise.

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
