"""The rows of the labels and errors that a monitor receives."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import Any, Self

__all__ = ["RowCounter"]

#: Maximum number of runs: with scattered labels, each may be a run of its own.
_MOST_RUNS = 10_000


class RowCounter:
    """The row of the next label, and the rows of the errors.

    Not every label produces an error: a model that has learned nothing may have no prediction. A detector counts
    errors, so the index of an error is converted to a row here.
    """

    def __init__(self, labels: int = 0) -> None:
        #: Row of the next label, by default.
        self.next = labels
        #: Number of errors.
        self.judged = labels
        #: Runs of errors in consecutive rows: the index of the first error of each run, and its row.
        self.runs: list[tuple[int, int]] = [(0, 0)] if labels else []

    def judge(self, row: int) -> None:
        """Add an error of this row."""
        first, start = self.runs[-1] if self.runs else (0, -1)
        if not self.runs or start + self.judged - first != row:
            self.runs.append((self.judged, row))
            del self.runs[:-_MOST_RUNS]
        self.judged += 1

    def row_of(self, error: int) -> int:
        """The row of an error, counted from 0."""
        at = max(bisect_right(self.runs, error, key=lambda run: run[0]) - 1, 0)
        first, row = self.runs[at]
        return max(row + error - first, 0)

    def mark(self) -> tuple[int, int, list[tuple[int, int]]]:
        """The state that `go_back` needs."""
        return self.next, self.judged, self.runs[:1]

    def go_back(self, mark: tuple[int, int, list[tuple[int, int]]]) -> None:
        """Undo one label, to the state of this mark."""
        self.next, self.judged, oldest = mark
        if self.runs and self.runs[-1][0] >= self.judged:
            self.runs.pop()
        if self.runs[:1] != oldest:
            # The newest run had displaced it.
            self.runs[:0] = oldest

    def to_data(self) -> dict[str, Any]:
        """The counter as plain data."""
        return {"next": self.next, "judged": self.judged, "runs": self.runs}

    @classmethod
    def from_data(cls, data: dict[str, Any], labels: int) -> Self:
        """The counter that `to_data` described; ValueError for invalid data."""
        counter = cls()
        counter.next, counter.judged = int(data["next"]), int(data["judged"])
        counter.runs = [(int(first), int(row)) for first, row in data["runs"]][-_MOST_RUNS:]
        firsts = [first for first, _ in counter.runs]
        ordered = all(before < after for before, after in pairwise(firsts))
        within = all(0 <= first < counter.judged and row >= 0 for first, row in counter.runs)
        if not (counter.next >= 0 and 0 <= counter.judged <= labels and ordered and within):
            raise ValueError("places")
        if counter.judged and not counter.runs:
            raise ValueError("places")
        return counter
