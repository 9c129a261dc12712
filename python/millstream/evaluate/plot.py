"""The curve of an evaluation, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from millstream.errors import InvalidValue
from millstream.evaluate.frames import number

if TYPE_CHECKING:
    from millstream.evaluate.result import Result

__all__ = ["COLOURS", "plot"]

#: Okabe and Ito's colours, which the colour-blind can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#000000")


def plot(results: Mapping[str, Result], metric: str | None, ax: Any) -> Any:
    """Rolling curves, whole-stream curves thin and dashed, drift marks."""
    try:
        import matplotlib.pyplot as pyplot
        from matplotlib.ticker import FuncFormatter
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install matplotlib; to_html() draws without it") from None
    first = next(iter(results.values()))
    metric = metric or next(iter(first.values))
    if metric not in first.values:
        raise InvalidValue(f"metric must be one of {', '.join(first.values)}, got {metric!r}")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(8, 4), layout="constrained")
    window = first.settings.get("window", 0)
    for place, (name, result) in enumerate(results.items()):
        colour = COLOURS[place % len(COLOURS)]
        drawn = result.drawn
        rows = result.curve["row"][drawn]
        label = f"last {window:,} rows" if len(results) == 1 else f"{name}  {number(result.values[metric])}"
        ax.plot(rows, result.curve[f"rolling_{metric}"][drawn], color=colour, linewidth=1.6, label=label)
        whole = f"whole stream  {number(result.values[metric])}" if len(results) == 1 else None
        dashed = {"linewidth": 0.9, "linestyle": (0, (4, 2)), "alpha": 0.75}
        ax.plot(rows, result.curve[metric][drawn], color=colour, label=whole, **dashed)
        for mark, row in enumerate(result.drifts):
            marked = "drift" if mark == 0 and len(results) == 1 else None
            ax.axvline(
                row, color="#B00020" if len(results) == 1 else colour, linewidth=0.8, alpha=0.55, label=marked
            )
    ax.set_xlabel("rows")
    ax.set_ylabel(metric)
    ax.set_title(first.name if len(results) == 1 else "test, then train", loc="left", fontsize=11)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.grid(axis="y", color="#00000018", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(x=0.01)
    ax.legend(frameon=False, fontsize=9)
    return ax
