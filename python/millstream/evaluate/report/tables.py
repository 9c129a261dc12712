"""The tables of the report: metrics, ranking, confusion matrix, weights."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream.evaluate.frames import amount, number
from millstream.evaluate.headings import headings, score
from millstream.evaluate.plot import COLOURS

if TYPE_CHECKING:
    from millstream.evaluate.clusters import Clusters
    from millstream.evaluate.differences import Differences
    from millstream.evaluate.result import Result
    from millstream.evaluate.stream_sample import StreamSample
    from millstream.evaluate.weights import Weights

__all__ = [
    "bars",
    "brief",
    "confusion",
    "contingency",
    "cut",
    "events",
    "metrics",
    "ranking",
    "refusals",
    "table",
    "unread",
]

#: Maximum size of the confusion matrix; with more classes, the last row and column contain all others.
_MOST_CLASSES = 12
_MOST_FEATURES = 20
_MOST_PAIRS = 8


def cut(text: Any, most: int) -> str:
    """An escaped string with a maximum length."""
    text = str(text)
    return html.escape(text if len(text) <= most else f"{text[: most - 1]}…")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "", name: str = "") -> str:
    """A table that scrolls if it is too wide. The first cell of a row is its header; cells are HTML."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    # On a phone, a row of a stacked table is a list of its cells, each with the heading of its column.
    headings = [f' data-h="{cell}"' if "stacked" in kind else "" for cell in head]
    body = ""
    for row in rows:
        cells = "".join(f"<td{named}>{cell}</td>" for named, cell in zip(headings[1:], row[1:], strict=False))
        body += f'<tr><th scope="row">{row[0]}</th>{cells}</tr>'
    return scrolling(f'<table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>', name)


def scrolling(body: str, name: str) -> str:
    """A scrolling region that also works with the keyboard."""
    label = html.escape(name or "table")
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">{body}</div>'


