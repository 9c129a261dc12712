"""Incremental writers of columns: CSV, Parquet and JSON lines, by the suffix of the file."""

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
    """Check that a file can be written, before the work starts."""
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
    """Refuse to overwrite an input, or to write two outputs to one file."""
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
            raise UsageError(f"{what}: {path} is also {seen[key]}")
        seen[key] = what


class Writer:
    """Writes columns chunk by chunk; the first chunk determines the types. "-" is standard output, as CSV."""

    def __init__(self, path: str, format: str | None = None) -> None:  # noqa: A002
        self.path = path
        self.format = format or (Path(path).suffix.lower().removeprefix(".") if path != "-" else "csv")
        self.rows = 0
        self.schema: Any = None
        self.writer: Any = None
        self.file: Any = None

    def write(self, columns: Mapping[str, Any]) -> None:
        """Write more rows."""
        import pyarrow

        if self.schema is None:
            # Before the first label arrives, there is no prediction to infer a type from.
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
            # The predictions for a growing source are read while they are written.
            self.file.flush()

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Add the name of the file to an error."""
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
        """Write the remaining rows."""
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
    """A terminal that untrusted data is written to."""

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
        """Keep standard output open."""

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def _type_of(values: Any) -> Any:
    """The Arrow type of a column, None if it is unknown; everything but bools and numbers is a string."""
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
        # Arrow would truncate the fraction.
        values = [value if value is None or _fits(value, kind) else None for value in values]
    try:
        return pyarrow.array(values, kind, from_pandas=True)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        # The class has another type than the first ones, and the type of the column cannot change.
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
