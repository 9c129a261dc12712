"""Detectors for numbers of any size."""

from __future__ import annotations

import json
from typing import Any

from millstream._part import forwarded
from millstream.drift.base import DriftDetector

__all__ = ["ADWIN", "CUSUM", "KSWIN", "PageHinkley"]


class ADWIN(DriftDetector):
    """Adaptive windowing: a window that is as long as its mean has not changed. A good first choice.

    It has one parameter that matters, `delta`, and needs no tuning to the size of the numbers. Memory grows with
    the logarithm of the window. Detections are River's at the same settings. Warnings, which River's does not
    give, are the same test at a greater chance of a false alarm, and change nothing in what is found; one holds
    until the next check.

    Parameters
    ----------
    delta
        The chance of a false alarm; smaller finds less, later.
    clock
        How many numbers come between checks.
    max_buckets
        How many buckets of each size are kept; more see smaller changes and take more memory.
    min_window_length
        How many numbers each side of a cut must have.
    grace_period
        How many numbers come before the first check.
    restart
        Whether a change ends the window, as in River. If not, the side after the cut stays, as in the paper.
    warning_delta
        The chance of a false alarm that is a warning, at least `delta`; `delta` for no warnings. None is ten times
        `delta`, as in the pairs of detectors of adaptive random forests, and at most its root.

    Examples
    --------
    >>> from millstream import drift
    >>> detector = drift.ADWIN()
    >>> for place, error in enumerate([0, 0, 0, 1] * 250 + [0, 1, 1, 0] * 250):
    ...     before = detector.warning_detected
    ...     detector.update(error)
    ...     if detector.warning_detected and not before:
    ...         print("a warning at", place, detector.direction, detector.change_point)
    ...     if detector.drift_detected:
    ...         print("a change at", place, detector.direction, detector.change_point)
    a warning at 1087 up 992
    a change at 1119 up 992
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
        delta: float = 0.002,
        clock: int = 32,
        max_buckets: int = 5,
        min_window_length: int = 5,
        grace_period: int = 10,
        restart: bool = True,
        warning_delta: float | None = None,
    ) -> None: ...

    @property
    def width(self) -> int:
        """How many numbers are in the window."""
        return int(self._known()["width"])

    @property
    def total(self) -> float:
        """The sum of the numbers in the window."""
        return float(self._known()["total"])

    @property
    def variance(self) -> float:
        """The variance of the numbers in the window. River's is the sum of squares, `width` times as much."""
        return float(self._known()["variance"])

    def _known(self) -> Any:
        return json.loads(self._inspect())


class CUSUM(DriftDetector):
    """The cumulative sum of deviations from the mean, never below 0. Cheap.

    `delta` and `threshold` are in the units of the numbers; tune them to the stream. Half of `threshold` is a
    warning.

    Parameters
    ----------
    min_instances
        How many numbers must come before a change may be found.
    delta
        Deviations from the mean that are tolerated.
    threshold
        The cumulative deviation that is a change.
    mode
        Which changes of the mean to look for: "both", "up" or "down".

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
        self, min_instances: int = 30, delta: float = 0.005, threshold: float = 50.0, mode: str = "both"
    ) -> None: ...


class KSWIN(DriftDetector):
    """The Kolmogorov-Smirnov test between the newest numbers of a window and older ones.

    Sees any change of the distribution, such as a wider spread around the same mean. It tests at every number, so
    `alpha` must be small. The bound on the distance is the paper's, √(−ln(alpha) / stat_size), which is that of a
    chance of about 2 `alpha` at each test; River has these names and parameters too, and compares a p-value with
    `alpha`. Ten times `alpha` is a warning.

    Parameters
    ----------
    alpha
        About half of the chance of a false alarm at each number.
    window_size
        How many numbers the window has.
    stat_size
        How many of them are the newest; as many are drawn from the older ones.
    seed
        Of the draws.

    Examples
    --------
    >>> from millstream import drift
    >>> narrow, wide = [-0.1, 0.1] * 150, [-3.0, 3.0] * 150
    >>> drift.KSWIN(alpha=0.001).update_many(narrow + wide).tolist()
    [328]

    References
    ----------
    Raab, C., Heusinger, M. and Schleif, F.-M. (2020). Reactive soft prototype computing for concept drift streams.
    """

    name = "drift.KSWIN"
    unsupported = {"window": "update_many(window) tells it the first numbers"}

    @forwarded
    def __init__(
        self, alpha: float = 0.005, window_size: int = 100, stat_size: int = 30, seed: int = 0
    ) -> None: ...


class PageHinkley(DriftDetector):
    """The Page-Hinkley test: has the mean changed? Cheap, and quick to see an abrupt change.

    `delta` and `threshold` are in the units of the numbers; tune them to the stream. Changes are River's at the
    same settings; half of `threshold` is a warning.

    Parameters
    ----------
    min_instances
        How many numbers must come before a change may be found.
    delta
        Deviations from the mean that are tolerated.
    threshold
        The cumulative deviation that is a change.
    alpha
        How much of the cumulative deviation stays with each number; 1 forgets nothing.
    mode
        Which changes of the mean to look for: "both", "up" or "down".

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
        min_instances: int = 30,
        delta: float = 0.005,
        threshold: float = 50.0,
        alpha: float = 0.9999,
        mode: str = "both",
    ) -> None: ...
