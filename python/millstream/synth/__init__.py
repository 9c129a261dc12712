"""Generators: endless streams with a known truth, as the literature defines them, at native speed.

A generator is a stream: iteration yields `(x, y)`, `take` limits it, and `evaluate.prequential` accepts it
directly. The same seed gives the same stream on every platform, whatever the chunk size.

>>> from millstream import synth
>>> for x, y in synth.STAGGER(seed=42).take(2):
...     print(x, y)
{'size': 'large', 'color': 'red', 'shape': 'circle'} 0
{'size': 'small', 'color': 'green', 'shape': 'square'} 0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.synth.base import Generator
from millstream.synth.clouds import LED, RandomRBF, Waveform
from millstream.synth.numbers import Friedman, Planes2D
from millstream.synth.regions import Hyperplane, RandomTree
from millstream.synth.rules import SEA, STAGGER, Agrawal, Mixed, Sine
from millstream.synth.wrappers import Drift, Imbalance, LabelNoise, Missing

__all__ = [
    "LED",
    "SEA",
    "STAGGER",
    "Agrawal",
    "ConceptDriftStream",
    "Drift",
    "Friedman",
    "Generator",
    "Hyperplane",
    "Imbalance",
    "LabelNoise",
    "Missing",
    "Mixed",
    "Planes2D",
    "RandomRBF",
    "RandomTree",
    "Sine",
    "Waveform",
]

#: River's name.
ConceptDriftStream = Drift

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
