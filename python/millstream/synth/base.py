"""The base class of generators."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from millstream import _core
from millstream._echo import quoted
from millstream._part import Config
from millstream.errors import InvalidType, InvalidValue
from millstream.stream.base import ROWS, Stream
from millstream.stream.chunk import Chunk

__all__ = ["Generator"]


class Generator(Config, Stream):
    """An endless stream of examples with a known truth, drawn in native code.

    Iteration yields the same examples `(x, y)` each time. Chunks hold a NumPy matrix, whose columns are
    named 0, 1, 2, …, or an Arrow table where features are nominal. A class is an int, counted from 0.
    """

    target = "y"
    endless = True
    # Examples are drawn without the GIL, so a thread can draw while another learns.
    reads_ahead = True

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        # Built once for its schema; errors that only the builder detects, such as mismatched streams, are raised
        # here.
        made = self._start()
        self._features = made.features
        self._classes = made.classes

    def _start(self) -> _core.Generator:
        return _core.Generator(json.dumps(self._description))

    @property
    def parameters(self) -> dict[str, Any]:
        return {name: tuple(v) if isinstance(v, list) else v for name, v in super().parameters.items()}

    @property
    def features(self) -> list[Any]:
        """The names of the features."""
        return [name for name, _ in self._features]

    @property
    def nominal(self) -> dict[Any, list[str]]:
        """The values of each nominal feature."""
        return {name: list(values) for name, values in self._features if values is not None}

    @property
    def classes(self) -> list[int] | None:
        """The classes; None if the target is a number."""
        return list(range(self._classes)) if self._classes else None

    def chunks(self, rows: int = ROWS) -> Iterator[Chunk]:
        """The examples from the beginning, `rows` at a time, endlessly."""
        try:
            rows = operator.index(rows)
        except TypeError:
            raise InvalidType(f"{self.name}: rows must be an integer, got {quoted(rows)}") from None
        if rows < 1:
            raise InvalidValue(f"{self.name}: rows must be >= 1, got {rows}")
        return self._drawn(rows)

    def _drawn(self, rows: int) -> Iterator[Chunk]:
        source = self._start()
        while True:
            if self.nominal:
                columns, y = source.columns(rows)
                yield Chunk(self._table(columns), y)
            else:
                yield Chunk(*source.matrix(rows))

    def _table(self, columns: list[Any]) -> Any:
        import pyarrow

        table = {}
        for (name, values), column in zip(self._features, columns, strict=True):
            if values is None:
                table[str(name)] = pyarrow.array(column, from_pandas=True)
            else:
                codes = pyarrow.array(column, mask=column < 0)
                table[str(name)] = pyarrow.DictionaryArray.from_arrays(codes, pyarrow.array(values))
        return pyarrow.table(table)

    def __iter__(self) -> Iterator[tuple[dict[Any, Any], Any]]:
        # Small chunks first, so that the first ten examples do not wait for thousands.
        source, rows = self._start(), 16
        while True:
            columns, y = source.columns(rows)
            lists = [_values(column, values) for (_, values), column in zip(self._features, columns, strict=True)]
            names = self.features
            for row, target in zip(zip(*lists, strict=True), y.tolist(), strict=True):
                yield dict(zip(names, row, strict=True)), target
            rows = min(2 * rows, 1024)

    def rule(self, x: Mapping[Any, Any]) -> Any:
        """The target of `x` by the rule at the start of the stream, without noise.

        Only if the target is a function of the features; RandomRBF, LED and Waveform choose the class first.

        >>> from millstream import synth
        >>> synth.SEA(variant=0).rule({0: 4.5, 1: 4.5, 2: 0.0})
        1
        """
        row = []
        for name, values in self._features:
            if name not in x:
                raise InvalidValue(f"{self.name}: rule() must have the feature {quoted(name)}")
            value = x[name]
            if values is not None and value not in values:
                raise InvalidValue(f"{self.name}: {name} must be one of {', '.join(values)}, got {quoted(value)}")
            row.append(float(value) if values is None else float(values.index(value)))
        ruled = self._start().rule(np.array([row]))[0]
        return int(ruled) if self._classes else float(ruled)


def _values(column: Any, values: list[str] | None) -> list[Any]:
    """A column as a list; None is missing."""
    if values is not None:
        return [None if code < 0 else values[code] for code in column.tolist()]
    if np.isnan(column).any():
        return [None if number != number else number for number in column.tolist()]
    return list(column.tolist())
