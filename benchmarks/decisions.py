"""Interactions, costs, bandits and off-policy evaluation: `python -m benchmarks.run --only decisions`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).parent / "DECISIONS.md"

#: Modules with a function `rows()`, whose rows are dicts: work, peer, reached, goal, met.
MODULES = ("text_lines", "bandits", "contextual", "policies")


def page(where: str) -> str:
    """Measure the rows of all modules."""
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
    for name in MODULES:
        if importlib.util.find_spec(f"benchmarks.{name}") is None:
            continue
        for row in importlib.import_module(f"benchmarks.{name}").rows():
            cells = [
                *(row[column] for column in ("work", "peer", "reached", "goal")),
                "yes" if row["met"] else "no",
            ]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines) + "\n"
