"""Continual learning: streams whose classes, domains or tasks arrive one after another.

`StreamingLDA` and `NearestClassMean` keep sums and cannot forget. `Replay` lets any learner learn stored rows
again, and `GDumb` trains on stored rows alone, on request. `EWC`, `SI`, `LwF`, `AGEM` and `DERPlusPlus` guide the
steps of a network, `neural_network.MLPClassifier`. docs/forgetting.md shows what helps, and what does not, and
`evaluate.continual` measures it on the tasks that `stream.tasks` makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.continual.buffers import Buffer, ClassBalanced, Reservoir
from millstream.continual.discriminants import NearestClassMean, StreamingLDA
from millstream.continual.ending import end_task
from millstream.continual.gdumb import GDumb
from millstream.continual.networks import AGEM, EWC, SI, DERPlusPlus, LwF
from millstream.continual.replay import Replay

__all__ = [
    "AGEM",
    "EWC",
    "SI",
    "Buffer",
    "ClassBalanced",
    "DERPlusPlus",
    "GDumb",
    "LwF",
    "NearestClassMean",
    "Replay",
    "Reservoir",
    "StreamingLDA",
    "end_task",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
