"""Detectors for the errors of a classifier: 1 for an error and 0 for none, or anything between."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.drift.base import DriftDetector

__all__ = ["DDM", "EDDM", "FHDDM", "HDDM_A", "HDDM_W", "RDDM", "STEPD", "EWMAChart"]


class DDM(DriftDetector):
    """The drift detection method: the share of errors against the least that it was. For abrupt drift.

    If there is no error during `warm_start`, the first one after it is a change, as in the paper and in River: the
    least is 0, and so is its deviation.

    Parameters
    ----------
    warm_start
        How many numbers must come before a change may be found.
    warning_threshold
        How many standard deviations above the least are a warning.
    drift_threshold
        How many standard deviations above the least are a change.

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
        self, warm_start: int = 30, warning_threshold: float = 2.0, drift_threshold: float = 3.0
    ) -> None: ...


class EDDM(DriftDetector):
    """The early drift detection method: the distances between errors. For gradual drift and few errors.

    It counts errors, so it takes 0 and 1 only. It gives false alarms easily. A warning stands until an error is
    judged again. One at which the distances are greater than ever is not, as in River: the paper's warning would
    end there.

    Parameters
    ----------
    warm_start
        How many numbers, and how many errors, must come before a change may be found.
    alpha
        The share of the greatest distance below which there is a warning.
    beta
        The share of the greatest distance below which there is a change.

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
    def __init__(self, warm_start: int = 30, alpha: float = 0.95, beta: float = 0.9) -> None: ...


class RDDM(DriftDetector):
    """The reactive drift detection method: DDM that forgets old numbers, because DDM grows deaf on long concepts.

    As with `DDM`, if there is no error during `warm_start`, the first one after it is a change.

    Parameters
    ----------
    warm_start
        How many numbers must come before a change may be found.
    warning_threshold
        How many standard deviations above the least are a warning.
    drift_threshold
        How many standard deviations above the least are a change.
    max_concept
        After how many numbers without a change older ones are forgotten.
    min_stable_concept
        How many numbers are kept then.
    warn_limit
        How many numbers a warning may last before it is a change.

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
        warm_start: int = 129,
        warning_threshold: float = 1.773,
        drift_threshold: float = 2.258,
        max_concept: int = 40_000,
        min_stable_concept: int = 7000,
        warn_limit: int = 1400,
    ) -> None: ...


class HDDM_A(DriftDetector):  # noqa: N801
    """Hoeffding's bounds on averages before and after a cut. For abrupt drift, with a bound on false alarms.

    Parameters
    ----------
    drift_confidence
        The chance of a false alarm that is a change.
    warning_confidence
        The chance of a false alarm that is a warning.
    two_sided_test
        Whether a fall of the mean is a change too, not only a rise.

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
        drift_confidence: float = 0.001,
        warning_confidence: float = 0.005,
        two_sided_test: bool = False,
    ) -> None: ...


class HDDM_W(DriftDetector):  # noqa: N801
    """McDiarmid's bounds on weighted averages before and after a cut. For gradual drift.

    Changes and warnings are River's, and so is the bound after the first number of an average, which is a little
    tighter than the paper's.

    Parameters
    ----------
    drift_confidence
        The chance of a false alarm that is a change.
    warning_confidence
        The chance of a false alarm that is a warning.
    lambda_val
        The weight of the newest number in the averages; less remembers longer.
    two_sided_test
        Whether a fall of the mean is a change too, not only a rise.

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
        drift_confidence: float = 0.001,
        warning_confidence: float = 0.005,
        lambda_val: float = 0.05,
        two_sided_test: bool = False,
    ) -> None: ...


class FHDDM(DriftDetector):
    """The fast Hoeffding drift detection method: the share of errors in a window against the least that it was.

    River's takes successes, 1 for none and 0 for an error; here an error is 1, as for all detectors. Ten times
    `confidence_level` is a warning.

    Parameters
    ----------
    sliding_window_size
        How many numbers the window has.
    confidence_level
        The chance of a false alarm.
    short_window_size
        How many numbers a second, quicker window has; None for one window.

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
        sliding_window_size: int = 100,
        confidence_level: float = 1e-6,
        short_window_size: int | None = None,
    ) -> None: ...


class STEPD(DriftDetector):
    """The statistical test of equal proportions: recent errors against those before. Quick.

    Parameters
    ----------
    window_size
        How many numbers are recent.
    alpha_drift
        The chance of a false alarm that is a change, at each number.
    alpha_warning
        The chance of a false alarm that is a warning, at each number.

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
    def __init__(self, window_size: int = 30, alpha_drift: float = 0.003, alpha_warning: float = 0.05) -> None: ...


class EWMAChart(DriftDetector):
    """A chart of an exponentially weighted mean of errors: quick, with a false alarm in about 400 numbers.

    That holds for a `lambda_val` of 0.2, for which the paper's limits are made. Where the share of errors is 0.05
    to 0.3, a false alarm comes once in 560 to 790 numbers with 0.1, in 1000 to 1900 with 0.05, and in 190 to 360
    with 0.3.

    Parameters
    ----------
    min_instances
        How many numbers must come before a change may be found.
    lambda_val
        The weight of the newest number, from 0.05 to 0.3. The limits are made for 0.2.

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
    def __init__(self, min_instances: int = 30, lambda_val: float = 0.2) -> None: ...
