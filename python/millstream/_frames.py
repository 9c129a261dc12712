"""Conversion of matrices and frames to columns that the core can borrow, and back.

This runs once per batch. It imports only libraries that the caller has imported: a pandas frame implies that
pandas is loaded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, repeat
from typing import Any

import numpy as np

from millstream._echo import quoted, typed
from millstream._sparse import Sparse, unseen
from millstream.errors import InvalidType, InvalidValue

_PLAIN = (float, int, str, type(None))


def plain_dict(x: Any, times: Sequence[Any] = ()) -> dict[Any, Any]:
    """A dict whose values need no Python code to be read; the features `times` may be dates."""
    if not isinstance(x, Mapping):
        raise InvalidType(f"an example must be a dict of features, got {type(x).__name__}")
    if times:
        from millstream._dates import row_in_seconds

        x = row_in_seconds(x, times)
    return {_name(key): _plain(key, value) for key, value in x.items()}


def _plain(key: Any, value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (bool, np.bool_)):
        return float(value)
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    numeric = hasattr(value, "__float__") or hasattr(value, "__index__")
    if not numeric or isinstance(value, (np.ndarray, np.complexfloating, np.datetime64, np.timedelta64)):
        raise InvalidType(f"feature {quoted(key)}: a value must be a number, a string or None, got {typed(value)}")
    try:
        return float(value)
    except OverflowError:
        raise InvalidValue(f"feature {quoted(key)}: a number must fit in a float, got {typed(value)}") from None
    except (TypeError, ValueError):
        raise InvalidType(
            f"feature {quoted(key)}: a value must be a number, a string or None, got {typed(value)}"
        ) from None


def _library(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


def take_apart(X: Any) -> tuple[Any, ...]:
    """The input of `borrowed_rows.rs`: a matrix, columns, a sparse matrix; or the dicts themselves."""
    if isinstance(X, np.ndarray):
        return _matrix(filled(X))
    library = _library(X)
    if library == "pandas" and hasattr(X, "columns"):
        columns = [_pandas_column(name, X.iloc[:, place]) for place, name in enumerate(X.columns)]
        return ("columns", columns, len(X))
    if library == "polars" and hasattr(X, "get_columns"):
        return ("columns", [_polars_column(series) for series in X.get_columns()], X.height)
    if library == "pyarrow" and hasattr(X, "column_names"):
        return ("columns", [_arrow_column(n, X.column(i)) for i, n in enumerate(X.column_names)], X.num_rows)
    if library == "scipy" and hasattr(X, "tocsr"):
        return _sparse(X)
    if isinstance(X, Sparse):
        return _own_sparse(X)
    if hasattr(X, "label_time") and hasattr(X, "beside"):
        raise InvalidType(
            "rows must be a matrix, a frame or an iterable of dicts, got a chunk: pass chunk.X and chunk.y"
        )
    if isinstance(X, (Mapping, str, bytes)) or not isinstance(X, Iterable):
        raise InvalidType(f"rows must be a matrix, a frame or an iterable of dicts, got {type(X).__name__}")
    if hasattr(X, "chunks") and hasattr(X, "has_label_time"):
        raise InvalidType(
            "rows must be a matrix, a frame or an iterable of dicts, got a stream: pass it to "
            "evaluate.prequential(model, stream), or loop `for chunk in stream.chunks()` with chunk.X and chunk.y"
        )
    if isinstance(X, Sequence) and X and isinstance(X[0], (list, tuple, np.ndarray)):
        try:
            array = np.asarray(X)
        except ValueError:
            raise InvalidValue("rows of different lengths: a batch must be rectangular") from None
        return _matrix(array)
    return ("dicts", X)


def filled(array: Any) -> Any:
    """An array in which masked values are missing."""
    if not isinstance(array, np.ma.MaskedArray):
        return array
    if array.dtype.kind in "fiub":
        return np.where(np.ma.getmaskarray(array), np.nan, array.data.astype(np.float64))
    return np.where(np.ma.getmaskarray(array), None, array.data)  # type: ignore[call-overload]


def _holds_objects(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind == "O"


def object_rows(X: Any) -> list[Any] | None:
    """The rows as dicts where columns hold Python objects, which may be good in one row and bad in the next."""
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "O":
        return [dict(enumerate(row)) for row in filled(X).tolist()]
    if _library(X) != "pandas" or not any(map(_holds_objects, X.dtypes)):
        return None
    series = [(name, X.iloc[:, place]) for place, name in enumerate(X.columns)]
    columns = [
        (_name(name), column.to_numpy(), None) if _holds_objects(column.dtype) else _pandas_column(name, column)
        for name, column in series
    ]
    return list(rows_of(("columns", columns, len(X))))


def _matrix(X: Any) -> tuple[Any, ...]:
    if X.ndim != 2:
        raise InvalidValue(
            f"a batch must be a matrix of rows and columns, got {X.ndim} dimension{'s' * (X.ndim != 1)}"
        )
    if X.dtype.kind in "OUS":
        columns = [(place, *_object_column(place, X[:, place])) for place in range(X.shape[1])]
        return ("columns", columns, X.shape[0])
    return ("matrix", _numbers("matrix", X))


def _numbers(name: Any, values: Any) -> Any:
    """An array of a number type that the core borrows."""
    if values.dtype.kind not in "fiub":
        raise InvalidType(
            f"column {quoted(name)}: a value must be a number, a string or None, got dtype {values.dtype}"
        )
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        values = values.astype(np.float32 if values.dtype.itemsize == 2 else np.float64)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    return values


def _object_column(name: Any, values: Any) -> tuple[Any, Any]:
    """Python objects in a column: all numbers or all strings, each with missing values."""
    plain = [_plain(name, value) for value in values]
    if any(isinstance(value, str) for value in plain):
        codes = np.empty(len(plain), dtype=np.int64)
        categories: dict[str, int] = {}
        for row, value in enumerate(plain):
            if value is None or value != value:
                codes[row] = -1
            elif isinstance(value, str):
                codes[row] = categories.setdefault(value, len(categories))
            else:
                raise InvalidType(
                    f"row {row}: feature {quoted(name)} is nominal (a string), got {quoted(value)}", row
                )
        return codes, list(categories)
    return floats(name, [np.nan if value is None else value for value in plain]), None


def floats(name: Any, values: Sequence[Any]) -> Any:
    """Numbers of one feature as an array; the error for an integer too large for a float names its row."""
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        row = _too_large(values)
        error = InvalidValue(f"feature {quoted(name)}: a number must fit in a float, got {typed(values[row])}")
    if len(values) > 1:
        error.at_row(row)
    raise error


def _too_large(values: Sequence[Any]) -> int:
    """The row of the first integer that is too large for a float."""
    for row, value in enumerate(values):
        try:
            float(value)
        except OverflowError:
            return row
    return 0


def _with_infinite(w: Any) -> Any:
    """Weights of which some are too large for a float."""
    try:
        return np.array([math.nan if value is None else _float(value) for value in w])
    except (TypeError, ValueError):
        raise InvalidType(f"w must have one number per row, got {typed(w)}") from None


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _pandas_column(name: Any, series: Any) -> tuple[Any, Any, Any]:
    name = _name(name)
    dtype = series.dtype
    if hasattr(series, "cat"):
        return name, series.cat.codes.to_numpy(), _texts(name, series.cat.categories)
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":
        return name, _numbers(name, series.to_numpy()), None
    if _holds_objects(dtype):
        return (name, *_object_column(name, series.to_numpy()))
    if getattr(dtype, "kind", "") in ("f", "i", "u", "b"):
        return name, series.to_numpy(dtype=np.float64, na_value=np.nan), None
    if dtype == "string" or dtype == "str":
        codes, categories = series.factorize()
        return name, codes, _texts(name, categories)
    if hasattr(dtype, "pyarrow_dtype"):
        return _arrow_column(name, series.array.__arrow_array__())
    raise InvalidType(f"column {quoted(name)}: a value must be a number, a string or None, got dtype {dtype}")


def _polars_column(series: Any) -> tuple[Any, Any, Any]:
    if series.dtype.is_numeric() or str(series.dtype) == "Boolean":
        if series.null_count() == 0 and series.dtype.is_numeric() and not series.dtype.is_decimal():
            return series.name, _numbers(series.name, series.to_numpy()), None
        import polars

        return series.name, series.cast(polars.Float64).fill_null(float("nan")).to_numpy(), None
    return _arrow_column(series.name, series.to_arrow())


def _with_gaps(column: Any, gap: float) -> Any:
    """An Arrow array of numbers as a NumPy array, with `gap` where a value is missing."""
    if not column.null_count or not len(column):
        return from_arrow(column)
    dtype = np.float64 if str(column.type) == "double" else np.int64
    values = np.frombuffer(column.buffers()[1], dtype, len(column), column.offset * 8).copy()
    values[~from_arrow(column.is_valid())] = gap
    return values


def from_arrow(column: Any) -> Any:
    """An Arrow array as a NumPy array, without a copy if nothing is missing.

    Arrow's own `to_numpy` and `fill_null` import pandas if it is installed, which takes longer than learning a
    small file.
    """
    import pyarrow

    types, kind = pyarrow.types, column.type
    if types.is_boolean(kind) and column.null_count == 0:
        return from_arrow(column.cast(pyarrow.uint8())).view(np.bool_)
    if types.is_integer(kind):
        letter = "i" if types.is_signed_integer(kind) else "u"
    elif types.is_floating(kind):
        letter = "f"
    elif types.is_timestamp(kind):
        letter = "M"
    else:
        letter = "m" if types.is_duration(kind) else ""
    if not letter or column.null_count or not len(column):
        return column.to_numpy(zero_copy_only=False)
    dtype = np.dtype(f"{letter}8[{kind.unit}]" if letter in "Mm" else f"{letter}{kind.bit_width // 8}")
    return np.frombuffer(column.buffers()[1], dtype, len(column), column.offset * dtype.itemsize)


def _arrow_column(name: Any, column: Any) -> tuple[Any, Any, Any]:
    import pyarrow
    import pyarrow.compute as compute

    if isinstance(column, pyarrow.ChunkedArray):
        # Combining copies, even where there is but one.
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    kind = column.type
    types = pyarrow.types
    number = types.is_integer(kind) or types.is_floating(kind)
    if number or types.is_boolean(kind) or types.is_decimal(kind) or types.is_null(kind):
        if column.null_count == 0 and number:
            return name, _numbers(name, from_arrow(column)), None
        floats = column.cast(pyarrow.uint8()) if types.is_boolean(kind) else column
        return name, _with_gaps(floats.cast(pyarrow.float64()), np.nan), None
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        column = compute.dictionary_encode(column)
    if types.is_dictionary(column.type):
        codes = _with_gaps(column.indices.cast(pyarrow.int64()), -1)
        return name, codes, _texts(name, column.dictionary.to_pylist())
    raise InvalidType(f"column {quoted(name)}: a value must be a number, a string or None, got {kind}")


def _texts(name: Any, categories: Any) -> list[str]:
    """Categories as text; numbers among them are written out."""
    return [category if isinstance(category, str) else str(category) for category in categories]


def _name(name: Any) -> Any:
    if type(name) in (str, int):
        return name
    if isinstance(name, str):
        return str.__str__(name)
    if isinstance(name, (int, np.integer)):
        return int(name)
    raise InvalidType(f"a feature name must be a str or an int, got {typed(name)}")


def _sparse(X: Any) -> tuple[Any, ...]:
    X = X.tocsr()
    if X.ndim != 2:
        raise InvalidValue("a batch must be a matrix of rows and columns")
    starts, entries = X.indptr, min(len(X.indices), len(X.data))
    # Before SciPy goes through them, which looks at nothing.
    if len(starts) != X.shape[0] + 1 or starts[0] < 0 or starts[-1] > entries or (starts[1:] < starts[:-1]).any():
        raise InvalidValue("a sparse matrix whose indptr does not fit its rows and entries")
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return ("sparse", X.indptr, X.indices, _numbers("sparse matrix", X.data), int(X.shape[1]))


def _own_sparse(X: Sparse) -> tuple[Any, ...]:
    if (rows := unseen(X)) is not None:
        return ("parsed", rows, X.width)
    if isinstance(X.width, bool) or not isinstance(X.width, (int, np.integer)) or not 0 <= X.width < 2**32:
        raise InvalidValue(f"the width of sparse rows must be an integer number of columns, got {quoted(X.width)}")
    arrays = X.starts, X.indices, X.values
    for name, array in zip(("starts", "indices", "values"), arrays, strict=True):
        if not isinstance(array, np.ndarray) or np.ma.isMaskedArray(array):
            raise InvalidType(f"{name} of sparse rows must be a plain NumPy array, got {typed(array)}")
    return ("sparse", X.starts, X.indices, _numbers("sparse rows", X.values), int(X.width))


def _is_text(column: Any) -> bool:
    return str(column.type) in ("string", "large_string", "string_view")


def targets(y: Any) -> Any:
    """A column of targets as a NumPy array, or a list where it holds objects."""
    if y is None:
        return None
    if _library(y) == "pyarrow":
        if hasattr(y, "chunks"):
            y = y.chunk(0) if y.num_chunks == 1 else y.combine_chunks()
        y = from_arrow(y) if y.null_count or not _is_text(y) else y.to_pylist()
    elif hasattr(y, "to_numpy") and not isinstance(y, np.ndarray):
        y = y.to_numpy()
    if isinstance(y, (str, bytes, Mapping)) or not isinstance(y, Iterable):
        raise InvalidType(f"y is one value for each row, got {typed(y)}")
    if isinstance(y, np.ndarray):
        if isinstance(y, np.ma.MaskedArray):
            y = filled(y.astype(object)) if np.ma.is_masked(y) else y.data
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.ndim != 1:
            raise InvalidValue(f"y is one value for each row, got {y.ndim} dimensions")
        if y.dtype.kind in "Mm":
            raise InvalidType(f"y: a target must be a label or a number, got dtype {y.dtype}")
        return _numbers("y", y) if y.dtype.kind in "fiub" else y.tolist()
    values = list(y)
    kinds = {type(value) for value in values}
    if kinds <= {float, int} or kinds <= {bool}:
        try:
            array = np.asarray(values)
        except OverflowError:
            return values
        # Among floats a large int would become another label.
        if int in kinds and array.dtype.kind == "f" and (np.abs(array) >= 2**53).any():
            return values
        return array
    return values


def weights(w: Any, *, by_row: bool = False) -> Any:
    """Sample weights as an array.

    An integer that is too large for a float is refused. With `by_row` it becomes infinite, so that only its row is
    refused or skipped.
    """
    if w is None:
        return None
    try:
        array = np.asarray(filled(w), dtype=np.float64)
    except OverflowError:
        if by_row:
            return _with_infinite(w)
        row = _too_large(given := list(w))
        raise InvalidValue(f"row {row}: the weight must fit in a float, got {typed(given[row])}", row) from None
    except (TypeError, ValueError):
        raise InvalidType(f"w must have one number per row, got {typed(w)}") from None
    if array.ndim != 1:
        raise InvalidValue(f"w must have one number per row, got {array.ndim} dimensions")
    return array


def dicts(X: Any) -> Iterator[Any]:
    """The rows of anything as dicts."""
    return rows_of(take_apart(X))


def with_arrays(rows: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sparse rows from `take_apart` with their arrays, for use in Python."""
    return ("sparse", *rows[1].arrays(), rows[2]) if rows[0] == "parsed" else rows


