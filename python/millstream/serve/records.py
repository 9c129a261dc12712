"""Records of the log: their kinds, their fields, and the checksum over all of them.

A record is one row of the table `records` (see `schema.py`). Its checksum is CRC32C, seeded with the identity of
the store, over a fixed header (seq, time, stream, kind, and the form and length of id and body), the id and the
body. A changed bit in any field, a field of another type, a row of another store and a row under another number
therefore all fail the check.
"""

from __future__ import annotations

import re
import struct
from enum import IntEnum
from typing import Any, NamedTuple

from millstream._core import crc32c, unpack_body
from millstream._echo import quoted, typed
from millstream.errors import InvalidType, InvalidValue

__all__ = [
    "LONGEST_ID",
    "Draft",
    "Kind",
    "Record",
    "Row",
    "checksum",
    "record_of",
    "row_of",
    "shown_id",
    "stored_id",
]

#: Maximum number of characters of an id.
LONGEST_ID = 128

_HEADER = struct.Struct("<qqIBBIQ")
_NONE, _TEXT, _BYTES = 0, 1, 2
_new = tuple.__new__
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch


class Kind(IntEnum):
    """The kind of a record."""

    EVENT = 1
    LABEL = 2
    LEARN = 3
    EVENTS = 4
    LABELS = 5
    TICK = 6
    ADMIN = 7


_EVENT = int(Kind.EVENT)


class Draft(NamedTuple):
    """A record without its number, which the store assigns.

    `time` is in milliseconds since 1970, `stream` the number of a model or route, `id` the client's or the
    server's id of the event, `body` the content: text is stored as TEXT, bytes as BLOB.
    """

    kind: int
    time: int
    stream: int
    id: str | bytes | None
    body: str | bytes


class Record(NamedTuple):
    """A record of the log. An id that is stored as 16 bytes is given as the text of its UUID, and a packed body of
    an event as its JSON text."""

    seq: int
    kind: int
    time: int
    stream: int
    id: str | None
    body: str | bytes


#: A row of the table: seq, kind, time, stream, id, body, crc.
Row = tuple[int, int, int, int, str | bytes | None, str | bytes, int]


def stored_id(id: str | bytes | None) -> str | bytes | None:
    """The id as it is stored: a lower-case UUID in its usual form as 16 bytes, any other text unchanged."""
    if isinstance(id, str) and len(id) == 36 and _UUID(id):
        return bytes.fromhex(id.replace("-", ""))
    return id


def shown_id(id: str | bytes | None) -> str | None:
    """The id in the form that the client uses."""
    if isinstance(id, bytes):
        digits = id.hex()
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
    return id


def checksum(
    seed: int,
    seq: int,
    kind: int,
    time: int,
    stream: int,
    id: str | bytes | None,
    body: str | bytes,
) -> int:
    """The checksum of a row. Raises `TypeError`, `ValueError` or `struct.error` for fields no row can have."""
    if type(id) is bytes:
        raw_id, form = id, _BYTES
    elif id is None:
        raw_id, form = b"", _NONE
    else:
        raw_id, form = id.encode(), _TEXT  # type: ignore[union-attr]
    if type(body) is str:
        raw_body, form = body.encode(), form | _TEXT << 4
    else:
        raw_body, form = body, form | _BYTES << 4  # type: ignore[assignment]
    header = _HEADER.pack(seq, time, stream, kind, form, len(raw_id), len(raw_body))
    return crc32c(header + raw_id + raw_body, seed)


def row_of(seed: int, seq: int, draft: Draft) -> Row:
    """The row of a draft under a number."""
    kind, time, stream, id, body = draft
    id = stored_id(id)
    try:
        if not 1 <= kind <= 7 or (type(body) is not str and type(body) is not bytes):
            raise ValueError
        if id is not None and (len(id) != 16 if type(id) is bytes else not 1 <= len(id) <= LONGEST_ID):
            raise ValueError
        return seq, int(kind), time, stream, id, body, checksum(seed, seq, kind, time, stream, id, body)
    except (TypeError, ValueError, AttributeError, struct.error):
        raise _complaint(draft) from None


def record_of(row: Any) -> Record:
    """The record of a checked row."""
    seq, kind, time, stream, id, body, _ = row
    if type(id) is bytes:
        id = shown_id(id)
    if kind == _EVENT and type(body) is bytes:
        body = unpack_body(body)
    # The constructor of the named tuple takes twice as long.
    return _new(Record, (seq, kind, time, stream, id, body))


def _complaint(draft: Draft) -> InvalidType | InvalidValue:
    kind, time, stream, id, body = draft
    if not isinstance(kind, int) or not 1 <= kind <= 7:
        return InvalidValue(f"record: kind must be in 1 to 7, got {quoted(kind)}")
    if not isinstance(time, int) or not -(1 << 63) <= time < 1 << 63:
        return InvalidValue(f"record: time must be an int of 64 bits, got {quoted(time)}")
    if not isinstance(stream, int) or not 0 <= stream < 1 << 32:
        return InvalidValue(f"record: stream must be in 0 to {(1 << 32) - 1}, got {quoted(stream)}")
    if isinstance(id, bytes) and len(id) != 16:
        return InvalidValue(f"record: id as bytes must have 16 bytes, got {len(id)}")
    if id is not None and not isinstance(id, (str, bytes)):
        return InvalidType(f"record: id must be a string, got {typed(id)}")
    if isinstance(id, str) and not 1 <= len(id) <= LONGEST_ID:
        return InvalidValue(f"record: id must have 1 to {LONGEST_ID} characters, got {len(id)}")
    if not isinstance(body, (str, bytes)):
        return InvalidType(f"record: body must be a string or bytes, got {typed(body)}")
    return InvalidValue("record: id and body must be text that UTF-8 can encode")
