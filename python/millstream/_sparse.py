"""Sparse rows of our own, so that readers need no SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from millstream._core import ParsedRows

__all__ = ["Sparse", "parsed", "unseen"]

_ARRAYS = ("starts", "indices", "values")


@dataclass(frozen=True)
class Sparse:
    """Rows that name only what is not zero, as SciPy's `csr_matrix` lays them out.

    Row i has `values[starts[i]:starts[i + 1]]` in the columns `indices[starts[i]:starts[i + 1]]`. Like any arrays,
    these are not to be written to while another thread learns them.
    """

    starts: Any
    indices: Any
    values: Any
    width: int

    def __getattr__(self, name: str) -> Any:
        # Only what is not there is asked for here. Another thread may just be making it, or have made it.
        rows = unseen(self)
        if rows is not None and name in _ARRAYS:
            for key, array in zip(_ARRAYS, rows.arrays(), strict=True):
                self.__dict__.setdefault(key, array)
            self.__dict__.pop("unseen", None)
        if name in self.__dict__:
            return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def __len__(self) -> int:
        rows = unseen(self)
        return len(self.starts) - 1 if rows is None else len(rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return Sparse, (self.starts, self.indices, self.values, self.width)

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


def parsed(rows: ParsedRows, width: int) -> Sparse:
    """Rows as a reader left them, whose arrays come to be when they are asked for."""
    made = object.__new__(Sparse)
    object.__setattr__(made, "width", width)
    object.__setattr__(made, "unseen", rows)
    return made


def unseen(X: Sparse) -> ParsedRows | None:
    """The rows of a reader whose arrays nobody has asked for: a model need not look through them."""
    found: ParsedRows | None = X.__dict__.get("unseen")
    return found
