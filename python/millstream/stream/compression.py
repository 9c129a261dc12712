"""Compressed bytes, detected by their first bytes, whatever the file name.

The decompressors are fed piece by piece, which returns everything before the point where a file was truncated;
reading through a file object would lose the last part.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from millstream.errors import Unreadable

__all__ = ["SUFFIXES", "decompressed"]

#: File extensions of compressed files.
SUFFIXES = (".gz", ".zst", ".bz2", ".xz", ".lz4")

#: Most bytes decompressed at once, since a small file may expand to a large one.
PIECE = 1 << 20

#: The same for Arrow, which loses a piece with an error in it.
SMALL_PIECE = 1 << 14

_STARTS: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bz2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x04\x22\x4d\x18", "lz4"),
)

_MAKERS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(16 + zlib.MAX_WBITS),
    "bz2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
}


def decompressed(pieces: Iterator[bytes | None], name: str) -> Iterator[bytes | None]:
    """The decompressed pieces of a file; those of a file that is not compressed."""
    begun = b""
    for piece in pieces:
        if piece:
            begun += piece
        if len(begun) >= 6 or piece is None:
            break
    how = next((how for start, how in _STARTS if begun.startswith(start)), None)
    whole: Iterator[bytes | None] = chain([begun], pieces) if begun else pieces
    if how is None:
        return whole
    given = (piece for piece in whole if piece is not None)
    return _by_hand(given, name, how) if how in _MAKERS else _by_arrow(given, name, how)


def _by_hand(pieces: Iterator[bytes], name: str, how: str) -> Iterator[bytes]:
    machine = _MAKERS[how]()
    complete = False
    for piece in pieces:
        # Zeros after the end are padding.
        waiting = piece.lstrip(b"\0") if machine.eof else piece
        while waiting or _holds_back(machine):
            if machine.eof:
                # Another member follows: compressed files that were concatenated.
                machine = _MAKERS[how]()
            try:
                plain = machine.decompress(waiting, PIECE)
            except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
                raise Unreadable(f"{name}: damaged {how}: {error}") from None
            complete = machine.eof
            waiting = machine.unused_data.lstrip(b"\0") if complete else getattr(machine, "unconsumed_tail", b"")
            if plain:
                yield plain
    if not complete:
        raise _cut_short(name, how)


def _holds_back(machine: Any) -> bool:
    return not machine.eof and not getattr(machine, "needs_input", True)


class _Joined:
    """Pieces as a file that Arrow can read."""

    closed = False

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces, self.rest = pieces, b""

    def read(self, size: int = -1) -> bytes:
        while not self.rest:
            piece = next(self.pieces, None)
            if piece is None:
                return b""
            self.rest = piece
        given, self.rest = self.rest[:size], self.rest[size:]
        return given

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True


def _by_arrow(pieces: Iterator[bytes], name: str, how: str) -> Iterator[bytes]:
    import pyarrow as arrow

    with arrow.CompressedInputStream(arrow.PythonFile(_Joined(pieces), mode="r"), how) as file:
        while True:
            try:
                plain = file.read(SMALL_PIECE)
            except OSError as error:
                if _is_end(error):
                    raise _cut_short(name, how) from None
                raise Unreadable(f"{name}: damaged {how}: {error}") from None
            if not plain:
                return
            yield plain


def _cut_short(name: str, how: str) -> Unreadable:
    return Unreadable(f"{name}: the {how} file is truncated; the rows before the end were read")


def _is_end(error: OSError) -> bool:
    words = str(error).lower()
    return "truncated" in words or "end of" in words or "incomplete" in words
