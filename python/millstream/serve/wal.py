"""A check of SQLite's write-ahead log, made before SQLite opens it.

SQLite reads the log up to the first frame that does not verify, treats the rest as the remains of an
interrupted transaction, and silently drops it. This is correct after a power failure, but not after damage: the
frames after the damaged one may belong to acknowledged transactions. This check distinguishes the two cases.

With `synchronous=FULL` the last frame of a transaction is synced before the first frame of the next is written,
and the checksum of each frame continues that of the frame before. If a frame after the first bad one continues
the checksum of a frame that ends a transaction, then that transaction was complete and synced, and the log is
damaged in the middle. Otherwise only the last transaction can be affected.

Format and checksum: https://www.sqlite.org/fileformat2.html#the_write_ahead_log. With F the Fibonacci numbers, the
checksum of a sequence of 32-bit words is, modulo 2^32, the sum of word[d] F(d) and the sum of word[d] F(d + 1), d
being the distance from the end, plus a linear term in the checksum before. The sums of all frames are thus
independent of each other, and are computed at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["WalCheck", "check_wal", "wal_pages"]

_HEADER, _FRAME_HEADER = 32, 24
_MAGIC = {0x377F0682: "<u4", 0x377F0683: ">u4"}

#: Frames whose sums are computed at once: 1 MB at the usual page size.
_BLOCK = 256

Words = NDArray[np.uint32]


class WalCheck(NamedTuple):
    """The result of a check.

    Attributes
    ----------
    committed
        Number of frames in complete transactions, which SQLite will use.
    end
        Position of the first byte after them.
    bad
        Position of the first frame that does not verify, or of the end of the file.
    tail
        Number of bytes of an incomplete transaction after `end`.
    damage
        Why the log is damaged; None if it is not.
    """

    committed: int
    end: int
    bad: int
    tail: int
    damage: str | None


def check_wal(data: bytes, page_size: int) -> WalCheck:
    """Check the content of a write-ahead log of a database with this page size."""
    header = np.frombuffer(data[:_HEADER].ljust(_HEADER, b"\0"), ">u4").astype(np.uint32)
    frames = _Frames(data, page_size)
    if len(data) < _HEADER or not _header_verifies(header, page_size):
        damaged = any(frames.verifies_first(header, order) for order in _MAGIC.values())
        why = "the header of the write-ahead log is damaged" if damaged else None
        return WalCheck(0, 0, 0, len(data) if data.strip(b"\0") else 0, why)
    frames.sum_up(_MAGIC[int(header[0])])
    return frames.judge(header)


def wal_pages(data: bytes, page_size: int) -> list[tuple[int, int, bool]]:
    """All page images of the current generation of a log, newest first, for salvage.

    Each has its page number, its position in the file, and whether it lies before the end of the last transaction
    that can be shown to be complete. The remains of a rolled-back transaction may follow.
    """
    frames = _Frames(data, page_size)
    if frames.count == 0:
        return []
    header = np.frombuffer(data[:_HEADER], ">u4").astype(np.uint32)
    order = _MAGIC.get(int(header[0]), "<u4")
    frames.sum_up(order)
    salts = header[4:6] if _header_verifies(header, page_size) else frames.salts[0]
    complete = np.flatnonzero(frames.continuing(header) & frames.commit)
    end = int(complete[-1]) if len(complete) else -1
    current = np.flatnonzero((frames.salts == salts).all(axis=1) | (np.arange(frames.count) <= end))
    place = _HEADER + _FRAME_HEADER
    return [(int(frames.page[i]), place + int(i) * frames.length, bool(i <= end)) for i in current[::-1]]


def _header_verifies(header: Words, page_size: int) -> bool:
    order = _MAGIC.get(int(header[0]))
    if order is None or header[2] != page_size:
        return False
    return bool((_header_sum(header, order) == header[6:8]).all())


def _header_sum(header: Words, order: str) -> Words:
    words = np.frombuffer(header[:6].astype(">u4").tobytes(), order).astype(np.uint32)
    return words @ _weights(len(words))


def _fibonacci(count: int) -> Words:
    numbers = [0, 1]
    while len(numbers) < count:
        numbers.append((numbers[-1] + numbers[-2]) & 0xFFFF_FFFF)
    return np.array(numbers[:count], np.uint32)


def _weights(words: int) -> Words:
    """The weights of the words in both halves of the checksum, as two columns."""
    numbers = _fibonacci(words + 1)
    return np.stack([numbers[:-1][::-1], numbers[1:][::-1]], axis=1)


class _Frames:
    def __init__(self, data: bytes, page_size: int) -> None:
        self.length = _FRAME_HEADER + page_size
        self.size = len(data)
        self.count = max(0, len(data) - _HEADER) // self.length
        raw = np.frombuffer(data, np.uint8, self.count * self.length, min(_HEADER, len(data)))
        self.raw = raw.reshape(self.count, self.length)
        headers = np.ascontiguousarray(self.raw[:, :_FRAME_HEADER]).view(">u4").astype(np.uint32)
        self.page, self.commit = headers[:, 0], headers[:, 1] != 0
        self.salts, self.stored = headers[:, 2:4], headers[:, 4:6]
        words = (8 + page_size) // 4
        self.weights = _weights(words)
        # A seed (a, b) contributes a F(words - 1) + b F(words), and a F(words) + b F(words + 1).
        numbers = _fibonacci(words + 2)[-3:]
        self.carry = np.array([[numbers[0], numbers[1]], [numbers[1], numbers[2]]], np.uint32)
        self.sums: Words = np.zeros((0, 2), np.uint32)

    def sum_up(self, order: str, most: int | None = None) -> None:
        """Compute the checksums of the first frames, without their seeds."""
        count = self.count if most is None else min(most, self.count)
        self.sums = np.zeros((count, 2), np.uint32)
        for start in range(0, count, _BLOCK):
            block = self.raw[start : min(start + _BLOCK, count)]
            covered = np.concatenate([block[:, :8], block[:, _FRAME_HEADER:]], axis=1)
            self.sums[start : start + len(block)] = (
                covered.view(order).astype(np.uint32, copy=False) @ self.weights
            )

    def verifies_first(self, header: Words, order: str) -> bool:
        """Whether the first frame continues a header: the stored checksum of it, or one of its content."""
        if self.count == 0 or self.page[0] == 0:
            return False
        self.sum_up(order, 1)
        seeds = (header[6:8], _header_sum(header, order))
        return any((self.sums[0] + seed @ self.carry == self.stored[0]).all() for seed in seeds)

    def judge(self, header: Words) -> WalCheck:
        current = (self.salts == header[4:6]).all(axis=1)
        expected = self._expected(header)
        continues = current & self.continuing(header)
        wrong = np.flatnonzero(~continues)
        good = int(wrong[0]) if len(wrong) else self.count
        commits = np.flatnonzero(self.commit[:good])
        committed = int(commits[-1]) + 1 if len(commits) else 0
        end = _HEADER + committed * self.length
        bad = _HEADER + good * self.length
        if self._goes_on(good, current, continues, expected):
            return WalCheck(committed, end, bad, self.size - end, "the write-ahead log is damaged in the middle")
        remains = np.flatnonzero(current[committed:])
        last = committed + int(remains[-1]) + 1 if len(remains) else committed
        tail = (last - committed) * self.length
        if last == self.count:
            tail += self.size - _HEADER - self.count * self.length
        return WalCheck(committed, end, min(bad, self.size), tail, None)

    def continuing(self, header: Words) -> NDArray[np.bool_]:
        """Which frames continue the stored checksum of the frame before."""
        agrees: NDArray[np.bool_] = (self._expected(header) == self.stored).all(axis=1)
        found: NDArray[np.bool_] = (self.page != 0) & agrees
        return found

    def _expected(self, header: Words) -> Words:
        seeds = np.concatenate([header[None, 6:8], self.stored[:-1]])[: self.count]
        return (self.sums + seeds @ self.carry).astype(np.uint32, copy=False)

    def _goes_on(
        self, good: int, current: NDArray[np.bool_], continues: NDArray[np.bool_], expected: Words
    ) -> bool:
        """Whether a transaction was begun after the first bad frame."""
        later = np.flatnonzero(continues[good + 1 :]) + good + 1
        if self.commit[later - 1].any():
            return True
        if good + 1 >= self.count or not self.commit[good] or not current[good + 1]:
            return False
        # The damage may be in the stored checksum of the bad frame.
        return bool((self.sums[good + 1] + expected[good] @ self.carry == self.stored[good + 1]).all())
