"""Numbers for each action of each round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from millstream.errors import InvalidValue

__all__ = ["Ragged"]


class Ragged:
    """Numbers for each action of each round: a list of arrays whose lengths may differ.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import rounds
    >>> numbers = rounds.Ragged(np.array([0.5, 0.5, 1.0]), np.array([2, 1]))
    >>> [array.tolist() for array in numbers]
    [[0.5, 0.5], [1.0]]
    """

    def __init__(self, values: Any, counts: Any) -> None:
        #: All numbers, round after round.
        self.values = np.asarray(values, dtype=np.float64)
        #: The number of actions of each round.
        self.counts = np.asarray(counts, dtype=np.int64)
        self._ends = np.cumsum(self.counts)

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, entry: int) -> Any:
        end = self._ends[entry]
        return self.values[end - self.counts[entry] : end]

    def __iter__(self) -> Iterator[Any]:
        return (self[entry] for entry in range(len(self)))

    def at(self, places: Any) -> Any:
        """The number of one action of each round, given by its index."""
        return self.values[self._ends - self.counts + np.asarray(places)]

    @property
    def matrix(self) -> Any:
        """The numbers as a matrix, if all rounds have equally many actions."""
        if len(self.counts) and (self.counts != self.counts[0]).any():
            raise InvalidValue("rounds: the rounds differ in their number of actions; iterate over them instead")
        return self.values.reshape(len(self.counts), -1)

    def __repr__(self) -> str:
        return f"Ragged({len(self.values)} numbers in {len(self)} rounds)"
