"""Drift detectors for the errors of a classifier: 1 for an error, 0 for none, or a value between."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.drift.base import DriftDetector

__all__ = ["DDM", "EDDM", "FHDDM", "HDDM_A", "HDDM_W", "RDDM", "STEPD", "EWMAChart"]


class DDM(DriftDetector):
    """The drift detection method: compares the error rate with its minimum. For abrupt drift.

    If there is no error during the grace period, the first error after it is drift, as in the paper and in River:
    the minimum is 0, and so is its standard deviation.

    Parameters
    ----------
    grace_period
        Number of initial values without a detection.
    warning_threshold
        Number of standard deviations above the minimum for a warning.
    drift_threshold
        Number of standard deviations above the minimum for drift.

    Examples
    --------
    >>> from millstream import drift
    >>> drift.DDM().update_many([0, 0, 0, 1] * 250 + [1, 1, 1, 0] * 250).tolist()
    [1054]

    References
    ----------
    Gama, J., Medas, P., Castillo, G. and Rodrigues, P. (2004). Learning with drift detection.
    """

    name = "drift.DDM"

    @forwarded
    def __init__(
        self, grace_period: int = 30, warning_threshold: float = 2.0, drift_threshold: float = 3.0
    ) -> None: ...


class EDDM(DriftDetector):
    """The early drift detection method: measures the distance between errors. For gradual drift and few errors.

    It accepts 0 and 1 only, and has many false alarms. A warning lasts until the next error that is tested. As in
    River, an error at which the distance reaches a new maximum is not tested; the paper's warning would end there.

    Parameters
    ----------
    grace_period
        Number of initial values, and of initial errors, without a detection.
    warning_ratio
        Fraction of the maximum distance below which a warning is given.
    drift_ratio
        Fraction of the maximum distance below which drift is detected.

    Examples
    --------
    >>> from millstream import drift
    >>> drift.EDDM().update_many([0, 0, 0, 1] * 250 + [1, 1, 1, 0] * 250).tolist()
    [1486]

    References
    ----------
    Baena-García, M. and others (2006). Early drift detection method.
    """

    name = "drift.EDDM"

    @forwarded
    def __init__(self, grace_period: int = 30, warning_ratio: float = 0.95, drift_ratio: float = 0.9) -> None: ...


class RDDM(DriftDetector):
    """The reactive drift detection method: DDM with forgetting. For long concepts, on which DDM loses sensitivity.

    As with `DDM`, if there is no error during the grace period, the first error after it is drift.

    Parameters
    ----------
    grace_period
        Number of initial values without a detection.
    warning_threshold
        Number of standard deviations above the minimum for a warning.
    drift_threshold
        Number of standard deviations above the minimum for drift.
    max_concept
        Number of values without drift after which old values are forgotten.
    min_stable_concept
        Number of values that are kept then.
    warn_limit
        Number of values after which a warning becomes drift.

    Examples
    --------
    >>> from millstream import drift
    >>> errors = [0, 0, 0, 1] * 10_000 + [0, 0, 1] * 1000
    >>> drift.RDDM().update_many(errors).tolist(), drift.DDM().update_many(errors).tolist()
    ([40599], [42207])

    References
    ----------
    Barros, R., Cabral, D., Gonçalves, P. and Santos, S. (2017). RDDM: Reactive drift detection method.
    """

    name = "drift.RDDM"

    @forwarded
    def __init__(
        self,
        grace_period: int = 129,
        warning_threshold: float = 1.773,
        drift_threshold: float = 2.258,
        max_concept: int = 40_000,
        min_stable_concept: int = 7000,
        warn_limit: int = 1400,
    ) -> None: ...


class HDDM_A(DriftDetector):  # noqa: N801
    """Hoeffding's bounds on the means before and after a cut. For abrupt drift, with bounded false alarms.

    Parameters
    ----------
    significance
        Significance level of drift.
    warning_significance
        Significance level of warnings.
    two_sided_test
        Also detect a decrease of the mean, not only an increase.

    Examples
    --------
    >>> from millstream import drift
    >>> drift.HDDM_A().update_many([0, 0, 0, 1] * 250 + [1, 1, 1, 0] * 250).tolist()
    [1010]

    References
    ----------
    Frías-Blanco, I. and others (2015). Online and non-parametric drift detection methods based on Hoeffding's
    bounds.
    """

    name = "drift.HDDM_A"

    @forwarded
    def __init__(
        self,
        significance: float = 0.001,
        warning_significance: float = 0.005,
        two_sided_test: bool = False,
    ) -> None: ...


class HDDM_W(DriftDetector):  # noqa: N801
    """McDiarmid's bounds on the weighted means before and after a cut. For gradual drift.

    Drift and warnings are the same as in River, and so is the bound after the first value of a mean, which is
    slightly tighter than in the paper.

    Parameters
    ----------
    significance
        Significance level of drift.
    warning_significance
        Significance level of warnings.
    fading_factor
        Weight of the newest value in the means; a smaller value gives a longer memory.
    two_sided_test
        Also detect a decrease of the mean, not only an increase.

    Examples
    --------
    >>> from millstream import drift
    >>> drift.HDDM_W().update_many([0, 0, 0, 1] * 250 + [1, 1, 1, 0] * 250).tolist()
    [1026]

    References
    ----------
    Frías-Blanco, I. and others (2015). Online and non-parametric drift detection methods based on Hoeffding's
    bounds.
    """

    name = "drift.HDDM_W"

    @forwarded
    def __init__(
        self,
        significance: float = 0.001,
        warning_significance: float = 0.005,
        fading_factor: float = 0.05,
        two_sided_test: bool = False,
    ) -> None: ...


class FHDDM(DriftDetector):
    """The fast Hoeffding drift detection method: compares the error rate in a window with its minimum.

    An error is 1, as for all detectors here; River's FHDDM expects 0 for an error and 1 for a correct prediction.
    The significance level of warnings is ten times `significance`.

    Parameters
    ----------
    window_size
        Number of values in the window.
    significance
        Significance level of drift.
    short_window_size
        Number of values in a second, faster window; None for a single window.

    Examples
    --------
    >>> from millstream import drift
    >>> drift.FHDDM().update_many([0, 0, 0, 1] * 250 + [1, 1, 1, 0] * 250).tolist()
    [1050]

    References
    ----------
    Pesaranghader, A. and Viktor, H. (2016). Fast Hoeffding drift detection method for evolving data streams.
    """

    name = "drift.FHDDM"

    @forwarded
    def __init__(
        self,
        window_size: int = 100,
        significance: float = 1e-6,
        short_window_size: int | None = None,
    ) -> None: ...


class STEPD(DriftDetector):
    """The statistical test of equal proportions: the recent error rate against that of all earlier values. Fast.

    Parameters
    ----------
    window_size
        Number of recent values.
    significance
        Significance level of drift at each value.
    warning_significance
        Significance level of warnings at each value.

    Examples
    --------
    >>> from millstream import drift
    >>> drift.STEPD().update_many([0, 0, 0, 1] * 250 + [1, 1, 1, 0] * 250).tolist()
    [1014]

    References
    ----------
    Nishida, K. and Yamauchi, K. (2007). Detecting concept drift using statistical testing.
    """

    name = "drift.STEPD"

    @forwarded
    def __init__(
        self, window_size: int = 30, significance: float = 0.003, warning_significance: float = 0.05
    ) -> None: ...


class EWMAChart(DriftDetector):
    """A control chart of an exponentially weighted error rate: fast, with a false alarm in about 400 values.

    This rate holds for a `fading_factor` of 0.2, for which the control limits of the paper are calibrated. With an
    error rate of 0.05 to 0.3, a false alarm occurs once in 560 to 790 values with 0.1, in 1000 to 1900 with 0.05,
    and in 190 to 360 with 0.3.

    Parameters
    ----------
    grace_period
        Number of initial values without a detection.
    fading_factor
        Weight of the newest value in the mean, from 0.05 to 0.3. The control limits are calibrated for 0.2.

    Examples
    --------
    >>> from millstream import drift
    >>> drift.EWMAChart().update_many([0, 0, 0, 1] * 250 + [1, 1, 1, 0] * 250).tolist()
    [1002]

    References
    ----------
    Ross, G., Adams, N., Tasoulis, D. and Hand, D. (2012). Exponentially weighted moving average charts for
    detecting concept drift.
    """

    name = "drift.EWMAChart"

    @forwarded
    def __init__(self, grace_period: int = 30, fading_factor: float = 0.2) -> None: ...
