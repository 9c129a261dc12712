"""Hierarchical temporal memory: sparse binary encodings, a spatial pooler and a sequence memory.

`HTMAnomaly` is an anomaly detector that contains all of them. The components can also be combined freely: encoders
(`ScalarEncoder`, `DateEncoder`, `CategoryEncoder`) and `SpatialPooler` are transformers from features to bits,
`TemporalMemory` is an anomaly detector over bits, and `AnomalyLikelihood` wraps any anomaly detector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.htm.anomaly import HTMAnomaly
from millstream.htm.encoders import CategoryEncoder, DateEncoder, ScalarEncoder
from millstream.htm.likelihood import AnomalyLikelihood
from millstream.htm.pooler import SpatialPooler
from millstream.htm.temporal_memory import TemporalMemory

__all__ = [
    "AnomalyLikelihood",
    "CategoryEncoder",
    "DateEncoder",
    "HTMAnomaly",
    "ScalarEncoder",
    "SpatialPooler",
    "TemporalMemory",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
