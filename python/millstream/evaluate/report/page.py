"""The HTML report: its sections and their order."""

from __future__ import annotations

import html
import secrets
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING

from millstream._echo import visible
from millstream._files import write_whole
from millstream.drift.monitored import monitor_of
from millstream.evaluate.differences import verdict
from millstream.evaluate.frames import amount, number
from millstream.evaluate.headings import headings
from millstream.evaluate.report import distributions, figures, ranking_curves, squares, tables
from millstream.evaluate.report.observed import profile_section
from millstream.evaluate.report.reproduce import reproduce
from millstream.evaluate.report.style import frame_style, style

if TYPE_CHECKING:
    from millstream.evaluate.result import Result

__all__ = ["counts", "fragment", "page", "warnings_of", "write"]

#: Maximum number of models with a section of their own.
_MOST_MODELS = 20
#: Maximum number of classes of a confusion matrix that fits in half the width.
_NARROW = 4
#: Maximum number of models in the ROC and precision-recall charts.
_MOST_CURVES = 8


def page(
    results: Mapping[str, Result], command: str | Sequence[str] | None = None, title: str | None = None
) -> str:
    """The complete HTML page."""
    shown = visible(html.escape(title or _title(results)))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{shown}</title>\n<style>\n{frame_style()}</style></head>\n"
        f"<body>{fragment(results, command, title, 'm')}</body></html>\n"
    )


def write(text: str, path: str | PathLike[str] | None) -> str:
    """Write a page atomically if there is a path; return it."""
    if path is not None:
        write_whole(path, text.encode())
    return text


def _title(results: Mapping[str, Result]) -> str:
    return next(iter(results)) if len(results) == 1 else f"{len(results)} models compared"


def fragment(
    results: Mapping[str, Result],
    command: str | Sequence[str] | None = None,
    title: str | None = None,
    prefix: str | None = None,
) -> str:
    """The report without the surrounding page, for a notebook."""
    if not results:
        return "<p>no models</p>"
    # Radio buttons of two outputs in one notebook must not interfere.
    prefix = prefix or f"m{secrets.token_hex(4)}"
    first = next(iter(results.values()))
    observed = "" if first.profile is None else profile_section(first.profile)
    parts = [f"<h1>{html.escape(title or _title(results))}</h1>"]
    if len(results) == 1:
        parts.append(f'<p class="sub">{counts(first)}</p>')
        parts.append(_tiles(first))
        parts.append(_warnings(first))
        parts.append(observed)
        parts.append(_over_time(results, prefix))
        parts.append(_waiting(first))
        parts.append(_one(first))
        parts += _data(results)
        parts.append(_unread(first))
        parts.append(_section("Metrics", tables.metrics(first) + _hint(first)))
    else:
        from millstream.evaluate.result import Results

        compared = Results(dict(results))
        ranked = compared.ranked()
        best = ranked[0]
        metric = next(iter(best.values))
        rows = f"{first.rows:,} rows in {first.elapsed:.3g} s{', stopped before the end' * first.interrupted}"
        rows += f", {first.unread:,} could not be read" if first.unread else ""
        told = f"<strong>{html.escape(best.name)}</strong> with {number(best.values[metric])}."
        title = html.escape(headings(ranked)[metric])
        told = f"Best by {title}: {told}" if best.scored else "Nothing was scored."
        clearly = verdict(compared) if best.scored else ""
        clearly = html.escape(clearly[:1].upper() + clearly[1:] if clearly.startswith("not ") else clearly)
        parts.append(f'<p class="sub">{rows}. {told}{f" {clearly}." if clearly else ""}</p>')
        parts.append(_warnings(*ranked))
        parts.append(observed)
        parts.append(_section("Ranking", tables.ranking(results, ranked, compared.differences())))
        parts.append(_over_time(results, f"{prefix}a"))
        parts.append(_waiting(first))
        parts.append(_curves_of_thresholds(results, ranked))
        parts += _data(results)
        parts.append(_section("Speed and memory", _costs(results)))
        parts.append(_unread(first))
        parts += [_folded(result, f"{prefix}-{place}") for place, result in enumerate(ranked[:_MOST_MODELS])]
    parts.append(_section("How to reproduce this", reproduce(results, command)))
    # Names and labels are untrusted: they must not hide or reorder the text beside them.
    return visible(f'<div class="ms"><style>{style(len(first.values))}</style>{"".join(parts)}</div>')


