"""A stream split by a key: one stream for each device, customer or airport."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from millstream import _frames
from millstream._echo import quoted, typed
from millstream.errors import InvalidType, InvalidValue, UnknownName
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk, as_list
from millstream.stream.derived import Derived, shown

__all__ = ["KeyStream", "Split"]

Key = str | int | Callable[[dict[Any, Any]], Any]


class Split(Mapping[Any, Stream]):
    """The result of `stream.split(key)`: a mapping from each value of the key to the stream of its examples.

    `chunks()` yields pairs `(value, chunk)` in one pass over the source; use it to train one model per device. As
    a mapping it holds no examples: the values are found by reading the source once, and each stream reads the
    source and selects its own examples.
    """

    def __init__(self, source: Stream, key: Key) -> None:
        if not callable(key) and not isinstance(key, (str, int)):
            raise InvalidType(f"stream.split: key must be a column name or a function of x, got {typed(key)}")
        self.source, self.key = source, key
        self._values: dict[Any, None] = {}
        self._complete = False

    def chunks(self) -> Iterator[tuple[Any, Chunk]]:
        """Pairs of a value of the key and some of its examples, in one pass.

        The examples of one value keep their order; across values, only the order of chunks is kept.
        """
        for chunk in self.source.chunks():
            values, rest = self._taken(chunk)
            codes, values = _codes(values)
            order = np.argsort(codes, kind="stable")
            ends = np.searchsorted(codes[order], np.arange(len(values) + 1))
            for place, value in enumerate(values):
                yield value, rest.take(order[ends[place] : ends[place + 1]])

    def of(self, value: Any) -> Iterator[Chunk]:
        """The chunks of one value."""
        for chunk in self.source.chunks():
            values, rest = self._taken(chunk)
            indices = np.array([row for row, other in enumerate(values) if _same(other, value)], dtype=np.int64)
            if len(indices) == len(rest):
                yield rest
            elif len(indices):
                yield rest.take(indices)

    def _taken(self, chunk: Chunk) -> tuple[list[Any], Chunk]:
        """The key of each row, and the chunk without the key column, which would be constant."""
        key: Any = self.key
        X = chunk.X
        if callable(key):
            return [key(x) for x in _frames.dicts(X)], chunk
        for name, column in ((self.source.target, chunk.y), (self.source.time, chunk.time)):
            if key == name and column is not None:
                return as_list(column), chunk
        if isinstance(X, list):
            kept = [{name: value for name, value in x.items() if name != key} for x in X]
            return [x.get(key) for x in X], replace(chunk, X=kept)
        if isinstance(X, np.ndarray) or hasattr(X, "column_names"):
            names = list(range(X.shape[1])) if isinstance(X, np.ndarray) else X.column_names
            if key in names:
                if isinstance(X, np.ndarray):
                    return as_list(X[:, key]), replace(chunk, X=np.delete(X, key, axis=1))
                return as_list(X.column(key)), replace(chunk, X=X.drop_columns([key]))
            raise UnknownName(f"stream.split: there is no column {quoted(key)}{_nearest(key, names)}")
        rows = list(_frames.dicts(X))
        kept = [{name: value for name, value in x.items() if name != key} for x in rows]
        return [x.get(key) for x in rows], replace(chunk, X=kept)

    def _scan(self) -> Iterator[Any]:
        """The values of the key as they appear."""
        yield from list(self._values)
        if self._complete:
            return
        if not self.source.repeatable:
            raise InvalidValue(
                f"stream.split: {self.source!r} can be read only once, so its keys are not known in advance; "
                "read its examples with chunks()"
            )
        for chunk in self.source.chunks():
            for value in _codes(self._taken(chunk)[0])[1]:
                if value not in self._values:
                    self._values[value] = None
                    yield value
        self._complete = True

    def __iter__(self) -> Iterator[Any]:
        return self._scan()

    def __len__(self) -> int:
        return sum(1 for _ in self._scan())

    def __contains__(self, value: object) -> bool:
        return any(_same(other, value) for other in self._scan())

    def __getitem__(self, value: Any) -> Stream:
        # On an endless stream the search ends where the value is found.
        if value not in self:
            near = _nearest(value, self._values)
            raise UnknownName(f"stream.split: no example has {shown(self.key)} {quoted(value)}{near}")
        return KeyStream(self, value)

    def __repr__(self) -> str:
        return f"{self.source!r}.split({shown(self.key)})"


class KeyStream(Derived):
    """The examples with one value of the key."""

    keeps_features = False

    def __init__(self, split: Split, value: Any) -> None:
        super().__init__(split.source)
        self.split_by, self.value = split, value

    def chunks(self) -> Iterator[Chunk]:
        return self.split_by.of(self.value)

    @property
    def n_samples(self) -> int | None:
        return None

    def __repr__(self) -> str:
        return f"{self.split_by!r}[{self.value!r}]"


def _nearest(name: Any, names: Iterable[Any]) -> str:
    near = difflib.get_close_matches(str(name), map(str, names), 1)
    return f", did you mean {quoted(near[0])}?" if near else ""


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) or (one != one and other != other)


def _codes(values: list[Any]) -> tuple[Any, list[Any]]:
    """A number for each distinct value in the order of appearance, and the values. NaN is a missing value."""
    numbers: dict[Any, int] = {}
    codes = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        codes[row] = numbers.setdefault(None if value != value else value, len(numbers))
    return codes, list(numbers)
