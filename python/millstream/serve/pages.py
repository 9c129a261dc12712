"""Rows in the pages of an SQLite database, read without SQLite, for salvage.

Every page that may be a table leaf is searched, whether or not a table still points to it. The rows found may be
invalid; the caller verifies their checksums.
Format: https://www.sqlite.org/fileformat2.html#b_tree_pages.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from millstream.serve.disk import Disk
from millstream.serve.wal import wal_pages

__all__ = ["Page", "Pages"]

#: First bytes of pages that cannot be table leaves.
_OTHER_PAGES = {2, 5, 10}

#: Maximum size of content assembled from overflow pages.
_LONGEST = 1 << 30

#: Possible page sizes, and the number of bytes in which rows are counted to find the right one.
_PAGE_SIZES = tuple(1 << power for power in range(9, 17))
_SAMPLE = 4 << 20

_INTEGER_SIZES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


class Page:
    """One version of a page. `trusted` is False for pages of a transaction that may have been rolled back."""

    def __init__(self, data: bytes, start: int, trusted: bool) -> None:
        self.data, self.start, self.trusted = data, start, trusted


class Pages:
    """All versions of all pages of a store, the newest ones first."""

    def __init__(self, main: bytes | mmap.mmap, log: bytes, page_size: int) -> None:
        self.page_size = page_size
        self._newest: dict[int, tuple[bytes | mmap.mmap, int]] = {}
        self._main = main
        self._logged = []
        for number, place, trusted in wal_pages(log, self.page_size):
            self._logged.append(Page(log[place : place + self.page_size], 100 if number == 1 else 0, trusted))
            if trusted:
                self._newest.setdefault(number, (log, place))

    @staticmethod
    def of(disk: Disk, path: Path) -> Pages:
        """The pages of a store, main file and write-ahead log."""
        main = disk.view(path)
        log = disk.read(path.with_name(path.name + "-wal")) or b""
        size = _page_size(main, log)
        if size is None:
            # With a wrong page size, most offsets are inside a page, where no rows are found.
            size = max(_PAGE_SIZES, key=lambda each: sum(1 for _ in Pages(main[:_SAMPLE], b"", each).rows(7)))
        return Pages(main, log, size)

    def close(self) -> None:
        """Release the main file."""
        if isinstance(self._main, mmap.mmap):
            self._main.close()

    def rows(self, columns: int) -> Iterator[tuple[bool, int, list[Any]]]:
        """Rows with this number of columns: whether the page is trusted, the key, and the values."""
        yield from (found for page in self._logged if page.trusted for found in self._rows_of(page, columns))
        size = self.page_size
        for place in range(0, len(self._main), size):
            page = Page(self._main[place : place + size].ljust(size, b"\0"), 0 if place else 100, True)
            yield from self._rows_of(page, columns)
        yield from (found for page in self._logged if not page.trusted for found in self._rows_of(page, columns))

    def _rows_of(self, page: Page, columns: int) -> Iterator[tuple[bool, int, list[Any]]]:
        data, start = page.data, page.start
        if data[start] in _OTHER_PAGES:
            return
        count = int.from_bytes(data[start + 3 : start + 5], "big")
        for number in range(min(count, (len(data) - start - 8) // 2)):
            place = start + 8 + 2 * number
            cell = int.from_bytes(data[place : place + 2], "big")
            for newest in (True, False):
                found = self._row(data, cell, newest, columns)
                if found is None:
                    break
                yield (page.trusted, *found[:2])
                if not found[2]:
                    break

    def _row(self, data: bytes, cell: int, newest: bool, columns: int) -> tuple[int, list[Any], bool] | None:
        """Key and values of a cell, and whether it has overflow pages."""
        try:
            size, place = _varint(data, cell)
            key, place = _varint(data, place)
            if size > _LONGEST:
                return None
            local = _local_size(size, self.page_size)
            payload = data[place : place + local]
            if local < size:
                following = int.from_bytes(data[place + local : place + local + 4], "big")
                payload += self._overflow(following, size - local, newest)
            values = _values(payload, columns)
        except IndexError:
            return None
        return None if values is None else (key, values, local < size)

    def _overflow(self, number: int, size: int, newest: bool) -> bytes:
        parts, left = [], size
        # Each page adds some bytes, so a cycle of pages ends.
        while left > 0:
            if number == 0:
                raise IndexError
            data: bytes | mmap.mmap = self._main
            place = (number - 1) * self.page_size
            if newest and number in self._newest:
                data, place = self._newest[number]
            page = data[place : place + self.page_size]
            if len(page) < self.page_size:
                raise IndexError
            parts.append(page[4 : 4 + left])
            left -= len(parts[-1])
            number = int.from_bytes(page[:4], "big")
        return b"".join(parts)


def _page_size(main: bytes | mmap.mmap, log: bytes) -> int | None:
    """The page size from the main file, or else from the log; None if both are damaged."""
    for size in (int.from_bytes(main[16:18], "big"), int.from_bytes(log[8:12], "big")):
        size = 65536 if size == 1 else size
        if size in _PAGE_SIZES:
            return size
    return None


def _local_size(size: int, page_size: int) -> int:
    """The number of content bytes on the leaf itself."""
    most = page_size - 35
    if size <= most:
        return size
    least = (page_size - 12) * 32 // 255 - 23
    local = least + (size - least) % (page_size - 4)
    return local if local <= most else least


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for _ in range(8):
        byte = data[place]
        place += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place
    value = value << 8 | data[place]
    return value - (1 << 64) if value >> 63 else value, place + 1


def _values(payload: bytes, columns: int) -> list[Any] | None:
    """The values of a row; None if it has a different number of columns or cannot be read."""
    header, place = _varint(payload, 0)
    if not columns < header <= min(len(payload), 9 * columns + 9):
        return None
    kinds = []
    while place < header:
        kind, place = _varint(payload, place)
        kinds.append(kind)
    if len(kinds) != columns or place != header:
        return None
    values: list[Any] = []
    for kind in kinds:
        value, size = _value(payload, place, kind)
        if place + size > len(payload):
            return None
        values.append(value)
        place += size
    return values


def _value(payload: bytes, place: int, kind: int) -> tuple[Any, int]:
    if kind in _INTEGER_SIZES:
        size = _INTEGER_SIZES[kind]
        return int.from_bytes(payload[place : place + size], "big", signed=True), size
    if kind in (8, 9):
        return kind - 8, 0
    if kind < 12:
        # NULL; a store has no floating-point numbers.
        return None, 8 if kind == 7 else 0
    size = (kind - 12) // 2
    raw = payload[place : place + size]
    if kind % 2 == 0:
        return raw, size
    try:
        return raw.decode(), size
    except UnicodeDecodeError:
        return None, size
