"""The base class of drift detectors for numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from millstream import _core
from millstream._measures import Measure, numbers
from millstream._part import shown_part
from millstream.errors import InvalidType, MillstreamError

__all__ = ["DriftDetector", "checked_detector", "takes_rows"]


class DriftDetector(_core.DriftDetector, Measure):
    """Receives one number at a time and detects changes of the stream.

    After each update, `drift_detected` and `warning_detected` hold the result. At drift or a warning, `direction`
    is "up" or "down", and `change_point` is the index, counted from 0, of the first number after the estimated
    change. `estimation` is the current mean. After drift the detector restarts with the next number; `reset`
    returns it to its initial state.

    `ADWIN`, `KSWIN`, `CUSUM` and `PageHinkley` also detect decreases, `HDDM_A` and `HDDM_W` with
    `two_sided_test=True`; the others detect an increase of the errors only. The `change_point` of `DDM`, `EDDM`,
    `HDDM_A`, `HDDM_W` and `FHDDM` is the minimum of the error rate or the start of its window: a lower bound,
    often long before the change. The estimates of `ADWIN`, `KSWIN` and `STEPD` are closer.
    """

    role = "drift_detector"

    def update_many(self, x: Any) -> npt.NDArray[np.int64]:
        """Process many numbers, exactly as `update` would; returns the indices at which drift was detected.

        `x` is anything that NumPy converts to a one-dimensional array; an array of floats is not copied. The call
        is atomic: if a number is rejected, the detector is unchanged. Afterwards `direction` and `change_point`
        are those of the last number. To read them at each drift, call `update` in a loop.

        Examples
        --------
        >>> import numpy as np
        >>> from millstream import drift
        >>> numbers = np.repeat([0.0, 1.0, 0.5], 1000) + np.tile([-0.1, 0.1], 1500)
        >>> detector = drift.ADWIN()
        >>> detector.update_many(numbers).tolist()
        [1023, 2047]
        >>> detector.updates, detector.width, round(detector.estimation, 3), round(detector.variance, 4)
        (3000, 952, 0.5, 0.01)
        >>> one = drift.ADWIN()
        >>> [index for index, x in enumerate(numbers) if one.update(x) or one.drift_detected]
        [1023, 2047]
        """
        try:
            array = numbers("x", x)
        except MillstreamError as error:
            raise error.by(str(self.name)) from None
        return np.array(self._update_many(array), dtype=np.int64)


def takes_rows(detector: Any) -> bool:
    """Whether the detector receives rows of features, not numbers."""
    role = getattr(detector, "role", None)
    return role == "feature_drift_detector" or (role is None and hasattr(detector, "drifting_features"))


def checked_detector(who: str, what: str, detector: Any) -> Any:
    """A detector for numbers, built if it is given as a string or description; anything else is an error."""
    if isinstance(detector, str):
        from millstream import notation, registry

        # As in native models, a name alone may be in lower case.
        short = {name.rpartition(".")[2].lower(): name for name in registry.find("drift_detector")}
        return notation.parse(short.get(detector, detector), role="drift_detector")
    if isinstance(detector, dict):
        from millstream.registry import build

        detector = build(detector)
    kind = type(detector).__name__
    if isinstance(detector, (list, tuple)):
        words = "one drift detector, got several: drift.Monitor([…]).beside(model) runs them together"
        raise InvalidType(f"{who}: {what} must be {words}")
    if getattr(detector, "role", None) == "feature_drift_detector" or hasattr(detector, "drifting_features"):
        words = f"for errors, but {kind} is for rows: drift.Monitor([{kind}()]).beside(model) runs it"
        raise InvalidType(f"{who}: {what} must be a drift detector {words}")
    from millstream.drift.monitor import Monitor

    if isinstance(detector, Monitor) and (rows := detector.watched["rows"]):
        words = (
            f"for errors, but {', '.join(rows)} of this {kind} is for rows: pass its beside(model) as the model"
        )
        raise InvalidType(f"{who}: {what} must be a drift detector {words}")
    if isinstance(detector, type) or not hasattr(detector, "drift_detected"):
        words = "be a drift detector" if detector is None else "have update(x) and drift_detected"
        raise InvalidType(f"{who}: {what} must {words}, got {shown_part(detector)}")
    return detector
