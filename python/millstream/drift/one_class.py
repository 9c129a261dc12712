"""How many new rows lie outside of where the old ones are dense?"""

from __future__ import annotations

from millstream._part import forwarded
from millstream.drift.row_detector import FeatureDriftDetector

__all__ = ["OCDD"]


class OCDD(FeatureDriftDetector):
    """The one-class drift detector: how many of the newest rows are outliers among the old?

    It sees rows from where none were before, in many features at once or far off in one; a moderate shift of one
    among many features hardly changes how far rows are from the others, and is for `KSTest`. A one-class support
    vector machine with a Gaussian kernel learns part of the reference, and the rest says what share of outliers is
    usual. `estimation` is the share of outliers among the newest rows. `statistic` is each feature's share in what
    puts rows outside; features are named as in `D3`.

    Parameters
    ----------
    reference_size
        How many rows the newest ones are compared with: the first of the stream, or a sample of the table that
        `fit` is given.
    window_size
        How many newest rows are compared.
    check_interval
        How many rows come between comparisons.
    reference
        Whether the reference is "renewed" after a change, "fixed", or "sliding", the rows directly before the
        newest; see `KSTest`.
    nu
        The share of outliers among the rows that are learned.
    threshold
        The least share of outliers that is a change, however significant.
    alpha
        The chance of a false alarm at each comparison.
    alpha_warning
        The same for a warning.
    correction
        How the p-values of features are corrected for their number, before they are named; see `KSTest`.

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
        threshold: float = 0.3,
        alpha: float = 0.001,
        alpha_warning: float = 0.01,
        correction: str = "holm",
    ) -> None: ...
