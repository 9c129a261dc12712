"""Drawings of a comparison of detectors: with matplotlib, and as a fragment for a notebook."""

from __future__ import annotations

from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream.errors import InvalidValue
from millstream.evaluate.plot import COLOURS
from millstream.evaluate.report.drawing import short, ticks

if TYPE_CHECKING:
    from millstream.evaluate.detection.result import DriftResult

__all__ = ["KINDS", "fragment", "plot", "save"]

KINDS = ("trade-off", "timeline")
_SUFFIXES = (".png", ".svg", ".pdf")
_CHANGE, _ALARM = "#009E73", "#D55E00"


def plot(result: DriftResult, kind: str, ax: Any, stream: str | None) -> Any:
    """Draw on the axes given, or on new ones."""
    stream = _checked(result, kind, stream)
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install matplotlib") from None
    if ax is None:
        _, ax = pyplot.subplots(figsize=_size(result, kind), layout="constrained")
    _draw(result, kind, ax, stream)
    return ax


def save(result: DriftResult, path: str | PathLike[str], kind: str, stream: str | None) -> None:
    """The same into a file; no window is opened and no state of pyplot is touched."""
    stream = _checked(result, kind, stream)
    if Path(path).suffix.lower() not in _SUFFIXES:
        raise InvalidValue(f"a plot is saved as {', '.join(_SUFFIXES)}, got {str(path)!r}")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("save_plot() needs matplotlib: pip install matplotlib") from None
    figure = Figure(figsize=_size(result, kind), layout="constrained")
    _draw(result, kind, figure.subplots(), stream)
    figure.savefig(path, dpi=160)


def _checked(result: DriftResult, kind: str, stream: str | None) -> str:
    if kind not in KINDS:
        raise InvalidValue(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if stream is None:
        return result.streams[0]
    if stream not in result.streams:
        raise InvalidValue(f"stream must be one of {', '.join(result.streams)}, got {stream!r}")
    return stream


def _size(result: DriftResult, kind: str) -> tuple[float, float]:
    return (8.0, 4.4) if kind == "trade-off" else (8.0, 1.2 + 0.34 * len(result.detectors))


def _draw(result: DriftResult, kind: str, ax: Any, stream: str) -> None:
    from matplotlib.ticker import FuncFormatter

    ax.set_title(stream, loc="left", fontsize=11)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    if kind == "trade-off":
        scores = [score for score in result.scores if score.stream == stream and score.delay == score.delay]
        for score in scores:
            colour = COLOURS[result.detectors.index(score.detector) % len(COLOURS)]
            # A change that was missed makes the point hollow.
            face = "none" if score.missed else colour
            ax.scatter(score.delay, score.false_alarms, s=42, edgecolors=colour, facecolors=face, zorder=3)
            at = {"textcoords": "offset points", "fontsize": 8}
            ax.annotate(score.detector, (score.delay, score.false_alarms), xytext=(6, 3), **at)
        ax.set_xlabel("mean delay, in numbers; hollow: some changes were missed")
        ax.set_ylabel("false alarms in 10,000")
        ax.set_ylim(bottom=min(-0.3, -0.04 * ax.get_ylim()[1]))
        ax.grid(color="#00000018", linewidth=0.8)
    else:
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
        ax.set_yticks(range(len(names)), names, fontsize=8)
        ax.set_xlim(0, max(run.length for run in runs))
        ax.set_xlabel("numbers; green: changes and their detections, orange: false alarms, of all seeds")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def fragment(result: DriftResult) -> str:
    """The tables and a timeline for each stream."""
    parts = []
    for (title, head, rows), stream in zip(result.tables(), result.streams, strict=True):
        cells = "".join(f"<th>{escape(name)}</th>" for name in head)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        parts.append(f"<h4>{escape(title)}</h4><table><tr>{cells}</tr>{body}</table>{timeline(result, stream)}")
    return f'<div class="millstream-drift">{"".join(parts)}</div>'


def timeline(result: DriftResult, stream: str) -> str:
    """Where each detector found a change, as SVG."""
    runs = [run for run in result.detections if run.stream == stream]
    names = list(dict.fromkeys(run.detector for run in runs))
    length = max(run.length for run in runs) or 1
    left, width, row = 130.0, 620.0, 18.0
    height = row * len(names)

    def across(place: float) -> float:
        return left + width * place / length

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
