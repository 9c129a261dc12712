"""A drift detector that classifies rows as new or old."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.drift.row_detector import FeatureDriftDetector

__all__ = ["D3"]


class D3(FeatureDriftDetector):
    """The discriminative drift detector: a classifier that distinguishes new rows from old ones.

    It detects a shift that is spread over many features, each of which drifts too little to be detected alone, and
    changes along any direction, but not a change of spread alone. A logistic model learns on half of the rows
    which window a row is from, and ranks the other half. `estimation` is the area under the ROC curve: 0.5 if the
    windows are alike, 1 if they are separable. `statistic` is the contribution of each feature, as a fraction. The
    drifted features are those that the test of `KSTest` finds, or else the one with the largest contribution.

    The paper has no test of significance: without drift, its windows of 100 and 10 rows reach an area of 0.7 at
    one comparison in fifty. Here the area must also be significant, so small windows raise no false alarms.

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
    min_effect
        Smallest area under the ROC curve that counts as drift, however significant.
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
    >>> X[2000:, 7] += 1.5
    >>> detector = drift.D3()
    >>> detector.update_many(X).tolist(), detector.drifting_features
    ([2149], [7])

    References
    ----------
    Gözüaçık, Ö., Büyükçakır, A., Bonab, H. and Can, F. (2019). Unsupervised concept drift detection with a
    discriminative classifier.
    """

    name = "drift.D3"

    @forwarded
    def __init__(
        self,
        reference_size: int = 500,
        window_size: int = 200,
        check_interval: int = 50,
        reference: str = "sliding",
        min_effect: float = 0.7,
        significance: float = 0.001,
        warning_significance: float = 0.01,
        correction: str = "holm",
    ) -> None: ...
