"""The section on the rows of the stream: columns by kind, missing values, the target, and probable mistakes."""

from __future__ import annotations

import html
from typing import Any

from millstream.evaluate.report.tables import cut, table

__all__ = ["profile_section"]

_MOST_COLUMNS = 40


def profile_section(profile: Any, *, is_open: bool = False) -> str:
    """A short list of what was in the stream, and a table with a histogram of each column."""
    from millstream.stream.profiling.stream_profile import cells_of

    lines = [line.partition(" ") for line in profile.summary()]
    items = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td>{cut(value.strip(), 400)}</td></tr>'
        for name, _, value in lines
    )
    columns = list(profile.columns.values())[:_MOST_COLUMNS]
    rows = [
        [cut(column.name, 60), cut(column.kind, 20), *(cut(cell, 120) for cell in cells_of(column))]
        for column in columns
    ]
    more = len(profile.columns) - len(columns)
    note = f'<p class="note">And {more:,} more columns.</p>' if more > 0 else ""
    head = ["column", "kind", "missing", "distribution", "values"]
    shown = table(head, rows, "words", "columns")
    every = f"<details{' open' * is_open}><summary>all columns</summary>{shown}{note}</details>"
    facts = f'<table class="words"><tbody>{items}</tbody></table>'
    title = f"{profile.rows:,} row{'s' * (profile.rows != 1)} of the stream"
    return f"<section><h2>{title}</h2>{facts}{every if rows else ''}</section>"