def _hint(result: Result) -> str:
    if result.confusion is None or result.calibration is not None or not result.scored:
        return ""
    return '<p class="note">A probability metric, such as LogLoss or ROCAUC, adds a section on calibration.</p>'


def _warnings(*results: Result) -> str:
    """The lines that are also printed on the terminal."""
    return "".join(f'<p class="warning">{html.escape(line)}</p>' for line in warnings_of(results))


def warnings_of(results: Sequence[Result]) -> list[str]:
    """The warnings of some results, each once."""
    return list(dict.fromkeys(line for result in results for line in [*result.warnings, *result.notes]))


def _curves_of_thresholds(results: Mapping[str, Result], ranked: Sequence[Result]) -> str:
    colours = {name: place for place, name in enumerate(results)}
    drawn = ranking_curves.curves({result.name: result for result in ranked[:_MOST_CURVES]}, colours)
    return _section("ROC and precision", drawn) if drawn else ""


def _data(results: Mapping[str, Result]) -> list[str]:
    """The sections on the target and the features, which are the same for all models."""
    first = next(iter(results.values()))
    last = float(figures.last_row(results))
    sections = (
        ("Target over time", distributions.target(first.sample, first.confusion is not None, last)),
        ("Features over time", distributions.features(first.sample, last)),
    )
    return [_section(title, body) for title, body in sections if body]


def _section(title: str, body: str) -> str:
    return f"<section><h2>{html.escape(title)}</h2>{body}</section>"


def counts(result: Result) -> str:
    """The numbers of rows, in words."""
    pairs = (("warm-up", result.warmup), ("without a prediction", result.unanswered), ("refused", result.skipped))
    notes = [f"{result.rows:,} {'row' if result.rows == 1 else 'rows'}", f"{result.scored:,} scored"]
    notes += [f"{count:,} {what}" for what, count in (*pairs, ("could not be read", result.unread)) if count]
    return " · ".join(notes + ["stopped before the end"] * result.interrupted)


def _tiles(result: Result) -> str:
    """The key figures."""
    window = result.settings.get("window", 0)
    tiles, titles = [], result.titles
    constant = result.constant
    for name, (value, recent) in list(result.scores.items())[:2]:
        notes = [f"last {window:,}: {number(recent)}"] if recent == recent else []
        notes += [f"best constant: {number(constant[name])}"] if name in constant else []
        more = ", ".join(notes)
        tiles.append((titles[name], number(value), more))
    if result.calibration is not None:
        tiles.append(("Calibration error", number(result.calibration.ece), "expected (ECE)"))
    if result.drifts:
        tiles.append(("Drifts detected", f"{len(result.drifts):,}", f"last: row {result.drifts[-1]:,}"))
    if len(result.curve["waiting"]) and result.curve["waiting"].max() > 0:
        tiles.append(("Pending labels", f"{result.curve['waiting'].max():,}", "at most"))
    whole = result.rows / result.elapsed if result.elapsed > 0 else result.throughput
    words = f"rows/s: {result.elapsed:.3g} s in total, {result.seconds:.3g} s for the model"
    tiles.append(("Speed", _rounded(whole), words))
    tiles.append(("Memory", amount(result.memory), "at the end"))
    made = "".join(
        f'<div class="tile"><div class="name">{tables.cut(name, 80)}</div>'
        f'<div class="value">{value}<span class="small">{more}</span></div></div>'
        for name, value, more in tiles
    )
    return f'<div class="tiles">{made}</div>'