def brief(name: str, head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """A collapsed table with the numbers of a chart."""
    return f"<details><summary>{html.escape(name)}</summary>{table(head, rows, kind, name)}</details>"


def metrics(result: Result) -> str:
    """Each metric over the whole stream and over the window, and that of the best constant prediction."""
    rows, titles, constant = [], result.titles, result.constant
    for name, (value, recent) in result.scores.items():
        better, arrow = ("higher", "↑") if result.bigger_is_better[name] else ("lower", "↓")
        title = f'{cut(titles[name], 100)} <span class="note" title="{better} is better">{arrow}</span>'
        best = [number(constant.get(name, math.nan))] if constant else []
        rows.append([title, number(value), number(recent), *best])
    head = [
        "metric",
        "all rows",
        f"last {result.settings.get('window', 0):,}",
        *["best constant"] * bool(constant),
    ]
    return table(head, rows, "wide", "metrics")


def ranking(
    results: Mapping[str, Result], ranked: Sequence[Result], differences: Differences | None = None
) -> str:
    """All models, best first, with the differences from the best one and the best constant prediction."""
    places = {name: place for place, name in enumerate(results)}
    heads = headings(ranked)
    head = [
        "model",
        *(cut(title, 80) for title in heads.values()),
        "ECE",
        "drifts",
        "rows/s, alone",
        "memory",
        "skipped",
    ]
    rows = []
    for result in ranked:
        colour = f'<i class="key c{places[result.name] % len(COLOURS)}"></i>'
        calibration = result.calibration
        rows.append(
            [
                f"{colour}{cut(result.name, 60)}",
                *(html.escape(score(result, name, value, heads)) for name, (value, _) in result.scores.items()),
                "–" if calibration is None else number(calibration.ece),
                f"{len(result.drifts):,}",
                f"{result.throughput:,.0f}",
                amount(result.memory),
                f"{result.skipped:,}",
            ]
        )
    if differences is not None:
        head.insert(2, f"behind ({100 * differences.level:g} %)")
        for result, row in zip(ranked, rows, strict=True):
            row.insert(2, str(differences[result.name]) if result.name in differences else "–")
    if constant := ranked[0].constant:
        cells = [number(constant.get(name, math.nan)) for name in heads]
        cells[1:1] = ["–"] * (differences is not None)
        rows.append(["best constant", *cells, *["–"] * (len(head) - 1 - len(cells))])
    # Empty columns are left out.
    kept = [
        place
        for place in range(len(head))
        if head[place] not in ("ECE", "drifts", "skipped") or any(row[place] not in ("–", "0") for row in rows)
    ]
    made = table(
        [head[place] for place in kept],
        [[row[place] for place in kept] for row in rows],
        "wide stacked",
        "ranking",
    )
    return made.replace("<tbody><tr>", '<tbody><tr class="best">', 1)


def confusion(result: Result) -> str:
    """The confusion matrix, shaded by row; only the most frequent classes if there are many."""
    found: Any = result.confusion
    labels, matrix = list(found.labels), np.asarray(found.matrix)
    note = ""
    pairs = ""
    if len(labels) > _MOST_CLASSES:
        note = f'<p class="note">The {_MOST_CLASSES - 1} most frequent of {len(labels):,} classes.</p>'
        pairs = _confused(labels, matrix)
        order = np.argsort(-matrix.sum(axis=1), kind="stable")[: _MOST_CLASSES - 1]
        groups = np.full(len(labels), _MOST_CLASSES - 1)
        groups[order] = np.arange(len(order))
        folded = np.zeros((_MOST_CLASSES, _MOST_CLASSES))
        np.add.at(folded, (groups[:, None], groups[None, :]), matrix)
        labels, matrix = [*(labels[place] for place in order), "others"], folded
    return _matrix(labels, matrix, bool(note)) + note + pairs


def _matrix(labels: Sequence[Any], matrix: Any, folded: bool) -> str:
    names = [f'<span title="{cut(label, 200)}">{_ends(label)}</span>' for label in labels]
    rows: list[str] = []
    for place, (name, cells) in enumerate(zip(names, matrix, strict=True)):
        total = float(cells.sum())
        mixed = folded and place == len(names) - 1
        shaded = "".join(
            f'<td class="right" style="background: {_shade("heat", cell, total)}">{_cell(cell)}</td>'
            if other == place and not mixed
            else f'<td style="background: {_shade("minus", cell, total)}">{_cell(cell)}</td>'
            for other, cell in enumerate(cells.tolist())
        )
        share = f"{cells[place] / total:.1%}" if total and not mixed else "–"
        rows.append(f'<tr><th scope="row">{name}</th>{shaded}<td>{share}</td></tr>')
    sums = matrix.sum(axis=0)
    precisions = "".join(
        f"<td>{matrix[place, place] / sums[place]:.1%}</td>"
        if sums[place] and not (folded and place == len(names) - 1)
        else "<td>–</td>"
        for place in range(len(names))
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    foot = f'<tr><th scope="row">precision</th>{precisions}<td></td></tr>'
    body = (
        f'<table class="heat"><thead><tr><th scope="col">truth ↓ predicted →</th>{head}<th scope="col">recall</th>'
        f"</tr></thead><tbody>{''.join(rows)}{foot}</tbody></table>"
    )
    return scrolling(body, "confusion matrix")


def contingency(found: Clusters) -> str:
    """The weight of rows by label and cluster, shaded by cluster; only the largest of each if there are many."""
    matrix = np.asarray(found.matrix)
    rows = np.argsort(-matrix.sum(axis=1), kind="stable")[:_MOST_CLASSES]
    columns = np.argsort(-matrix.sum(axis=0), kind="stable")[:_MOST_CLASSES]
    rows, columns = np.sort(rows), np.sort(columns)
    totals = matrix.sum(axis=0)
    head = "".join(f'<th scope="col">{found.indices[column]}</th>' for column in columns)
    body = ""
    for row in rows:
        cells = "".join(
            f'<td style="background: {_shade("heat", matrix[row, column], totals[column])}">'
            f"{_cell(float(matrix[row, column]))}</td>"
            for column in columns
        )
        name = found.labels[row]
        shown = f'<span title="{cut(name, 200)}">{_ends(name)}</span>'
        body += f'<tr><th scope="row">{shown}</th>{cells}</tr>'
    drawn = (
        f'<table class="heat"><thead><tr><th scope="col">label ↓ cluster →</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )
    hidden = len(rows) < len(found.labels) or len(columns) < len(found.indices)
    note = f'<p class="note">The {_MOST_CLASSES} most frequent labels and clusters.</p>' if hidden else ""
    return scrolling(drawn, "labels in clusters") + note


def _ends(label: Any) -> str:
    """A short name that keeps both ends, because long names often differ only in the last letters."""
    text = str(label)
    return html.escape(text if len(text) <= 14 else f"{text[:7]}…{text[-6:]}")


def _shade(colour: str, cell: float, total: float) -> str:
    """A shade by the square root of the fraction, so that rare errors are visible; light enough for the number."""
    return f"rgba(var(--{colour}), {0.5 * (cell / (total or 1.0)) ** 0.5:.2f})"


def _cell(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) and value < 1e9 else f"{value:,.4g}"


def _confused(labels: Sequence[Any], matrix: Any) -> str:
    """The pairs of classes that are confused most often."""
    wrong = matrix - np.diag(np.diag(matrix))
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_PAIRS]
    rows = [
        [cut(labels[truth], 60), cut(labels[predicted], 60), _cell(float(wrong[truth, predicted]))]
        for truth, predicted in zip(*np.unravel_index(order, wrong.shape), strict=True)
        if wrong[truth, predicted] > 0
    ]
    if not rows:
        return ""
    return f'<h3 style="margin-top: 1rem">Most confused</h3>{table(["truth", "predicted", "rows"], rows)}'


def bars(weights: Weights, sample: StreamSample | None = None) -> str:
    """The largest weights as bars, from the middle if they have a sign, otherwise from the left.

    Nominal values that few rows of the sample have are left out, and counted below.
    """
    names, numbers, rare = _without_rare(weights, sample)
    values = numbers[:_MOST_FEATURES]
    greatest = max((abs(value) for value in values), default=0.0) or 1.0
    half = 50.0 if weights.signed else 100.0
    rows = []
    for name, value in zip(names, values, strict=False):
        size = half * abs(value) / greatest
        start = (half - size if value < 0 else half) if weights.signed else 0.0
        kind = ' class="minus"' if value < 0 else ""
        bar = f'<span class="bar"><i{kind} style="left: {start:.1f}%; width: {size:.1f}%"></i></span>'
        rows.append(
            f'<tr><th scope="row" title="{cut(name, 200)}">{cut(name, 60)}</th><td aria-hidden="true">{bar}</td>'
            f"<td>{number(value)}</td></tr>"
        )
    shown = f" The {len(rows)} largest of {len(weights.names):,}." if len(names) > len(rows) else ""
    if rare:
        told = ", ".join(f"{count:,} of {cut(name, 40)}" for name, count in rare.items())
        shown += f" Rare values, in less than 1 % of the rows, are left out: {told}."
    note = html.escape(weights.about[:1].upper() + weights.about[1:])
    return (
        f'<table class="bars" aria-label="{html.escape(weights.about)}"><tbody>{"".join(rows)}</tbody></table>'
        f'<p class="note">{note}.{shown}</p>'
    )


def _without_rare(weights: Weights, sample: StreamSample | None) -> tuple[list[str], list[float], dict[str, int]]:
    """The names and values without those of rare nominal values, and the number of these by feature."""
    from millstream.evaluate.report.distributions import rare_values

    names, values, rare = list[str](), list[float](), dict[str, int]()
    known: dict[str, set[str]] = {}
    for name, value in zip(weights.names, weights.values.tolist(), strict=True):
        feature, sign, nominal = name.partition("=")
        if sign and feature not in known:
            known[feature] = rare_values(sample, feature)
        if sign and nominal in known[feature]:
            rare[feature] = rare.get(feature, 0) + 1
            continue
        names.append(name)
        values.append(value)
    return names, values, rare


def events(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The events of a monitor, the newest last."""
    return table(head, [[cut(cell, 100) for cell in row] for row in rows], "words", "events") if rows else ""


def unread(result: Result) -> str:
    """The reasons for the first unreadable lines or rows."""
    rows = [[f"{place:,}", cut(reason, 300)] for place, reason in enumerate(result.unread_reasons, 1)]
    more = result.unread - len(rows)
    note = f'<p class="note">And {more:,} more.</p>' if more > 0 else ""
    return table(["", "reason"], rows, "words", "unreadable rows") + note


def refusals(result: Result) -> str:
    """The first skipped rows."""
    rows = [[f"{row:,}", cut(reason, 300)] for row, reason in result.refusals]
    more = result.skipped - len(rows)
    note = f'<p class="note">And {more:,} more.</p>' if more > 0 else ""
    return table(["row", "reason"], rows, "words", "skipped rows") + note
