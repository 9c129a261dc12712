"""Batches in requests: a JSON array, NDJSON (one object per line) or Arrow IPC bytes; replies have the same
form."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from millstream._core import parse_json_lines, write_json
from millstream._echo import quoted
from millstream.serve.api.fields import json_body
from millstream.serve.batches import arrow_rows, read_arrow
from millstream.serve.requests import JSON, Call, Problem, Reply

__all__ = ["ARROW", "NDJSON", "Batch", "Item", "batch_of"]

NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
_NDJSON_NAMES = (NDJSON, "application/ndjson", "application/jsonlines", "application/jsonl", "text/x-ndjson")
_ARROW_NAMES = (ARROW, "application/vnd.apache.arrow.file")

#: Items of one request.
_MOST_ITEMS = 100_000


class Item(NamedTuple):
    """One item: its value and the text of its features, or the error of its line."""

    value: Any
    raw: str | None = None
    error: str | None = None


class Batch:
    """The items of a request, and how they were sent."""

    def __init__(self, kind: str, items: list[Item]) -> None:
        self.kind, self.items = kind, items
        if len(items) > _MOST_ITEMS:
            raise Problem(413, "body-too-large", f"body: at most {_MOST_ITEMS} items, got {len(items)}")

    def reply(self, results: list[dict[str, Any]]) -> Reply:
        """A reply with one result per item, in their order."""
        if self.kind == NDJSON:
            return Reply(200, b"\n".join([*map(write_json, results), b""]), NDJSON)
        if self.kind == ARROW:
            return Reply(200, _table_bytes(results), ARROW)
        return Reply.json(results)


def _table_bytes(results: list[dict[str, Any]]) -> bytes:
    columns = {
        name: [each.get(name) for each in results] for name in ("id", "seq", "y", "fate", "status", "detail")
    }
    kept = {name: values for name, values in columns.items() if any(value is not None for value in values)}
    table = pa.table(kept)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def batch_of(call: Call, members: tuple[str, ...]) -> Batch:
    """The items of a request."""
    kind = call.content_type
    if kind in _NDJSON_NAMES:
        values, errors = parse_json_lines(call.request.body)
        return Batch(NDJSON, [Item(value, None, errors.get(index)) for index, value in enumerate(values)])
    if kind in _ARROW_NAMES:
        return Batch(ARROW, _arrow_items(call.request.body, members))
    value = json_body(call)
    if not isinstance(value, list):
        raise Problem(422, "invalid", f"body: must be an array of objects, or NDJSON as {NDJSON}")
    return Batch(JSON, [Item(each) for each in value])


def _checked_table(data: bytes) -> pa.Table:
    """The table of a request: of plain columns, and without offsets that point outside of its buffers."""
    try:
        table = read_arrow(data)
        # Arrow does not check offsets when it reads, and crashes on wrong ones.
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        detail = next(iter(str(error).splitlines()), "")[:300]
        raise Problem(400, "malformed-arrow", f"body: cannot be read as Arrow IPC: {detail}") from None
    if table.num_rows > _MOST_ITEMS:
        raise Problem(413, "body-too-large", f"body: at most {_MOST_ITEMS} items, got {table.num_rows}")
    seen: set[str] = set()
    for field in table.schema:
        if field.name in seen:
            raise Problem(400, "malformed-arrow", f"{quoted(field.name)}: duplicate column")
        seen.add(field.name)
        # The features of an unknown event come along with its label.
        is_features = field.name == "x" and pa.types.is_struct(field.type)
        for kind in [each.type for each in field.type] if is_features else [field.type]:
            if not _is_plain(kind):
                what = f"{quoted(field.name)}: a column must hold numbers, strings or bools, got {kind}"
                raise Problem(422, "invalid", what)
    return table


def _infinite_rows(table: pa.Table) -> dict[int, str]:
    """Rows with an infinite number, which JSON cannot hold, each with the name of the column."""
    found: dict[int, str] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        parts = column.flatten() if pa.types.is_struct(column.type) else [column]
        for part in parts:
            if pa.types.is_floating(part.type) and pc.any(pc.is_inf(part)).as_py():
                rows = pc.indices_nonzero(pc.is_inf(part)).to_pylist()
                found |= dict.fromkeys(rows, f"{quoted(name)}: an infinite number is not a value")
    return found


def _is_plain(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    tests = (
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_boolean,
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
        pa.types.is_null,
    )
    return any(test(kind) for test in tests)


def _arrow_items(data: bytes, members: tuple[str, ...]) -> list[Item]:
    """The rows of a table. Columns `id`, `key`, `ts`, `y` and `weight` are members; in predictions, all others
    features."""
    table = _checked_table(data)
    own = [name for name in table.column_names if name in members and name != "x"]
    rows, wrong = arrow_rows(table), _infinite_rows(table)
    if "x" in members and "y" not in members:
        return [
            Item(
                {name: row[name] for name in own if name in row}
                | {"x": {k: v for k, v in row.items() if k not in own}},
                error=wrong.get(index),
            )
            for index, row in enumerate(rows)
        ]
    return [Item(row, error=wrong.get(index)) for index, row in enumerate(rows)]
