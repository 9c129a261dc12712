"""Query results of a database.

Any DB-API driver works; rows are fetched many at a time. A driver that returns Arrow batches (ADBC, DuckDB) is
asked for those, and no Python values are created.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import pyarrow as arrow

from millstream._echo import quoted, shortened
from millstream.errors import InvalidType, InvalidValue, Unreadable
from millstream.stream.base import ROWS
from millstream.stream.options import TableOptions, check_options
from millstream.stream.source import check, opened
from millstream.stream.table import Piece, TableStream
from millstream.stream.values import Columns

__all__ = ["SQL", "read_sql", "read_sqlite"]


class SQL(TableStream):
    """A database query; created by `read_sql`."""

    must_have_rows = False

    def __init__(
        self,
        query: str,
        connection: Any,
        parameters: Sequence[Any] | Mapping[str, Any],
        target: str | None,
        options: TableOptions,
        file: str | None = None,
    ) -> None:
        super().__init__(target=target, **options)
        #: The file of the database, if it is one.
        self.file = file
        if not isinstance(query, str):
            raise InvalidType(f"stream.read_sql: the query must be a string, got {type(query).__name__}")
        self.query, self.parameters = query, parameters
        self.connection = getattr(connection, "raw_connection", connection)
        if not callable(self.connection) and not any(map(self._has, ("cursor", "execute"))):
            raise InvalidType(
                "stream.read_sql: connection must be an open connection or a function that opens one, got "
                f"{type(connection).__name__}"
            )
        # A connection often belongs to the thread that opened it; one that the stream opens belongs to its reader.
        self.reads_ahead = callable(self.connection) and not self._has("cursor")

    def _has(self, verb: str) -> bool:
        return hasattr(self.connection, verb)

    @property
    def source(self) -> str:
        return f"query {quoted(' '.join(self.query.split()))}" if self.file is None else self.file

    def __repr__(self) -> str:
        target = f", target={self.target!r}" if self.target is not None else ""
        return f"SQL({' '.join(self.query.split())!r}{target})"

    def tables(self) -> Iterator[Piece]:
        opened = self.connection() if self.reads_ahead else None
        connection = self.connection if opened is None else opened
        cursor = connection.cursor() if hasattr(connection, "cursor") else connection
        try:
            yield from self._answers(cursor)
        finally:
            if cursor is not connection:
                cursor.close()
            if opened is not None:
                opened.close()

    def _answers(self, cursor: Any) -> Iterator[Piece]:
        with _Told(self.source):
            cursor.execute(self.query, self.parameters) if self.parameters else cursor.execute(self.query)
        if cursor.description is None:
            raise InvalidValue(f"{self.source}: returns no rows; pass a SELECT")
        yield from self._batches(cursor) if hasattr(cursor, "fetch_record_batch") else self._rows(cursor)

    def _batches(self, cursor: Any) -> Iterator[Piece]:
        with _Told(self.source):
            reader = cursor.fetch_record_batch()
        while True:
            with _Told(self.source):
                batch = next(reader, None)
            if batch is None:
                return
            table = arrow.Table.from_batches([batch])
            for start in range(0, table.num_rows, ROWS):
                yield Piece(table.slice(start, ROWS))

    def _rows(self, cursor: Any) -> Iterator[Piece]:
        names = [column[0] for column in cursor.description]
        columns = Columns()
        while True:
            with _Told(self.source):
                rows = cursor.fetchmany(ROWS)
            if not rows:
                return
            table, texts = columns.table(names, zip(*rows, strict=True))
            columns.note(table, texts)
            yield Piece(table, texts=texts)


class _Told:
    """Convert driver errors, whose classes differ by driver, to one of ours that names the query."""

    def __init__(self, source: str) -> None:
        self.source = source

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, (InvalidValue, InvalidType)):
            raise InvalidValue(f"{self.source}: {shortened(' '.join(str(error).split()), 200)}") from error


def read_sql(
    query: str,
    connection: Any | Callable[[], Any],
    target: str | None = None,
    *,
    parameters: Sequence[Any] | Mapping[str, Any] = (),
    **options: Unpack[TableOptions],
) -> SQL:
    """Read the result of a database query, a few thousand rows at a time.

    The query is run each time the stream is read. Give it an ORDER BY, since learning depends on the order.

    Parameters
    ----------
    query
        A SELECT.
    connection
        An open connection of any DB-API 2 or ADBC driver, or of DuckDB; a SQLAlchemy engine; or a function that
        opens a connection, which is then closed at the end and can be used in a thread and in another process. If
        a driver fetches the whole result at once, pass a server-side cursor instead.
    target
        The column to predict.
    parameters
        Values for the placeholders of the query, as the driver expects them.
    **options
        `weight`, `time`, `label_time`, `drop`, `types`, `on_error`, as for `stream.TableStream`.

    Examples
    --------
    >>> import sqlite3
    >>> from millstream import stream
    >>> base = sqlite3.connect(":memory:")
    >>> _ = base.execute("create table sensors (at integer, load real, hot integer)")
    >>> _ = base.executemany("insert into sensors values (?, ?, ?)", [(1, 0.5, 1), (2, 0.25, 0), (3, 0.75, 1)])
    >>> query = "select load, hot from sensors where at > ? order by at"
    >>> list(stream.read_sql(query, base, target="hot", parameters=(1,)))
    [({'load': 0.25}, 0), ({'load': 0.75}, 1)]
    """
    check_options(read_sql, options)
    return SQL(query, connection, parameters, target, options)


def read_sqlite(
    path: str | os.PathLike[str],
    target: str | None = None,
    *,
    query: str | None = None,
    parameters: Sequence[Any] | Mapping[str, Any] = (),
    **options: Unpack[TableOptions],
) -> SQL:
    """Read a SQLite file.

    Parameters
    ----------
    path
        The file.
    target
        The column to predict.
    query
        A SELECT; by default all rows of the only table, in insertion order.
    parameters
        Values for the placeholders of the query.
    **options
        `weight`, `time`, `label_time`, `drop`, `types`, `on_error`, as for `stream.TableStream`.

    Examples
    --------
    >>> import pathlib, sqlite3, tempfile
    >>> from millstream import stream
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "plant.db"
    >>> with sqlite3.connect(path) as base:
    ...     _ = base.execute("create table sensors (load real, hot integer)")
    ...     _ = base.executemany("insert into sensors values (?, ?)", [(0.5, 1), (0.25, 0)])
    >>> list(stream.read_sqlite(path, target="hot"))
    [({'load': 0.5}, 1), ({'load': 0.25}, 0)]
    """
    check_options(read_sqlite, options)
    file = os.fspath(path)
    check(file)
    return SQL(query or _all_of(file), partial(_connect, file), parameters, target, options, file)


def _connect(file: str) -> sqlite3.Connection:
    """A read-only connection, which does not create the file."""
    check(file)
    # SQLite does not say why it cannot open a file.
    opened(file).close()
    try:
        return sqlite3.connect(f"{Path(file).absolute().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise Unreadable(f"{file}: {error}") from None


def _all_of(file: str) -> str:
    """A query for the only table of a file."""
    if not Path(file).stat().st_size:
        raise Unreadable(f"{file}: the file is empty")
    try:
        with closing(_connect(file)) as base:
            answer = base.execute(
                "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
            )
            names = [name for (name,) in answer]
    except sqlite3.Error as error:
        raise Unreadable(f"{file}: not an SQLite database, or damaged: {error}") from None
    if len(names) != 1:
        there = f"the tables are {', '.join(map(quoted, names[:12]))}" if names else "there is no table"
        raise InvalidValue(f"{file}: pass query=; {there}")
    table = names[0].replace('"', '""')
    return f'select * from "{table}"'
