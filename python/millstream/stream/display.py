"""Notebook display of a stream: its names, the kinds of its features, and its first rows."""

from __future__ import annotations

import itertools
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream import _frames
from millstream._dates import date_of
from millstream._display import _STYLE
from millstream._echo import visible
from millstream._sparse import Sparse
from millstream.stream.chunk import Chunk, as_list

if TYPE_CHECKING:
    from millstream.stream.base import Stream

__all__ = ["html_of", "kinds_of"]

#: Number of rows and columns shown.
_ROWS, _COLUMNS = 5, 12


def kinds_of(X: Any) -> dict[Any, str]:
    """The kind of each feature, "number" or "nominal"; empty for sparse rows."""
    if isinstance(X, Sparse):
        return {}
    if isinstance(X, list):
        return _kinds_of_dicts(X)
    parts = _frames.take_apart(X)
    if parts[0] == "matrix":
        return dict.fromkeys(range(parts[1].shape[1]), "number")
    if parts[0] == "columns":
        return {name: "number" if categories is None else "nominal" for name, _, categories in parts[1]}
    return _kinds_of_dicts(list(_frames.rows_of(parts))) if parts[0] == "dicts" else {}


def _kinds_of_dicts(rows: list[Any]) -> dict[Any, str]:
    kinds: dict[Any, str] = {}
    for x in rows:
        for name, value in x.items():
            if isinstance(value, str):
                kinds[name] = "nominal"
            else:
                kinds.setdefault(name, "number")
    return kinds


def html_of(stream: Stream) -> str:
    """A small, self-contained HTML fragment."""
    chunk = _first(stream)
    count = stream.n_samples
    facts = [f"{count:,} example{'s' * (count != 1)}"] if count is not None else []
    facts += ["endless"] * stream.endless
    facts += [
        f"{what.replace('_', ' ')} {getattr(stream, what)}"
        for what in ("target", "weight", "time", "label_time")
        if getattr(stream, what) is not None
    ]
    if not stream.repeatable:
        facts.append("can be read once, so nothing of it is shown")
    head = f'<div class="ms-plain">{escape(repr(stream))}</div>'
    foot = f'<div class="ms-foot">{escape(" · ".join(facts))}</div>' if facts else ""
    table = _table(stream, chunk) if chunk is not None and len(chunk) else ""
    box = f'<div class="ms-box">{head}{table}{foot}</div>'
    return visible(f'<div class="millstream"><style>{_STYLE}</style>{box}</div>')


def _first(stream: Stream) -> Chunk | None:
    if not stream.repeatable:
        return None
    chunk = next(iter(stream.take(_ROWS).chunks()), None)
    return None if chunk is None else chunk.cut(0, min(_ROWS, len(chunk)))


def _table(stream: Stream, chunk: Chunk) -> str:
    rows = list(_frames.dicts(chunk.X))
    kinds = stream.schema or _kinds_of_dicts(rows)
    names = list(itertools.islice(kinds, _COLUMNS))
    # Dates of files are seconds since 1970.
    times = {name for name in names if kinds[name] == "time"}
    left = len(kinds) - len(names)
    beside = {}
    for name, column in chunk.beside.items():
        beside[(stream.target or "y") if name == "y" else name] = as_list(column)
    cells = [[*names, *(["…"] if left else []), *beside]]
    cells.append([*(kinds[name] for name in names), *([f"{left} more"] if left else []), *("" for _ in beside)])
    for place, x in enumerate(rows):
        values = [date_of(x.get(name)) if name in times else x.get(name) for name in names]
        cells.append([*values, *([""] if left else []), *(column[place] for column in beside.values())])
    lines = []
    for place, line in enumerate(cells):
        tag, faint = ("th" if place == 0 else "td"), ' class="ms-default"' if place == 1 else ""
        lines.append(f"<tr{faint}>" + "".join(f"<{tag}>{escape(_text(v))}</{tag}>" for v in line) + "</tr>")
    return f'<div style="overflow-x:auto"><table>{"".join(lines)}</table></div>'


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
