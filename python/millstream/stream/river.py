"""Readers with River's names, for scripts written for River: each yields examples `(x, y)` one by one.

millstream's own readers (`stream.read_csv`, `from_pandas`, …) read the same examples by columns, which is many
times faster, and infer which columns are numbers.
"""

from __future__ import annotations

import copy as copying
import csv
import datetime
import heapq
import io
import os
import random
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from millstream._echo import typed
from millstream.errors import InvalidValue

__all__ = [
    "iter_arff",
    "iter_array",
    "iter_csv",
    "iter_frame",
    "iter_libsvm",
    "iter_pandas",
    "iter_polars",
    "iter_sklearn_dataset",
    "iter_sql",
    "shuffle",
    "simulate_qa",
]

Example = tuple[Any, Any]


def iter_array(
    X: Any,
    y: Any = None,
    feature_names: Sequence[Any] | None = None,
    target_names: Sequence[Any] | None = None,
    shuffle: bool = False,
    seed: int | None = None,
) -> Iterator[Example]:
    """Iterate over the rows of a matrix, or of a list of rows or texts, with their targets.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import stream
    >>> list(stream.iter_array(np.array([[1, 2], [3, 4]]), [True, False], feature_names=["a", "b"]))
    [({'a': 1, 'b': 2}, True), ({'a': 3, 'b': 4}, False)]
    """
    rows, ys = _plain(X), None if y is None else _plain(y)
    order = list(range(len(rows)))
    if shuffle:
        random.Random(seed).shuffle(order)
    for place in order:
        row = rows[place]
        target = None if ys is None else ys[place]
        if isinstance(target, (list, tuple)):
            target = dict(zip(target_names or range(len(target)), target, strict=False))
        if not isinstance(row, str):
            row = dict(zip(feature_names if feature_names is not None else range(len(row)), row, strict=False))
        yield row, target


def _plain(values: Any) -> list[Any]:
    return list(values.tolist()) if isinstance(values, np.ndarray) else list(values)


def iter_frame(X: Any, y: Any = None, *, shuffle: bool = False, seed: int | None = None) -> Iterator[Example]:
    """Iterate over the rows of a pandas, polars or Arrow frame, with their targets: a series, or a frame of
    several.

    Examples
    --------
    >>> import pandas
    >>> from millstream import stream
    >>> frame = pandas.DataFrame({"load": [1, 2], "place": ["hall", "roof"]})
    >>> list(stream.iter_frame(frame, pandas.Series([True, False])))
    [({'load': 1, 'place': 'hall'}, True), ({'load': 2, 'place': 'roof'}, False)]
    """
    xs = _records(X)
    if y is None:
        ys: list[Any] = [None] * len(xs)
    elif hasattr(y, "columns") and not hasattr(y, "type"):
        ys = _records(y)
    else:
        ys = y.to_pylist() if hasattr(y, "to_pylist") else list(y.to_list() if hasattr(y, "to_list") else y)
    if len(ys) != len(xs):
        raise InvalidValue(f"iter_frame: y has {len(ys)} values for {len(xs)} rows")
    order = list(range(len(xs)))
    if shuffle:
        random.Random(seed).shuffle(order)
    for place in order:
        yield xs[place], ys[place]


def _records(frame: Any) -> list[dict[Any, Any]]:
    if hasattr(frame, "to_pylist"):
        return list(frame.to_pylist())
    return list(frame.to_dicts() if hasattr(frame, "to_dicts") else frame.to_dict("records"))


def iter_pandas(X: Any, y: Any = None, **options: Any) -> Iterator[Example]:
    """Former name of `iter_frame`."""
    return iter_frame(X, y, **options)


def iter_polars(X: Any, y: Any = None, **options: Any) -> Iterator[Example]:
    """Former name of `iter_frame`."""
    return iter_frame(X, y, **options)


