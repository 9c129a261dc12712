"""A plot of a column of numbers with the detected changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream._files import write_figure
from millstream.evaluate.plot import COLOURS

if TYPE_CHECKING:
    from millstream.cli.changes import FoundChange

__all__ = ["draw"]

#: Maximum number of points, and number of segments for the means.
_MOST_POINTS, _SEGMENTS = 2000, 150


def draw(path: str, title: str, values: Any, found: Mapping[str, list[FoundChange]]) -> None:
    """Draw the numbers above and a lane for each detector below."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import FuncFormatter
    except ImportError:
        raise ImportError("--plot needs matplotlib: pip install matplotlib") from None
    lanes = 0.4 + 0.3 * len(found)
    figure = Figure(figsize=(8.0, 3.6 + lanes), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3.2, lanes])
    above.set_title(title, loc="left", fontsize=11)
    _numbers(above, values)
    for lane, changes in enumerate(found.values()):
        colour = COLOURS[lane % len(COLOURS)]
        for change in changes:
            above.axvline(change.row, color=colour, linewidth=1.0, alpha=0.8)
            below.vlines(change.row, lane - 0.36, lane + 0.36, color=colour, linewidth=2.0)
            if change.began is not None:
                span = [(change.began, max(change.row - change.began, 1))]
                below.broken_barh(span, (lane - 0.28, 0.56), color=colour, alpha=0.25, linewidth=0)
            if change.warned is not None:
                below.plot(change.warned, lane, marker="^", color=colour, markersize=5, linestyle="none")
    below.set_yticks(range(len(found)), [name[:28] for name in found], fontsize=8)
    below.set_ylim(len(found) - 0.5, -0.5)
    below.set_xlim(0, max(len(values), 1))
    below.set_xlabel("row; line: detection, band: since the estimated change point, triangle: warning")
    below.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    write_figure(path, figure, dpi=160)


def _numbers(axes: Any, values: Any) -> None:
    """A sample of the numbers as points, and means, which are needed for values of 0 and 1."""
    step = -(-len(values) // _MOST_POINTS) or 1
    rows = np.arange(0, len(values), step)
    every = "all numbers" if step == 1 else f"one number in {step:,}"
    axes.plot(rows, values[rows], ".", color="#7F7F7F", alpha=0.35, markersize=2.5, label=every)
    segment = max(len(values) // _SEGMENTS, 10)
    starts = np.arange(0, len(values), segment)
    if len(starts) > 2:
        counts = np.diff(np.append(starts, len(values)))
        means = np.add.reduceat(values, starts) / counts
        axes.plot(starts + counts / 2, means, color="black", linewidth=1.3, label=f"mean of {segment:,}")
    axes.legend(
        frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.2
    )
    axes.grid(axis="y", color="#00000018", linewidth=0.8)
    axes.set_axisbelow(True)
