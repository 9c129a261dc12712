"""Plots of an evaluation with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream._echo import quoted
from millstream._files import write_figure
from millstream.errors import InvalidValue
from millstream.evaluate.frames import number
from millstream.evaluate.headings import headings

if TYPE_CHECKING:
    from millstream.evaluate.result import Result

__all__ = ["COLOURS", "KINDS", "plot", "rates", "save"]

#: The colour-blind safe palette of Okabe and Ito.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#000000")
KINDS = ("metric", "confusion", "calibration", "residuals", "weights", "waiting", "speed", "memory")
_SUFFIXES = (".png", ".svg", ".pdf")
_MARK = "#B00020"
#: Kinds with square axes, and kinds that show a single model.
_SQUARE = ("confusion", "calibration", "residuals")
_ALONE = ("confusion", "residuals", "weights")
_MOST_CLASSES, _MOST_FEATURES = 30, 20
#: Minimum number of rows to measure a rate over.
_RATE_ROWS = 32_768


def plot(results: Mapping[str, Result], metric: str | None, ax: Any, kind: str = "metric") -> Any:
    """Plot one model or several in one figure."""
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install matplotlib; to_html() draws without it") from None
    results, metric, kind = _chosen(results, metric, kind)
    if ax is None:
        _, ax = pyplot.subplots(figsize=_size(kind), layout="constrained")
    _draw(results, metric, ax, kind)
    return ax


def save(results: Mapping[str, Result], path: str | PathLike[str], metric: str | None, kind: str) -> None:
    """Save the plot to a file, in the format of its suffix, without pyplot and its global state."""
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise InvalidValue(f"a plot must be saved as {', '.join(_SUFFIXES)}, got {str(path)!r}")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "save_plot() needs matplotlib: pip install matplotlib; to_html() draws without it"
        ) from None
    results, metric, kind = _chosen(results, metric, kind)
    figure = Figure(figsize=_size(kind), layout="constrained")
    _draw(results, metric, figure.subplots(), kind)
    write_figure(path, figure, dpi=160)


def _size(kind: str) -> tuple[float, float]:
    return (5.6, 5.2) if kind in _SQUARE else (8.0, 4.0)


def _chosen(results: Mapping[str, Result], metric: str | None, kind: str) -> tuple[Mapping[str, Result], str, str]:
    """Check the arguments; `plot("confusion")` is accepted too."""
    if not results:
        raise InvalidValue("there is no model to plot")
    first = next(iter(results.values()))
    if metric in KINDS and metric not in first.values:
        metric, kind = None, str(metric)
    if kind not in KINDS:
        raise InvalidValue(f"kind must be one of {', '.join(KINDS)}, got {quoted(kind)}")
    metric = metric or next(iter(first.values))
    if metric not in first.values:
        raise InvalidValue(f"metric must be one of {', '.join(first.values)}, got {quoted(metric)}")
    if kind in _ALONE and len(results) > 1:
        raise InvalidValue(
            f"a plot of kind {quoted(kind)} shows one model: results[{quoted(next(iter(results)))}].plot(…)"
        )
    missing = {
        "confusion": first.confusion,
        "calibration": next((r.calibration for r in results.values() if r.calibration is not None), None),
        "residuals": first.residuals,
        "weights": first.weights if kind == "weights" else None,
    }
    if kind in missing and missing[kind] is None:
        why = {
            "confusion": "regressors, and classifiers with very many classes, have no confusion matrix",
            "calibration": "no metric uses probabilities; add one that does, such as LogLoss",
            "residuals": "only regressors have residuals",
            "weights": "the model has no weights or importances",
        }
        raise InvalidValue(f"cannot plot kind {quoted(kind)}: {why[kind]}")
    return results, metric, kind


def _draw(results: Mapping[str, Result], metric: str, ax: Any, kind: str) -> None:
    first = next(iter(results.values()))
    ax.set_title(first.name if len(results) == 1 else "test, then train", loc="left", fontsize=11)
    if kind in ("metric", "waiting", "speed", "memory"):
        _over_rows(results, metric, ax, kind)
    elif kind == "confusion":
        _confusion(first, ax)
    elif kind == "calibration":
        _calibration(results, ax)
    elif kind == "residuals":
        _residuals(first, ax)
    else:
        _weights(first, ax)
    ax.spines[["top", "right"]].set_visible(False)


def _over_rows(results: Mapping[str, Result], metric: str, ax: Any, kind: str) -> None:
    from matplotlib.ticker import FuncFormatter

    for place, (name, result) in enumerate(results.items()):
        colour = COLOURS[place % len(COLOURS)]
        if kind == "metric":
            _metric(result, name, metric, ax, colour, len(results) == 1)
            continue
        curve = result.curve
        rows, values = rates(curve["row"], curve["seconds"]) if kind == "speed" else (curve["row"], curve[kind])
        ax.plot(rows, values, color=colour, linewidth=1.4, label=name)
        ax.set_ylim(bottom=0)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    words = {
        "metric": headings(list(results.values()))[metric],
        "waiting": "labels waited for",
        "speed": "rows per second",
        "memory": "bytes",
    }
    ax.set_xlabel("rows")
    ax.set_ylabel(words[kind])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.grid(axis="y", color="#00000018", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.margins(x=0.01)
    if kind == "metric" or len(results) > 1:
        ax.legend(frameon=False, fontsize=9)


def rates(rows: Any, seconds: Any) -> tuple[Any, Any]:
    """Rows per second at each point, over a range of rows around it.

    A block of rows is predicted at once and scored row by row, so points inside a block are close in time. The
    range is as long as several blocks, or half of a short stream.
    """
    rows, seconds = np.insert(rows.astype(np.float64), 0, 0.0), np.insert(seconds, 0, 0.0)
    half = min(max(_RATE_ROWS / 2, rows[-1] / 24), rows[-1] / 4)
    before = np.clip(np.searchsorted(rows, rows - half), 0, None)
    after = np.minimum(np.searchsorted(rows, rows + half), len(rows) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (rows[after] - rows[before]) / (seconds[after] - seconds[before])
    return rows, found


def _metric(result: Result, name: str, metric: str, ax: Any, colour: str, alone: bool) -> None:
    drawn, value = result.drawn, number(result.values[metric])
    rows = result.curve["row"][drawn]
    label = f"last {result.settings.get('window', 0):,} rows" if alone else f"{name}  {value}"
    ax.plot(rows, result.curve[f"rolling_{metric}"][drawn], color=colour, linewidth=1.6, label=label)
    dashed = {"linewidth": 0.9, "linestyle": (0, (4, 2)), "alpha": 0.75}
    whole = f"all rows  {value}" if alone else None
    ax.plot(rows, result.curve[metric][drawn], color=colour, label=whole, **dashed)
    if result.drifts:
        # One collection draws thousands of marks at once.
        marks = {"color": _MARK if alone else colour, "linewidth": 0.8, "alpha": 0.55}
        found = f"drift ({len(result.drifts):,})" if alone else None
        ax.vlines(result.drifts, 0, 1, transform=ax.get_xaxis_transform(), label=found, **marks)


def _confusion(result: Result, ax: Any) -> None:
    found: Any = result.confusion
    matrix, labels = np.asarray(found.matrix), list(found.labels)
    if len(labels) > _MOST_CLASSES:
        order = np.argsort(-matrix.sum(axis=1), kind="stable")[:_MOST_CLASSES]
        matrix, labels = matrix[np.ix_(order, order)], [labels[place] for place in order]
    totals = matrix.sum(axis=1, keepdims=True)
    fractions = matrix / np.where(totals > 0, totals, 1.0)
    ax.imshow(fractions, cmap="Blues", vmin=0.0, vmax=1.0)
    names = [str(label)[:16] for label in labels]
    ax.set_xticks(range(len(names)), names, rotation=0 if len(names) <= 6 else 90)
    ax.set_yticks(range(len(names)), names)
    ax.set_xlabel("predicted")
    ax.set_ylabel("truth")
    if len(names) <= 12:
        for place, cell in np.ndenumerate(matrix):
            ink = "white" if fractions[place] > 0.6 else "black"
            ax.text(place[1], place[0], f"{cell:,.6g}", ha="center", va="center", fontsize=8, color=ink)


def _calibration(results: Mapping[str, Result], ax: Any) -> None:
    ax.plot([0, 1], [0, 1], color="#808080", linewidth=0.9, linestyle=(0, (4, 3)))
    about = ""
    for place, (name, result) in enumerate(results.items()):
        found = result.calibration
        if found is None:
            continue
        about = found.about
        known = found.counts > 0
        colour = COLOURS[place % len(COLOURS)]
        sizes = 12 + 90 * found.counts[known] / found.counts.max()
        label = f"{name}, ECE {number(found.ece)}"
        ax.plot(found.predicted[known], found.observed[known], color=colour, linewidth=1.4, label=label)
        ax.scatter(found.predicted[known], found.observed[known], s=sizes, color=colour, zorder=3)
    ax.set_xlabel(about)
    ax.set_ylabel("observed frequency")
    ax.set_aspect("equal")
    ax.grid(color="#00000018", linewidth=0.8)
    ax.legend(frameon=False, fontsize=9, loc="upper left")


def _residuals(result: Result, ax: Any) -> None:
    found: Any = result.residuals
    ax.scatter(found.truth, found.predicted, s=7, alpha=0.35, color=COLOURS[0], linewidths=0)
    low, high = float(found.truth.min()), float(found.truth.max())
    ax.plot([low, high], [low, high], color="#808080", linewidth=0.9, linestyle=(0, (4, 3)))
    ax.set_xlabel("truth")
    ax.set_ylabel("prediction")


def _weights(result: Result, ax: Any) -> None:
    found: Any = result.weights
    names, values = found.names[:_MOST_FEATURES][::-1], found.values[:_MOST_FEATURES][::-1]
    ax.barh(range(len(names)), values, color=[COLOURS[0] if value >= 0 else COLOURS[1] for value in values])
    ax.set_yticks(range(len(names)), [name[:32] for name in names], fontsize=8)
    ax.axvline(0, color="#808080", linewidth=0.8)
    ax.set_xlabel(found.about, fontsize=9)