def iter_sklearn_dataset(dataset: Any, **options: Any) -> Iterator[Example]:
    """Iterate over the rows of a scikit-learn data set; features and targets keep their names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from millstream import stream
    >>> next(stream.iter_sklearn_dataset(load_iris()))[1]
    0
    """
    given = {"X": dataset.data, "y": dataset.target}
    names = getattr(dataset, "feature_names", None)
    given["feature_names"] = None if names is None else list(names)
    if hasattr(dataset.data, "iloc"):
        given["X"], given["y"] = dataset.data.to_numpy(), np.asarray(dataset.target)
    return iter_array(**{**given, **options})


def _lines(source: Any, compression: str | None, stack: ExitStack) -> Any:
    """A file given by its path (decompressed) or open, as text."""
    if not isinstance(source, (str, os.PathLike)):
        return source
    from millstream.stream.source import check

    path = os.fspath(source)
    check(path)
    if path.endswith(".zip") if compression == "infer" else compression == "zip":
        archive = stack.enter_context(zipfile.ZipFile(path))
        raw: Any = stack.enter_context(archive.open(archive.namelist()[0]))
    else:
        import pyarrow

        how = {"infer": "detect", "gz": "gzip", "gzip": "gzip"}.get(compression or "", compression)
        raw = stack.enter_context(pyarrow.input_stream(path, compression=how))
    return stack.enter_context(io.TextIOWrapper(raw, encoding="utf-8", newline=""))


def _apart(x: dict[Any, Any], target: Any) -> Example:
    if isinstance(target, list):
        return x, {name: x.pop(name) for name in target}
    return x, None if target is None else x.pop(target)


def iter_csv(
    filepath_or_buffer: Any,
    target: str | list[str] | None = None,
    converters: Mapping[Any, Callable[[Any], Any]] | None = None,
    parse_dates: Mapping[Any, str] | None = None,
    drop: list[str] | None = None,
    drop_nones: bool = False,
    fraction: float = 1.0,
    compression: str | None = "infer",
    seed: int | None = None,
    field_size_limit: int | None = None,
    **options: Any,
) -> Iterator[Example]:
    """Iterate over the rows of a CSV file; values are strings unless `converters` or `parse_dates` apply.

    Examples
    --------
    >>> import io
    >>> from millstream import stream
    >>> file = io.StringIO("load,place,hot\\n1.5,hall,yes\\n")
    >>> list(stream.iter_csv(file, target="hot", converters={"load": float}))
    [({'load': 1.5, 'place': 'hall'}, 'yes')]
    """
    chance = random.Random(seed)
    if field_size_limit is not None:
        csv.field_size_limit(field_size_limit)
    with ExitStack() as stack:
        for x in csv.DictReader(_lines(filepath_or_buffer, compression, stack), **options):
            if fraction < 1.0 and chance.random() > fraction:
                continue
            for name in drop or ():
                del x[name]
            for name, function in (converters or {}).items():
                x[name] = function(x[name])
            values: dict[Any, Any] = dict(x)
            for name, date_format in (parse_dates or {}).items():
                values[name] = datetime.datetime.strptime(values[name], date_format)
            if drop_nones:
                values = {name: value for name, value in values.items() if value is not None}
            yield _apart(values, target)


def iter_libsvm(
    filepath_or_buffer: Any, target_type: Callable[[str], Any] = float, compression: str | None = "infer"
) -> Iterator[Example]:
    """Iterate over the rows of a libsvm file; features keep their names. `stream.read_libsvm` is faster.

    Examples
    --------
    >>> import io
    >>> from millstream import stream
    >>> list(stream.iter_libsvm(io.StringIO("+1 1:0.5 7:2\\n-1 7:1 # a comment\\n"), target_type=int))
    [({'1': 0.5, '7': 2.0}, 1), ({'7': 1.0}, -1)]
    """
    with ExitStack() as stack:
        for line in _lines(filepath_or_buffer, compression, stack):
            words = line.partition("#")[0].split()
            if words:
                pairs = (word.rpartition(":") for word in words[1:])
                yield {name: float(value) for name, _, value in pairs}, target_type(words[0])


