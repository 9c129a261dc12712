"""Drift detectors for numbers of any size."""

from __future__ import annotations

import json
from typing import Any

from millstream._part import forwarded
from millstream.drift.base import DriftDetector

__all__ = ["ADWIN", "CUSUM", "KSWIN", "PageHinkley"]


class ADWIN(DriftDetector):
    """Adaptive windowing: a window that grows while its mean is constant. A good first choice.

    Only one parameter matters, `significance`, and it does not depend on the scale of the values. Memory is
    logarithmic in the length of the window. With the same settings it detects the same drift as River. Warnings,
    which River does not give, are the same test at a higher significance level and do not affect drift detection;
    a warning lasts until the next check.

    Parameters
    ----------
    significance
        Significance level of drift at each check; a smaller value detects fewer changes, and later.
    clock
        Number of values between checks.
    max_buckets
        Maximum number of buckets of each size; more buckets detect smaller changes and use more memory.
    min_window_length
        Minimum number of values on each side of a cut.
    grace_period
        Number of initial values without a check.
    restart
        Clear the window after drift, as in River; otherwise keep the values after the cut, as in the paper.
    warning_significance
        Significance level of warnings, at least `significance`; equal to `significance` for no warnings. None
        stands for ten times `significance`, as in the pairs of detectors of adaptive random forests, but at most
        its square root.

    Examples
    --------
    >>> from millstream import drift
    >>> detector = drift.ADWIN()
    >>> for row, error in enumerate([0, 0, 0, 1] * 250 + [0, 1, 1, 0] * 250):
    ...     before = detector.warning_detected
    ...     detector.update(error)
    ...     if detector.warning_detected and not before:
    ...         print("warning at", row, detector.direction, detector.change_point)
    ...     if detector.drift_detected:
    ...         print("drift at", row, detector.direction, detector.change_point)
    warning at 1087 up 992
    drift at 1119 up 992
    >>> detector.width, detector.total, detector.variance
    (880, 440.0, 0.25)

    References
    ----------
    Bifet, A. and Gavaldà, R. (2007). Learning from time-changing data with adaptive windowing.
    """

    name = "drift.ADWIN"

    @forwarded
    def __init__(
        self,
        significance: float = 0.002,
        clock: int = 32,
        max_buckets: int = 5,
        min_window_length: int = 5,
        grace_period: int = 10,
        restart: bool = True,
        warning_significance: float | None = None,
    ) -> None: ...

    @property
    def width(self) -> int:
        """Number of values in the window."""
        return int(self._known()["width"])

    @property
    def total(self) -> float:
        """Sum of the values in the window."""
        return float(self._known()["total"])

    @property
    def variance(self) -> float:
        """Variance of the values in the window. River's `variance` is the sum of squares, `width` times this."""
        return float(self._known()["variance"])

    def _known(self) -> Any:
        return json.loads(self._inspect())


class CUSUM(DriftDetector):
    """The cumulative sum of deviations from the mean, never below 0. Cheap.

    `allowance` and `threshold` are in the units of the values; tune them to the stream. A warning is given at half
    of `threshold`.

    Parameters
    ----------
    grace_period
        Number of initial values without a detection.
    allowance
        Deviation from the mean that is tolerated at each value.
    threshold
        Cumulative deviation above which drift is detected.
    mode
        Direction of the changes to detect: "both", "up" or "down".

    Examples
    --------
    >>> from millstream import drift
    >>> drift.CUSUM(threshold=10.0).update_many([0.0] * 100 + [1.0] * 100).tolist()
    [110]

    References
    ----------
    Page, E. S. (1954). Continuous inspection schemes.
    """

    name = "drift.CUSUM"

    @forwarded
    def __init__(
        self, grace_period: int = 30, allowance: float = 0.005, threshold: float = 50.0, mode: str = "both"
    ) -> None: ...


class KSWIN(DriftDetector):
    """The Kolmogorov-Smirnov test between the newest values of a window and older ones.

    It detects any change of the distribution, such as a wider spread around the same mean. It tests at every
    value, so `significance` must be small. The bound on the distance is that of the paper, √(−ln(significance) /
    stat_size), for which the significance level of each test is about twice the value of this parameter. River
    calls it `alpha` and compares a p-value with it. A warning is given at ten times `significance`.

    Parameters
    ----------
    significance
        About half of the significance level of the test at each value.
    window_size
        Number of values in the window.
    stat_size
        Number of newest values, and of older values in the random sample they are compared with.
    seed
        Seed of the random sample of older values.

    Examples
    --------
    >>> from millstream import drift
    >>> narrow, wide = [-0.1, 0.1] * 150, [-3.0, 3.0] * 150
    >>> drift.KSWIN(significance=0.001).update_many(narrow + wide).tolist()
    [328]

    References
    ----------
    Raab, C., Heusinger, M. and Schleif, F.-M. (2020). Reactive soft prototype computing for concept drift streams.
    """

    name = "drift.KSWIN"
    unsupported = {"window": "pass the first values to update_many"}

    @forwarded
    def __init__(
        self, significance: float = 0.005, window_size: int = 100, stat_size: int = 30, seed: int = 0
    ) -> None: ...


class PageHinkley(DriftDetector):
    """The Page-Hinkley test for a change of the mean. Cheap, and fast at abrupt changes.

    `allowance` and `threshold` are in the units of the values; tune them to the stream. With the same settings it
    detects the same drift as River. A warning is given at half of `threshold`.

    Parameters
    ----------
    grace_period
        Number of initial values without a detection.
    allowance
        Deviation from the mean that is tolerated at each value.
    threshold
        Cumulative deviation above which drift is detected.
    forgetting
        Factor by which cumulative deviations are multiplied at each value; 1 forgets nothing.
    mode
        Direction of the changes to detect: "both", "up" or "down".

    Examples
    --------
    >>> from millstream import drift
    >>> detector = drift.PageHinkley(threshold=10.0)
    >>> detector.update_many([0.0] * 100 + [1.0] * 100).tolist()
    [110]

    References
    ----------
    Page, E. S. (1954). Continuous inspection schemes.
    """

    name = "drift.PageHinkley"

    @forwarded
    def __init__(
        self,
        grace_period: int = 30,
        allowance: float = 0.005,
        threshold: float = 50.0,
        forgetting: float = 0.9999,
        mode: str = "both",
    ) -> None: ...
