"""Batches in requests: a JSON array, NDJSON (one object per line) or Arrow IPC bytes; replies have the same
format."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millstream._core import parse_json_lines, write_json
from millstream.serve.api.fields import json_body
from millstream.serve.api.infinite_labels import or_infinite, with_infinite_lines
from millstream.serve.api.tables import checked_table, infinite_rows
from millstream.serve.batches import arrow_rows
from millstream.serve.formats import ARROW, NDJSON, batch_bytes
from millstream.serve.requests import JSON, Call, Problem, Reply

__all__ = ["MOST_ITEMS", "Batch", "batch_of", "column_bytes", "is_lines", "table_of"]

_NDJSON_NAMES = (NDJSON, "application/ndjson", "application/jsonlines", "application/jsonl", "text/x-ndjson")
_ARROW_NAMES = (ARROW, "application/vnd.apache.arrow.file")

#: Maximum number of items of a request.
MOST_ITEMS = 100_000


class Batch:
    """The items of a request, the errors of some of them by index, and how they were sent."""

    def __init__(self, kind: str, items: list[Any], errors: dict[int, str] | None = None) -> None:
        self.kind, self.items, self.errors = kind, items, errors or {}
        if len(items) > MOST_ITEMS:
            raise Problem(413, "body-too-large", f"body: at most {MOST_ITEMS} items, got {len(items)}")

    def reply(self, results: list[dict[str, Any]]) -> Reply:
        """A reply with one result per item, in their order."""
        if self.kind == NDJSON:
            return Reply(200, b"\n".join([*map(write_json, results), b""]), NDJSON)
        if self.kind == ARROW:
            return Reply(200, _result_bytes(results), ARROW)
        return Reply.json(results)


def _result_bytes(results: list[dict[str, Any]]) -> bytes:
    columns = {
        name: [each.get(name) for each in results] for name in ("id", "seq", "y", "fate", "status", "detail")
    }
    # A prediction may be null before the first label.
    predicts = any("y" in each for each in results)
    kept = {
        name: values
        for name, values in columns.items()
        if any(value is not None for value in values) or (name == "y" and predicts)
    }
    return column_bytes(kept)


def column_bytes(columns: dict[str, Any]) -> bytes:
    """Columns as Arrow IPC bytes."""
    return batch_bytes(pa.RecordBatch.from_arrays([_array(values) for values in columns.values()], [*columns]))


def _array(values: Any) -> pa.Array:
    """A column; values of several types, such as the classes 1 and "late", become strings of JSON."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        texts = [each if each is None or isinstance(each, str) else write_json(each).decode() for each in values]
        return pa.array(texts, pa.string())


def table_of(call: Call) -> pa.Table | None:
    """The table of a request; None if it has another format."""
    return checked_table(call.request.body, MOST_ITEMS) if call.content_type in _ARROW_NAMES else None


def is_lines(call: Call) -> bool:
    """Whether the body of a request is NDJSON."""
    return call.content_type in _NDJSON_NAMES


def batch_of(call: Call, members: tuple[str, ...]) -> Batch:
    """The items of a request."""
    kind = call.content_type
    if is_lines(call):
        values, errors = parse_json_lines(call.request.body)
        if errors and "y" in members:
            with_infinite_lines(call.request.body, values, errors)
        return Batch(NDJSON, values, errors)
    if kind in _ARROW_NAMES:
        return Batch(ARROW, *_arrow_items(call.request.body, members))
    value = or_infinite(call.request.body, lambda: json_body(call)) if "y" in members else json_body(call)
    if not isinstance(value, list):
        raise Problem(422, "invalid", f"body: must be an array of objects, or NDJSON as {NDJSON}")
    return Batch(JSON, value)


def _arrow_items(data: bytes, members: tuple[str, ...]) -> tuple[list[Any], dict[int, str]]:
    """The rows of a table, and the errors of invalid rows. Columns `id`, `key`, `ts`, `y` and `weight` are
    members; in predictions, all others are features."""
    table = checked_table(data, MOST_ITEMS)
    own = [name for name in table.column_names if name in members and name != "x"]
    # A label that is infinite is refused later, and counted.
    rows, wrong = arrow_rows(table), infinite_rows(table.drop_columns(["y"]) if "y" in own else table)
    if "x" in members and "y" not in members:
        rows = [
            {name: row[name] for name in own if name in row}
            | {"x": {name: value for name, value in row.items() if name not in own}}
            for row in rows
        ]
    return rows, wrong
