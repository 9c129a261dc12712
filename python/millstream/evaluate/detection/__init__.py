"""How good drift detectors are on streams whose changes are known: delay, false alarms, misses, cost."""

from __future__ import annotations

from millstream.evaluate.detection.contest import drift
from millstream.evaluate.detection.result import Detection, DriftResult, Score
from millstream.evaluate.detection.streams import ErrorStream

__all__ = ["Detection", "DriftResult", "ErrorStream", "Score", "drift"]
