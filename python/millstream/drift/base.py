"""What all detectors share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from millstream import _core
from millstream._measures import Measure, numbers

__all__ = ["DriftDetector"]


class DriftDetector(_core.DriftDetector, Measure):
    """Told a number at a time, it says whether the stream has changed.

    After each number, `drift_detected` and `warning_detected` say what it brought to light; at a change or a
    warning, `direction` is "up" or "down", and `change_point` the number, counted from 0, with which the change is
    believed to have begun. `estimation` is the current mean. After a change it starts again with the next number.
    """

    role = "drift_detector"

    def update_many(self, x: Any) -> npt.NDArray[np.int64]:
        """Tell it many numbers, exactly as `update` would; gives the places at which it found a change."""
        return np.array(self._update_many(numbers("x", x)), dtype=np.int64)
