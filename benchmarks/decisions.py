"""Interactions, costs, bandits and off-policy evaluation: `python -m benchmarks.run --only decisions`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).parent / "DECISIONS.md"

#: Modules with a generator `rows(size)` of rows of five: work, peer measured, reached, goal, met.
MODULES = ("text_lines", "bandits", "contextual", "policies")


def page(where: str, size: float = 1.0) -> str:
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
        for work, peer, reached, goal, met in importlib.import_module(f"benchmarks.{name}").rows(size):
            lines.append(f"| {work} | {peer} | {reached} | {goal} | {'yes' if met else 'no'} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines) + "\n"
