"""Interactions, costs, bandits and off-policy evaluation: `python -m benchmarks.run --only decisions`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

__all__ = ["page", "rows"]

#: Modules with a function `rows()`, whose rows are dicts: work, peer, reached, goal, met.
MODULES = ("text_lines", "bandits", "contextual", "policies")


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Measure the rows of all modules; those that compare quality and speed at once are not shortened."""
    for name in MODULES:
        for row in importlib.import_module(f"benchmarks.{name}").rows():
            print(_line(row), file=sys.stderr, flush=True)
            yield row


def _line(row: dict[str, Any]) -> str:
    met = "–" if row["goal"] == "–" else "yes" if row["met"] else "no"
    cells = [*(row[column] for column in ("work", "peer", "reached", "goal")), met]
    return f"| {' | '.join(cells)} |"


def page(where: str, found: list[dict[str, Any]]) -> str:
    """The page of these rows."""
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
    ]
    return "\n".join([*lines, *map(_line, found)]) + "\n"
