"""Sources of bytes: a file, standard input, an open file, a growing file.

A source yields its bytes in pieces of any size, decompressed, in UTF-8, without a byte order mark. It yields None
where a growing file was truncated or replaced.
"""

from __future__ import annotations

import codecs
import os
import select
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any

from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue, MillstreamError, MissingFile, NotPermitted, Unreadable
from millstream.registry import nearest
from millstream.stream.compression import decompressed
from millstream.stream.owner_thread import Home, owned

__all__ = ["Source"]

#: Bytes read at once.
PIECE = 1 << 18

#: Seconds between checks whether a file has grown.
PAUSE = 0.05

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class Source:
    """A path, `"-"` for standard input, or an open file.

    Parameters
    ----------
    given
        The source.
    encoding
        Text encoding; a byte order mark takes precedence.
    follow
        Whether to wait at the end of the file for more, like `tail -f`.
    idle
        With `follow`, number of seconds without new data after which the stream ends; None for never.
    """

    def __init__(
        self, given: Any, *, encoding: str = "utf-8", follow: bool = False, idle: float | None = None
    ) -> None:
        self.given, self.follow, self.idle = given, follow, idle
        try:
            self.encoding = codecs.lookup(encoding).name
        except (LookupError, TypeError):
            raise InvalidValue(f"stream: there is no encoding {quoted(encoding)}") from None
        if idle is not None and not idle >= 0:
            raise InvalidValue(f"stream: idle must be at least 0 seconds, got {quoted(idle)}")
        self.is_path = isinstance(given, (str, os.PathLike)) and given != "-"
        self.begin: int | None = None
        if self.is_path:
            self.given = os.fspath(given)
            check(self.given)
        elif given != "-":
            if not hasattr(given, "read"):
                raise InvalidType(
                    f"stream: a source must be a path, '-' or an open file, got {type(given).__name__}"
                )
            with suppress(OSError, ValueError, AttributeError):
                self.begin = given.tell() if given.seekable() else None
        self.used = False

    @property
    def name(self) -> str:
        """The name for messages."""
        if self.is_path:
            return str(self.given)
        if self.given == "-":
            return "standard input"
        name = getattr(self.given, "name", None)
        return name if isinstance(name, str) else type(self.given).__name__

    @property
    def once(self) -> bool:
        """Whether it can be read only once."""
        return not self.is_path and self.begin is None

    @property
    def waits(self) -> bool:
        """Whether reading may block on input; it is then done in the thread that Ctrl-C interrupts."""
        return self.follow or not self.is_path

    def pieces(self) -> Generator[bytes | None, None, None]:
        """The bytes from the beginning. The file is opened when the first piece is requested."""
        if self.once and self.used:
            raise InvalidValue(f"{self.name} can be read only once")
        self.used = True
        if self.is_path:
            check(self.given)
            raw = _growing(self.given, self.idle) if self.follow else _file(self.given)
        elif self.given == "-":
            raw = _standard_input(self.idle if self.follow else None)
        else:
            raw = self._open_file()
        with owned(raw):
            yield from _as_utf8(decompressed(raw, self.name), self.encoding, self.name)

    def _open_file(self) -> Iterator[bytes | None]:
        if self.begin is not None:
            self.given.seek(self.begin)
        quiet = time.monotonic()
        while True:
            piece = self.given.read(PIECE)
            if piece:
                quiet = time.monotonic()
                yield piece.encode() if isinstance(piece, str) else bytes(piece)
            elif not self.follow or _is_over(quiet, self.idle):
                return
            else:
                time.sleep(PAUSE)


def check(path: str) -> None:
    """Raise a one-line error if a path cannot be read."""
    place = Path(path)
    try:
        if place.is_dir():
            raise Unreadable(f"{path} is a directory, not a file")
        if place.exists():
            return
        folder = place.parent
        hint = f"; there is no folder {str(folder)!r}"
        if folder.is_dir():
            hint = nearest(place.name, [other.name for other in folder.iterdir()])
    except MillstreamError:
        raise
    except (OSError, ValueError) as error:
        # A name that is too long or contains a NUL, or a folder without permission.
        raise cannot_be_read(path, error) from None
    raise MissingFile(f"there is no file {path!r}{hint}")


def cannot_be_read(path: str, error: Exception) -> Unreadable:
    """The system error of a file, in one line, without its number."""
    words = getattr(error, "strerror", None) or str(error)
    kind = NotPermitted if isinstance(error, PermissionError) else Unreadable
    return kind(f"{quoted(path, 200)} cannot be read: {words[:1].lower()}{words[1:]}")


def _is_over(since: float, idle: float | None) -> bool:
    return idle is not None and time.monotonic() - since >= idle


def _file(path: str) -> Iterator[bytes | None]:
    home = Home()
    with opened(path) as file:
        while piece := _next(file, path):
            yield piece
            home.check()


def opened(path: str) -> IO[bytes]:
    """A file, open for reading."""
    try:
        return Path(path).open("rb", buffering=0)
    except OSError as error:
        raise cannot_be_read(path, error) from None


def _next(file: IO[bytes], path: str) -> bytes:
    try:
        return file.read(PIECE)
    except OSError as error:
        raise cannot_be_read(path, error) from None


def _growing(path: str, idle: float | None) -> Iterator[bytes | None]:
    """A file and the data appended to it. A truncated or replaced file is read from its start."""
    home = Home()
    place = Path(path)
    file = opened(path)
    try:
        quiet = time.monotonic()
        while True:
            home.check()
            if piece := _next(file, path):
                quiet = time.monotonic()
                yield piece
                continue
            if _is_over(quiet, idle):
                return
            # A file that is being replaced may be absent for a moment.
            with suppress(FileNotFoundError):
                there, here = place.stat(), os.fstat(file.fileno())
                if (there.st_ino, there.st_dev) != (here.st_ino, here.st_dev):
                    file.close()
                    file = place.open("rb", buffering=0)
                    yield None
                elif there.st_size < file.tell():
                    file.seek(0)
                    yield None
            time.sleep(PAUSE)
    finally:
        file.close()


def _standard_input(idle: float | None) -> Iterator[bytes | None]:
    file = getattr(sys.stdin, "buffer", sys.stdin)
    read = getattr(file, "read1", file.read)
    while True:
        if idle is not None:
            # Without `select` for this input, the read blocks without a time limit.
            with suppress(OSError, ValueError):
                if not select.select([file], [], [], idle)[0]:
                    return
        piece = read(PIECE)
        if not piece:
            return
        yield piece.encode() if isinstance(piece, str) else piece


def _as_utf8(pieces: Iterator[bytes | None], encoding: str, name: str) -> Generator[bytes | None, None, None]:
    begun = next(pieces, None) or b""
    for mark, found in _MARKS:
        if begun.startswith(mark):
            encoding = found
    if encoding in ("utf-8", "ascii"):
        # The parser, which counts lines, finds invalid UTF-8.
        yield begun.removeprefix(codecs.BOM_UTF8)
        yield from pieces
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    try:
        for piece in chain([begun], pieces):
            if piece is None:
                decoder.reset()
                yield None
                continue
            text = decoder.decode(piece)
            line += text.count("\n")
            yield text.encode()
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError:
        raise InvalidValue(f"{name}, at or after line {line}: not valid {encoding.upper()}") from None
