"""Columnar files: Parquet and Arrow IPC, including Feather.

Only the selected columns are read, a block of rows at a time, so a file may be larger than memory.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack

import pyarrow as arrow

from millstream._echo import quoted, shortened
from millstream.errors import InvalidType, InvalidValue, UnknownName, Unreadable
from millstream.stream.base import ROWS
from millstream.stream.options import TableOptions, check_options
from millstream.stream.source import check, opened
from millstream.stream.table import TableStream

__all__ = ["Arrow", "Parquet", "read_arrow", "read_parquet"]

#: Bytes of a column that the Parquet reader buffers; without this it buffers whole row groups.
BUFFER = 1 << 20


class ColumnFiles(TableStream):
    """One or more files with the same columns, read one after the other."""

    reads_ahead = True
    # Names are checked here against all columns of the file, because dropped columns are not read.
    later_columns = True

    def __init__(
        self, source: Any, columns: Iterable[str] | None, target: str | None, options: TableOptions
    ) -> None:
        super().__init__(target=target, **options)
        given = source if isinstance(source, (list, tuple)) else [source]
        self.files: list[Any] = [os.fspath(one) if isinstance(one, os.PathLike) else one for one in given]
        self.columns = None if columns is None else tuple(columns)
        self._reading = _name(self.files[0]) if self.files else "no file"
        self._used = False
        for one in self.files:
            if isinstance(one, str):
                if one != "-":
                    check(one)
            elif not hasattr(one, "read"):
                raise InvalidType(f"stream: a source must be a path or an open file, got {type(one).__name__}")
        # Input that is still being written is read in the thread that Ctrl-C interrupts.
        plain = all(isinstance(one, str) and one != "-" for one in self.files)
        self.reads_ahead = plain
        self.repeatable = plain or all(_can_seek(one) for one in self.files)

    @property
    def source(self) -> str:
        return self._reading

    def wanted(self, known: Sequence[str]) -> list[str]:
        """The columns to read, in the order of the file."""
        for name in (*(self.columns or ()), *self.drop, *self.types):
            if name not in known:
                raise UnknownName(f"{self.source}: there is no column {quoted(name)}{self.hint(name, known)}")
        beside = {self.target, self.weight, self.time, self.label_time} - {None}
        for other in beside - set(known):
            raise UnknownName(f"{self.source}: there is no column {quoted(other)}{self.hint(str(other), known)}")
        features = set(known if self.columns is None else self.columns) - set(self.drop)
        return [name for name in known if name in features or name in beside]

    def tables(self) -> Iterator[arrow.Table]:
        if self._used and not self.repeatable:
            raise InvalidValue(f"{self.source} can be read only once")
        self._used = True
        for file in self.files:
            self._reading = _name(file)
            if isinstance(file, str) and file != "-":
                check(file)
                if Path(file).is_file():
                    # Arrow's own message for an unreadable file is less clear.
                    opened(file).close()
                    if not Path(file).stat().st_size:
                        raise Unreadable(f"{self.source}: the file is empty")
            rows = 0
            try:
                for table in self.tables_of(file):
                    yield table
                    rows += table.num_rows
            except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
                if isinstance(error, Unreadable):
                    raise
                where = f"after row {rows}" if rows else "at its beginning"
                words = shortened(" ".join(str(error).split()), 200)
                kind = type(self).__name__
                raise Unreadable(f"{self.source}: damaged {where}, or not {kind}: {words}") from None

    def tables_of(self, file: Any) -> Iterator[arrow.Table]:
        """The data of one file, in blocks of rows."""
        raise NotImplementedError

    def __repr__(self) -> str:
        names = [_name(file) for file in self.files]
        paths: Any = names[0] if len(names) == 1 else names
        given = self._given() | ({} if self.columns is None else {"columns": list(self.columns)})
        words = "".join(f", {name}={value!r}" for name, value in given.items())
        return f"{self.maker}({paths!r}{words})"


def _name(file: Any) -> str:
    if isinstance(file, str):
        return "standard input" if file == "-" else file
    name = getattr(file, "name", None)
    return name if isinstance(name, str) else type(file).__name__


def _can_seek(file: Any) -> bool:
    return not isinstance(file, str) and bool(getattr(file, "seekable", bool)())


class Parquet(ColumnFiles):
    """Parquet files; created by `read_parquet`."""

    maker = "stream.read_parquet"

    def tables_of(self, file: Any) -> Iterator[arrow.Table]:
        from pyarrow.parquet import ParquetFile

        if file == "-":
            raise Unreadable("standard input: Parquet cannot be read from a pipe; pass a file")
        if not isinstance(file, str):
            file.seek(0)
        with ParquetFile(file, buffer_size=BUFFER, pre_buffer=False, page_checksum_verification=True) as opened:
            wanted = self.wanted(opened.schema_arrow.names)
            for batch in opened.iter_batches(ROWS, columns=wanted, use_threads=False):
                yield _sound(batch)

    @property
    def n_samples(self) -> int | None:
        from pyarrow.parquet import read_metadata

        if self.on_error == "skip" or not self.reads_ahead:
            return None
        try:
            return sum(int(read_metadata(path).num_rows) for path in self.files)
        except (arrow.ArrowException, OSError):
            # Reading raises the error.
            return None


class Arrow(ColumnFiles):
    """Arrow files; created by `read_arrow`."""

    maker = "stream.read_arrow"

    def tables_of(self, file: Any) -> Iterator[arrow.Table]:
        with _opened(file) as opened:
            reader = _reader(opened, self.source)
            wanted = self.wanted(reader.schema.names)
            for batch in _batches(reader):
                table = _sound(batch.select(wanted))
                for start in range(0, table.num_rows, ROWS):
                    yield table.slice(start, ROWS)


def _sound(batch: Any) -> arrow.Table:
    """A table of a batch after validation of its lengths and strings, since files are untrusted."""
    batch.validate(full=True)
    return arrow.Table.from_batches([batch])


def _opened(file: Any) -> Any:
    """A memory-mapped file; anything other than a regular file is read sequentially."""
    if isinstance(file, str) and file != "-":
        if Path(file).is_file() and Path(file).stat().st_size:
            return arrow.memory_map(file)
        return arrow.PythonFile(Path(file).open("rb"), mode="r")
    if isinstance(file, str):
        file = getattr(sys.stdin, "buffer", sys.stdin)
    elif _can_seek(file):
        file.seek(0)
    return arrow.PythonFile(_Borrowed(file), mode="r")


class _Borrowed:
    """The caller's open file, which stays open."""

    closed = False

    def __init__(self, file: Any) -> None:
        self.file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def close(self) -> None:
        pass


