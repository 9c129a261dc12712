"""SVG charts without a library: lines over the rows of a stream, and elements of other charts."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Chart", "Line", "few", "short", "square", "ticks", "trace"]

#: Maximum number of points of a line.
_MOST_POINTS = 600
#: Side of the view box, and the distance within which marks are merged.
_SIDE = 2000.0
_MARK_WIDTH = 5.0
#: Maximum factor by which the first points may stretch the scale.
_MOST_STRETCH = 4.0


def ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers from `low` to `high`."""
    rough = (high - low) / count
    if not (math.isfinite(rough) and rough > 0):
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough), rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * place for place in range(first, min(last, first + 50) + 1)]


def short(value: float) -> str:
    """A number for an axis: 0.25, 1,500, 20k, 1.5M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size <= abs(value) < 1e15:
            return f"{value / (1e3 if unit == 'k' else size):.4g}{unit}"
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e4 else f"{value:.4g}"


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

    def draw(self) -> str:
        """The chart, or a note if there is nothing to draw."""
        lines = [Line(*few(line.rows, line.values), line.kind, line.colour) for line in self.lines]
        lines = [line for line in lines if len(line.rows)]
        values = [value for line in lines for value in line.values.tolist()]
        if not values:
            return '<p class="note">No data to plot yet.</p>'
        low, high = least, most = min(values), max(values)
        held = [value for value in self.scale if math.isfinite(value)]
        if held and high - low > _MOST_STRETCH * (max(held) - min(held)) > 0:
            low, high = min(held), max(held)
        margin = (high - low) * 0.08 or abs(high) * 0.05 or 0.5
        low, high = (0.0, high + margin) if self.from_zero and low >= 0 else (low - margin, high + margin)
        last = max(float(line.rows[-1]) for line in lines) or 1.0
        if not math.isfinite(_SIDE * (high - low)):
            return '<p class="note">The values are too large to plot.</p>'

        def across(row: Any) -> Any:
            return _SIDE * np.asarray(row, dtype=np.float64) / last

        def down(value: Any) -> Any:
            # Points beyond the axis are clipped at the edge of the chart.
            return _SIDE * (high - np.clip(value, low - 9 * (high - low), high + 9 * (high - low))) / (high - low)

        parts, words = [], []
        for tick in ticks(low, high, 4 if self.size == "low" else 6):
            y = float(down(tick))
            parts.append(f'<path class="grid" d="M0 {y:.0f}H{_SIDE:g}"/>')
            words.append(f'<span class="y" style="top: {y / _SIDE:.2%}">{html.escape(self.shown(tick))}</span>')
        words += [
            f'<span class="x" style="left: {tick / last:.2%}">{short(tick)}</span>' for tick in ticks(0, last, 5)
        ]
        parts.append(uprights(across(self.marks), 0, _SIDE, "drift"))
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
        drawn = f'<div class="plot {self.size}" role="img" aria-label="{label}">{box}{"".join(words)}</div>'
        return drawn + self._cut(least, most, low, high)

    def _cut(self, least: float, most: float, low: float, high: float) -> str:
        """The note below a chart whose axis does not include all points."""
        beyond = [self.shown(value) for value, out in ((least, least < low), (most, most > high)) if out]
        if not beyond:
            return ""
        return f'<p class="note">The first points are cut off: they reach {html.escape(" and ".join(beyond))}.</p>'


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
