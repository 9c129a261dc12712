"""Figures 1 and 2 with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from millstream.evaluate.plot import COLOURS
from millstream.papers.irma.published import EXAMPLES, ORDERS

if TYPE_CHECKING:
    from millstream.papers.irma.result import Reproduction

__all__ = ["figure_1", "figure_2"]

#: The curves in the figure of the paper, a subset of the measured ones.
_SHOWN = ("GD", "RLS", "IRMA")


def _figure(size: tuple[float, float]) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("the figures need matplotlib: pip install matplotlib") from None
    return Figure(figsize=size, layout="constrained")


def figure_1(result: Reproduction) -> Any:
    """Cumulative loss of GD, RLS and IRMA: mean plus and minus a standard deviation, and median.

    Where the lower side is negative it has no place on the scale, and is not drawn.
    """
    figure = _figure((7.2, 4.6))
    ax = figure.subplots()
    for colour, name in zip(COLOURS, _SHOWN, strict=False):
        curve = result.curve(name)
        examples = np.arange(1, len(curve.mean) + 1)
        low, high = curve.mean - curve.std, curve.mean + curve.std
        ax.fill_between(examples, low, high, where=low > 0, color=colour, alpha=0.16, linewidth=0)
        ax.plot(examples, high, color=colour, linewidth=0.8, alpha=0.7)
        ax.plot(examples, np.where(low > 0, low, np.nan), color=colour, linewidth=0.8, alpha=0.7)
        ax.plot(examples, curve.mean, color=colour, linewidth=1.8, label=name)
        ax.plot(examples, curve.median, color=colour, linewidth=1.0, linestyle=(0, (2, 2)))
    ax.plot([], [], color="#555555", linewidth=1.0, linestyle=(0, (2, 2)), label="median")
    ax.set_yscale("log")
    ax.set_ylim(10**-2, 10**4.3)
    ax.set_xlabel("examples learned")
    ax.set_ylabel("cumulative loss")
    runs = result.settings.get("runs", 0)
    ax.set_title(
        f"Figure 1: polynomials of order 6, {runs:,} runs, mean ± standard deviation", loc="left", fontsize=10
    )
    ax.grid(axis="y", color="#00000018", linewidth=0.8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(x=0.01)
    ax.legend(frameon=False, fontsize=9, ncols=4, loc="upper left", bbox_to_anchor=(0.0, 0.99))
    return figure


def figure_2(result: Reproduction) -> Any:
    """The polynomials of one sequence: a column per order, a row per number of examples, batch last."""
    figure = _figure((9.6, 9.4))
    kinds = [*((n, "incremental") for n in EXAMPLES), (max(EXAMPLES), "batch")]
    grid = figure.subplots(len(kinds), len(ORDERS), sharex=True, sharey=True)
    for snapshot in result.snapshots:
        row = kinds.index((snapshot.examples, snapshot.learning))
        ax = grid[row][ORDERS.index(snapshot.order)]
        dots = {"s": 9, "color": "#9A9A9A", "linewidths": 0, "label": "examples"}
        ax.scatter(snapshot.x, snapshot.y, **dots)
        ax.plot(
            snapshot.grid, snapshot.truth, color="#000000", linewidth=1.0, linestyle=(0, (4, 2)), label="truth"
        )
        ax.plot(snapshot.grid, snapshot.said, color=COLOURS[1], linewidth=1.8, label="approximation")
        ax.set_ylim(-0.2, 0.6)
        ax.grid(color="#00000012", linewidth=0.8)
        ax.spines[["top", "right"]].set_visible(False)
        if row == 0:
            ax.set_title(f"order {snapshot.order}", fontsize=10)
    for (n, learning), row in zip(kinds, grid, strict=True):
        row[0].set_ylabel(f"{n} examples, {learning}", fontsize=9)
    for ax in grid[-1]:
        ax.set_xlabel("x")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=3, loc="outside lower center", fontsize=9)
    figure.suptitle("Figure 2: IRMA on one sequence, and the fit to all of it at once", fontsize=11)
    return figure
