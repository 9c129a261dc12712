"""Sparse rows, so that readers do not need SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from millstream._core import ParsedRows

__all__ = ["Sparse", "parsed", "unseen", "with_products"]

_ARRAYS = ("starts", "indices", "values")


@dataclass(frozen=True)
class Sparse:
    """Sparse rows in the layout of SciPy's `csr_matrix`.

    Row i has `values[starts[i]:starts[i + 1]]` in the columns `indices[starts[i]:starts[i + 1]]`. Do not write to
    the arrays while another thread learns them.
    """

    starts: Any
    indices: Any
    values: Any
    width: int

    def __getattr__(self, name: str) -> Any:
        # Called only for missing attributes. Another thread may be creating the arrays at the same time.
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

    def _of(self, rows: ParsedRows) -> Sparse:
        made = parsed(rows, self.width)
        if "feature_names" in self.__dict__:
            object.__setattr__(made, "feature_names", self.__dict__["feature_names"])
        return made

    def cut(self, start: int, stop: int) -> Sparse:
        """The rows from `start` to `stop`."""
        if (rows := with_products(self)) is not None:
            return self._of(rows.take(list(range(start, stop))))
        begin, end = int(self.starts[start]), int(self.starts[stop])
        starts = self.starts[start : stop + 1] - self.starts[start]
        return Sparse(starts, self.indices[begin:end], self.values[begin:end], self.width)

    def take(self, indices: Any) -> Sparse:
        """The rows at `indices`, in that order."""
        if (rows := with_products(self)) is not None:
            return self._of(rows.take(np.arange(len(rows))[indices].tolist()))
        lengths = np.diff(self.starts)[indices]
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(self.starts.dtype)
        # Each entry has the same offset in its old and in its new row.
        shift = np.repeat(self.starts[:-1][indices] - starts[:-1], lengths)
        entries = np.arange(starts[-1]) + shift
        return Sparse(starts, self.indices[entries], self.values[entries], self.width)


def parsed(rows: ParsedRows, width: int) -> Sparse:
    """Rows of a reader, whose arrays are created on first access."""
    made = object.__new__(Sparse)
    object.__setattr__(made, "width", width)
    object.__setattr__(made, "unseen", rows)
    return made


def unseen(X: Sparse) -> ParsedRows | None:
    """The rows of a reader whose arrays were never accessed, so that a model need not check them."""
    found: ParsedRows | None = X.__dict__.get("unseen")
    return found


def with_products(X: Sparse) -> ParsedRows | None:
    """The rows of a reader whose products are made row by row, unless their arrays were accessed."""
    rows = unseen(X)
    return rows if rows is not None and rows.has_products() else None
