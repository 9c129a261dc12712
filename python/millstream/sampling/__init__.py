"""Samplers: they receive the rows of a stream and keep a random sample of them in bounded memory.

    sampler.learn_one(x, y)
    sampler.sample()

| question | sampler |
|---|---|
| what do users do, each with all their rows? | `ByKey` |
| what are the rows of the whole stream like? | `Reservoir`; rows of different importance: `WeightedReservoir` |
| what are rows like now? | `WindowSample`; without an edge: `DecayedReservoir` |
| what is each class like, rare ones included? | `Stratified` |

`stream.sample(sampler)` samples a stream, and `ByKey(...) | model` learns the rows of some keys only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.sampling.base import Sampler
from millstream.sampling.by_key import ByKey
from millstream.sampling.reservoirs import DecayedReservoir, Reservoir, WeightedReservoir
from millstream.sampling.sampled import Sampled
from millstream.sampling.strata import Stratified
from millstream.sampling.windows import WindowSample

__all__ = [
    "ByKey",
    "DecayedReservoir",
    "Reservoir",
    "Sampled",
    "Sampler",
    "Stratified",
    "WeightedReservoir",
    "WindowSample",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
