"""`--keep`: columns that are copied into the predictions, to join predictions with their rows."""

from __future__ import annotations

from argparse import Namespace
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from millstream._dates import date_of
from millstream.cli.errors import UsageError
from millstream.cli.options import kept_names
from millstream.errors import InvalidValue
from millstream.registry import nearest
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk
from millstream.stream.derived import Derived
from millstream.stream.table import TableStream

__all__ = ["KeyColumns", "with_key_columns"]


class KeyColumns(Derived):
    """A stream without some of its columns, whose values are stored until their rows are predicted.

    `features` are columns that a model has learned: they are copied, and remain features.
    """

    def __init__(self, source: Stream, names: list[str], features: Collection[str] = ()) -> None:
        super().__init__(source)
        self.key_columns = names
        #: The columns that are no features.
        self.removed_columns = [name for name in names if name not in features]
        self._waiting: deque[Any] = deque()

    @property
    def schema(self) -> dict[Any, str]:
        return {name: kind for name, kind in self.source.schema.items() if name not in self.removed_columns}

    def __repr__(self) -> str:
        return repr(self.source)

    def chunks(self) -> Iterator[Chunk]:
        for chunk in self.source.chunks():
            X = chunk.X
            if not hasattr(X, "column_names"):
                raise UsageError("--keep applies to files with named columns")
            taken: dict[str, Any] = {}
            for name in self.key_columns:
                if name in X.column_names:
                    taken[name] = X.column(name)
                    if self._is_date(name, taken[name]):
                        taken[name] = [date_of(seconds) for seconds in taken[name].to_pylist()]
                elif name == self.source.time:
                    taken[name] = chunk.time
                elif name == self.source.target:
                    taken[name] = chunk.y
                else:
                    raise InvalidValue(f"--keep: there is no column {name!r}{nearest(name, X.column_names)}")
            self._waiting.append((taken, len(chunk)))
            features = X.drop_columns([name for name in self.removed_columns if name in X.column_names])
            rows = features if features.column_names else [{} for _ in range(len(chunk))]
            yield replace(chunk, X=rows)

    def _is_date(self, name: str, column: Any) -> bool:
        """Whether a column has dates, which a reader turned into seconds since 1970."""
        import pyarrow

        reader = _reader(self.source)
        if not isinstance(reader, TableStream) or not pyarrow.types.is_floating(column.type):
            return False
        return reader.schema.get(name) == "time"

    def take_rows(self, rows: int) -> dict[str, Any]:
        """The values of the next rows, in the order of the stream."""
        parts: dict[str, list[Any]] = {name: [] for name in self.key_columns}
        while rows > 0:
            columns, size = self._waiting.popleft()
            count = min(size, rows)
            for name, column in columns.items():
                parts[name].extend(_listed(column[:count]))
            if count < size:
                rest = {name: column[count:] for name, column in columns.items()}
                self._waiting.appendleft((rest, size - count))
            rows -= count
        return dict(parts)


def _reader(stream: Any) -> Any:
    """The stream that others are derived from."""
    while isinstance(stream, Derived):
        stream = stream.source
    return stream


def _listed(column: Any) -> list[Any]:
    found = column.to_pylist() if hasattr(column, "to_pylist") else column
    return list(found.tolist() if hasattr(found, "tolist") else found)


def with_key_columns(stream: Stream, given: Namespace, features: Collection[str] = ()) -> Stream:
    """The stream without the columns of --keep, if there are any, but with those among `features`."""
    names = kept_names(given)
    if not names:
        return stream
    clash = next((name for name in names if name in ("row", "truth", "prediction", "probability", "score")), None)
    if clash is not None:
        raise UsageError(f"--keep: the predictions have a column {clash!r} already")
    return KeyColumns(stream, list(dict.fromkeys(names)), features)
