"""Figures over the rows of the stream, each with a legend and a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream.evaluate.frames import amount, number
from millstream.evaluate.headings import headings
from millstream.evaluate.plot import COLOURS, rates
from millstream.evaluate.report.charts import Chart, Line
from millstream.evaluate.report.tables import brief, cut

if TYPE_CHECKING:
    from millstream.evaluate.result import Result

__all__ = ["curve", "memory", "speed", "waiting"]

#: Number of points of a curve in its table.
_WRITTEN = 12
#: Maximum number of models whose drifts are marked at the bottom of a common chart.
_MOST_FLAGS = 6


def curve(results: Mapping[str, Result], metric: str) -> str:
    """One metric over the stream, rolling and cumulative; for a single model with its drifts."""
    lines, scale = [], []
    for place, result in enumerate(results.values()):
        rows = result.curve["row"][result.drawn]
        for kind, key in (("whole", metric), ("rolling", f"rolling_{metric}")):
            values = result.curve[key][result.drawn]
            lines.append(Line(rows, values, kind, place % len(COLOURS)))
            scale += values[len(result.curve[key]) // 50 :].tolist()
    first = next(iter(results.values()))
    one = len(results) == 1
    rows_in_all = max((int(line.rows[-1]) for line in lines if len(line.rows)), default=0)
    values_at_end = ", ".join(f"{name} {number(result.values[metric])}" for name, result in results.items())
    title = headings(list(results.values()))[metric]
    label = f"{title} over {rows_in_all:,} rows: {values_at_end}"
    flags = [] if one else [(place % len(COLOURS), result.drifts) for place, result in enumerate(results.values())]
    drawn = Chart(lines, label[:300], first.drifts if one else (), flags[:_MOST_FLAGS], scale).draw()
    return drawn + _legend(results, metric) + _numbers(results, metric)


def _legend(results: Mapping[str, Result], metric: str) -> str:
    first = next(iter(results.values()))
    window = first.settings.get("window", 0)
    if len(results) == 1:
        keys = [
            f'<span><i class="key c0"></i>last {window:,} rows</span>',
            f'<span><i class="key thin c0"></i>all rows: {number(first.values[metric])}</span>',
        ]
        if first.drifts:
            keys.append(f'<span><i class="key mark"></i>drift detected ({len(first.drifts):,})</span>')
    else:
        keys = [
            f'<span><i class="key c{place % len(COLOURS)}"></i>{cut(name, 60)} {number(one.values[metric])}</span>'
            for place, (name, one) in enumerate(results.items())
        ]
        drifts = (
            "; marks at the bottom: drift detected" if any(result.drifts for result in results.values()) else ""
        )
        keys.append(f"<span>solid line: last {window:,} rows; dashed: all rows{drifts}</span>")
    return f'<div class="legend">{"".join(keys)}</div>'


def _numbers(results: Mapping[str, Result], metric: str) -> str:
    """A table of some points of the rolling curves."""
    first = next(iter(results.values()))
    rows = first.curve["row"]
    places = np.unique(np.linspace(0, len(rows) - 1, min(_WRITTEN, len(rows))).round().astype(int)).tolist()
    written = []
    for place in places:
        cells = [f"{rows[place]:,}"]
        for result in results.values():
            known = place < len(result.curve["row"])
            cells.append(number(result.curve[f"rolling_{metric}"][place]) if known else "–")
            if len(results) == 1:
                cells.append(number(result.curve[metric][place]))
        written.append(cells)
    head = ["rows", "rolling", "all rows"] if len(results) == 1 else ["rows", *(cut(n, 30) for n in results)]
    return brief("show numbers", head, written)


def waiting(result: Result) -> str:
    """Number of pending labels over the stream."""
    values = result.curve["waiting"]
    label = f"pending labels, at most {int(values.max()):,}"
    chart = Chart([Line(result.curve["row"], values, "area")], label, from_zero=True, size="low").draw()
    told = result.settings
    how = ""
    if told.get("label_time") is not None:
        how = f" Labels arrived at the times in {cut(_by(told['label_time'], 'an array'), 60)}."
    elif told.get("delay") is not None:
        how = f" Labels arrived after {cut(_by(told['delay'], 'individual delays'), 60)}."
    mean, most = f"{values.mean():,.0f}", f"{values.max():,}"
    # Little's law, with rows as the unit of time.
    late = "" if isinstance(told.get("delay"), int) else f", so the mean delay was about {mean} rows"
    note = f"On average {mean} labels were pending{late}; at most {most}."
    return f'{chart}<p class="note">{note}{how}</p>'


def _by(value: Any, otherwise: str) -> str:
    if isinstance(value, int):
        return f"{value:,} rows"
    return str(value) if isinstance(value, (str, float)) or type(value).__name__ == "timedelta" else otherwise


def speed(results: Mapping[str, Result]) -> str:
    """Rows per second along the stream."""
    lines = [
        Line(*rates(result.curve["row"], result.curve["seconds"]), "rolling", place % len(COLOURS))
        for place, result in enumerate(results.values())
    ]
    told = ", ".join(f"{name} {result.throughput:,.0f}" for name, result in results.items())
    chart = Chart(lines, f"rows per second: {told}"[:300], from_zero=True, size="middle").draw()
    return f"<h3>Rows per second, {'each model' if len(results) > 1 else 'the model'} alone</h3>{chart}"


def memory(results: Mapping[str, Result]) -> str:
    """Memory of the model along the stream."""
    lines = [
        Line(result.curve["row"], result.curve["memory"].astype(float), "rolling", place % len(COLOURS))
        for place, result in enumerate(results.values())
    ]
    sizes = ", ".join(f"{name} {amount(result.memory)}" for name, result in results.items())
    chart = Chart(lines, f"memory: {sizes}"[:300], from_zero=True, shown=amount, size="middle").draw()
    return f"<h3>Memory of the model</h3>{chart}"
