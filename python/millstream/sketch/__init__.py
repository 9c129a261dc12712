"""Sketches: summaries of a stream in little memory, with a bound on their error.

    sketch.update("ann")
    sketch.query("ann")

| question | sketch |
|---|---|
| quantiles of any numbers | `KLL` |
| quantiles of latencies or sizes within 1 % of their value | `DDSketch` |
| the shape of a distribution | `Histogram` |
| which keys are frequent? | `SpaceSaving` |
| how often did a given key occur? | `CountMin`; with negative weights: `CountSketch` |
| how many distinct keys? | `HyperLogLog` |
| how many keys do two streams have in common? | `Theta` |
| did a key occur? | `Bloom` |

All have `update`, `update_many`, `query`, `merge`, `error`, `memory` and `save`. `Counter`, `HeavyHitters`,
`NUnique` and `Set` accept River's parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.sketch.base import ErrorBound, Sketch
from millstream.sketch.counts import CountMin, CountSketch, Frequent, SpaceSaving
from millstream.sketch.quantiles import KLL, DDSketch, Histogram
from millstream.sketch.river import Counter, HeavyHitters, NUnique, Set
from millstream.sketch.sets import Bloom, HyperLogLog, Theta

__all__ = [
    "KLL",
    "Bloom",
    "CountMin",
    "CountSketch",
    "Counter",
    "DDSketch",
    "ErrorBound",
    "Frequent",
    "HeavyHitters",
    "Histogram",
    "HyperLogLog",
    "NUnique",
    "Set",
    "Sketch",
    "SpaceSaving",
    "Theta",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
