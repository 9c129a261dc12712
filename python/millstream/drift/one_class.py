"""A drift detector that counts outliers among the new rows."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.drift.row_detector import FeatureDriftDetector

__all__ = ["OCDD"]


class OCDD(FeatureDriftDetector):
    """The one-class drift detector: the fraction of the newest rows that are outliers among the old ones.

    It detects rows in a new region, in many features at once or far away in one. A moderate shift of one among
    many features hardly changes the distances between rows; use `KSTest` for it. A one-class support vector
    machine with a Gaussian kernel learns part of the reference, and the rest gives the expected fraction of
    outliers. `estimation` is the fraction of outliers among the newest rows. `statistic` is the contribution of
    each feature to their distance, as a fraction. The drifted features are determined as in `D3`.

    Parameters
    ----------
    reference_size
        Number of rows in the reference: the first rows of the stream, or a sample of the table passed to `fit`.
    window_size
        Number of newest rows that are compared with the reference.
    check_interval
        Number of rows between comparisons.
    reference
        "renewed" after drift, "fixed", or "sliding" (the rows directly before the newest); see `KSTest`.
    nu
        Fraction of outliers among the training rows.
    min_effect
        Smallest fraction of outliers that counts as drift, however significant.
    significance
        Significance level of drift at each comparison.
    warning_significance
        Significance level of warnings at each comparison.
    correction
        Correction of the p-values for the number of features, in naming the drifted features; see `KSTest`.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import drift
    >>> X = np.random.default_rng(1).normal(size=(3000, 20))
    >>> X[2000:, 7] += 4.0
    >>> detector = drift.OCDD()
    >>> detector.update_many(X).tolist(), detector.drifting_features
    ([2049], [7])

    References
    ----------
    Gözüaçık, Ö. and Can, F. (2021). Concept learning using one-class classifiers for implicit drift detection in
    evolving data streams.
    Schölkopf, B. and others (2001). Estimating the support of a high-dimensional distribution.
    """

    name = "drift.OCDD"

    @forwarded
    def __init__(
        self,
        reference_size: int = 500,
        window_size: int = 200,
        check_interval: int = 50,
        reference: str = "renewed",
        nu: float = 0.1,
        min_effect: float = 0.3,
        significance: float = 0.001,
        warning_significance: float = 0.01,
        correction: str = "holm",
    ) -> None: ...
