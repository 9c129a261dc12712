"""Can a classifier tell new rows from old ones?"""

from __future__ import annotations

from millstream._part import forwarded
from millstream.drift.row_detector import FeatureDriftDetector

__all__ = ["D3"]


class D3(FeatureDriftDetector):
    """The discriminative drift detector: can a classifier tell new rows from old ones?

    It sees a shift that is spread over many features, each of which moves too little to be found by itself, and
    changes along any direction; not a change of spread alone. A logistic model learns which window a row is
    from on half of the rows and ranks the other half; `estimation` is the area under the ROC curve, 0.5 where
    the windows are alike and 1 where they have nothing in common. `statistic` is each feature's share in
    telling them apart; features are named by a test of each by itself, as in `KSTest`, or if none shows it, the
    one with the greatest share.

    The paper has no test of significance: with its windows of 100 and 10 rows chance alone reaches an area of
    0.7 at one comparison in fifty. Here the area must also be significant, so small windows raise no alarms.

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
    threshold
        The least area under the ROC curve that is a change, however significant.
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
        threshold: float = 0.7,
        alpha: float = 0.001,
        alpha_warning: float = 0.01,
        correction: str = "holm",
    ) -> None: ...
