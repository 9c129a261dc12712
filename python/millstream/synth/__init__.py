"""Generators: endless streams with a known truth, as the literature defines them, at native speed.

A generator is a stream. Iterating gives `(x, y)`; `evaluate.prequential` takes it as it is. The same seed gives
the same stream on every platform, however it is cut into chunks.

>>> from itertools import islice
>>> from millstream import synth
>>> for x, y in islice(synth.SEA(seed=42), 2):
...     print(x, y)
{0: 1.0469453908445459, 1: 5.922718725416704, 2: 5.27750083269554} 0
{0: 1.8762124219409637, 1: 5.412805953228555, 2: 7.783967593756056} 0
"""

from __future__ import annotations

from millstream.synth.base import Generator
from millstream.synth.clouds import RandomRBF
from millstream.synth.rules import SEA

__all__ = ["SEA", "Generator", "RandomRBF"]
