"""Arrow tables in requests: no values are read before the table is known to be plain, bounded and well formed.

Arrow's reader trusts its input: wrong offsets crash the process, and a few kilobytes of compressed buffers or of
indices into a dictionary can stand for gigabytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream._echo import quoted
from millstream.serve.api.fields import check_number
from millstream.serve.batches import is_arrow_file, read_arrow
from millstream.serve.requests import Problem

__all__ = ["checked_table", "infinite_rows"]

#: Maximum number of bytes of all strings of a table, after dictionary decoding.
_MOST_TEXT = 256 << 20

#: By the bytes of a schema that was checked, whether values of its columns may share strings. Requests repeat
#: their schemas, and checking one takes as long as reading the table.
_known_schemas: dict[bytes, bool] = {}
_MOST_SCHEMAS, _LONGEST_SCHEMA = 256, 1 << 14

#: Fields of the flatbuffers `Message`, `DictionaryBatch` and `RecordBatch` of the Arrow format.
_HEADER, _DATA, _COMPRESSION = 2, 1, 3


def checked_table(data: bytes, most_rows: int) -> pa.Table:
    """The table of a request, whose columns hold numbers, strings or bools."""
    try:
        header = b""
        for message in _messages(data):
            if message.type == "schema":
                header = message.metadata.to_pybytes()
            elif _is_compressed(message):
                raise Problem(415, "unsupported-encoding", "body: Arrow buffers must not be compressed")
        table = read_arrow(data)
        check_number(table.num_columns, "body")
        if table.num_rows > most_rows:
            raise Problem(413, "body-too-large", f"body: at most {most_rows} items, got {table.num_rows}")
        shares_text = _known_schemas.get(header)
        if shares_text is None:
            _check_schema(table.schema)
            shares_text = any(_shares_text(column.type) for column in _flat_columns(table))
            _remember_schema(header, shares_text)
        if shares_text:
            table.validate()
            # First, because the full check reads every string, also those that many views share.
            _check_text(sum(map(_view_size, _chunks_of_views(table))))
        table.validate(full=True)
        if shares_text:
            _check_text(sum(map(_dictionary_size, _flat_columns(table))))
    except (pa.ArrowException, OSError, ValueError, MemoryError, struct.error) as error:
        detail = next(iter(str(error).splitlines()), "")[:300]
        raise Problem(400, "malformed-arrow", f"body: cannot be read as Arrow IPC: {detail}") from None
    return table


def infinite_rows(table: pa.Table) -> dict[int, str]:
    """Rows with an infinite number, which JSON cannot represent, each with its error."""
    found: dict[int, str] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        for part in column.flatten() if pa.types.is_struct(column.type) else [column]:
            if pa.types.is_floating(part.type) and pc.any(pc.is_inf(part)).as_py():
                rows = pc.indices_nonzero(pc.is_inf(part)).to_pylist()
                found |= dict.fromkeys(rows, f"{quoted(name)}: an infinite number is not a value")
    return found


def _check_schema(schema: pa.Schema) -> None:
    seen: set[str] = set()
    for field in schema:
        if field.name in seen:
            raise Problem(400, "malformed-arrow", f"{quoted(field.name)}: duplicate column")
        seen.add(field.name)
        # A label may include the features of an unknown event.
        is_features = field.name == "x" and pa.types.is_struct(field.type)
        for kind in [each.type for each in field.type] if is_features else [field.type]:
            if not _is_plain(kind):
                what = f"{quoted(field.name)}: a column must hold numbers, strings or bools, got {kind}"
                raise Problem(422, "invalid", what)


def _remember_schema(header: bytes, shares_text: bool) -> None:
    if 0 < len(header) <= _LONGEST_SCHEMA:
        if len(_known_schemas) >= _MOST_SCHEMAS:
            _known_schemas.clear()
        _known_schemas[header] = shares_text


@lru_cache(maxsize=256)
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


def _flat_columns(table: pa.Table) -> Iterator[pa.ChunkedArray]:
    for column in table.columns:
        yield from column.flatten() if pa.types.is_struct(column.type) else [column]


@lru_cache(maxsize=256)
def _shares_text(kind: pa.DataType) -> bool:
    """Whether values may share strings, so that a small table can stand for a large one."""
    return bool(pa.types.is_string_view(kind) or pa.types.is_dictionary(kind))


def _check_text(size: int) -> None:
    if size > _MOST_TEXT:
        raise Problem(413, "body-too-large", f"body: more than {_MOST_TEXT} bytes of strings")


def _chunks_of_views(table: pa.Table) -> Iterator[pa.Array]:
    for column in _flat_columns(table):
        if pa.types.is_string_view(column.type):
            yield from column.chunks


def _view_size(chunk: pa.Array) -> int:
    # A view has 16 bytes and starts with the length of its string. A negative one is invalid, and counts as large.
    lengths = np.frombuffer(chunk.buffers()[1] or b"", np.uint32)[::4]
    return int(lengths[chunk.offset : chunk.offset + len(chunk)].sum(dtype=np.uint64))


def _dictionary_size(column: pa.ChunkedArray) -> int:
    """Bytes of the strings of a dictionary column after decoding. Other strings are in the body."""
    if not pa.types.is_dictionary(column.type) or not _is_text(column.type.value_type):
        return 0
    # By index, because summing lengths is cheaper than decoding the strings.
    sizes = [pc.sum(pc.take(pc.binary_length(chunk.dictionary), chunk.indices)).as_py() for chunk in column.chunks]
    return sum(size or 0 for size in sizes)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _messages(data: bytes) -> Iterator[pa.Message]:
    """The messages of the stream; a file is a stream between its magic bytes and its footer."""
    source = pa.py_buffer(data)
    reader = pa.ipc.MessageReader.open_stream(source[8:] if is_arrow_file(data) else source)
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def _is_compressed(message: pa.Message) -> bool:
    """Whether the buffers of a message are compressed, by the vtables of its flatbuffer."""
    if message.type not in ("record batch", "dictionary"):
        return False
    data = message.metadata.to_pybytes()
    table = _child(data, struct.unpack_from("<I", data)[0], _HEADER)
    if table is not None and message.type == "dictionary":
        table = _child(data, table, _DATA)
    return table is not None and _child(data, table, _COMPRESSION) is not None


def _child(data: bytes, table: int, field: int) -> int | None:
    """The position of a table that is a field of another one; None if the field is not there."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    place = 4 + 2 * field
    if vtable < 0 or struct.unpack_from("<H", data, vtable)[0] < place + 2:
        return None
    offset = struct.unpack_from("<H", data, vtable + place)[0]
    if offset == 0:
        return None
    child = table + offset + struct.unpack_from("<I", data, table + offset)[0]
    return int(child)
