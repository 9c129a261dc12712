"""What all detectors share."""

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
    """Told a number at a time, it says whether the stream has changed.

    After each number, `drift_detected` and `warning_detected` say what it brought to light; at a change or a
    warning, `direction` is "up" or "down", and `change_point` the number, counted from 0, with which the change is
    believed to have begun. `estimation` is the current mean. After a change it starts again with the next number;
    `reset` forgets all.

    `ADWIN`, `KSWIN`, `CUSUM` and `PageHinkley` see changes "down" as well, `HDDM_A` and `HDDM_W` with
    `two_sided_test=True`; the others see only that errors have become more. The `change_point` of `DDM`, `EDDM`,
    `HDDM_A`, `HDDM_W` and `FHDDM` is where errors were fewest or their window began: a lower bound, with the
    change often much later, and no good place to cut. `ADWIN`, `KSWIN` and `STEPD` tell it more closely.
    """

    role = "drift_detector"

    def update_many(self, x: Any) -> npt.NDArray[np.int64]:
        """Tell it many numbers, exactly as `update` would; gives the places at which it found a change.

        Numbers are anything that NumPy makes an array of, in one dimension; an array of floats is not copied. If
        one is refused, none was told. Afterwards `direction` and `change_point` are those of the last number. To
        have them of each change, call `update` in a loop and read them where `drift_detected` is true.

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
        >>> [place for place, x in enumerate(numbers) if one.update(x) or one.drift_detected]
        [1023, 2047]
        """
        try:
            array = numbers("x", x)
        except MillstreamError as error:
            raise error.by(str(self.name)) from None
        return np.array(self._update_many(array), dtype=np.int64)


def takes_rows(detector: Any) -> bool:
    """Whether it is told rows of features, not numbers."""
    role = getattr(detector, "role", None)
    return role == "feature_drift_detector" or (role is None and hasattr(detector, "drifting_features"))


def checked_detector(who: str, what: str, detector: Any) -> Any:
    """A detector of numbers, built if it is described by text; anything else is refused in a line."""
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
        words = "one drift detector, got several: drift.Monitor([…]).beside(model) runs them at once"
        raise InvalidType(f"{who}: {what} must be {words}")
    if getattr(detector, "role", None) == "feature_drift_detector" or hasattr(detector, "drifting_features"):
        words = f"told errors, and {kind} is told rows: drift.Monitor([{kind}()]).beside(model) runs it"
        raise InvalidType(f"{who}: {what} must be a drift detector that is {words}")
    from millstream.drift.monitor import Monitor

    if isinstance(detector, Monitor) and (rows := detector.watched["rows"]):
        words = f"told errors, and {', '.join(rows)} of this {kind} is told rows: its beside(model) is the model"
        raise InvalidType(f"{who}: {what} must be a drift detector that is {words}")
    if isinstance(detector, type) or not hasattr(detector, "drift_detected"):
        words = "be a drift detector" if detector is None else "have update(x) and drift_detected"
        raise InvalidType(f"{who}: {what} must {words}, got {shown_part(detector)}")
    return detector
