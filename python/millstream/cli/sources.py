"""SOURCE and its options: a file of any format, standard input, a data set, or a generator."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import re
from argparse import Namespace
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream._echo import plain, quoted
from millstream.cli.errors import UsageError
from millstream.cli.options import Option, count, grouped, kept_names, pair, positive, setting
from millstream.cli.readers import not_taken, reader_of
from millstream.errors import InvalidNotation, InvalidValue
from millstream.notation import Vocabulary, parse
from millstream.registry import find, nearest

if TYPE_CHECKING:
    from millstream.stream import Stream

__all__ = ["SOURCE", "SOURCE_OPTIONS", "choice", "near_file", "source_name", "source_of", "vocabulary"]

SOURCE = Option(
    ("source",),
    'file (CSV, Parquet, Arrow, JSON lines, ARFF, libsvm, VW, SQLite; gzip, zstd), "-" for standard input, '
    'data set ("Flights"), generator ("SEA(seed=1)") or messages ("kafka://host:port/topic", "redis://…/stream", '
    '"tcp://host:port", "unix:path")',
    value="SOURCE",
    complete="file",
)

TARGET = Option(("--target", "-t"), "column to predict", value="COLUMN")

SOURCE_OPTIONS = (
    SOURCE,
    *grouped(
        "source",
        TARGET,
        Option(("--weight",), "column of sample weights", value="COLUMN"),
        Option(("--time",), "column of event times", value="COLUMN"),
        Option(("--label-time",), "column of the times at which labels arrive", value="COLUMN"),
        Option(("--drop",), "columns to ignore, separated by commas; repeatable", value="COLUMNS", many=True),
        Option(
            ("--types",),
            "override the type of a column: number, nominal, text, time or time:%%d.%%m.%%Y; repeatable",
            value="COLUMN=KIND",
            kind=pair,
            many=True,
        ),
        Option(
            ("--calendar",),
            "column of times that becomes hour, weekday, day of the year and time since the last row; repeatable",
            value="COLUMN",
            many=True,
        ),
        Option(("--format",), "file format, if it cannot be detected", value="FORMAT"),
        Option(("--query",), "SQL query for a database", value="SQL"),
        Option(
            ("--option",),
            "option of the reader, such as delimiter=';'; repeatable",
            value="NAME=VALUE",
            kind=setting,
            many=True,
        ),
        Option(
            ("--on-error",),
            "what to do with a row that cannot be read or learned: stop, or skip and count it",
            value="WHAT",
            choices=("raise", "skip"),
            default="raise",
        ),
        Option(("--follow",), "wait for new rows at the end of the file, like tail -f; stop with Ctrl-C"),
        Option(("--limit",), "maximum number of rows", value="ROWS", kind=count),
        Option(("--skip",), "number of initial rows to skip", value="ROWS", kind=count),
        Option(("--shuffle",), "shuffle rows with a buffer of this size", value="ROWS", kind=positive),
        Option(("--seed",), "seed of --shuffle", value="NUMBER", kind=count, default=1),
    ),
)

#: Methods that may be called on a source: `SEA(seed=1).take(1000)`.
METHODS = ("take", "skip", "shuffle", "repeat", "batch")

_DATA_BASES = (".db", ".sqlite", ".sqlite3")


def vocabulary() -> Vocabulary:
    """The names that a source may have: data sets, readers and the registry, which has the generators."""
    names: dict[str, str] = {}
    for module in ("datasets", "synth"):
        full = f"millstream.{module}"
        if importlib.util.find_spec(full) is not None:
            found = importlib.import_module(full)
            kinds = {name: kind for name in found.__all__ if _is_source(kind := getattr(found, name))}
            # Base classes are not sources.
            last = [
                name for name, kind in kinds.items() if not any(_is_below(each, kind) for each in kinds.values())
            ]
            names |= {f"{module}.{name}": full for name in last if f"{module}.{name}" not in find()}
    readers = importlib.import_module("millstream.stream").__all__
    names |= {f"stream.{name}": "millstream.stream" for name in readers if name.startswith("read_")}
    return Vocabulary(names, METHODS)


def _is_source(kind: Any) -> bool:
    from millstream.stream import Stream

    return isinstance(kind, type) and issubclass(kind, Stream)


def _is_below(kind: type, other: type) -> bool:
    return kind is not other and issubclass(kind, other)


def source_of(given: Namespace, *, learning: bool = True) -> Stream:
    """The stream of a command line."""
    text = given.source
    if not text.strip():
        raise UsageError("SOURCE must be a file, a data set or a generator, got ''")
    named = _columns(given)
    if given.label_time and not given.time:
        raise UsageError(
            "--label-time needs --time: a label arrives when an example at or after its time is predicted"
        )
    found = _messages(text, given, named) or (
        _file(text, given, named) if _is_file(text, given) else _built(text, given, named)
    )
    if learning and found.target is None and _is_table(found):
        raise UsageError(f"no target given: pass --target COLUMN{choice(found)}")
    for name in given.calendar or ():
        found = found.calendar(name, keep=name in kept_names(given))
    if given.skip:
        found = found.skip(given.skip)
    if given.shuffle:
        found = found.shuffle(given.shuffle, seed=given.seed)
    return found


def _is_table(found: Stream) -> bool:
    from millstream.stream.table import TableStream

    return isinstance(found, TableStream)


def choice(found: Stream) -> str:
    """The columns of a source, if they can be read without consuming it."""
    try:
        names = list(found.schema) if found.repeatable and not found.endless else []
    except Exception:
        names = []
    shown = [plain(name, 60) for name in names[:12]] + ["…"] * (len(names) > 12)
    return f"; columns: {', '.join(shown)}" if shown else ""


def _columns(given: Namespace) -> dict[str, Any]:
    """The given options of the reader."""
    named: dict[str, Any] = {
        name: getattr(given, name) for name in ("target", "weight", "time", "label_time") if getattr(given, name)
    }
    if given.drop:
        named["drop"] = [name for names in given.drop for name in names.split(",") if name]
    if given.types:
        named["types"] = dict(given.types)
    if given.on_error != "raise":
        named["on_error"] = given.on_error
    if given.follow:
        named["follow"] = True
    for name, value in given.option or ():
        try:
            named[name] = parse(value)
        except InvalidNotation:
            named[name] = value
    return named


def _is_file(text: str, given: Namespace) -> bool:
    if text == "-" or given.query or given.format or Path(text).exists():
        return True
    return "(" not in text and (bool(re.search(r"[/\\]", text)) or bool(re.search(r"\.[A-Za-z]\w*$", text)))


def _file(text: str, given: Namespace, named: dict[str, Any]) -> Stream:
    from millstream import stream

    if text != "-":
        path = Path(text)
        if not path.exists():
            raise InvalidValue(f"{text}: there is no such file{near_file(path)}")
        if path.is_dir():
            raise InvalidValue(f"{text}: is a directory, not a file")
        if given.query or path.suffix.lower() in _DATA_BASES:
            return _data_base(path, given.query, named)

    return _called(lambda: stream.open(text, format=given.format, **named), text, named, given)


def _messages(text: str, given: Namespace, named: dict[str, Any]) -> Stream | None:
    """The messages at an address such as kafka://host:port/topic; None for another source."""
    from millstream import stream
    from millstream.stream.formats import is_address

    if given.format or given.query or not is_address(text) or Path(text).exists():
        return None
    return _called(lambda: stream.open(text, **named), text, named, given)


