"""Columns to a file, as they come: CSV, Parquet, JSON lines by the ending of its name."""

from __future__ import annotations

import codecs
import contextlib
import json
import math
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from millstream._echo import visible
from millstream.cli.errors import UsageError
from millstream.errors import InvalidValue

__all__ = ["Writer", "check_apart", "check_place", "standard_output"]

ENDINGS = (".csv", ".parquet", ".jsonl", ".ndjson")


def check_place(path: str | None, endings: tuple[str, ...] = (), *, what: str = "") -> None:
    """Refuse a file that cannot be written before the work begins, not after it."""
    if path is None or path == "-":
        return
    place = Path(path)
    if endings and place.suffix.lower() not in endings and not (place.exists() and not place.is_file()):
        raise UsageError(f"{what}: {path} must end in {' or '.join(endings)}")
    if place.is_dir():
        raise InvalidValue(f"{what}: {path} is a directory")
    if not place.parent.is_dir():
        raise InvalidValue(f"{what}: there is no directory {str(place.parent)!r}")


def check_apart(places: Mapping[str, str | None]) -> None:
    """Refuse to write over what is still to be read, or two things to one file."""
    seen: dict[object, str] = {}
    for what, path in places.items():
        if path is None or path == "-":
            continue
        place = Path(path)
        try:
            found = place.stat()
        except (OSError, ValueError):
            key: object = place.absolute()
        else:
            if not stat.S_ISREG(found.st_mode):
                continue
            key = (found.st_dev, found.st_ino)
        if key in seen:
            raise UsageError(f"{what}: {path} is {seen[key]} too")
        seen[key] = what


class Writer:
    """Writes columns chunk by chunk; the first chunk decides the types. "-" is standard output, as CSV."""

    def __init__(self, path: str, format: str | None = None) -> None:  # noqa: A002
        self.path = path
        self.format = format or (Path(path).suffix.lower().removeprefix(".") if path != "-" else "csv")
        self.rows = 0
        self.schema: Any = None
        self.writer: Any = None
        self.file: Any = None

    def write(self, columns: Mapping[str, Any]) -> None:
        """Write some more rows."""
        import pyarrow

        if self.schema is None:
            # Before the first label has come there is no prediction to tell a type by.
            other = _type_of(columns["truth"]) if "truth" in columns else pyarrow.string()
            types = {name: _type_of(values) or other for name, values in columns.items()}
            self.schema = pyarrow.schema(list(types.items()))
        arrays = [_array(columns[field.name], field.type) for field in self.schema]
        self.write_table(pyarrow.Table.from_arrays(arrays, schema=self.schema))

    def write_table(self, table: Any) -> None:
        """Write the rows of an Arrow table."""
        with self._named():
            self._write(table)
        self.rows += table.num_rows

    def _write(self, table: Any) -> None:
        if self.writer is None and self.file is None:
            self._open(table.schema)
        if self.writer is None:
            for row in table.to_pylist():
                self.file.write(json.dumps(_plain(row), ensure_ascii=False).encode() + b"\n")
        elif self.format == "parquet":
            self.writer.write_table(table)
        else:
            self.writer.write(table)
        if self.format != "parquet":
            # Who follows a growing source follows what is said of it, too.
            self.file.flush()

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """An error in it says which file it was."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            if error.filename is None and self.path != "-":
                error.filename = self.path
            raise

    def _open(self, schema: Any) -> None:
        if self.path == "-":
            sys.stdout.flush()
            self.file = standard_output()
        else:
            self.file = Path(self.path).open("wb")  # noqa: SIM115
        if self.format == "parquet":
            import pyarrow.parquet

            self.writer = pyarrow.parquet.ParquetWriter(self.file, schema)
        elif self.format == "csv":
            import pyarrow.csv

            options = pyarrow.csv.WriteOptions(quoting_style="needed")
            self.writer = pyarrow.csv.CSVWriter(self.file, schema, write_options=options)

    def close(self) -> None:
        """Write what is left."""
        writer, file, self.writer = self.writer, self.file, None
        with self._named(), contextlib.ExitStack() as stack:
            if file is not None:
                stack.callback(file.flush if self.path == "-" else file.close)
            if writer is not None:
                writer.close()

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def standard_output() -> Any:
    """Standard output for bytes: unchanged for a file or a pipe, with control codes as escapes for a terminal."""
    return _Terminal(sys.stdout.buffer) if sys.stdout.isatty() else sys.stdout.buffer


class _Terminal:
    """A terminal to which the data of strangers are written."""

    closed = False

    def __init__(self, file: Any) -> None:
        self.file = file
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def write(self, data: Any) -> int:
        self.file.write(visible(self.decoder.decode(bytes(data))).encode())
        return len(data)

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        """It stays open."""

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def _type_of(values: Any) -> Any:
    """The Arrow type for a column, None if nothing tells it; what is no bool or number is text."""
    import pyarrow

    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    if kind == "O":
        kinds = {type(value) for value in values if value is not None}
        if not kinds:
            return None
        kind = {frozenset({bool}): "b", frozenset({int}): "i", frozenset({float}): "f"}.get(frozenset(kinds), "O")
    return {"b": pyarrow.bool_(), "i": pyarrow.int64(), "u": pyarrow.uint64(), "f": pyarrow.float64()}.get(
        kind, pyarrow.string()
    )


def _array(values: Any, kind: Any) -> Any:
    import pyarrow

    if kind == pyarrow.string():
        return pyarrow.array([None if value is None else str(value) for value in values], kind)
    if pyarrow.types.is_integer(kind) and not hasattr(values, "dtype"):
        # Arrow would cut the fraction off.
        values = [value if value is None or _fits(value, kind) else None for value in values]
    try:
        return pyarrow.array(values, kind, from_pandas=True)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        # A class of another type than the first ones; the column cannot change any more.
        return pyarrow.array([value if _fits(value, kind) else None for value in values], kind, from_pandas=True)


def _fits(value: Any, kind: Any) -> bool:
    import pyarrow

    if kind == pyarrow.bool_():
        return isinstance(value, bool)
    return isinstance(value, int if kind == pyarrow.int64() else (int, float)) and not isinstance(value, bool)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in row.items()
    }
