"""Detectors of change in a stream of numbers, often a model's errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from millstream import _core
from millstream._measures import Measure, numbers

__all__ = ["DriftDetector", "PageHinkley"]


class DriftDetector(_core.DriftDetector, Measure):
    """Told a number at a time, it says whether the stream has changed.

    After a change it starts again with the next number.
    """

    role = "drift_detector"

    def update_many(self, x: Any) -> npt.NDArray[np.int64]:
        """Tell it many numbers, exactly as `update` would; gives the places at which it found a change."""
        return np.array(self._update_many(numbers("x", x)), dtype=np.int64)


class PageHinkley(DriftDetector):
    """The Page-Hinkley test: has the mean changed? Cheap, and quick to see an abrupt change.

    `delta` and `threshold` are in the units of the numbers; tune them to the stream.

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

    def __init__(
        self,
        min_instances: int = 30,
        delta: float = 0.005,
        threshold: float = 50.0,
        alpha: float = 0.9999,
        mode: str = "both",
    ) -> None:
        super().__init__(min_instances=min_instances, delta=delta, threshold=threshold, alpha=alpha, mode=mode)
