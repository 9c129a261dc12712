"""The comparison as a table: for a terminal, and as benchmarks/BASELINE.md."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from benchmarks.baseline.measure import Comparison

__all__ = ["THRESHOLD", "is_beyond", "line", "page"]

#: A ratio further from 1 than this is marked.
THRESHOLD = 0.03


def is_beyond(comparison: Comparison) -> bool:
    """Whether the ratio differs from 1 by more than the threshold."""
    return comparison.error is None and abs(comparison.ratio - 1.0) > THRESHOLD


def mark(comparison: Comparison) -> str:
    """The mark of a comparison: slower, faster or empty."""
    if not is_beyond(comparison):
        return ""
    return "**slower**" if comparison.ratio > 1.0 else "faster"


def line(comparison: Comparison) -> str:
    """One comparison for a terminal."""
    if comparison.error is not None:
        return f"{comparison.name}: {comparison.error}"
    return f"{comparison.name}: {comparison.ratio:.3f} {mark(comparison)}".rstrip()


def _row(comparison: Comparison) -> list[str]:
    then, now = (f"{min(side):,.4g}" for side in (comparison.then, comparison.now))
    spread = f"{min(comparison.ratios):.3f} to {max(comparison.ratios):.3f}" if len(comparison.ratios) > 1 else ""
    ratio = f"{comparison.ratio:.3f}"
    return [comparison.name, f"{comparison.rows:,}", then, now, ratio, spread, mark(comparison)]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '∣') for cell in cells)} |" for cells in lines)


def machine() -> str:
    """The machine."""
    model = platform.processor() or platform.machine()
    cpus = Path("/proc/cpuinfo")
    if cpus.exists():
        names = [each.partition(":")[2].strip() for each in cpus.read_text().splitlines() if "model name" in each]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def page(against: str, compared: Sequence[Comparison], *, rounds: int | None) -> str:
    """The whole page; `rounds` is None for counted instructions."""
    done = [comparison for comparison in compared if comparison.error is None]
    beyond = [comparison for comparison in done if is_beyond(comparison)]
    slower = sum(comparison.ratio > 1.0 for comparison in beyond)
    unit = "instructions" if rounds is None else "ns"
    how = (
        "Instructions are counted by valgrind: the difference between a unit of work done twice and done once."
        if rounds is None
        else f"CPU time of alternating processes, in {rounds} rounds. The minimum counts, "
        "since noise only adds; the spread is that of the ratios within each round."
    )
    lines = [
        "# Timing baseline",
        "",
        f"Written by `make baseline`: the working tree against {against}, both built with the release profile. "
        f"{machine()}.",
        "",
        f"{how} A ratio above 1 is slower than {against}; beyond {THRESHOLD:.0%} it is marked.",
        "",
    ]
    if done:
        mean = math.exp(sum(math.log(comparison.ratio) for comparison in done) / len(done))
        lines += [
            f"{len(done)} workloads: {slower} slower, {len(beyond) - slower} faster, geometric mean {mean:.3f}.",
            "",
        ]
    ordered = sorted(done, key=lambda each: (not is_beyond(each), -each.ratio if is_beyond(each) else 0.0))
    head = ["workload", "rows", f"{against}, {unit} per row", f"now, {unit} per row", "ratio", "spread", ""]
    lines.append(_table(head, [_row(comparison) for comparison in ordered]))
    failed = [comparison for comparison in compared if comparison.error is not None]
    if failed:
        lines += ["", "Not compared:", "", *(f"- {each.name}: {each.error}" for each in failed)]
    return "\n".join(lines) + "\n"
