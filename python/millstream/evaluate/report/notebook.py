"""The notebook display of a result: a short summary with a plot, and details that can be expanded.

The summary needs no style and no inline SVG, which untrusted notebooks, GitHub and nbviewer remove.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING

from millstream._echo import visible
from millstream.evaluate.frames import amount, number
from millstream.evaluate.headings import headings, score
from millstream.evaluate.report import tables
from millstream.evaluate.report.reproduce import call
from millstream.evaluate.report.still import image
from millstream.evaluate.report.style import style

if TYPE_CHECKING:
    from millstream.evaluate.result import Result

__all__ = ["Report", "summary"]

#: Maximum number of models in the table, and of characters of the code.
_MOST_MODELS, _MOST_CODE = 30, 4000


class Report:
    """A whole HTML report, shown by notebooks."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _repr_html_(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"HTML report of {len(self.text):,} characters; to_html(path) writes it to a file"


def summary(results: Mapping[str, Result]) -> str:
    """The summary of one or several results."""
    if not results:
        return "<p>no models</p>"
    from millstream.evaluate.report.page import counts, warnings_of
    from millstream.evaluate.result import Results

    ranked = Results(dict(results)).ranked()
    first, metric = next(iter(results.values())), next(iter(ranked[0].values))
    one = len(results) == 1
    name = first.name if one else f"{len(results)} models compared"
    parts = [f"<p><b>{tables.cut(name, 80)}</b> · {counts(first)}</p>"]
    parts += [f"<p><b>{html.escape(line)}</b></p>" for line in warnings_of(ranked)]
    parts.append(_scores(first) if one else _ranking(ranked))
    parts.append(image(results, metric))
    parts.append(_more(results, first) if one else _code(results))
    return visible(f'<div class="ms-summary">{"".join(parts)}</div>')


def _table(head: list[str], rows: list[list[str]]) -> str:
    cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _scores(result: Result) -> str:
    titles = result.titles
    rows = [[titles[name], number(whole), number(recent)] for name, (whole, recent) in result.scores.items()]
    foot = f"{result.throughput:,.0f} rows/s · {amount(result.memory)}"
    if result.drifts:
        foot += f" · {len(result.drifts):,} drifts detected, the last at row {result.drifts[-1]:,}"
    head = ["", "all rows", f"last {result.settings.get('window', 0):,}"]
    return f"{_table(head, rows)}<p>{html.escape(foot)}</p>"


def _ranking(ranked: list[Result]) -> str:
    heads = headings(ranked)
    rows = [
        [
            result.name,
            *(score(result, name, value, heads) for name, (value, _) in result.scores.items()),
            f"{len(result.drifts):,}",
            f"{result.throughput:,.0f}",
            amount(result.memory),
        ]
        for result in ranked[:_MOST_MODELS]
    ]
    return _table(["", *heads.values(), "drifts", "rows/s", "memory"], rows)


def _more(results: Mapping[str, Result], result: Result) -> str:
    """The parts of a report that are tables, expanded by a click."""
    parts = []
    if result.confusion is not None and len(result.confusion.labels):
        parts.append(f"<h4>Confusion matrix</h4>{tables.confusion(result)}")
    if (weights := result.weights) is not None:
        parts.append(f"<h4>Features</h4>{tables.bars(weights, result.sample)}")
    if result.refusals:
        parts.append(f"<h4>Skipped rows</h4>{tables.refusals(result)}")
    body = f'<div class="ms"><style>{style(0)}</style>{"".join(parts)}</div>' if parts else ""
    return f"<details><summary>more</summary>{body}</details>{_code(results)}"


def _code(results: Mapping[str, Result]) -> str:
    code = call(results)
    shown = html.escape(code if len(code) <= _MOST_CODE else f"{code[:_MOST_CODE]}…")
    return (
        f"<details><summary>how to reproduce this</summary><pre>{shown}</pre></details>"
        "<p>The whole report: <code>.report()</code> here, <code>.to_html(path)</code> in a file.</p>"
    )
