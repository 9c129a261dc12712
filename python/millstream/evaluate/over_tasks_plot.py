"""Plots of accuracies on tasks with matplotlib."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream._echo import quoted
from millstream._files import write_figure
from millstream.errors import InvalidValue
from millstream.evaluate.plot import COLOURS

if TYPE_CHECKING:
    from millstream.evaluate.over_tasks import ContinualResult

__all__ = ["plot", "save"]

_KINDS = ("tasks", "matrix")
_SUFFIXES = (".png", ".svg", ".pdf")
#: Tasks with more than this many are drawn in shades of one colour, without a legend.
_MOST_LINES = len(COLOURS)


def plot(result: ContinualResult, kind: str, ax: Any) -> Any:
    """Plot in one figure."""
    _check(kind)
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install matplotlib") from None
    if ax is None:
        _, ax = pyplot.subplots(figsize=_size(kind), layout="constrained")
    _draw(result, kind, ax)
    return ax


def save(result: ContinualResult, path: str | PathLike[str], kind: str) -> None:
    """Save the plot to a file, in the format of its suffix, without pyplot and its global state."""
    _check(kind)
    if Path(path).suffix.lower() not in _SUFFIXES:
        raise InvalidValue(f"a plot must be saved as {', '.join(_SUFFIXES)}, got {str(path)!r}")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("save_plot() needs matplotlib: pip install matplotlib") from None
    figure = Figure(figsize=_size(kind), layout="constrained")
    _draw(result, kind, figure.subplots())
    write_figure(path, figure, dpi=160)


def _check(kind: str) -> None:
    if kind not in _KINDS:
        raise InvalidValue(f"kind must be one of {', '.join(_KINDS)}, got {quoted(kind)}")


def _size(kind: str) -> tuple[float, float]:
    return (5.6, 4.8) if kind == "matrix" else (8.0, 4.0)


def _draw(result: ContinualResult, kind: str, ax: Any) -> None:
    ax.set_title(f"{result.name}: final accuracy {result.final_accuracy:.3f}", loc="left", fontsize=11)
    if kind == "tasks":
        _lines(result, ax)
    else:
        _matrix(result, ax)


def _lines(result: ContinualResult, ax: Any) -> None:
    count = len(result.names)
    for task, name in enumerate(result.names):
        start = result.ends[task - 1] - result.settings.get("border", 0) // 2 if task else 0
        shown = result.rows >= start
        colour = COLOURS[task % _MOST_LINES]
        ax.plot(
            result.rows[shown],
            result.curve[shown, task],
            color=colour,
            marker="o",
            markersize=3,
            linewidth=1.4,
            alpha=1.0 if count <= _MOST_LINES else 0.5,
            label=name,
            clip_on=False,
        )
    for end in result.ends[:-1]:
        ax.axvline(end, color="#999999", linewidth=0.8, linestyle=":")
    ax.set_xlabel("training rows")
    ax.set_ylabel("accuracy on the task's test rows")
    ax.set_ylim(0.0, 1.02)
    ax.set_xlim(left=0)
    ax.spines[["top", "right"]].set_visible(False)
    if count <= _MOST_LINES:
        ax.legend(
            title="task", fontsize=8, title_fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5)
        )


def _matrix(result: ContinualResult, ax: Any) -> None:
    count = len(result.names)
    ax.imshow(result.matrix, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    ax.set_xticks(range(count), result.names, rotation=30 if count > 6 else 0)
    ax.set_yticks(range(count), result.names)
    ax.set_xlabel("tested on task")
    ax.set_ylabel("after learning task")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if count <= 12:
        for row in range(count):
            for column in range(count):
                value = result.matrix[row, column]
                colour = "white" if value > 0.6 else "black"
                ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color=colour)
