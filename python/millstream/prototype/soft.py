"""Robust soft learning vector quantization."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.drift.base import DriftDetector
from millstream.prototype.prototypes import PrototypeClassifier

__all__ = ["RSLVQ"]


class RSLVQ(PrototypeClassifier):
    """Robust soft learning vector quantization: prototypes as normal distributions, with class probabilities.

    Choose it for class probabilities, and for streams whose classes move. Each prototype is the mean of a normal
    distribution with the standard deviation `sigma` in each coordinate. Each row moves all prototypes, up the
    gradient of the logarithm of the probability of its class. Rows that are classified with certainty hardly move
    anything.

    With a `detector`, a copy of it monitors the errors on the rows of each class. Where they rise, the prototypes
    of that class are removed, and those of the class that the latest row was confused with. Both start again from
    their next rows; `n_drifts` counts these events. Other classes keep their prototypes.

    The start and missing and nominal values are those of `LVQ1`.

    Parameters
    ----------
    n_prototypes
        Number of prototypes of each class.
    learning_rate
        Factor of the gradient, which is proportional to `1 / sigma ** 2`. A step is at most the distance between
        prototype and row.
    sigma
        Standard deviation of the normal distribution around each prototype. A small one makes only rows near a
        class boundary count.
    detector
        Drift detector for the errors of a classifier, such as `drift.ADWIN()` or `drift.DDM()`; None for none.
    max_prototypes
        Largest number of prototypes of all classes.

    Notes
    -----
    The probabilities are those of the model, with equal priors for all prototypes. They are computed relative to
    the nearest prototype and do not underflow far away from all of them. scikit-multiflow's `sigma` is the
    variance.

    Examples
    --------
    Two classes that swap their places after 2,000 rows:

    >>> import numpy as np
    >>> from millstream import drift, prototype
    >>> random = np.random.default_rng(1)
    >>> y = random.integers(0, 2, 4000)
    >>> X = 3.0 * (y != (np.arange(4000) >= 2000))[:, None] + random.normal(size=(4000, 2))
    >>> for detector in (None, drift.ADWIN()):
    ...     model = prototype.RSLVQ(n_prototypes=1, learning_rate=0.001, detector=detector)
    ...     print(round(float(np.mean(model.step_many(X, y)[2000:] == y[2000:])), 2), model.n_drifts)
    0.23 0
    0.93 1

    References
    ----------
    Seo, S. and Obermayer, K. (2003). Soft learning vector quantization. Neural Computation, 15(7), 1589-1604.
    Raab, C., Heusinger, M. and Schleif, F.-M. (2020). Reactive soft prototype computing for concept drift streams.
    Neurocomputing, 416, 340-351.
    """

    name = "prototype.RSLVQ"
    aliases = {"prototypes_per_class": "n_prototypes", "drift_detector": "detector"}

    @forwarded
    def __init__(
        self,
        n_prototypes: int = 3,
        learning_rate: float = 0.1,
        sigma: float = 1.0,
        detector: DriftDetector | str | None = None,
        max_prototypes: int = 1000,
    ) -> None: ...

    @property
    def n_drifts(self) -> int:
        """Number of restarts of a class after its errors had risen."""
        return int(self._numbers()["drifts"])