def rows_of(rows: tuple[Any, ...]) -> Iterator[Any]:
    """The rows of a result of `take_apart`, as dicts."""
    if rows[0] == "dicts":
        yield from rows[1]
    elif rows[0] == "matrix":
        for row in rows[1].tolist():
            yield dict(enumerate(row))
    elif rows[0] == "columns":
        columns = []
        for name, values, categories in rows[1]:
            if categories is None:
                columns.append((name, values.tolist()))
            else:
                columns.append((name, [None if code < 0 else categories[code] for code in values.tolist()]))
        names = [name for name, _ in columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidValue(f"duplicate column {quoted(twice)}")
        for row in range(rows[2]):
            yield {name: values[row] for name, values in columns}
    else:
        _, starts, indices, values, _ = with_arrays(rows)
        for begin, end in pairwise(starts):
            yield dict(zip(indices[begin:end].tolist(), values[begin:end].tolist(), strict=True))


def examples(X: Any, y: Any, w: Any) -> Iterator[tuple[Any, Any, float]]:
    """Rows with target and weight."""
    column = targets(y)
    if isinstance(column, np.ndarray):
        column = column.tolist()
    ws = weights(w, by_row=True)
    rows = list(dicts(X)) if column is not None or ws is not None else dicts(X)
    if column is not None and len(column) != len(rows):  # type: ignore[arg-type]
        raise InvalidValue(f"y has {len(column)} values for {len(rows)} rows")  # type: ignore[arg-type]
    if ws is not None and len(ws) != len(rows):  # type: ignore[arg-type]
        raise InvalidValue(f"w has {len(ws)} values for {len(rows)} rows")  # type: ignore[arg-type]
    yield from zip(
        rows, repeat(None) if column is None else column, repeat(1.0) if ws is None else ws.tolist(), strict=False
    )


def decode(codes: Any, labels: Sequence[Any]) -> Any:
    """Class codes as labels; -1 is None. An array of bool, int or str if one type can hold all of them."""
    if len(codes) and codes.min() >= 0:
        used = [label for label in labels if label is not None]
        kinds = {type(label) for label in used}
        if kinds in ({int}, {bool}):
            table = np.array([0 if label is None else label for label in labels], dtype=used[0].__class__)
            return table[codes]
    table = np.empty(len(labels) + 1, dtype=object)
    table[: len(labels)] = labels
    return table[codes]


def pack_answers(answers: list[Any]) -> Any:
    """Predictions as an array of one type, if one type can hold all of them."""
    kinds = {type(answer) for answer in answers}
    if kinds and kinds <= {float, int} and float in kinds:
        return np.array(answers, dtype=np.float64)
    if kinds in ({int}, {bool}):
        return np.array(answers)
    packed = np.empty(len(answers), dtype=object)
    packed[:] = answers
    return packed


def pack_probabilities(answers: list[dict[Any, float]], known: Sequence[Any] = ()) -> Any:
    """Dicts of probabilities as a matrix: the known classes first, then others in the order in which they came."""
    classes: dict[Any, int] = {label: place for place, label in enumerate(known)}
    for answer in answers:
        for label in answer:
            classes.setdefault(label, len(classes))
    matrix = np.zeros((len(answers), len(classes)))
    for row, answer in enumerate(answers):
        for label, probability in answer.items():
            matrix[row, classes[label]] = probability
    return matrix


def give_back(names: Sequence[Any], matrix: Any, nominal: Mapping[int, Sequence[str]], like: Any) -> Any:
    """Columns in the form in which the batch came."""
    library = _library(like)
    if library in ("numpy", "scipy", "builtins"):
        if not nominal:
            return matrix
        table = matrix.astype(object)
        for place, categories in nominal.items():
            table[:, place] = _decoded(matrix[:, place], categories)
        return table
    columns = {
        name: _decoded(matrix[:, place], nominal[place]) if place in nominal else matrix[:, place]
        for place, name in enumerate(names)
    }
    if library == "pandas":
        import pandas

        return pandas.DataFrame(columns, index=like.index, columns=list(names))
    named = {str(name): values for name, values in columns.items()}
    if library == "polars":
        import polars

        return polars.DataFrame(named)
    import pyarrow

    return pyarrow.table(named)


def _decoded(codes: Any, categories: Sequence[str]) -> Any:
    texts = np.empty(len(codes), dtype=object)
    texts[:] = [None if code != code or code < 0 else categories[int(code)] for code in codes]
    return texts


def from_dicts(rows: list[dict[Any, Any]], like: Any) -> Any:
    """Dicts in the form in which the batch came. A matrix would lose their names, so that they stay dicts."""
    library = _library(like)
    if library == "pandas":
        import pandas

        return pandas.DataFrame(rows, index=like.index)
    if library == "polars":
        import polars

        return polars.DataFrame(rows)
    if library == "pyarrow":
        import pyarrow

        return pyarrow.Table.from_pylist(rows)
    return rows
