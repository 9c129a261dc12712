"""A page about an evaluation that needs nothing else: no scripts, no fonts, no network; light or dark."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import millstream
from millstream.evaluate.frames import amount, number
from millstream.evaluate.plot import COLOURS

if TYPE_CHECKING:
    from millstream.evaluate.result import Result

__all__ = ["fragment", "page", "write"]

#: Brighter forms of `plot.COLOURS`, for dark pages.
_BRIGHT = ("#4DB3F0", "#FF8A4C", "#2FD3A5", "#F0A8D0", "#FFC043", "#9AD7FA", "#B5B5B5", "#FFFFFF")
#: Beyond so many classes the confusion matrix is left out of the page.
_MOST_CLASSES = 30

_STYLE = """
.ms {
  --ink: #1c1e21; --soft: #667085; --line: #e3e6ea; --card: #ffffff; --mark: #b42318; --heat: 0,114,178;
  color: var(--ink); max-width: 60rem; margin: 0 auto;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
@media (prefers-color-scheme: dark) {
  .ms { --ink: #e8eaed; --soft: #9aa4b2; --line: #31363d; --card: #1b1e23; --mark: #ff8a7a; --heat: 77,179,240; }
}
.ms h1 { font-size: 1.35rem; margin: 0 0 .15rem; }
.ms h2 { font-size: 1rem; margin: 0 0 .6rem; font-weight: 600; }
.ms .sub { color: var(--soft); margin: 0 0 1rem; }
.ms section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.ms section { padding: 1rem 1.1rem; margin: 0 0 .9rem; }
.ms .scroll { overflow-x: auto; }
.ms table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 0; }
.ms table, .ms pre { color: inherit; background: none; }
.ms th, .ms td { text-align: right; padding: .3rem .75rem; white-space: nowrap; background: none; }
.ms th, .ms td { border: 0; border-bottom: 1px solid var(--line); }
.ms th { color: var(--soft); font-weight: 500; font-size: .86rem; }
.ms tr:last-child td, .ms tr:last-child th { border-bottom: 0; }
.ms th:first-child, .ms td:first-child { text-align: left; padding-left: 0; }
.ms .words td:last-child, .ms .words th:last-child { text-align: left; white-space: normal; }
.ms svg { display: block; width: 100%; height: auto; }
.ms svg text { fill: var(--soft); font: 12px system-ui, sans-serif; }
.ms svg polyline, .ms svg line { vector-effect: non-scaling-stroke; }
.ms .grid { stroke: var(--line); }
.ms .drift { stroke: var(--mark); stroke-dasharray: 2 3; }
.ms .rolling { fill: none; stroke-width: 2; stroke-linejoin: round; }
.ms .whole { fill: none; stroke-width: 1.2; stroke-dasharray: 5 4; opacity: .8; }
.ms .legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .5rem 0 0; }
.ms .legend { color: var(--soft); font-size: .86rem; }
.ms .key { display: inline-block; width: 1.5rem; height: 0; vertical-align: middle; margin-right: .4rem; }
.ms .key { border-top: 3px solid; }
.ms .key.thin { border-top-width: 2px; border-top-style: dashed; }
.ms .key.mark { border-top: 2px dotted var(--mark); }
.ms pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.ms pre { font: 13px/1.5 ui-monospace, Menlo, Consolas, monospace; }
.ms details summary { cursor: pointer; color: var(--soft); margin-top: .5rem; }
@media (max-width: 34rem) { .ms svg text { font-size: 20px; } .ms section { padding: .8rem; } }
"""


def _colours() -> str:
    def rules(colours: Sequence[str]) -> str:
        return " ".join(f".ms .c{n} {{ stroke: {c}; border-color: {c}; }}" for n, c in enumerate(colours))

    return f"{rules((*COLOURS[:-1], '#444444'))}\n@media (prefers-color-scheme: dark) {{ {rules(_BRIGHT)} }}\n"


def page(results: Mapping[str, Result]) -> str:
    """The whole page."""
    title = html.escape(next(iter(results)) if len(results) == 1 else f"{len(results)} models")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{title}: test, then train</title>\n<style>"
        "body { margin: 0; padding: 1.2rem .8rem; background: #f6f7f9; }\n"
        "@media (prefers-color-scheme: dark) { body { background: #121417; } }</style></head>\n"
        f"<body>{fragment(results)}</body></html>\n"
    )


def write(text: str, path: str | PathLike[str] | None) -> str:
    """Write a page if there is a path; give it back."""
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def fragment(results: Mapping[str, Result]) -> str:
    """The page without its frame, for a notebook."""
    first = next(iter(results.values()))
    one = len(results) == 1
    title = first.name if one else f"{len(results)} models"
    notes = [f"{first.rows:,} rows", f"{first.scored:,} scored"]
    notes += [
        f"{count:,} {what}"
        for what, count in (
            ("warm-up", first.warmup),
            ("unanswered", first.unanswered),
            ("set aside", first.skipped),
        )
        if count and one
    ]
    if one:
        notes += [f"{first.throughput:,.0f} rows/s", f"model {amount(first.memory)}"]
    parts = [f"<style>{_STYLE}{_colours()}</style>", f"<h1>{html.escape(title)}</h1>"]
    parts.append(f'<p class="sub">{" · ".join(notes)}</p>')
    parts.append(_section("Metrics", _metrics(first) if one else _ranking(results)))
    if len(first.curve["row"]) > 1:
        parts.extend(_section(metric, _curve(results, metric)) for metric in first.values)
    if one and first.confusion is not None and 0 < len(first.confusion.labels) <= _MOST_CLASSES:
        parts.append(_section("Confusion matrix", _confusion(first)))
    if one and first.refusals:
        rows = [[f"{row:,}", html.escape(reason)] for row, reason in first.refusals]
        parts.append(_section("Rows that were set aside", _table(["row", "reason"], rows, "words")))
    parts.append(_section("How to get this again", _settings(results)))
    return f'<div class="ms">{"".join(parts)}</div>'


def _section(title: str, body: str) -> str:
    return f"<section><h2>{html.escape(title)}</h2>{body}</section>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll {kind}"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _metrics(result: Result) -> str:
    rows = []
    for name, value in result.values.items():
        recent = result.curve[f"rolling_{name}"]
        rows.append([html.escape(name), number(value), number(recent[-1]) if len(recent) else "–"])
    return _table(["", "whole stream", f"last {result.settings.get('window', 0):,} rows"], rows)


def _ranking(results: Mapping[str, Result]) -> str:
    from millstream.evaluate.result import Results

    ranked = Results(dict(results)).ranked()
    head = ["", *(html.escape(name) for name in ranked[0].values), "rows/s", "memory", "set aside"]
    rows = [
        [
            html.escape(result.name),
            *map(number, result.values.values()),
            f"{result.throughput:,.0f}",
            amount(result.memory),
            f"{result.skipped:,}",
        ]
        for result in ranked
    ]
    return _table(head, rows)


def _ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers from `low` to `high`."""
    rough = (high - low) / count or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)
    return [step * place for place in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _curve(results: Mapping[str, Result], metric: str) -> str:
    """The curve as SVG."""
    width, height, left, right, top, bottom = 720.0, 280.0, 64.0, 14.0, 10.0, 34.0
    # The first points of a curve are of few rows and would flatten the rest, so they do not set the scale.
    values = [
        value
        for result in results.values()
        for key in (metric, f"rolling_{metric}")
        for value in result.curve[key][result.drawn][len(result.curve[key]) // 50 :].tolist()
        if math.isfinite(value)
    ]
    if not values:
        return "<p>There is nothing to draw.</p>"
    low, high = min(values), max(values)
    margin = (high - low) * 0.08 or abs(high) * 0.05 or 0.5
    low, high = low - margin, high + margin
    last = max(float(result.curve["row"][-1]) for result in results.values())

    def at(row: float, value: float) -> tuple[float, float]:
        value = min(max(value, low), high)
        x = left + (width - left - right) * row / last
        return x, top + (height - top - bottom) * (high - value) / (high - low)

    marks: list[str] = []
    for tick in _ticks(low, high, 5):
        _, y = at(0, tick)
        marks.append(f'<line class="grid" x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        marks.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:.4g}</text>')
    for tick in _ticks(0, last, 5):
        x, _ = at(tick, low)
        anchor = "end" if x > width - 40 else "middle"
        marks.append(f'<text x="{x:.1f}" y="{height - 8}" text-anchor="{anchor}">{tick:,.0f}</text>')
    for result in results.values():
        for row in result.drifts[:500] if len(results) == 1 else ():
            x, _ = at(row, low)
            marks.append(f'<line class="drift" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{height - bottom}"/>')
    for kind, key in (("whole", metric), ("rolling", f"rolling_{metric}")):
        for place, result in enumerate(results.values()):
            rows, values_of = result.curve["row"][result.drawn], result.curve[key][result.drawn]
            pairs = zip(rows.tolist(), values_of.tolist(), strict=True)
            points = " ".join(
                "{:.1f},{:.1f}".format(*at(row, value)) for row, value in pairs if math.isfinite(value)
            )
            marks.append(f'<polyline class="{kind} c{place % len(COLOURS)}" points="{points}"/>')
    label = html.escape(f"{metric} over {last:,.0f} rows")
    drawing = f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{label}">{"".join(marks)}</svg>'
    return drawing + _legend(results, metric)


def _legend(results: Mapping[str, Result], metric: str) -> str:
    keys = []
    first = next(iter(results.values()))
    if len(results) == 1:
        keys.append(f'<span><i class="key c0"></i>last {first.settings.get("window", 0):,} rows</span>')
        keys.append('<span><i class="key thin c0"></i>whole stream</span>')
        if first.drifts:
            keys.append(f'<span><i class="key mark"></i>drift ({len(first.drifts):,})</span>')
    else:
        for place, (name, result) in enumerate(results.items()):
            value = number(result.values[metric])
            key = f'<i class="key c{place % len(COLOURS)}"></i>'
            keys.append(f"<span>{key}{html.escape(name)} {value}</span>")
        keys.append(f"<span>thick: last {first.settings.get('window', 0):,} rows; dashed: whole stream</span>")
    return f'<div class="legend">{"".join(keys)}</div>'


def _confusion(result: Result) -> str:
    confusion: Any = result.confusion
    labels = [html.escape(str(label)) for label in confusion.labels]
    rows: list[str] = []
    head = "".join(f"<th>{label}</th>" for label in labels)
    for label, cells in zip(labels, confusion.matrix, strict=True):
        total = float(cells.sum())
        shaded = "".join(
            f'<td style="background: rgba(var(--heat), {0.55 * cell / (total or 1.0):.3f})">{cell:,.6g}</td>'
            for cell in cells.tolist()
        )
        share = f"{cells[len(rows)] / total:.1%}" if total else "–"
        rows.append(f"<tr><th>{label}</th>{shaded}<td>{share}</td></tr>")
    return (
        f'<div class="scroll"><table><thead><tr><th>truth \\ predicted</th>{head}<th>recall</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _settings(results: Mapping[str, Result]) -> str:
    first = next(iter(results.values()))
    chosen = [f"{key}={_shown(value)}" for key, value in first.settings.items() if value is not None]
    names = ", ".join(repr(name) for name in first.values)
    model = "model" if len(results) == 1 else "models"
    call = f"evaluate.prequential({model}, stream, metrics=[{names}], {', '.join(chosen)})"
    models = "\n".join(
        f"{html.escape(name)}: {html.escape(repr(result.model))}" for name, result in results.items()
    )
    body = f"<pre>{html.escape(call)}\n\n{models}</pre>"
    descriptions = []
    for name, result in results.items():
        if hasattr(result.model, "describe"):
            try:
                import json

                text = json.dumps(result.model.describe(), indent=2, default=repr)
            except (TypeError, ValueError):
                continue
            descriptions.append(
                f"<details><summary>description of {html.escape(name)}</summary>"
                f"<pre>{html.escape(text)}</pre></details>"
            )
    versions = f"millstream {millstream.__version__}, numpy {_version('numpy')}"
    return f'{body}{"".join(descriptions)}<p class="sub" style="margin: .8rem 0 0">{versions}</p>'


def _version(library: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(library)
    except PackageNotFoundError:
        return "?"


def _shown(value: Any) -> str:
    if isinstance(value, (str, int, float, bool)):
        return repr(value)
    return f"<{type(value).__name__}>" if hasattr(value, "__len__") or callable(value) else repr(value)
