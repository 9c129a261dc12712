"""Bytes cut into blocks of complete records.

A record ends at a line break that is not inside quotes. A quote opens a field only where the field begins; one in
the middle of a field has no special meaning. Such a block can be parsed independently, in any thread, and its
faults can be located without reading the file from its beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from millstream._core import count_lines
from millstream.errors import InvalidValue
from millstream.stream.owner_thread import owned

__all__ = ["LINES", "Block", "Record", "Rules", "blocks", "check_length", "line_blocks"]

#: A longer quoted field has lost its closing quote.
LONGEST = 1 << 24

#: A longer line is an error: a file without line ends, which may be endless, must not fill the memory.
LONGEST_LINE = 1 << 28


class Block(NamedTuple):
    """Complete records."""

    data: bytes
    #: The number of its first line.
    line: int
    #: Whether the source restarted with it.
    begins: bool = False
    #: Whether a quote may be open at its end.
    doubtful: bool = False


class Record(NamedTuple):
    """One record: its bytes without the line break, and the number of its first line."""

    data: bytes
    line: int
    #: Whether a quote in it is never closed.
    open: bool = False


@dataclass(frozen=True)
class Rules:
    """The rules for the end of a record. Without a quote, every line is a record."""

    quote: bytes | None = None
    delimiter: bytes = b","
    newline: bytes = b"\n"

    @cached_property
    def quoted(self) -> re.Pattern[bytes]:
        """A quoted field; its group is the closing quote, if there is one."""
        quote, delimiter = re.escape(self.quote or b'"'), re.escape(self.delimiter)
        one, rest = b"[^" + quote + b"]*+", quote + quote
        starts = b"(?<![^" + delimiter + b"\\n\\r]" + quote + b")"
        return re.compile(quote + starts + one + b"(?:" + rest + one + b")*+(" + quote + b")?")

    def end(self, data: bytes) -> int:
        """The end of the last complete record; 0 if there is none."""
        end = data.rfind(self.newline) + 1
        if self.quote is None or not end or self.quote not in data:
            return end
        letters = np.frombuffer(data, dtype=np.uint8)
        places = np.flatnonzero(letters == self.quote[0])
        if not self._alternate(letters, places):
            return self._end_by_fields(data)
        # Quotes alternate: a position is quoted if an odd number precedes it.
        while end:
            before = int(np.searchsorted(places, end))
            if before % 2 == 0:
                return end
            end = data.rfind(self.newline, 0, int(places[before - 1])) + 1
        return 0

    def _alternate(self, letters: np.ndarray, places: np.ndarray) -> bool:
        opening = places[::2]
        before = letters[np.maximum(opening - 1, 0)]
        starts = (opening == 0) | (before == self.delimiter[0]) | (before == 10) | (before == 13)
        doubled = np.zeros(len(opening), dtype=bool)
        doubled[1:] = opening[1:] - 1 == places[1::2][: len(opening) - 1]
        return bool((starts | doubled).all())

    def _end_by_fields(self, data: bytes) -> int:
        spans = [match.span() for match in self.quoted.finditer(data)]
        end = len(data)
        for start, stop in reversed(spans):
            found = data.rfind(self.newline, stop, end)
            if found >= 0:
                return found + 1
            end = start
        return data.rfind(self.newline, 0, end) + 1

    def open_at(self, data: bytes) -> int | None:
        """The start of the field whose quote is not closed, if there is one."""
        if self.quote is None or self.quote not in data:
            return None
        last = None
        for match in self.quoted.finditer(data):
            last = match
        return last.start() if last is not None and last[1] is None else None

    def records(self, data: bytes, line: int) -> Iterator[Record]:
        """The records one by one, with their lines; a quote that is never closed ends with its line.

        As in Arrow, a carriage return alone ends a record too. Empty records are not rows.
        """
        letters = np.frombuffer(data, dtype=np.uint8)
        breaks = np.flatnonzero((letters == 10) | (letters == 13))
        lost: list[int] = []
        if self.quote is not None and self.quote in data:
            spans, lost = self._spans(data)
            if len(spans):
                before = np.searchsorted(spans[:, 0], breaks) - 1
                breaks = breaks[(before < 0) | (breaks >= spans[before, 1])]
        start = 0
        for end in [*breaks.tolist(), len(data)]:
            record = data[start:end]
            yield Record(record, line, any(start <= place < end for place in lost))
            line += data.count(self.newline, start, end + 1)
            start = end + 1

    def _spans(self, data: bytes) -> tuple[np.ndarray, list[int]]:
        """The starts and ends of quoted fields, and the starts of unclosed ones."""
        spans: list[tuple[int, int]] = []
        lost: list[int] = []
        start = 0
        while start < len(data):
            following = len(data)
            for match in self.quoted.finditer(data, start):
                if match[1] is None:
                    lost.append(match.start())
                    following = _line_end(data, match.start())
                    break
                spans.append(match.span())
            start = following
        return np.array(spans, dtype=np.int64).reshape(-1, 2), lost


def _line_end(data: bytes, start: int) -> int:
    """The end of the line that contains `start`."""
    found = re.compile(rb"[\r\n]").search(data, start)
    return len(data) if found is None else found.end()


_END: Any = object()

#: Every line is a record.
LINES = Rules()


def blocks(
    pieces: Iterator[bytes | None],
    size: int,
    rules: Rules = LINES,
    *,
    name: str = "stream",
    line: int = 1,
    prompt: bool = False,
) -> Iterator[Block]:
    """Cut pieces into blocks of about `size` bytes or, with `prompt`, yield whole records as soon as they arrive.

    If reading fails, the complete records before the failure come first. `name` is the source, for messages.
    """
    begins = False
    parts: list[bytes] = []
    length = 0
    # An incomplete record is scanned again only when it has doubled, so that a long one is not scanned many times.
    wanted = size
    while True:
        try:
            piece = next(pieces, _END)
        except Exception:
            data = b"".join(parts)
            if end := rules.end(data):
                yield Block(data[:end], line, begins)
            raise
        if piece is _END:
            break
        if piece is None:
            if data := b"".join(parts):
                yield Block(data, line, begins, doubtful=True)
            parts, length, line, begins, wanted = [], 0, 1, True, size
            continue
        parts.append(piece)
        length += len(piece)
        if length < wanted and not prompt:
            continue
        data = b"".join(parts)
        end, doubtful = rules.end(data), False
        if not end and length > LONGEST and (lost := rules.open_at(data)) is not None:
            end, doubtful = data.find(rules.newline, lost) + 1, True
        if end:
            whole, rest = data[:end], data[end:]
            yield Block(whole, line, begins, doubtful)
            line += count_lines(whole, rules.newline[0])
            begins = False
            parts, length, wanted = [rest], len(rest), max(size, 2 * len(rest))
        else:
            check_length(length, f"{name}, line {line}")
            parts, wanted = [data], min(2 * length, LONGEST_LINE + 1)
    if data := b"".join(parts):
        yield Block(data, line, begins, doubtful=True)


def check_length(length: int, place: str) -> None:
    """Refuse a line that is too long."""
    if length > LONGEST_LINE:
        raise InvalidValue(f"{place}: a line must be at most {LONGEST_LINE >> 20} MiB long; is this a text file?")


def line_blocks(
    pieces: Iterator[bytes | None], size: int, name: str = "stream"
) -> Iterator[tuple[list[bytes], bool]]:
    """Blocks of about `size` bytes of whole lines, each with whether it is not the first.

    A block is a list of pieces; only their ends are copied. The first block is one piece, and each is up to twice
    as large as the one before, so that the first is available soon. If reading fails, the complete lines before
    the failure come first. A source that may restart cannot be read like this.
    """
    parts: list[bytes] = []
    length, inside = 0, False
    wanted = 1
    try:
        with owned(pieces):
            for piece in filter(None, pieces):
                length += len(piece)
                end = piece.rfind(b"\n") + 1 if length >= wanted else 0
                if not end:
                    check_length(length, name)
                    parts.append(piece)
                    continue
                parts.append(piece[:end])
                yield parts, inside
                inside = True
                wanted = min(size, 2 * length)
                parts, length = [piece[end:]], len(piece) - end
    except Exception:
        data = b"".join(parts)
        if end := data.rfind(b"\n") + 1:
            yield [data[:end]], inside
        raise
    if any(parts):
        yield parts, inside
