"""Pages of works with goals, as Markdown. Imports no peers: the environments of the engines are without them."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import millstream

__all__ = ["Row", "commit", "goals_table", "machine", "page", "table"]


@dataclass
class Row:
    """A line of the table; `met` is None for a work without a goal."""

    work: str
    reached: str
    goal: str
    met: bool | None


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '∣') for cell in line)} |" for line in lines)


def goals_table(rows: Iterable[Row]) -> str:
    """Each work with what was reached."""
    words = {True: "yes", False: "**no**", None: "–"}
    return table(
        ["work", "reached", "goal", "met"], [[row.work, row.reached, row.goal, words[row.met]] for row in rows]
    )


def page(title: str, written_by: str, where: str, how: str, rows: Iterable[Row]) -> str:
    """A page with one table."""
    parts = [f"# {title}", f"Written by `{written_by}`. {where}", how, goals_table(rows)]
    return "\n\n".join(parts) + "\n"


def machine() -> str:
    """The processor, the system, and how busy it is."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        models = [
            line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line
        ]
        processor = models[0] if models else processor
    load = os.getloadavg()[0]
    return (
        f"{processor}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}; "
        f"load before the run {load:.1f}. millstream {millstream.__version__}{commit()}"
    )


def commit() -> str:
    """The revision of the working tree, in brackets."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=Path(__file__).parent
    )
    return f" ({done.stdout.strip()})" if done.returncode == 0 else ""
