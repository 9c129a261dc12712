"""Plots of a comparison of drift detectors: with matplotlib, and as HTML for a notebook."""

from __future__ import annotations

from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream._echo import quoted, visible
from millstream._files import write_figure
from millstream.errors import InvalidValue
from millstream.evaluate.plot import COLOURS
from millstream.evaluate.report.charts import short, ticks

if TYPE_CHECKING:
    from millstream.evaluate.detection.result import DriftResult

__all__ = ["KINDS", "fragment", "plot", "save"]

KINDS = ("trade-off", "timeline")
_SUFFIXES = (".png", ".svg", ".pdf")
_CHANGE, _ALARM = "#009E73", "#D55E00"
#: Combined with the colours, enough to distinguish all detectors.
_MARKERS = ("o", "s", "^", "D", "v", "P")


def plot(result: DriftResult, kind: str, ax: Any, stream: str | None) -> Any:
    """Plot on the given axes, or on new ones."""
    streams = _checked(result, kind, stream)
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install matplotlib") from None
    if ax is not None:
        _draw(result, kind, ax, streams[0])
        _legend(result, ax, [ax], {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)})
        return ax
    return _panels(result, kind, pyplot.figure(layout="constrained"), streams)


def save(result: DriftResult, path: str | PathLike[str], kind: str, stream: str | None) -> None:
    """Save the plot to a file, without a window and without the state of pyplot."""
    streams = _checked(result, kind, stream)
    if Path(path).suffix.lower() not in _SUFFIXES:
        raise InvalidValue(f"a plot is saved as {', '.join(_SUFFIXES)}, got {str(path)!r}")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("save_plot() needs matplotlib: pip install matplotlib") from None
    figure = Figure(layout="constrained")
    _panels(result, kind, figure, streams)
    write_figure(path, figure, dpi=160)


def _checked(result: DriftResult, kind: str, stream: str | None) -> list[str]:
    if kind not in KINDS:
        raise InvalidValue(f"kind must be one of {', '.join(KINDS)}, got {quoted(kind)}")
    if stream is None:
        return result.streams
    if stream not in result.streams:
        raise InvalidValue(f"stream must be one of {', '.join(result.streams)}, got {stream!r}")
    return [stream]


def _panels(result: DriftResult, kind: str, figure: Any, streams: list[str]) -> Any:
    """A panel for each stream, with one legend."""
    columns = 1 if len(streams) == 1 or kind == "timeline" else 2
    lines = -(-len(streams) // columns)
    high = (
        max(4.0, 0.8 + 0.21 * len(result.detectors)) if kind == "trade-off" else 1.2 + 0.3 * len(result.detectors)
    )
    figure.set_size_inches(9.0 if columns == 1 else 13.0, high * lines)
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for ax in panels[len(streams) :]:
        ax.set_visible(False)
    for ax, stream in zip(panels, streams, strict=False):
        _draw(result, kind, ax, stream)
    if len(streams) == 1:
        _legend(result, panels[0], panels[:1], {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)})
        return panels[0]
    _legend(result, figure, panels, {"loc": "outside right upper"})
    return panels[: len(streams)]


def _legend(result: DriftResult, where: Any, panels: Any, at: dict[str, Any]) -> None:
    """One legend for all panels with points; bars are labelled."""
    from matplotlib.lines import Line2D

    drawn = {name for ax in panels for name in ax.get_legend_handles_labels()[1]}
    names = [name for name in result.detectors if name in drawn]
    if names:
        looks = [_look(result, name) for name in names]
        marks = [Line2D([], [], linestyle="none", markersize=6.5, color=c, marker=m) for c, m in looks]
        where.legend(marks, names, borderaxespad=0.0, frameon=False, fontsize=8, **at)


