"""SVG charts without a library: lines over the rows of a stream, and elements of other charts."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from millstream.evaluate.report.axes import RowAxis, TimeAxis, short, ticks

__all__ = ["Chart", "Line", "drifts", "few", "short", "square", "ticks", "trace"]

#: Maximum number of points of a line.
_MOST_POINTS = 600
#: Side of the view box, and the distance within which marks are merged.
_SIDE = 2000.0
_MARK_WIDTH = 5.0
#: Maximum number of drift marks over the full height; more are merged to bands, so that the curve stays visible.
_MOST_MARKS = 12
_BANDS = 40
#: Maximum number of lines in the values shown below the pointer.
_MOST_NAMED = 10
#: Maximum number of labels below a low chart.
_MOST_LABELS = 4
#: Maximum factor by which the first points may stretch the scale.
_MOST_STRETCH = 4.0


def few(rows: Any, values: Any) -> tuple[Any, Any]:
    """Reduce the points of a curve: minimum and maximum of each interval, so that spikes are kept."""
    known = np.isfinite(values)
    rows, values = np.asarray(rows)[known], np.asarray(values)[known]
    if len(rows) <= _MOST_POINTS:
        return rows, values
    kept = {0, len(rows) - 1}
    for places in np.array_split(np.arange(len(rows)), _MOST_POINTS // 2):
        kept |= {int(places[values[places].argmin()]), int(places[values[places].argmax()])}
    order = sorted(kept)
    return rows[order], values[order]


@dataclass
class Line:
    """One line with its colour index and its kind ("rolling", "whole", "area")."""

    rows: Any
    values: Any
    kind: str = "rolling"
    colour: int = 0
    #: The name of its values below the pointer; without it they are not shown.
    name: str = ""


@dataclass
class Chart:
    """Lines over a common x axis, with a y axis to the left.

    Lines scale with the page and labels do not, so that the chart is readable on a phone and in print.
    """

    lines: Sequence[Line]
    label: str
    #: Rows to mark over the full height, and rows by colour to mark at the bottom.
    marks: Sequence[int] = ()
    flags: Sequence[tuple[int, Sequence[int]]] = ()
    #: Values that must be within the y axis. The axis includes all values if there are none, or if the others
    #: stretch it little: the first points of a curve are based on few rows and could flatten the rest.
    scale: Sequence[float] = ()
    from_zero: bool = False
    shown: Callable[[float], str] = short
    #: "tall", "middle" or "low".
    size: str = "tall"
    #: The horizontal axis; by default the rows.
    axis: RowAxis | TimeAxis | None = None
    #: Horizontal lines with their names, such as the score of the best constant prediction.
    levels: Sequence[tuple[float, str]] = ()
    #: Number of places along the axis with values below the pointer.
    hovers: int = 48

    def draw(self) -> str:
        """The chart, or a note if there is nothing to draw."""
        found = self._scaled()
        if isinstance(found, str):
            return found
        lines, low, high, least, most, axis = found

        def across(row: Any) -> Any:
            return _SIDE * axis.place(row)

        def down(value: Any) -> Any:
            # Points beyond the axis are clipped at the edge of the chart.
            return _SIDE * (high - np.clip(value, low - 9 * (high - low), high + 9 * (high - low))) / (high - low)

        parts, words = [], []
        for tick in ticks(low, high, 4 if self.size == "low" else 6):
            y = float(down(tick))
            parts.append(f'<path class="grid" d="M0 {y:.0f}H{_SIDE:g}"/>')
            words.append(f'<span class="y" style="top: {y / _SIDE:.2%}">{html.escape(self.shown(tick))}</span>')
        labels = axis.ticks()
        # A low chart is narrow: several stand side by side.
        for at, text in labels[:: 2 if self.size == "low" and len(labels) > _MOST_LABELS else 1]:
            side = ' end" style="right: 0' if at > 0.94 else f'" style="left: {at:.2%}'
            words.append(f'<span class="x{side}">{html.escape(text)}</span>')
        for level, _ in self.levels:
            if low <= level <= high:
                parts.append(f'<path class="level" d="M0 {float(down(level)):.0f}H{_SIDE:g}"/>')
        parts.append(drifts(across(self.marks)))
        for level, (colour, rows) in enumerate(self.flags):
            foot = _SIDE - 40 * level
            parts.append(uprights(across(rows), foot - 34, foot, f"flag c{colour}"))
        for line in sorted(lines, key=lambda line: line.kind == "rolling"):
            x, points = across(line.rows), trace(across(line.rows), down(line.values))
            kind = line.kind
            if kind == "area":
                parts.append(
                    f'<polygon class="area" points="{x[0]:.0f},{_SIDE:g} {points} {x[-1]:.0f},{_SIDE:g}"/>'
                )
                kind = "rolling"
            parts.append(f'<polyline class="{kind} c{line.colour}" points="{points}"/>')
        form = f'viewBox="0 0 {_SIDE:g} {_SIDE:g}" preserveAspectRatio="none" aria-hidden="true"'
        box = f"<svg {form}>{''.join(parts)}</svg>"
        label = html.escape(self.label)
        inside = f"{box}{''.join(words)}{self._hovers(axis, lines)}"
        drawn = f'<div class="plot {self.size}" role="img" aria-label="{label}">{inside}</div>'
        return drawn + self._cut(least, most, low, high)

    def _scaled(self) -> str | tuple[list[Line], float, float, float, float, RowAxis | TimeAxis]:
        """The reduced lines, the ends of the y axis, the extreme values, and the x axis."""
        lines = [Line(*few(line.rows, line.values), line.kind, line.colour, line.name) for line in self.lines]
        lines = [line for line in lines if len(line.rows)]
        values = [value for line in lines for value in line.values.tolist()]
        if not values:
            return '<p class="note">No data to plot yet.</p>'
        low, high = least, most = min(values), max(values)
        held = [value for value in self.scale if math.isfinite(value)]
        if held and high - low > _MOST_STRETCH * (max(held) - min(held)) > 0:
            low, high = min(held), max(held)
        # A level widens the scale unless it would flatten the lines.
        for level, _ in self.levels:
            if math.isfinite(level) and max(high, level) - min(low, level) <= _MOST_STRETCH * (high - low):
                low, high = min(low, level), max(high, level)
        margin = (high - low) * 0.08 or abs(high) * 0.05 or 0.5
        low, high = (0.0, high + margin) if self.from_zero and low >= 0 else (low - margin, high + margin)
        if not math.isfinite(_SIDE * (high - low)):
            return '<p class="note">The values are too large to plot.</p>'
        axis = self.axis or RowAxis(max(float(line.rows[-1]) for line in lines))
        return lines, low, high, least, most, axis

    def _hovers(self, axis: RowAxis | TimeAxis, lines: Sequence[Line]) -> str:
        """Columns that show the values of the named lines below the pointer, without scripts."""
        named = [line for line in lines if line.name][:_MOST_NAMED]
        if not named:
            return ""
        rows = np.unique(np.concatenate([line.rows for line in named]))
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(self.hovers, len(rows))).round().astype(int))]
        places = np.clip(axis.place(rows), 0.0, 1.0)
        edges = np.concatenate([[0.0], (places[1:] + places[:-1]) / 2.0, [1.0]])
        columns = []
        for place, row in enumerate(rows.tolist()):
            width = edges[place + 1] - edges[place]
            if width <= 0.0:
                continue
            told = "\n".join([axis.name(row), *(_named(line, row, self.shown) for line in named)])
            side = ' class="r"' if edges[place] > 0.5 else ""
            # An attribute, so that nothing is shown where the style is removed.
            columns.append(
                f'<i{side} style="left:{edges[place]:.1%};width:{width:.1%}" data-v="{html.escape(told)}"></i>'
            )
        return f'<div class="hits" aria-hidden="true">{"".join(columns)}</div>'

    def _cut(self, least: float, most: float, low: float, high: float) -> str:
        """The note below a chart whose axis does not include all points."""
        beyond = [self.shown(value) for value, out in ((least, least < low), (most, most > high)) if out]
        if not beyond:
            return ""
        reached = html.escape(" and ".join(beyond))
        return f'<p class="note">Points beyond the axis are cut off: they reach {reached}.</p>'


def _named(line: Line, row: float, shown: Callable[[float], str]) -> str:
    """The name of a line, and its value at a row."""
    place = int(np.clip(np.searchsorted(line.rows, row), 0, len(line.rows) - 1))
    text = line.name if len(line.name) <= 28 else f"{line.name[:27]}…"
    return f"{text} {shown(float(line.values[place]))}"


def drifts(places: Any) -> str:
    """Drifts as lines; if there are many, those that are close as one band, darker the more there are."""
    places = np.atleast_1d(places)
    if len(places) <= _MOST_MARKS:
        return uprights(places, 0, _SIDE, "drift")
    counts, edges = np.histogram(np.clip(places, 0.0, _SIDE), bins=_BANDS, range=(0.0, _SIDE))
    parts = []
    for place in np.flatnonzero(counts).tolist():
        opacity = 0.12 + 0.3 * counts[place] / counts.max()
        parts.append(
            f'<rect class="band" x="{edges[place]:.0f}" y="0" width="{_SIDE / _BANDS:.0f}" height="{_SIDE:g}" '
            f'opacity="{opacity:.2f}"/>'
        )
    return "".join(parts) + uprights(places, 0, 50, "drift solid")


def uprights(places: Any, top: float, bottom: float, kind: str) -> str:
    """Vertical marks as one path; marks that are too close are merged."""
    crowd = dict.fromkeys((np.round(np.atleast_1d(places) / _MARK_WIDTH) * _MARK_WIDTH).tolist())
    path = "".join(f"M{x:.0f} {top:g}V{bottom:g}" for x in crowd)
    return f'<path class="{kind}" d="{path}"/>' if path else ""


def trace(x: Any, y: Any) -> str:
    """Points in SVG notation."""
    return " ".join(f"{a:.4g},{b:.4g}" for a, b in zip(np.atleast_1d(x), np.atleast_1d(y), strict=True))


def square(parts: Iterable[str], width: float, height: float, label: str) -> str:
    """A chart with a fixed aspect ratio and a label for screen readers."""
    return (
        f'<svg class="square" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{html.escape(label)}">'
        f"{''.join(parts)}</svg>"
    )
