"""Choice of the reader, by file extension or by the first bytes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue
from millstream.registry import nearest
from millstream.stream.base import Stream
from millstream.stream.compression import SUFFIXES, decompressed
from millstream.stream.dialect import divides
from millstream.stream.options import check_options
from millstream.stream.source import check

__all__ = ["FORMATS", "MESSAGES", "is_address", "open", "read_stdin"]

#: The reader of each format and its file extensions.
FORMATS: dict[str, tuple[str, tuple[str, ...]]] = {
    "csv": ("read_csv", (".csv", ".tsv", ".tab", ".psv")),
    "parquet": ("read_parquet", (".parquet", ".pq")),
    "arrow": ("read_arrow", (".arrow", ".ipc", ".feather", ".arrows")),
    "json_lines": ("read_json_lines", (".jsonl", ".ndjson", ".json")),
    "arff": ("read_arff", (".arff",)),
    "libsvm": ("read_libsvm", (".libsvm", ".svmlight", ".svm")),
    "vw": ("read_vw", (".vw",)),
    "sql": ("read_sqlite", (".db", ".sqlite", ".sqlite3")),
}

#: The readers of messages, by the beginning of an address.
MESSAGES = {
    "kafka": "read_kafka",
    "redis": "read_redis",
    "rediss": "read_redis",
    "tcp": "read_socket",
    "unix": "read_socket",
}

#: Formats in which each line has a label, which is the target.
_LABELLED = ("libsvm", "vw")

#: Extensions that imply options.
_OPTIONS: dict[str, dict[str, Any]] = {".tsv": {"delimiter": "\t"}, ".tab": {"delimiter": "\t"}}

#: Aliases of formats.
_ALIASES = {
    "jsonl": "json_lines",
    "ndjson": "json_lines",
    "json": "json_lines",
    "tsv": "csv",
    "feather": "arrow",
    "ipc": "arrow",
    "svmlight": "libsvm",
    "sqlite": "sql",
}

_ENDINGS = {ending: name for name, (_, endings) in FORMATS.items() for ending in endings}

#: First bytes of a format.
_STARTS: tuple[tuple[re.Pattern[bytes], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), name)
    for pattern, name in (
        (rb"PAR1", "parquet"),
        (rb"ARROW1|FEA1|\xff\xff\xff\xff", "arrow"),
        (rb"SQLite format 3\0", "sql"),
        (rb"\s*\{", "json_lines"),
        (rb"(\s*(%[^\n]*)?\n)*\s*@relation\s", "arff"),
        (rb"[-+]?[\d.]+(e[-+]?\d+)?(\s+qid:\d+)?(\s+\d+:[-+]?[\d.]+(e[-+]?\d+)?)+\s*(#[^\n]*)?\r?\n", "libsvm"),
        (rb"([-+]?[\d.]+(e[-+]?\d+)?( [\d.]+){0,2})?( ?'[^\s|]+)?[ \t]*\|[^\s|]*[ \t]+[^\s|]", "vw"),
    )
)


def open(  # noqa: A001
    source: Any,
    target: str | None = None,
    *,
    format: str | None = None,  # noqa: A002
    **options: Any,
) -> Stream:
    """Read a file in any format, detected by its extension (`.csv`, `.parquet`, `.vw.gz`) or its first bytes.

    Messages are read from an address: `kafka://host:port/topic`, `redis://host:port/stream` (`redis://host:port/1/stream`
    for database 1), `tcp://host:port` or `unix:path` to listen on a socket.

    Parameters
    ----------
    source
        A path, `"-"` for standard input, an open file, or an address.
    target
        The column to predict. Not needed for libsvm and Vowpal Wabbit files, where it is "label".
    format
        One of csv, parquet, arrow, json_lines, arff, libsvm, vw, sql; None to detect it.
    options
        Options of the reader of that format, for example `read_csv`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from millstream import stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "people.csv"
    ...     _ = path.write_text("age,late\\n31,no\\n45,yes\\n")
    ...     list(stream.open(path, target="late"))
    [({'age': 31}, 'no'), ({'age': 45}, 'yes')]
    """
    from millstream import stream

    if format is None and is_address(source):
        return _messages(source, target, options)
    name = format
    if name is None:
        name, implied = _found(source)
        options = {**implied, **options}
    name = _ALIASES.get(name, name)
    if name not in FORMATS:
        raise InvalidValue(f"stream: there is no format {quoted(name)}{nearest(name, FORMATS) or _known()}")
    if target is not None and (name not in _LABELLED or target != "label"):
        options["target"] = target
    reader = getattr(stream, FORMATS[name][0])
    check_options(reader, options)
    return reader(source, **options)  # type: ignore[no-any-return]


def is_address(source: Any) -> bool:
    """Whether a source is the address of messages, such as kafka://host:port/topic."""
    found = re.match(r"([a-z]+):", source) if isinstance(source, str) else None
    if found is None or found[1] not in MESSAGES:
        return False
    return found[1] == "unix" or source.startswith("//", found.end())


