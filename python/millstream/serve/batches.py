"""Bodies of batch records: JSON, or a JSON header followed by the Arrow bytes as sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from millstream._core import IdRange, parse_json, write_json

__all__ = [
    "MEMBER_COLUMNS",
    "EventIds",
    "arrow_rows",
    "is_arrow_file",
    "pack_arrow_events",
    "pack_events",
    "pack_labels",
    "pack_lines",
    "read_arrow",
    "unpack_events",
    "unpack_ids",
    "unpack_labels",
]

#: Columns of a table of examples that are members of the request, not features.
MEMBER_COLUMNS = ("id", "key", "ts", "trace")

#: The ids of a batch of events: those that the server gave, or a list with ids of the client.
EventIds = list[str] | IdRange

#: First byte of a body with Arrow bytes; JSON never starts with it.
_ARROW = b"\x01"


def _packed_head(ids: EventIds, predictions: Any) -> bytes:
    """The first members of a body, without the closing brace. `predictions` may be JSON already."""
    name, value = (b'"first":', ids.first) if isinstance(ids, IdRange) else (b'"ids":', ids)
    ys = predictions if isinstance(predictions, bytes) else write_json(predictions)
    return b"".join((b"{", name, write_json(value), b',"y":', ys))


def pack_events(ids: EventIds, raw: Sequence[str], predictions: Sequence[Any]) -> str:
    """The body of a batch of events. `raw` holds the JSON text of the features as sent."""
    return f'{_packed_head(ids, predictions).decode()},"x":[{",".join(raw)}]}}'


def pack_lines(ids: EventIds, data: bytes, predictions: Sequence[Any] | bytes) -> str | None:
    """The body of a batch of events that arrived as NDJSON, with the lines as sent under `rows`; None if there
    are blank lines."""
    data = data.strip()
    # A JSON value on one line contains no newline: in strings, newlines are escaped.
    if data.count(b"\n") != len(ids) - 1:
        return None
    head = _packed_head(ids, predictions)
    return b"".join((head, b',"rows":[', data.replace(b"\n", b","), b"]}")).decode()


def pack_arrow_events(ids: EventIds, predictions: Sequence[Any], data: bytes) -> bytes:
    """The body of a batch of events that arrived as Arrow IPC bytes."""
    head = _packed_head(ids, predictions)
    return b"".join((_ARROW, (len(head) + 1).to_bytes(4, "little"), head, b"}", data))


def unpack_ids(body: str | bytes) -> EventIds:
    """The ids of a batch of events."""
    return _ids(_head(body))


def _ids(head: dict[str, Any]) -> EventIds:
    if "first" in head:
        return IdRange(head["first"], len(head["y"]))
    ids: list[str] = head["ids"]
    return ids


def _head(body: str | bytes) -> dict[str, Any]:
    if isinstance(body, bytes) and body[:1] == _ARROW:
        body = body[5 : 5 + int.from_bytes(body[1:5], "little")]
    head: dict[str, Any] = parse_json(body)
    return head


def unpack_events(body: str | bytes) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """The events of a batch: id, features, and the record members of a single event."""
    head = _head(body)
    if isinstance(body, bytes) and body[:1] == _ARROW:
        table = read_arrow(body[5 + int.from_bytes(body[1:5], "little") :])
        members = [name for name in table.column_names if name in MEMBER_COLUMNS]
        rows: Any = arrow_rows(table.drop_columns(members) if members else table)
    else:
        rows = head["x"] if "x" in head else [row["x"] for row in head["rows"]]
    ids = _ids(head)
    texts = ids.texts() if isinstance(ids, IdRange) else ids
    for id, x, y in zip(texts, rows, head["y"], strict=True):
        yield id, x, y if isinstance(y, dict) else {"y": y}


def is_arrow_file(data: bytes) -> bool:
    """Whether Arrow IPC bytes are in the file format, not in the stream format."""
    return data[:6] == b"ARROW1"


def read_arrow(data: bytes) -> pa.Table:
    """The table in Arrow IPC bytes, in the stream or file format."""
    # Without a copy.
    source = pa.py_buffer(data)
    if is_arrow_file(data):
        return pa.ipc.open_file(source).read_all()
    return pa.ipc.open_stream(source).read_all()


def arrow_rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table as dicts without missing values. NaN is missing, as in pandas."""
    return [
        {name: value for name, value in row.items() if value is not None and value == value}
        for row in table.to_pylist()
    ]


def pack_labels(labels: Sequence[dict[str, Any]]) -> str:
    """The body of a batch of labels, each with `id`, `y` and optional members."""
    return write_json(labels).decode()


def unpack_labels(body: str | bytes) -> list[dict[str, Any]]:
    """The labels of a batch."""
    labels: list[dict[str, Any]] = parse_json(body)
    return labels