def source_name(source: str) -> str:
    """A source in words."""
    return "standard input" if source == "-" else source


def near_file(path: Path) -> str:
    """A file of nearly the same name, in words."""
    try:
        names = [other.name for other in path.parent.iterdir()]
    except OSError:
        return f"; there is no directory {str(path.parent)!r} either"
    near = difflib.get_close_matches(path.name, names, n=1)
    return f", did you mean {str(path.parent / near[0])!r}?" if near else ""


def _data_base(path: Path, query: str | None, named: dict[str, Any]) -> Stream:
    import sqlite3

    from millstream import stream

    if not path.stat().st_size:
        raise InvalidValue(f"{path}: the file is empty")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as base:
            found = base.execute("select name from sqlite_master where type in ('table', 'view') order by name")
            tables = [str(name) for (name,) in found]
    except sqlite3.Error as error:
        raise InvalidValue(f"{path}: {error}") from None
    if query is None and len(tables) != 1:
        shown = ", ".join(plain(table, 60) for table in tables[:12]) + (", …" if len(tables) > 12 else "")
        raise UsageError(f"{path}: no query given: pass --query 'select * from …'; tables: {shown or 'none'}")
    if query is None:
        name = tables[0].replace('"', '""')
        query = f'select * from "{name}"'
    return _called(lambda: stream.read_sqlite(path, query=query, **named), str(path), named, None)


def _called(make: Callable[[], Stream], text: str, named: dict[str, Any], given: Namespace | None) -> Stream:
    try:
        return make()
    except InvalidValue as error:
        found = re.match(r"stream(\.\w+)?: ", str(error))
        if found:
            # Readers check their parameters before they read a byte.
            raise UsageError(f"{text}: {str(error)[found.end() :]}") from None
        raise
    except TypeError as error:
        found = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if found:
            reader = "read_sql" if given is None else reader_of(text, given.format)
            raise UsageError(f"{text}: {not_taken(found[1], reader)}") from None
        if not named:
            raise
        raise UsageError(f"{text}: an option of the reader has the wrong type: {error}") from None


def _built(text: str, given: Namespace, named: dict[str, Any]) -> Stream:
    """A data set or a generator, which defines its own columns."""
    from millstream.stream import Stream

    words = vocabulary()
    try:
        built = parse(text, vocabulary=words)
    except InvalidNotation as error:
        if "no component named" in str(error) and re.fullmatch(r"\w+", text):
            sources = [name for name in words.names if name.startswith(("datasets.", "synth."))]
            raise UsageError(
                f"{text}: no file, data set or generator of this name{nearest(text, sources)}"
            ) from None
        raise
    if not isinstance(built, Stream):
        raise UsageError(f"{text}: must be a file, a data set or a generator, got {type(built).__name__}")
    target = named.pop("target", None)
    if target is not None and built.target is not None and target != built.target:
        raise UsageError(f"{text}: its target is {quoted(built.target)}; --target applies to files only")
    named.pop("on_error", None)
    if named:
        raise UsageError(f"{text}: --{next(iter(named)).replace('_', '-')} applies to files only")
    return built
