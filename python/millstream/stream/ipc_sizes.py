"""The size that an Arrow IPC message will have in memory, read from its headers before anything is decompressed.

A buffer of a compressed record batch begins with its uncompressed length. A message of a few kilobytes may declare
gigabytes, so the lengths are summed first. The headers are FlatBuffers; only the few fields that are needed are
read, and every access is checked, because messages are untrusted. The layout is that of `Message.fbs` and
`Schema.fbs` of the Arrow format, version 5.
"""

from __future__ import annotations

import struct

__all__ = ["END", "body_length", "size_in_memory"]

#: The end of an IPC stream: a continuation mark and a length of 0.
END = b"\xff\xff\xff\xff\0\0\0\0"

_MARK = 0xFFFFFFFF
_DICTIONARY, _RECORDS = 2, 3
_COMPRESSION = 3

#: The most messages of one stream: a schema, dictionaries and record batches.
_MOST_MESSAGES = 100_000


def size_in_memory(data: bytes, limit: int) -> int:
    """Bytes of all buffers after decompression; ValueError if the headers cannot be read.

    Counting stops above `limit`.
    """
    view = memoryview(data)
    total = place = 0
    try:
        for _ in range(_MOST_MESSAGES):
            mark, length = struct.unpack_from("<Ii", view, place)
            if mark != _MARK:
                raise ValueError("no message of the Arrow IPC format at its beginning or after a message")
            if length == 0:
                if place + len(END) != len(view):
                    raise ValueError("bytes after the end of the Arrow IPC stream")
                return total
            if length < 0:
                raise ValueError("a negative length")
            header = view[place + 8 : place + 8 + length]
            if len(header) < length:
                raise ValueError("truncated")
            body = place + 8 + length
            body_length, found = _message(header, view[body:])
            if body_length < 0 or body + body_length > len(view):
                raise ValueError("truncated")
            total += found
            place = body + body_length
            if total > limit:
                return total
    except struct.error:
        # A field lies outside of the data. A stream without its end is also truncated.
        raise ValueError("truncated") from None
    raise ValueError(f"more than {_MOST_MESSAGES} parts")


def body_length(header: bytes) -> tuple[int, int]:
    """The kind of a message (1 schema, 2 dictionary, 3 record batch) and the length of its body."""
    view = memoryview(header)
    table = _offset(view, 0)
    kind, at = _field(view, table, 1), _field(view, table, 3)
    length = _long(view, at) if at else 0
    if length < 0:
        raise ValueError("a negative length")
    return (view[kind] if kind and kind < len(view) else 0), length


def _message(header: memoryview, body: memoryview) -> tuple[int, int]:
    """The length of the body of a message, and the size of its buffers in memory."""
    table = _offset(header, 0)
    kind = _field(header, table, 1)
    body_at = _field(header, table, 3)
    body_length = _long(header, body_at) if body_at else 0
    content = _field(header, table, 2)
    which = header[kind] if kind and kind < len(header) else 0
    if which not in (_DICTIONARY, _RECORDS) or not content:
        return body_length, 0
    batch = _offset(header, content)
    if which == _DICTIONARY:
        inner = _field(header, batch, 1)
        if not inner:
            return body_length, body_length
        batch = _offset(header, inner)
    buffers = _field(header, batch, 2)
    if not buffers or not _field(header, batch, _COMPRESSION):
        return body_length, body_length
    return body_length, _uncompressed(header, _offset(header, buffers), body)


def _uncompressed(header: memoryview, vector: int, body: memoryview) -> int:
    (count,) = struct.unpack_from("<I", header, vector)
    total = 0
    for number in range(count):
        start, length = struct.unpack_from("<qq", header, vector + 4 + 16 * number)
        if start < 0 or length < 0:
            raise ValueError("a negative length")
        if length < 8:
            continue
        # -1: this buffer is not compressed, because it would have become larger.
        declared = _long(body, start)
        if declared < -1:
            raise ValueError("a negative length")
        total += length - 8 if declared == -1 else declared
    return total


def _offset(data: memoryview, place: int) -> int:
    """The target of a relative offset."""
    return int(place + struct.unpack_from("<I", data, place)[0])


def _field(data: memoryview, table: int, number: int) -> int:
    """The place of a field of a table; 0 if it is absent."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    if vtable < 0:
        raise ValueError("truncated")
    (size,) = struct.unpack_from("<H", data, vtable)
    entry = 4 + 2 * number
    if entry + 2 > size:
        return 0
    (offset,) = struct.unpack_from("<H", data, vtable + entry)
    return table + offset if offset else 0


def _long(data: memoryview, place: int) -> int:
    return int(struct.unpack_from("<q", data, place)[0])
