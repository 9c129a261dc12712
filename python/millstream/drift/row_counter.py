"""Which row each label is of that a monitor hears, and each error that its detectors are told."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import Any, Self

__all__ = ["Places"]

#: Runs that are kept: with labels of a few rows here and there, each may be a run of its own.
_MOST_RUNS = 10_000


class Places:
    """The row of the next label, and the rows of the errors that were told.

    Not every label brings an error: a model that knows nothing yet has no answer to judge. A detector counts
    errors, so what it says of the n-th one is led back to a row here.
    """

    def __init__(self, labels: int = 0) -> None:
        #: The row of the next label, if nothing else is said.
        self.next = labels
        #: How many errors there were.
        self.judged = labels
        #: Where errors and their rows run side by side: the first error of each run, and its row.
        self.runs: list[tuple[int, int]] = [(0, 0)] if labels else []

    def judge(self, row: int) -> None:
        """There is an error, that of this row."""
        first, place = self.runs[-1] if self.runs else (0, -1)
        if not self.runs or place + self.judged - first != row:
            self.runs.append((self.judged, row))
            del self.runs[:-_MOST_RUNS]
        self.judged += 1

    def row_of(self, error: int) -> int:
        """The row of an error, counted from 0."""
        at = max(bisect_right(self.runs, error, key=lambda run: run[0]) - 1, 0)
        first, row = self.runs[at]
        return max(row + error - first, 0)

    def mark(self) -> tuple[int, int, list[tuple[int, int]]]:
        """What `go_back` needs."""
        return self.next, self.judged, self.runs[:1]

    def go_back(self, mark: tuple[int, int, list[tuple[int, int]]]) -> None:
        """Forget one label, before which there was this mark."""
        self.next, self.judged, oldest = mark
        if self.runs and self.runs[-1][0] >= self.judged:
            self.runs.pop()
        if self.runs[:1] != oldest:
            # The newest run had pushed it out.
            self.runs[:0] = oldest

    def to_data(self) -> dict[str, Any]:
        """As plain data."""
        return {"next": self.next, "judged": self.judged, "runs": self.runs}

    @classmethod
    def from_data(cls, data: dict[str, Any], labels: int) -> Self:
        """What `to_data` gave, with a ValueError for what it never gives."""
        places = cls()
        places.next, places.judged = int(data["next"]), int(data["judged"])
        places.runs = [(int(first), int(row)) for first, row in data["runs"]][-_MOST_RUNS:]
        firsts = [first for first, _ in places.runs]
        ordered = all(before < after for before, after in pairwise(firsts))
        within = all(0 <= first < places.judged and row >= 0 for first, row in places.runs)
        if not (places.next >= 0 and 0 <= places.judged <= labels and ordered and within):
            raise ValueError("places")
        if places.judged and not places.runs:
            raise ValueError("places")
        return places
