"""Tests of each feature, without labels, with control of false alarms over many features."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.drift.row_detector import FeatureDriftDetector

__all__ = ["PSI", "ChiSquareTest", "HellingerDistance", "KSTest"]


class KSTest(FeatureDriftDetector):
    """The Kolmogorov-Smirnov test of each feature: detects any change of the distribution of a feature.

    A good first choice for numeric features. Nominal features are compared by a chi-square test of their values
    (the statistic is Cramér's V). A change of the fraction of missing values counts as well. `statistic` is the
    maximum distance of the two distributions, from 0 to 1.

    Parameters
    ----------
    reference_size
        Number of rows in the reference: the first rows of the stream, or a sample of the table passed to `fit`.
    window_size
        Number of newest rows that are compared with the reference.
    check_interval
        Number of rows between comparisons.
    reference
        "renewed": after drift, the rows after the change point become the reference. "fixed": the reference stays,
        and drift is reported at each comparison while it lasts. "sliding": the reference is the rows directly
        before the newest, so that slow drift is not detected; renewed after drift.
    significance
        Significance level of drift at each comparison, over all features.
    warning_significance
        Significance level of warnings at each comparison, over all features.
    correction
        Correction of the p-values for the number of features. "holm" and "bonferroni" control the probability of
        naming any feature wrongly. "benjamini_hochberg" controls the expected fraction of wrongly named features,
        and detects more. "none" applies `significance` to each feature.

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
        significance: float = 0.001,
        warning_significance: float = 0.01,
        correction: str = "holm",
    ) -> None: ...


class PSI(FeatureDriftDetector):
    """The population stability index of each feature: the measure of model monitoring in banking.

    Numbers are binned by quantiles of the reference; each nominal value has a cell, and so have missing values. An
    index below 0.1 is commonly called stable, from 0.25 on shifted. In windows of a few hundred rows random
    variation alone gives an index of 0.05 and more. A feature has therefore drifted if its index reaches
    `min_effect` and the chi-square test of its counts is significant. In large windows `min_effect` decides, in
    small ones the significance.

    Parameters
    ----------
    reference_size
        Number of rows in the reference: the first rows of the stream, or a sample of the table passed to `fit`.
    window_size
        Number of newest rows that are compared with the reference.
    check_interval
        Number of rows between comparisons.
    reference
        "renewed": after drift, the rows after the change point become the reference. "fixed": the reference stays,
        and drift is reported at each comparison while it lasts. "sliding": the reference is the rows directly
        before the newest, so that slow drift is not detected; renewed after drift.
    n_bins
        Number of bins of a numeric feature, between quantiles of the reference.
    min_effect
        Smallest index that counts as drift, however significant.
    significance
        Significance level of drift at each comparison, over all features.
    warning_significance
        Significance level of warnings at each comparison, over all features.
    correction
        Correction of the p-values for the number of features: "holm", "bonferroni", "benjamini_hochberg" or
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
        n_bins: int = 10,
        min_effect: float = 0.2,
        significance: float = 0.001,
        warning_significance: float = 0.01,
        correction: str = "holm",
    ) -> None: ...


class HellingerDistance(FeatureDriftDetector):
    """The Hellinger distance of each feature, from 0 to 1: bounded, and defined for empty cells.

    Numbers are binned by quantiles of the reference; each nominal value has a cell, and so have missing values. A
    feature has drifted if its distance reaches `min_effect` and the chi-square test of its counts is significant.

    Parameters
    ----------
    reference_size
        Number of rows in the reference: the first rows of the stream, or a sample of the table passed to `fit`.
    window_size
        Number of newest rows that are compared with the reference.
    check_interval
        Number of rows between comparisons.
    reference
        "renewed": after drift, the rows after the change point become the reference. "fixed": the reference stays,
        and drift is reported at each comparison while it lasts. "sliding": the reference is the rows directly
        before the newest, so that slow drift is not detected; renewed after drift.
    n_bins
        Number of bins of a numeric feature, between quantiles of the reference.
    min_effect
        Smallest distance that counts as drift, however significant.
    significance
        Significance level of drift at each comparison, over all features.
    warning_significance
        Significance level of warnings at each comparison, over all features.
    correction
        Correction of the p-values for the number of features: "holm", "bonferroni", "benjamini_hochberg" or
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
        n_bins: int = 10,
        min_effect: float = 0.1,
        significance: float = 0.001,
        warning_significance: float = 0.01,
        correction: str = "holm",
    ) -> None: ...


class ChiSquareTest(FeatureDriftDetector):
    """The chi-square test of each feature: the first choice for nominal features.

    Each nominal value has a cell, and so have missing values; numbers are binned by quantiles of the reference.
    Values with an expected count below five are pooled. Fisher's exact test checks whether they, or missing
    values, have become more or less frequent. `statistic` is that of the 2 × c table.

    Parameters
    ----------
    reference_size
        Number of rows in the reference: the first rows of the stream, or a sample of the table passed to `fit`.
    window_size
        Number of newest rows that are compared with the reference.
    check_interval
        Number of rows between comparisons.
    reference
        "renewed": after drift, the rows after the change point become the reference. "fixed": the reference stays,
        and drift is reported at each comparison while it lasts. "sliding": the reference is the rows directly
        before the newest, so that slow drift is not detected; renewed after drift.
    n_bins
        Number of bins of a numeric feature, between quantiles of the reference.
    significance
        Significance level of drift at each comparison, over all features.
    warning_significance
        Significance level of warnings at each comparison, over all features.
    correction
        Correction of the p-values for the number of features: "holm", "bonferroni", "benjamini_hochberg" or
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
        n_bins: int = 10,
        significance: float = 0.001,
        warning_significance: float = 0.01,
        correction: str = "holm",
    ) -> None: ...
