"""Figures over the rows of the stream, each with a legend and a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream.evaluate.frames import amount, number
from millstream.evaluate.headings import headings
from millstream.evaluate.plot import COLOURS, rates
from millstream.evaluate.report.axes import axis_of
from millstream.evaluate.report.charts import Chart, Line
from millstream.evaluate.report.tables import brief, cut

if TYPE_CHECKING:
    from millstream.evaluate.result import Result

__all__ = ["curve", "last_row", "memory", "ordered", "scale_of", "speed", "waiting"]

#: Number of points of a curve in its table.
_WRITTEN = 12
#: Maximum number of models whose drifts are marked at the bottom of a common chart.
_MOST_FLAGS = 6
#: Number of models whose curves are on the axis in any case, and how much another one may stretch it.
_ALWAYS, _MOST_STRETCH = 2, 4.0


def curve(results: Mapping[str, Result], metric: str, hovers: int = 48) -> str:
    """One metric over the stream, rolling and cumulative; for a single model with its drifts."""
    lines, values_of = [], dict[str, list[Any]]()
    one = len(results) == 1
    for place, (name, result) in enumerate(results.items()):
        rows = result.curve["row"][result.drawn]
        window = f"last {result.settings.get('window', 0):,}"
        for kind, key in (("whole", metric), ("rolling", f"rolling_{metric}")):
            values = result.curve[key][result.drawn]
            told = (window if kind == "rolling" else "all rows") if one else name if kind == "rolling" else ""
            lines.append(Line(rows, values, kind, place % len(COLOURS), told))
            values_of.setdefault(name, []).append(values[len(result.curve[key]) // 50 :])
    first = next(iter(results.values()))
    rows_in_all = last_row(results)
    values_at_end = ", ".join(f"{name} {number(result.values[metric])}" for name, result in results.items())
    title = headings(list(results.values()))[metric]
    label = f"{title} over {rows_in_all:,} rows: {values_at_end}"
    flags = [] if one else [(place % len(COLOURS), result.drifts) for place, result in enumerate(results.values())]
    constant = first.constant.get(metric)
    chart = Chart(
        sorted(lines, key=lambda line: _rank(results, metric, line.name)),
        label[:300],
        first.drifts if one else (),
        flags[:_MOST_FLAGS],
        scale_of([np.concatenate(values_of[name]) for _, name, _ in ordered(results, metric)]),
        axis=axis_of(first.sample, rows_in_all),
        levels=[] if constant is None else [(constant, "best constant")],
        hovers=hovers,
    )
    return chart.draw() + _legend(results, metric, constant) + _numbers(results, metric)


def scale_of(curves: list[Any]) -> list[float]:
    """The ends of the axis: curves, best first, without those that would flatten the better ones."""
    held: list[float] = []
    for values in curves:
        values = values[np.isfinite(values)]
        if not len(values):
            continue
        both = [*held, float(values.min()), float(values.max())]
        if len(held) < 2 * _ALWAYS or max(both) - min(both) <= _MOST_STRETCH * (max(held) - min(held)):
            held = both
    return held


def last_row(results: Mapping[str, Result]) -> int:
    """The last row of the curves."""
    return max(
        (int(result.curve["row"][-1]) for result in results.values() if len(result.curve["row"])), default=0
    )


def ordered(results: Mapping[str, Result], metric: str) -> list[tuple[int, str, Result]]:
    """The results, best first, with their indices, which select the colours."""
    sign = -1.0 if next(iter(results.values())).bigger_is_better[metric] else 1.0

    def place(entry: tuple[int, str, Result]) -> float:
        value = sign * entry[2].scores[metric][0]
        return value if value == value else float("inf")

    return sorted(((index, name, result) for index, (name, result) in enumerate(results.items())), key=place)


def _rank(results: Mapping[str, Result], metric: str, name: str) -> int:
    """The place of a line in the values below the pointer."""
    return next((place for place, (_, known, _) in enumerate(ordered(results, metric)) if known == name), 0)


def _legend(results: Mapping[str, Result], metric: str, constant: float | None) -> str:
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
            for place, name, one in ordered(results, metric)
        ]
        drifts = (
            "; marks at the bottom: drift detected" if any(result.drifts for result in results.values()) else ""
        )
        keys.append(f"<span>solid line: last {window:,} rows; dashed: all rows{drifts}</span>")
    if constant is not None:
        keys.append(f'<span><i class="key level"></i>best constant: {number(constant)}</span>')
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
    rows = result.curve["row"]
    axis = axis_of(result.sample, float(rows[-1]))
    lines = [Line(rows, values, "area", name="pending")]
    chart = Chart(lines, label, from_zero=True, size="low", axis=axis).draw()
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
        Line(*rates(result.curve["row"], result.curve["seconds"]), "rolling", place % len(COLOURS), name)
        for place, (name, result) in enumerate(results.items())
    ]
    told = ", ".join(f"{name} {result.throughput:,.0f}" for name, result in results.items())
    chart = Chart(lines, f"rows per second: {told}"[:300], from_zero=True, size="middle", hovers=24).draw()
    return f"<h3>Rows per second, {'each model' if len(results) > 1 else 'the model'} alone</h3>{chart}"


def memory(results: Mapping[str, Result]) -> str:
    """Memory of the model along the stream."""
    lines = [
        Line(result.curve["row"], result.curve["memory"].astype(float), "rolling", place % len(COLOURS), name)
        for place, (name, result) in enumerate(results.items())
    ]
    sizes = ", ".join(f"{name} {amount(result.memory)}" for name, result in results.items())
    chart = Chart(lines, f"memory: {sizes}"[:300], from_zero=True, shown=amount, size="middle", hovers=24).draw()
    return f"<h3>Memory of the model</h3>{chart}"