def _reader(file: Any, source: str) -> Any:
    if file.seekable():
        start = file.read(8)
        file.seek(0)
        if start.startswith(b"FEA1"):
            raise Unreadable(f"{source}: Feather version 1 is not supported; save it as version 2")
        if start.startswith(b"ARROW1"):
            return arrow.ipc.open_file(file)
    return arrow.ipc.open_stream(file)


def _batches(reader: Any) -> Iterator[Any]:
    if hasattr(reader, "num_record_batches"):
        for place in range(reader.num_record_batches):
            yield reader.get_batch(place)
    else:
        yield from reader


def read_parquet(
    source: Any,
    target: str | None = None,
    *,
    columns: Iterable[str] | None = None,
    **options: Unpack[TableOptions],
) -> Parquet:
    """Read one or more Parquet files of any size; only the selected columns are read.

    Parameters
    ----------
    source
        A path or an open file, or a list of them with the same columns, read in this order.
    target
        The column to predict.
    columns
        Features to read; by default all columns without another role.
    **options
        `weight`, `time`, `label_time`, `drop`, `types`, `on_error`, as for `stream.TableStream`.

    Examples
    --------
    >>> import pyarrow, pyarrow.parquet, tempfile, pathlib
    >>> from millstream import stream
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "sensors.parquet"
    >>> table = pyarrow.table({"load": [0.5, 0.25], "place": ["hall", "roof"], "hot": [True, False]})
    >>> pyarrow.parquet.write_table(table, path)
    >>> sensors = stream.read_parquet(path, target="hot")
    >>> sensors.n_samples, sensors.schema
    (2, {'load': 'number', 'place': 'nominal'})
    >>> list(sensors)
    [({'load': 0.5, 'place': 'hall'}, True), ({'load': 0.25, 'place': 'roof'}, False)]
    """
    check_options(read_parquet, options)
    return Parquet(source, columns, target, options)


def read_arrow(
    source: Any,
    target: str | None = None,
    *,
    columns: Iterable[str] | None = None,
    **options: Unpack[TableOptions],
) -> Arrow:
    """Read an Arrow IPC file or stream, or a Feather file (version 2); or several files.

    An uncompressed file is memory-mapped, so that only accessed data are read.

    Parameters
    ----------
    source
        A path, an open file, `"-"` for standard input, or a list of them with the same columns, read in this
        order.
    target
        The column to predict.
    columns
        Features to read; by default all columns without another role.
    **options
        `weight`, `time`, `label_time`, `drop`, `types`, `on_error`, as for `stream.TableStream`.

    Examples
    --------
    >>> import pyarrow, pyarrow.feather, tempfile, pathlib
    >>> from millstream import stream
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "sensors.feather"
    >>> pyarrow.feather.write_feather(pyarrow.table({"load": [0.5, 0.25], "hot": ["yes", "no"]}), path)
    >>> list(stream.read_arrow(path, target="hot"))
    [({'load': 0.5}, 'yes'), ({'load': 0.25}, 'no')]
    """
    check_options(read_arrow, options)
    return Arrow(source, columns, target, options)
