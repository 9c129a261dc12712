"""Matrices and frames in memory, cut into chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Unpack

import numpy as np
import pyarrow as arrow

from millstream import _frames
from millstream._echo import quoted
from millstream._sparse import Sparse
from millstream.errors import InvalidType, InvalidValue
from millstream.stream.base import ROWS, Stream
from millstream.stream.chunk import Chunk
from millstream.stream.options import TableOptions, check_options
from millstream.stream.table import TableStream
from millstream.stream.values import Columns

__all__ = ["Frame", "Matrix", "from_arrow", "from_numpy", "from_pandas", "from_polars"]


class Matrix(Stream):
    """A matrix; created by `from_numpy`."""

    def __init__(self, X: Any, y: Any, w: Any, time: Any, label_time: Any, names: Sequence[str] | None) -> None:
        self.whole = Chunk(_rows(X), *(_beside(column) for column in (y, w, time, label_time)))
        self.names = None if names is None else list(names)
        if self.names is not None:
            width = self.whole.X.width if isinstance(self.whole.X, Sparse) else self.whole.X.shape[1]
            if isinstance(self.whole.X, Sparse) or len(self.names) != width:
                raise InvalidValue(
                    f"stream.from_numpy: names must have one entry for each of {width} columns of a dense matrix"
                )
        for what in ("y", "w", "time", "label_time"):
            if getattr(self.whole, what) is not None:
                setattr(self, {"y": "target", "w": "weight"}.get(what, what), what)

    def chunks(self) -> Iterator[Chunk]:
        for start in range(0, len(self.whole), ROWS):
            chunk = self.whole.cut(start, min(start + ROWS, len(self.whole)))
            if self.names is not None:
                columns = [chunk.X[:, place] for place in range(len(self.names))]
                table = arrow.table([arrow.array(column) for column in columns], names=self.names)
                chunk = Chunk(table, chunk.y, chunk.w, chunk.time, chunk.label_time)
            yield chunk

    @property
    def n_samples(self) -> int:
        return len(self.whole)

    def __repr__(self) -> str:
        X = self.whole.X
        width = X.width if isinstance(X, Sparse) else X.shape[1]
        return f"Matrix({len(X)} × {width}{', sparse' * isinstance(X, Sparse)})"


def _rows(X: Any) -> Any:
    if hasattr(X, "tocsr"):
        X = X.tocsr()
        return Sparse(X.indptr, X.indices, X.data, int(X.shape[1]))
    if isinstance(X, Sparse):
        return X
    try:
        X = np.asarray(_frames.filled(X))
    except ValueError:
        raise InvalidValue("stream.from_numpy: rows of different lengths: a matrix must be rectangular") from None
    if X.ndim != 2:
        raise InvalidValue(f"stream.from_numpy: X must be a matrix of rows and columns, got {X.ndim} dimensions")
    return X


def _beside(column: Any) -> Any:
    if column is None or isinstance(column, list):
        return column
    column = np.asarray(_frames.filled(column))
    return column[:, 0] if column.ndim == 2 and column.shape[1] == 1 else column


class Frame(TableStream):
    """A frame; created by `from_pandas`, `from_polars` and `from_arrow`."""

    must_have_rows = False

    def __init__(
        self,
        what: str,
        data: Any,
        cut: Callable[[Any], Iterator[arrow.Table]],
        rows: int | None,
        target: Any,
        options: TableOptions,
    ) -> None:
        column = None
        if target is not None and not isinstance(target, str):
            column = np.asarray(target)
            target = str(getattr(target, "name", None) or "y")
            if rows is not None and len(column) != rows:
                raise InvalidValue(f"{what}: the target has {len(column)} values for {rows} rows")
        super().__init__(target=target, **options)
        self.what, self.data, self.cut, self.rows, self.column = what, data, cut, rows, column

    @property
    def source(self) -> str:
        return self.what

    def tables(self) -> Iterator[arrow.Table]:
        if not self.repeatable:
            if self.data is None:
                raise InvalidValue(
                    f"{self.source}: this can be read only once; pass a function that returns a new one"
                )
            data, self.data = self.data, None
        else:
            data = self.data() if callable(self.data) and not hasattr(self.data, "schema") else self.data
        start = 0
        for table in self.cut(data):
            if self.column is not None:
                values = arrow.array(self.column[start : start + table.num_rows], from_pandas=True)
                if self.target in table.column_names:
                    raise InvalidValue(
                        f"{self.source}: duplicate column {quoted(self.target)}: the target has this name too"
                    )
                table = table.append_column(self.target, values)
            start += table.num_rows
            yield table

    @property
    def n_samples(self) -> int | None:
        return self.rows if self.on_error == "raise" else None

    def __repr__(self) -> str:
        rows = f"{self.rows} rows" if self.rows is not None else ""
        words = ", ".join(word for word in (rows, self.target and f"target={self.target!r}") if word)
        return f"{self.what}({words})"


def _cut_pandas(frame: Any) -> Iterator[arrow.Table]:
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise InvalidValue(f"stream.from_pandas: duplicate column {quoted(twice)}")
    for start in range(0, max(len(frame), 1), ROWS):
        part = frame.iloc[start : start + ROWS]
        try:
            table = arrow.Table.from_pandas(part, preserve_index=False, nthreads=1)
        except (arrow.ArrowException, OverflowError):
            table = _pandas_by_columns(part)
        yield table.replace_schema_metadata()


def _pandas_by_columns(part: Any) -> arrow.Table:
    """Columns of Python objects that Arrow cannot convert."""
    arrays = []
    for place in range(part.shape[1]):
        values = part.iloc[:, place]
        try:
            arrays.append(arrow.Array.from_pandas(values))
        except (arrow.ArrowException, OverflowError):
            objects = [None if value != value else value for value in values]
            arrays.append(Columns().table(["column"], [objects])[0].column(0))
    return arrow.table(arrays, names=[str(name) for name in part.columns])


def _cut_polars(frame: Any) -> Iterator[arrow.Table]:
    if hasattr(frame, "collect"):
        if hasattr(frame, "collect_batches"):
            for batch in frame.collect_batches(chunk_size=ROWS, maintain_order=True):
                yield batch.to_arrow()
            return
        frame = frame.collect()
    for start in range(0, max(frame.height, 1), ROWS):
        yield frame.slice(start, ROWS).to_arrow()


def _cut_arrow(data: Any) -> Iterator[arrow.Table]:
    if hasattr(data, "to_batches") and not hasattr(data, "num_rows"):
        # A data set, which reads its files while it is iterated.
        batches: Any = data.to_batches(batch_size=ROWS)
    elif isinstance(data, arrow.Table):
        batches = data.to_batches(max_chunksize=ROWS) or [data]
    elif isinstance(data, (arrow.RecordBatch, arrow.RecordBatchReader)):
        batches = [data] if isinstance(data, arrow.RecordBatch) else data
    else:
        batches = arrow.RecordBatchReader.from_stream(data)
    for batch in batches:
        table = batch if isinstance(batch, arrow.Table) else arrow.Table.from_batches([batch])
        for start in range(0, max(table.num_rows, 1), ROWS):
            yield table.slice(start, ROWS)


def from_numpy(
    X: Any,
    y: Any = None,
    w: Any = None,
    *,
    time: Any = None,
    label_time: Any = None,
    names: Sequence[str] | None = None,
) -> Matrix:
    """A stream of the rows of a NumPy matrix or of a SciPy sparse matrix.

    Parameters
    ----------
    X
        A matrix with one row per example. It is not copied.
    y
        Targets, one per row.
    w
        Sample weights.
    time, label_time
        Event times and label arrival times: dates or numbers.
    names
        Column names; 0, 1, 2, … by default.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import stream
    >>> list(stream.from_numpy(np.array([[1.0, 2.0], [3.0, 4.0]]), [True, False], names=["a", "b"]))
    [({'a': 1.0, 'b': 2.0}, True), ({'a': 3.0, 'b': 4.0}, False)]
    """
    return Matrix(X, y, w, time, label_time, names)


def from_pandas(frame: Any, target: Any = None, **options: Unpack[TableOptions]) -> Frame:
    """A stream of the rows of a pandas frame; its index is left out.

    Parameters
    ----------
    frame
        A `pandas.DataFrame`.
    target
        The column to predict, or a series or an array of targets that is not in the frame.
    **options
        `weight`, `time`, `label_time`, `drop`, `types`, `on_error`, as for `stream.TableStream`.

    Examples
    --------
    >>> import pandas
    >>> from millstream import stream
    >>> frame = pandas.DataFrame({"load": [0.5, None], "hot": [1, 0]})
    >>> list(stream.from_pandas(frame, target="hot"))
    [({'load': 0.5}, 1), ({'load': nan}, 0)]
    """
    check_options(from_pandas, options)
    if not hasattr(frame, "iloc") or not hasattr(frame, "columns"):
        raise InvalidType(f"stream.from_pandas: frame must be a pandas frame, got {type(frame).__name__}")
    return Frame("from_pandas", frame, _cut_pandas, len(frame), target, options)


def from_polars(frame: Any, target: Any = None, **options: Unpack[TableOptions]) -> Frame:
    """A stream of the rows of a polars frame; a lazy frame is computed while it is read.

    Parameters
    ----------
    frame
        A `polars.DataFrame` or `polars.LazyFrame`.
    target
        The column to predict, or a series or an array of targets that is not in the frame.
    **options
        `weight`, `time`, `label_time`, `drop`, `types`, `on_error`, as for `stream.TableStream`.

    Examples
    --------
    >>> import polars
    >>> from millstream import stream
    >>> frame = polars.DataFrame({"load": [0.5, 0.25], "hot": ["yes", "no"]})
    >>> list(stream.from_polars(frame, target="hot"))
    [({'load': 0.5}, 'yes'), ({'load': 0.25}, 'no')]
    """
    check_options(from_polars, options)
    if not hasattr(frame, "get_columns") and not hasattr(frame, "collect"):
        raise InvalidType(f"stream.from_polars: frame must be a polars frame, got {type(frame).__name__}")
    return Frame("from_polars", frame, _cut_polars, getattr(frame, "height", None), target, options)


def from_arrow(data: Any, target: Any = None, **options: Unpack[TableOptions]) -> Frame:
    """A stream of the rows of an Arrow table, data set or reader, or of any object that yields Arrow batches.

    Parameters
    ----------
    data
        A `pyarrow.Table`, `RecordBatch` or `dataset.Dataset`; a `RecordBatchReader`, which can be read only once;
        anything with `__arrow_c_stream__`, such as a DuckDB result; or a function that returns one of these.
    target
        The column to predict, or an array of targets that is not in the table.
    **options
        `weight`, `time`, `label_time`, `drop`, `types`, `on_error`, as for `stream.TableStream`.

    Examples
    --------
    >>> import pyarrow
    >>> from millstream import stream
    >>> table = pyarrow.table({"load": [0.5, 0.25], "hot": ["yes", "no"]})
    >>> list(stream.from_arrow(table, target="hot"))
    [({'load': 0.5}, 'yes'), ({'load': 0.25}, 'no')]
    """
    check_options(from_arrow, options)
    known = hasattr(data, "to_batches") or isinstance(data, (arrow.RecordBatch, arrow.RecordBatchReader))
    if not known and not hasattr(data, "__arrow_c_stream__") and not callable(data):
        raise InvalidType(
            f"stream.from_arrow: data must be an Arrow table or a reader of batches, got {type(data).__name__}"
        )
    rows = getattr(data, "num_rows", None)
    frame = Frame("from_arrow", data, _cut_arrow, rows if isinstance(rows, int) else None, target, options)
    if isinstance(data, arrow.RecordBatchReader):
        frame.repeatable = False
    return frame
