"""The evaluation of drift detectors on streams with known changes: delay, false alarms, misses, cost."""

from __future__ import annotations

from millstream.evaluate.detection.comparison import drift
from millstream.evaluate.detection.known_streams import ErrorStream
from millstream.evaluate.detection.result import Detection, DriftResult, Score

__all__ = ["Detection", "DriftResult", "ErrorStream", "Score", "drift"]
