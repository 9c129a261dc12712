"""The incremental risk functional (Buschermöhle and others, 2013): its Table I and Figures 1 and 2.

`reproduce` repeats the experiments with `basis.Polynomial | linear_model.IRMA()` and its rivals, and prints what
it finds beside what the paper says, with all that the paper leaves open.
"""

from __future__ import annotations

from millstream.papers.irma.experiment import draw, models, reproduce, target
from millstream.papers.irma.published import CHOICES, CITATION, MISTAKES, TABLE
from millstream.papers.irma.result import Cell, Curve, Reproduction, Snapshot

__all__ = [
    "CHOICES",
    "CITATION",
    "MISTAKES",
    "TABLE",
    "Cell",
    "Curve",
    "Reproduction",
    "Snapshot",
    "draw",
    "models",
    "reproduce",
    "target",
]
