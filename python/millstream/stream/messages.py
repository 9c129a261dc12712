"""Messages of brokers and sockets: each is a table, as an Arrow IPC stream or as JSON.

An Arrow message is a complete IPC stream: schema, record batches, end. A JSON message is one object, an array of
objects, or one object per line. Messages are untrusted: their size is limited before and after decompression, a
stream without its end is truncated, and all values are validated.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as arrow

from millstream._echo import shortened
from millstream.errors import InvalidValue
from millstream.stream.ipc_sizes import END, size_in_memory
from millstream.stream.json_lines import object_of
from millstream.stream.values import Columns

__all__ = ["FORMATS", "Decoded", "Limits", "Message", "Origin", "decode", "encode", "order"]

#: The formats of written messages.
FORMATS = ("arrow", "json")

#: An offset: a number; in Redis the id of an entry and its number among all entries, "1700000000000-0-17".
Offset = int | str

_MARK = b"\xff\xff\xff\xff"
_PREFIX = b"millstream."


class Origin(NamedTuple):
    """The position of a message: the source, the partition of the source, and the offset in the partition."""

    source: str
    partition: str
    offset: Offset

    def __str__(self) -> str:
        return f"{self.source}, partition {self.partition}, offset {self.offset}"


class Message(NamedTuple):
    """A message as it was received. `data` is None if it was refused unread, for the reason `fault`."""

    partition: str
    offset: Offset
    data: bytes | None
    #: When it was written, in seconds since 1970; None if that is unknown.
    time: float | None = None
    fault: str | None = None
    #: Whether the source can deliver it again, so that its offset must be stored.
    repeatable: bool = True


class Decoded(NamedTuple):
    """The table of a message, and the origin that its writer stated."""

    table: arrow.Table
    origin: Origin | None
    is_json: bool


@dataclass(frozen=True)
class Limits:
    """Limits of one message."""

    #: Bytes as received.
    message_bytes: int = 64 << 20
    #: Bytes after decompression.
    table_bytes: int = 512 << 20
    rows: int = 10_000_000


def order(offset: Offset) -> tuple[int, int]:
    """A value by which the offsets of a partition are ordered."""
    if isinstance(offset, int):
        return offset, 0
    # An id of Redis: a time in milliseconds, a number within it, and the number of the entry.
    first, *others = offset.split("-")
    return int(first), int(others[0]) if others else 0


def decode(data: bytes, limits: Limits) -> Decoded:
    """The table of a message; InvalidValue says what is wrong with it."""
    if len(data) > limits.message_bytes:
        raise InvalidValue(f"{len(data):,} bytes, more than max_message_bytes={limits.message_bytes:,}")
    if not data:
        raise InvalidValue("empty message")
    try:
        if data.startswith(_MARK):
            return _from_arrow(data, limits)
        if data.lstrip()[:1] in (b"{", b"["):
            return _from_json(data, limits)
    except InvalidValue:
        raise
    except RecursionError:
        raise InvalidValue("brackets are nested too deep") from None
    except (arrow.ArrowException, ValueError, TypeError, OSError, KeyError, OverflowError, MemoryError) as error:
        raise InvalidValue(f"damaged: {shortened(' '.join(str(error).split()), 200)}") from None
    raise InvalidValue("neither an Arrow IPC stream nor JSON")


def _from_arrow(data: bytes, limits: Limits) -> Decoded:
    if not data.endswith(END):
        raise InvalidValue("truncated: the Arrow IPC stream has no end")
    try:
        size = size_in_memory(data, limits.table_bytes)
    except ValueError as error:
        raise InvalidValue(f"not a sound Arrow IPC stream: {error}") from None
    if size > limits.table_bytes:
        raise InvalidValue(f"more than {limits.table_bytes:,} bytes after decompression (max_table_bytes)")
    with arrow.ipc.open_stream(arrow.py_buffer(data)) as reader:
        batches = []
        rows = 0
        for batch in reader:
            rows += batch.num_rows
            if rows > limits.rows:
                raise InvalidValue(f"more than {limits.rows:,} rows")
            batch.validate(full=True)
            batches.append(batch)
        table = arrow.Table.from_batches(batches, reader.schema)
        # Names that are not UTF-8 are an error here, and not at each later use.
        assert len(table.column_names) == table.num_columns, "one name per column"
    return Decoded(table.replace_schema_metadata(None), _origin(table.schema.metadata), is_json=False)


def _origin(metadata: Any) -> Origin | None:
    found = metadata or {}
    try:
        source, partition, offset = (
            found[_PREFIX + name].decode() for name in (b"source", b"partition", b"offset")
        )
        origin = Origin(source, partition, int(offset) if offset.lstrip("-").isdigit() else offset)
        order(origin.offset)
    except (KeyError, ValueError):
        return None
    return origin


def _from_json(data: bytes, limits: Limits) -> Decoded:
    rows = list(_objects(data))
    if len(rows) > limits.rows:
        raise InvalidValue(f"more than {limits.rows:,} rows")
    origin = _json_origin(rows)
    if origin is not None:
        rows = [{name: value for name, value in row.items() if name not in Origin._fields} for row in rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    table, _ = Columns().table(names, ([row.get(name) for row in rows] for name in names))
    if not names:
        raise InvalidValue("objects without members")
    return Decoded(table, origin, is_json=True)


def _json_origin(rows: list[dict[str, Any]]) -> Origin | None:
    """The origin that all rows state."""
    stated = {tuple(str(row.get(name)) for name in Origin._fields) for row in rows}
    if len(stated) != 1 or not rows or any(rows[0].get(name) is None for name in Origin._fields):
        return None
    return _origin({_PREFIX + name.encode(): str(rows[0][name]).encode() for name in Origin._fields})


def _objects(data: bytes) -> Iterator[dict[str, Any]]:
    if data.lstrip().startswith(b"["):
        for value in json.loads(data):
            yield object_of(json.dumps(value).encode())
        return
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            try:
                yield object_of(line)
            except ValueError as error:
                raise InvalidValue(f"line {number}: {error}") from None


def encode(table: Any, origin: Origin | None = None, format: str = "arrow") -> bytes:  # noqa: A002
    """A table as a message, with its origin if it has one."""
    if isinstance(table, arrow.RecordBatch):
        table = arrow.Table.from_batches([table])
    if format == "json":
        beside = {} if origin is None else origin._asdict()
        return "\n".join(json.dumps({**row, **beside}, default=str) for row in table.to_pylist()).encode()
    if origin is not None:
        stated = {f"millstream.{name}": str(value) for name, value in origin._asdict().items()}
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), **stated})
    written = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(written, table.schema) as writer:
        writer.write_table(table)
    return bytes(written.getvalue())
