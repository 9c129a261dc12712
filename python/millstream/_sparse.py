"""Sparse rows of our own, so that readers need no SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Sparse"]


@dataclass(frozen=True, slots=True)
class Sparse:
    """Rows that name only what is not zero, as SciPy's `csr_matrix` lays them out.

    Row i has `values[starts[i]:starts[i + 1]]` in the columns `indices[starts[i]:starts[i + 1]]`.

    What a reader gives cannot be written to, because a model takes it without looking through it again. To change
    it, give copies of its arrays.
    """

    starts: Any
    indices: Any
    values: Any
    width: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    def cut(self, start: int, stop: int) -> Sparse:
        """The rows from `start` to `stop`."""
        begin, end = int(self.starts[start]), int(self.starts[stop])
        starts = self.starts[start : stop + 1] - self.starts[start]
        return Sparse(starts, self.indices[begin:end], self.values[begin:end], self.width)

    def take(self, places: Any) -> Sparse:
        """The rows at `places`, in that order."""
        lengths = np.diff(self.starts)[places]
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(self.starts.dtype)
        # Each entry lies as far from the begin of its old row as from that of its new one.
        shift = np.repeat(self.starts[:-1][places] - starts[:-1], lengths)
        entries = np.arange(starts[-1]) + shift
        return Sparse(starts, self.indices[entries], self.values[entries], self.width)
