"""Reproductions of published experiments with the learners of this package.

Each paper is a module of its own with a function `reproduce`, whose result prints its figures beside the paper's:

>>> from millstream import papers
>>> result = papers.irma.reproduce(sequences=20, runs=10, progress=False)
>>> result.cell(order=6, examples=150, learning="incremental").paper_mean
9.4e-05

On the command line: `millstream paper irma`.
"""

from __future__ import annotations

from millstream.papers import irma

__all__ = ["PAPERS", "irma"]

#: Citations of the papers, by the name of the module.
PAPERS = {"irma": irma.CITATION}
