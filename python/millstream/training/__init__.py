"""Training by several passes over finite data: the incremental gradient method, for any learner."""

from __future__ import annotations

from millstream.training.passes import train
from millstream.training.result import Training

__all__ = ["Training", "train"]