def _rounded(value: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= 10 * size or (unit == "M" and value >= size):
            return f"{value / size:.3g}{unit}"
    return f"{value:,.0f}"


def _over_time(results: Mapping[str, Result], prefix: str, hovers: int = 48) -> str:
    """All metrics over the stream, one at a time; in print one below the other."""
    first = next(iter(results.values()))
    if len(first.curve["row"]) < 2:
        return ""
    names, titles = list(first.values), headings(list(results.values()))
    if len(names) == 1:
        return _section(f"{titles[names[0]]} over time", figures.curve(results, names[0], hovers))
    choices = "".join(
        f'<input type="radio" name="{prefix}" id="{prefix}{place}"{" checked" * (place == 0)}>'
        f'<label for="{prefix}{place}">{tables.cut(titles[name], 80)}</label>'
        for place, name in enumerate(names)
    )
    panels = "".join(
        f'<div><h3 class="hidden">{tables.cut(titles[name], 80)}</h3>{figures.curve(results, name, hovers)}</div>'
        for name in names
    )
    tabs = f'<legend class="hidden">metric</legend>{choices}<div class="panels">{panels}</div>'
    return _section("Over time", f'<fieldset class="tabs">{tabs}</fieldset>')


def _costs(results: Mapping[str, Result]) -> str:
    return f'<div class="pair"><div>{figures.speed(results)}</div><div>{figures.memory(results)}</div></div>'


def _one(result: Result, alone: bool = True) -> str:
    """The sections of one model besides its curves."""
    results = {result.name: result}
    parts = [_beside(result)]
    if alone:
        parts.append(_curves_of_thresholds(results, [result]))
    if len(result.curve["row"]) > 1:
        parts.append(_section("Speed and memory", _costs(results)))
    if result.drifts:
        parts.append(_section("Drift", _drifts(result)))
    if result.refusals:
        parts.append(_section("Skipped rows", tables.refusals(result)))
    return "".join(parts)


def _unread(result: Result) -> str:
    """The section on unreadable rows, which is the same for all models."""
    return _section("Unreadable rows", tables.unread(result)) if result.unread else ""


def _waiting(result: Result) -> str:
    """The section on pending labels, which is the same for all models."""
    values = result.curve["waiting"]
    if len(values) < 2 or values.max() == 0:
        return ""
    return _section("Pending labels", figures.waiting(result))


def _beside(result: Result) -> str:
    """Narrow sections in two columns: matrix, features and clusters to the left, other pictures to the right."""
    left, right, above = [], [], ""
    if result.confusion is not None and len(result.confusion.labels):
        matrix = _section("Confusion matrix", tables.confusion(result))
        if len(result.confusion.labels) > _NARROW:
            above = matrix
        else:
            left.append(matrix)
    if (weights := result.weights) is not None:
        left.append(_section("Features", tables.bars(weights, result.sample)))
    if result.calibration is not None:
        right.append(_section("Calibration", squares.reliability(result.calibration)))
    if result.clusters is not None:
        left.append(_section("Clusters", squares.clusters(result.clusters)))
        if result.clusters.labels:
            right.append(_section("Labels in clusters", tables.contingency(result.clusters)))
    if result.residuals is not None:
        right.append(_section("Predictions and truths", squares.residuals(result.residuals)))
    if not right and len(left) == 2:
        right.append(left.pop())
    columns = "".join(f"<div>{''.join(column)}</div>" for column in (left, right) if column)
    return above + (f'<div class="pair">{columns}</div>' if columns else "")


def _drifts(result: Result) -> str:
    most = 60
    rows = ", ".join(f"{row:,}" for row in result.drifts[:most])
    more = f" and {len(result.drifts) - most:,} more" if len(result.drifts) > most else ""
    detector, monitor = result.settings.get("detector"), monitor_of(result.model)
    detectors = [*filter(None, [detector]), *([] if monitor is None else [monitor._code()])]
    by = f" by {' and '.join(tables.cut(each, 120) for each in detectors)}" if detectors else ""
    events = "" if monitor is None else tables.events(*monitor._table(most))
    return f"<p>Detected{by} at row {rows}{more}.</p>{events}"


def _folded(result: Result, prefix: str) -> str:
    """The collapsed section of a model in a comparison."""
    metric = next(iter(result.values))
    title = tables.cut(result.titles[metric], 80)
    head = f"{tables.cut(result.name, 80)}<span>{title} {number(result.values[metric])}</span>"
    curves = _over_time({result.name: result}, prefix, hovers=24)
    body = f'<p class="sub">{counts(result)}</p>{_tiles(result)}{curves}{_one(result, alone=False)}'
    return f'<details class="model"><summary>{head}</summary>{body}</details>'
