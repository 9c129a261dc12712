"""The Numenta anomaly benchmark: its corpus, its scorer, and a runner for anomaly detectors."""

from __future__ import annotations

from millstream.evaluate.numenta.corpus import NABSeries
from millstream.evaluate.numenta.result import NABResult
from millstream.evaluate.numenta.run import nab

__all__ = ["NABResult", "NABSeries", "nab"]