def iter_arff(
    filepath_or_buffer: Any,
    target: str | list[str] | None = None,
    compression: str | None = "infer",
    sparse: bool = False,
) -> Iterator[Example]:
    """Iterate over the rows of an ARFF file, without missing values; `compression` and `sparse` are detected.

    A sparse row has all its features here; omitted ones are 0, as the format defines.

    Examples
    --------
    >>> import io
    >>> from millstream import stream
    >>> text = "@relation r\\n@attribute load real\\n@attribute hot {yes,no}\\n@data\\n1.5,yes\\n?,no\\n"
    >>> list(stream.iter_arff(io.StringIO(text), target="hot"))
    [({'load': 1.5}, 'yes'), ({}, 'no')]
    """
    from millstream.stream.arff import read_arff

    for x, _ in read_arff(filepath_or_buffer, target=None):
        yield _apart({name: value for name, value in x.items() if value is not None and value == value}, target)


def iter_sql(query: Any, conn: Any, target_name: str | None = None) -> Iterator[Example]:
    """Iterate over the result rows of a query on a DB-API or SQLAlchemy connection.

    Examples
    --------
    >>> import sqlite3
    >>> from millstream import stream
    >>> list(stream.iter_sql("select 1.5 as load, 'yes' as hot", sqlite3.connect(":memory:"), target_name="hot"))
    [({'load': 1.5}, 'yes')]
    """
    if hasattr(conn, "exec_driver_sql"):
        answer = conn.exec_driver_sql(query) if isinstance(query, str) else conn.execute(query)
        names, rows = list(answer.keys()), iter(answer)
    else:
        cursor = conn.cursor()
        cursor.execute(query)
        names, rows = [column[0] for column in cursor.description], iter(cursor.fetchone, None)
    for row in rows:
        yield _apart(dict(zip(names, row, strict=True)), target_name)


def shuffle(stream: Iterable[Any], buffer_size: int, seed: int | None = None) -> Iterator[Any]:
    """Shuffle any iterable with a buffer of limited size; `Stream.shuffle` does it by columns.

    Examples
    --------
    >>> from millstream import stream
    >>> sorted(stream.shuffle(range(10), buffer_size=4, seed=1)) == list(range(10))
    True
    """
    if buffer_size < 1:
        raise InvalidValue(f"shuffle: buffer_size must be at least 1, got {typed(buffer_size)}")
    chance = random.Random(seed)
    held: list[Any] = []
    for item in stream:
        if len(held) < buffer_size:
            held.append(item)
            continue
        place = chance.randrange(buffer_size)
        yield held[place]
        held[place] = item
    chance.shuffle(held)
    yield from held


def simulate_qa(
    dataset: Iterable[Any], moment: Any, delay: Any, copy: bool = True
) -> Iterator[tuple[int, Any, Any]]:
    """Yield each example at prediction time, as `(i, x, None)`, and when its label arrives, as `(i, x, y)`.

    `evaluate.prequential(…, time=…, delay=…)` learns and scores in this order without a loop.

    Parameters
    ----------
    dataset
        Examples `(x, y)`.
    moment
        Event time: a key of x, a function of x, or None for the row number.
    delay
        Label delay: a value, a key of x, a function of (x, y), or None for no delay.
    copy
        Whether the second event holds a copy of x.

    Examples
    --------
    >>> from millstream import stream
    >>> rows = [({"at": 0}, "a"), ({"at": 1}, "b"), ({"at": 5}, "c")]
    >>> [(i, y) for i, x, y in stream.simulate_qa(rows, "at", 2)]
    [(0, None), (1, None), (0, 'a'), (1, 'b'), (2, None), (2, 'c')]
    """
    waiting: list[tuple[Any, int, Any, Any]] = []
    for number, (x, y) in enumerate(dataset):
        now = number if moment is None else moment(x) if callable(moment) else x[moment]
        if delay is None:
            due = now
        else:
            due = now + (delay(x, y) if callable(delay) else x[delay] if isinstance(delay, str) else delay)
        while waiting and waiting[0][0] <= now:
            _, place, before, answer = heapq.heappop(waiting)
            yield place, before, answer
        kept = copying.deepcopy(x) if copy else x
        yield number, x, None
        if delay is None:
            yield number, kept, y
        else:
            heapq.heappush(waiting, (due, number, kept, y))
    while waiting:
        _, place, before, answer = heapq.heappop(waiting)
        yield place, before, answer
