"""Tests of each feature by itself, without labels, with control of false alarms over many features."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.drift.row_detector import FeatureDriftDetector

__all__ = ["PSI", "ChiSquareTest", "HellingerDistance", "KSTest"]


class KSTest(FeatureDriftDetector):
    """The Kolmogorov-Smirnov test of each feature: sees any change of a feature's own distribution.

    A good first choice where features are numbers. Nominal features are compared by a chi-square test of their
    values (the statistic is Cramér's V), and a share of missing values that has changed counts as well.
    `statistic` is the greatest distance of the two distributions, from 0 to 1.

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
        "renewed": after a change the reference begins anew with the rows after it. "fixed": it stays, and a change
        is reported at each comparison as long as it lasts. "sliding": it is the rows directly before the
        newest, so that slow change is not seen; renewed after a change.
    alpha
        The chance of a false alarm at each comparison, over all features together.
    alpha_warning
        The same for a warning.
    correction
        How p-values are corrected for the number of features: "holm" or "bonferroni", with which no feature at all
        is likely to be named wrongly; "benjamini_hochberg", with which a share of at most `alpha` of those
        named is expected to be wrong, and which sees more; "none" for `alpha` at each feature by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import drift
    >>> X = np.random.default_rng(1).normal(size=(3000, 20))
    >>> X[2000:, 7] += 1.0
    >>> detector = drift.KSTest()
    >>> detector.update_many(X).tolist()
    [2099]
    >>> detector.drifting_features
    [7]

    References
    ----------
    Smirnov, N. V. (1939). On the estimation of the discrepancy between empirical curves of distribution for two
    independent samples.
    Holm, S. (1979). A simple sequentially rejective multiple test procedure.
    Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate.
    """

    name = "drift.KSTest"

    @forwarded
    def __init__(
        self,
        reference_size: int = 500,
        window_size: int = 200,
        check_interval: int = 50,
        reference: str = "renewed",
        alpha: float = 0.001,
        alpha_warning: float = 0.01,
        correction: str = "holm",
    ) -> None: ...


class PSI(FeatureDriftDetector):
    """The population stability index of each feature: the measure of model monitoring in banking.

    Numbers are counted between quantiles of the reference, nominal values by themselves, missing ones in a cell of
    their own. Below 0.1 an index is commonly called stable, from 0.25 on shifted. In windows of a few hundred rows
    chance alone makes an index of 0.05 and more, so a feature has moved if its index reaches `threshold` and the
    chi-square test of its counts is significant; in large windows the threshold decides, in small ones the
    significance.

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
        "renewed": after a change the reference begins anew with the rows after it. "fixed": it stays, and a change
        is reported at each comparison as long as it lasts. "sliding": it is the rows directly before the
        newest, so that slow change is not seen; renewed after a change.
    bins
        Between how many quantiles of the reference numbers are counted.
    threshold
        The least index that counts as moved, however significant.
    alpha
        The chance of a false alarm at each comparison, over all features together.
    alpha_warning
        The same for a warning.
    correction
        How p-values are corrected for the number of features: "holm", "bonferroni", "benjamini_hochberg" or
        "none"; see `KSTest`.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import drift
    >>> X = np.random.default_rng(1).normal(size=(3000, 20))
    >>> X[2000:, 7] += 1.0
    >>> detector = drift.PSI()
    >>> detector.update_many(X).tolist(), detector.drifting_features
    ([2099], [7])

    References
    ----------
    Yurdakul, B. (2018). Statistical properties of population stability index.
    Kullback, S. (1959). Information theory and statistics.
    """

    name = "drift.PSI"

    @forwarded
    def __init__(
        self,
        reference_size: int = 500,
        window_size: int = 200,
        check_interval: int = 50,
        reference: str = "renewed",
        bins: int = 10,
        threshold: float = 0.2,
        alpha: float = 0.001,
        alpha_warning: float = 0.01,
        correction: str = "holm",
    ) -> None: ...


class HellingerDistance(FeatureDriftDetector):
    """Hellinger's distance of each feature, from 0 to 1: bounded, and at ease with empty cells.

    Numbers are counted between quantiles of the reference, nominal values by themselves, missing ones in a cell of
    their own. A feature has moved if its distance reaches `threshold` and the chi-square test of its counts is
    significant.

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
        "renewed": after a change the reference begins anew with the rows after it. "fixed": it stays, and a change
        is reported at each comparison as long as it lasts. "sliding": it is the rows directly before the
        newest, so that slow change is not seen; renewed after a change.
    bins
        Between how many quantiles of the reference numbers are counted.
    threshold
        The least distance that counts as moved, however significant.
    alpha
        The chance of a false alarm at each comparison, over all features together.
    alpha_warning
        The same for a warning.
    correction
        How p-values are corrected for the number of features: "holm", "bonferroni", "benjamini_hochberg" or
        "none"; see `KSTest`.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import drift
    >>> X = np.random.default_rng(1).normal(size=(3000, 20))
    >>> X[2000:, 7] += 1.0
    >>> detector = drift.HellingerDistance()
    >>> detector.update_many(X).tolist(), detector.drifting_features
    ([2099], [7])

    References
    ----------
    Ditzler, G. and Polikar, R. (2011). Hellinger distance based drift detection for nonstationary environments.
    Pardo, L. (2006). Statistical inference based on divergence measures.
    """

    name = "drift.HellingerDistance"

    @forwarded
    def __init__(
        self,
        reference_size: int = 500,
        window_size: int = 200,
        check_interval: int = 50,
        reference: str = "renewed",
        bins: int = 10,
        threshold: float = 0.1,
        alpha: float = 0.001,
        alpha_warning: float = 0.01,
        correction: str = "holm",
    ) -> None: ...


class ChiSquareTest(FeatureDriftDetector):
    """The chi-square test of each feature: the first choice where features are nominal.

    Nominal values are counted by themselves, numbers between quantiles of the reference, missing ones in a cell of
    their own. Values that are expected fewer than five times are put together, and whether they, or missing ones,
    have become more or fewer is tested exactly (Fisher). `statistic` is that of the 2 × c table.

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
        "renewed": after a change the reference begins anew with the rows after it. "fixed": it stays, and a change
        is reported at each comparison as long as it lasts. "sliding": it is the rows directly before the
        newest, so that slow change is not seen; renewed after a change.
    bins
        Between how many quantiles of the reference numbers are counted.
    alpha
        The chance of a false alarm at each comparison, over all features together.
    alpha_warning
        The same for a warning.
    correction
        How p-values are corrected for the number of features: "holm", "bonferroni", "benjamini_hochberg" or
        "none"; see `KSTest`.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import drift
    >>> X = np.random.default_rng(1).normal(size=(3000, 20))
    >>> X[2000:, 7] += 1.0
    >>> detector = drift.ChiSquareTest()
    >>> detector.update_many(X).tolist(), detector.drifting_features
    ([2099], [7])

    References
    ----------
    Pearson, K. (1911). On the probability that two independent distributions of frequency are really samples from
    the same population.
    Cochran, W. G. (1954). Some methods for strengthening the common χ² tests.
    """

    name = "drift.ChiSquareTest"

    @forwarded
    def __init__(
        self,
        reference_size: int = 500,
        window_size: int = 200,
        check_interval: int = 50,
        reference: str = "renewed",
        bins: int = 10,
        alpha: float = 0.001,
        alpha_warning: float = 0.01,
        correction: str = "holm",
    ) -> None: ...
