"""Classes by chance: the class is drawn first, and the features around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from millstream.synth.base import Generator

__all__ = ["RandomRBF"]


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

    def __init__(
        self,
        seed: int = 1,
        seed_model: int | None = None,
        n_classes: int = 2,
        n_features: int = 10,
        n_centroids: int = 50,
        change_speed: float = 0.0,
        n_drift_centroids: int | None = None,
    ) -> None:
        super().__init__(
            seed=seed,
            seed_model=seed_model,
            n_classes=n_classes,
            n_features=n_features,
            n_centroids=n_centroids,
            change_speed=change_speed,
            n_drift_centroids=n_drift_centroids,
        )