def _look(result: DriftResult, detector: str) -> tuple[str, str]:
    """Colour and marker."""
    index = result.detectors.index(detector)
    return COLOURS[index % len(COLOURS)], _MARKERS[index // len(COLOURS) % len(_MARKERS)]


def _draw(result: DriftResult, kind: str, ax: Any, stream: str) -> None:
    from matplotlib.ticker import FuncFormatter

    ax.set_title(stream, loc="left", fontsize=11)
    if kind == "timeline":
        _timeline(result, ax, stream)
    elif any(score.changes for score in result.scores if score.stream == stream):
        _trade_off(result, ax, stream)
    else:
        _false_alarms(result, ax, stream)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _trade_off(result: DriftResult, ax: Any, stream: str) -> None:
    silent = []
    for score in result.scores:
        if score.stream != stream:
            continue
        if score.delay != score.delay:
            silent.append(score.detector)
            continue
        colour, marker = _look(result, score.detector)
        # Hollow if a change was missed; not clipped at the edge.
        look = {"edgecolors": colour, "facecolors": "none" if score.missed else colour, "marker": marker}
        at = (score.delay, score.false_alarms)
        ax.scatter(*at, s=46, zorder=3, clip_on=False, label=score.detector, **look)
    words = "mean delay, in values; hollow: some changes were missed"
    if silent:
        words += f"\nno detection: {', '.join(silent[:6])}{', …' if len(silent) > 6 else ''}"
    ax.set_xlabel(words)
    ax.set_ylabel("false alarms in 10,000")
    ax.set_xlim(0, ax.get_xlim()[1])
    ax.set_ylim(0, max(ax.get_ylim()[1], 1.0))
    ax.grid(color="#00000018", linewidth=0.8)


def _false_alarms(result: DriftResult, ax: Any, stream: str) -> None:
    """A stream without changes has no delays."""
    scores = [score for score in result.scores if score.stream == stream]
    ax.barh(range(len(scores)), [score.false_alarms for score in scores], color=COLOURS[0], height=0.6)
    ax.set_yticks(range(len(scores)), [score.detector[:28] for score in scores], fontsize=8)
    ax.invert_yaxis()
    ax.set_xlim(0, max(ax.get_xlim()[1], 1.0))
    ax.set_xlabel("false alarms in 10,000; there are no changes")
    ax.grid(axis="x", color="#00000018", linewidth=0.8)


def _timeline(result: DriftResult, ax: Any, stream: str) -> None:
    runs = [run for run in result.detections if run.stream == stream]
    names = result.detectors[::-1]
    for change in runs[0].changes:
        ax.axvspan(change.begin, max(change.end, change.begin + 1), color=_CHANGE, alpha=0.25, linewidth=1.5)
    for run in runs:
        level = names.index(run.detector)
        alarms = set(run.false_alarms)
        for places, colour in (
            ([place for place in run.places if place not in alarms], _CHANGE),
            (sorted(alarms), _ALARM),
        ):
            ax.vlines(places, level - 0.34, level + 0.34, color=colour, linewidth=0.9, alpha=0.75)
    ax.set_yticks(range(len(names)), [name[:28] for name in names], fontsize=8)
    ax.set_ylim(-0.5, len(names) - 0.5)
    ax.set_xlim(0, max(run.length for run in runs))
    seeds = len(runs) // len(names)
    of_all = f", of all {seeds:,} seeds" if seeds > 1 else ""
    ax.set_xlabel(f"value; green: changes and their detections, orange: false alarms{of_all}")


def fragment(result: DriftResult) -> str:
    """The tables and a timeline for each stream."""
    parts = []
    for (title, head, rows), stream in zip(result.tables(), result.streams, strict=True):
        cells = "".join(f"<th>{escape(name)}</th>" for name in head)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        parts.append(f"<h4>{escape(title)}</h4><table><tr>{cells}</tr>{body}</table>{timeline(result, stream)}")
    return visible(f'<div class="millstream-drift">{"".join(parts)}</div>')


def timeline(result: DriftResult, stream: str) -> str:
    """The detections of each detector, as SVG."""
    runs = [run for run in result.detections if run.stream == stream]
    names = list(dict.fromkeys(run.detector for run in runs))
    length = max(run.length for run in runs) or 1
    left, width, row = 130.0, 620.0, 18.0
    height = row * len(names)

    def across(index: float) -> float:
        return left + width * index / length

    parts = []
    for change in runs[0].changes:
        wide = max(across(change.end) - across(change.begin), 2.0)
        where = f'x="{across(change.begin):.1f}" y="0" width="{wide:.1f}" height="{height:g}"'
        parts.append(f'<rect {where} fill="{_CHANGE}" fill-opacity="0.25"/>')
    for level, name in enumerate(names):
        top = row * level
        where = f'x="{left - 8:g}" y="{top + 0.7 * row:g}"'
        parts.append(f'<text {where} text-anchor="end">{escape(name[:22])}</text>')
        for kind, colour in (("answers", _CHANGE), ("alarms", _ALARM)):
            places: set[float] = set()
            for run in runs:
                if run.detector == name:
                    alarms = set(run.false_alarms)
                    places |= {round(across(p), 1) for p in run.places if (p in alarms) == (kind == "alarms")}
            marks = "".join(f"M{x:.1f} {top + 3:g}V{top + row - 3:g}" for x in sorted(places))
            parts.append(f'<path d="{marks}" stroke="{colour}" stroke-width="1.2"/>' if marks else "")
    for tick in ticks(0, length, 5):
        where = f'x="{across(tick):.1f}" y="{height + 14:g}"'
        parts.append(f'<text {where} text-anchor="middle">{short(tick)}</text>')
    label = f"{stream}: " + ", ".join(
        f"{name} {int(np.sum([len(run.places) for run in runs if run.detector == name]))} detections"
        for name in names
    )
    return (
        f'<svg viewBox="0 0 {left + width + 20:g} {height + 22:g}" width="{left + width + 20:g}" role="img" '
        f'aria-label="{escape(label[:300])}" font-size="11" font-family="sans-serif" fill="currentColor">'
        f"{''.join(parts)}</svg>"
    )
