"""Interactions, costs, bandits and off-policy evaluation: `python -m benchmarks.run --only decisions`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["page", "rows"]

#: Modules with a function `rows()`, whose rows are dicts: work, peer, reached, goal, met.
MODULES = ("text_lines", "bandits", "contextual", "policies")


def rows(*, quick: bool = False) -> Iterator[dict[str, Any]]:
    """The rows of all modules; each has one size."""
    for name in MODULES:
        if importlib.util.find_spec(f"benchmarks.{name}") is not None:
            for row in importlib.import_module(f"benchmarks.{name}").rows():
                print(_line(row), file=sys.stderr, flush=True)
                yield row


def _line(row: dict[str, Any]) -> str:
    cells = [*(row[column] for column in ("work", "peer", "reached", "goal")), "yes" if row["met"] else "no"]
    return f"| {' | '.join(cells)} |"


def page(where: str, found: Iterable[dict[str, Any]]) -> str:
    """The page of some rows."""
    lines = [
        "# Decisions",
        "",
        "Interactions, costs, bandits and off-policy evaluation beside Vowpal Wabbit, River and",
        "Open Bandit Pipeline. Both sides take turns in one run.",
        "",
        where,
        "",
        "| work | peer, measured | reached | goal | met |",
        "|---|---|---|---|---|",
        *map(_line, found),
    ]
    return "\n".join(lines) + "\n"
