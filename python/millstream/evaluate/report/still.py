"""A chart as a picture of its own: an SVG image in a data address, for notebooks.

Notebooks that are not trusted, GitHub and nbviewer remove style and inline SVG from the output of a cell, but
show images. The picture has its own light background, so that it is readable in dark themes, and its text needs no
style of the page.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from millstream._echo import visible
from millstream.evaluate.frames import number
from millstream.evaluate.headings import headings
from millstream.evaluate.plot import COLOURS
from millstream.evaluate.report.axes import axis_of, short, ticks
from millstream.evaluate.report.charts import few, trace
from millstream.evaluate.report.figures import last_row, ordered, scale_of

if TYPE_CHECKING:
    from millstream.evaluate.result import Result

__all__ = ["image"]

_WIDTH, _LEFT, _RIGHT, _TOP, _TALL, _LINE = 760.0, 58.0, 18.0, 34.0, 210.0, 17.0
_FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif"
_INK, _SOFT, _GRID, _MARK = "#17191c", "#59616d", "#e2e5ea", "#b42318"
#: Maximum number of lines and of drift marks.
_MOST_LINES, _MOST_MARKS = 8, 12


def image(results: Mapping[str, Result], metric: str) -> str:
    """One metric over the stream as an `<img>` element; empty if there is nothing to draw."""
    shown = ordered(results, metric)[:_MOST_LINES]
    lines = []
    for place, name, result in shown:
        drawn = result.drawn
        rows, values = few(result.curve["row"][drawn], result.curve[f"rolling_{metric}"][drawn])
        if len(rows) > 1:
            lines.append((place, name, result, rows, values))
    if not lines:
        return ""
    first = shown[0][2]
    # The first points are based on few rows and could flatten the rest.
    held = scale_of([values[len(values) // 20 :] for *_, values in lines])
    low, high = min(held), max(held)
    if not np.isfinite(1e4 * (high - low)):
        return ""
    constant = next(iter(results.values())).constant.get(metric)
    if constant is not None and max(high, constant) - min(low, constant) <= 3 * (high - low):
        low, high = min(low, constant), max(high, constant)
    margin = (high - low) * 0.08 or abs(high) * 0.05 or 0.5
    low, high = low - margin, high + margin
    wide = _WIDTH - _LEFT - _RIGHT
    axis = axis_of(first.sample, float(last_row(results)))
    parts = []
    for tick in ticks(low, high, 5):
        y = _TOP + _TALL * (high - tick) / (high - low)
        parts.append(f'<path d="M{_LEFT} {y:.1f}h{wide}" stroke="{_GRID}"/>')
        parts.append(_text(_LEFT - 8, y + 4, short(tick), _SOFT, "end"))
    for at, words in axis.ticks():
        parts.append(_text(_LEFT + wide * at, _TOP + _TALL + 18, words, _SOFT, "end" if at > 0.94 else "middle"))
    if constant is not None and low < constant < high:
        y = _TOP + _TALL * (high - constant) / (high - low)
        parts.append(f'<path d="M{_LEFT} {y:.1f}h{wide}" stroke="{_SOFT}" stroke-dasharray="1 4"/>')
    if len(lines) == 1 and len(first.drifts) <= _MOST_MARKS:
        places = (_LEFT + wide * axis.place(np.array(first.drifts, dtype=np.int64))).tolist()
        style = f'stroke="{_MARK}" stroke-dasharray="2 3"'
        parts += [f'<path d="M{x:.1f} {_TOP}v{_TALL}" {style}/>' for x in places]
    keys = []
    for place, name, result, rows, values in lines:
        colour = COLOURS[place % len(COLOURS)]
        x = _LEFT + wide * axis.place(rows)
        values = np.where((values < low) | (values > high), np.nan, values)
        rows, x, values = (each[np.isfinite(values)] for each in (rows, x, values))
        down = _TOP + _TALL * (high - values) / (high - low)
        parts.append(
            f'<polyline points="{trace(x, down)}" fill="none" stroke="{colour}" stroke-width="1.8" '
            'stroke-linejoin="round"/>'
        )
        label = name if len(name) <= 60 else f"{name[:59]}…"
        keys.append((colour, f"{label}  {number(result.values[metric])}"))
    if len(lines) == 1:
        window = f"last {first.settings.get('window', 0):,} rows; all rows: {number(first.values[metric])}"
        keys = [(COLOURS[lines[0][0] % len(COLOURS)], window)]
        if first.drifts:
            keys.append((_MARK, f"{len(first.drifts):,} drift{'s' * (len(first.drifts) != 1)} detected"))
    if constant is not None:
        keys.append((_SOFT, f"best constant  {number(constant)}"))
    foot = _TOP + _TALL + 42
    for index, (colour, words) in enumerate(keys):
        y = foot + _LINE * index
        parts.append(f'<path d="M{_LEFT} {y - 4:.0f}h22" stroke="{colour}" stroke-width="3"/>')
        parts.append(_text(_LEFT + 30, y, words, _INK))
    title = headings(list(results.values()))[metric]
    parts.insert(0, _text(_LEFT, 20, f"{title} over {axis.title}", _INK, bold=True))
    height = foot + _LINE * len(keys)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {height:g}" width="{_WIDTH:g}" '
        f'height="{height:g}" font-family="{_FONT}" font-size="12"><rect width="100%" height="100%" rx="8" '
        f'fill="#ffffff" stroke="{_GRID}"/>{"".join(parts)}</svg>'
    )
    coded = base64.b64encode(visible(svg).encode()).decode()
    words = html.escape(f"{title} over {axis.title}: " + ", ".join(words for _, words in keys))[:600]
    form = f'width="{_WIDTH:g}" style="max-width:100%;height:auto"'
    return f'<img src="data:image/svg+xml;base64,{coded}" alt="{words}" {form}>'


def _text(x: float, y: float, words: str, colour: str, anchor: str = "start", bold: bool = False) -> str:
    weight = ' font-weight="600" font-size="13"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}"{weight}>{html.escape(words)}</text>'
    )