def _messages(source: str, target: str | None, options: dict[str, Any]) -> Stream:
    """The source of messages at an address."""
    from millstream import stream

    kind = source.partition(":")[0]
    reader = getattr(stream, MESSAGES[kind])
    rest = source.partition("://")[2]
    if target is not None:
        options["target"] = target
    options = {name: value for name, value in options.items() if name != "follow"}
    if kind in ("unix", "tcp"):
        return reader(source if kind == "unix" else rest.rstrip("/"), **options)  # type: ignore[no-any-return]
    place, _, name = rest.rpartition("/")
    if not place or not name:
        what = "topic" if kind == "kafka" else "stream"
        raise InvalidValue(f"stream: an address must be {kind}://host:port/{what}, got {quoted(source)}")
    return reader(place if kind == "kafka" else f"{kind}://{place}", name, **options)  # type: ignore[no-any-return]


def read_stdin(target: str | None = None, *, format: str | None = None, **options: Any) -> Stream:  # noqa: A002
    """Read standard input, like `open("-")`: `cat flights.csv | python script.py`.

    It can be read only once. With `follow=True`, rows are yielded as soon as they arrive.

    Parameters
    ----------
    target, format, options
        As for `open`.

    Examples
    --------
    >>> import io, sys
    >>> from unittest import mock
    >>> from millstream import stream
    >>> with mock.patch("sys.stdin", io.StringIO("x,y\\n1,0\\n2,1\\n")):
    ...     list(stream.read_stdin(target="y", format="csv"))
    [({'x': 1}, 0), ({'x': 2}, 1)]
    """
    return open("-", target=target, format=format, **options)


def _found(source: Any) -> tuple[str, dict[str, Any]]:
    """The format of a source, and options implied by its name."""
    name = source if isinstance(source, (str, os.PathLike)) else getattr(source, "name", None)
    if not isinstance(name, (str, os.PathLike)):
        if not hasattr(source, "read"):
            raise InvalidType(f"stream: a source must be a path, '-' or an open file, got {type(source).__name__}")
        name = type(source).__name__
    endings = [ending.lower() for ending in Path(name).suffixes]
    while endings and endings[-1] in SUFFIXES:
        endings.pop()
    if endings and endings[-1] in _ENDINGS:
        return _ENDINGS[endings[-1]], dict(_OPTIONS.get(endings[-1], {}))
    words = "standard input" if name == "-" else str(name)
    head = _head(source, words)
    for pattern, found in _STARTS:
        if pattern.match(head):
            return found, {}
    if not head or divides(head):
        return "csv", {}
    raise InvalidValue(f"{words}: the format cannot be detected; pass format= {_known().strip()}")


def _head(source: Any, name: str) -> bytes:
    """The first bytes of a source, without consuming them."""
    raw = b""
    if isinstance(source, (str, os.PathLike)) and source != "-":
        check(os.fspath(source))
        with Path(source).open("rb") as file:
            raw = file.read(1 << 16)
    else:
        stream: Any = sys.stdin if source == "-" else source
        stream = getattr(stream, "buffer", stream)
        with suppress(OSError, ValueError, AttributeError):
            if hasattr(stream, "peek"):
                raw = stream.peek(1 << 16)
            elif stream.seekable():
                place = stream.tell()
                raw = stream.read(1 << 16)
                stream.seek(place)
    pieces: Iterator[bytes | None] = iter([raw.encode() if isinstance(raw, str) else raw])
    head = b""
    # The beginning of a compressed file looks truncated; only the beginning is needed.
    with suppress(InvalidValue, OSError):
        for piece in decompressed(pieces, name):
            head += piece or b""
            if len(head) > 1 << 16:
                break
    return head.removeprefix(b"\xef\xbb\xbf")


def _known() -> str:
    return f" (one of {', '.join(FORMATS)})"
