"""Files that are not what they should be end in one line: who, where, what is wrong. None is called a bug."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millstream import stream
from millstream.cli.main import main
from millstream.errors import InvalidValue, MillstreamError, NotPermitted, Unreadable
from millstream.stream.source import cannot_be_read

TABLE = pyarrow.table({"a": [1.0, 2.0, 3.0], "s": ["x", "yy", "z"], "y": [0, 1, 0]})

#: The header and a row of each text format.
TEXTS = {
    "csv": (b"a,s,y\n", b"1,x,0\n"),
    "jsonl": (b"", b'{"a":1,"s":"x","y":0}\n'),
    "arff": (b"@relation r\n@attribute a numeric\n@attribute s string\n@attribute y {0,1}\n@data\n", b"1,x,0\n"),
    "libsvm": (b"", b"1 1:1 2:2\n"),
    "vw": (b"", b"1 |n a:1 b\n"),
}

READERS: dict[str, Callable[..., Any]] = {
    "csv": stream.read_csv,
    "jsonl": stream.read_json_lines,
    "arff": stream.read_arff,
    "libsvm": stream.read_libsvm,
    "vw": stream.read_vw,
    "parquet": stream.read_parquet,
    "arrow": stream.read_arrow,
    "ipc": stream.read_arrow,
    "db": stream.read_sqlite,
}


def good(kind: str, folder: Path) -> tuple[bytes, bytes]:
    """A header and a row; of files that hold columns, the whole."""
    if kind in TEXTS:
        return TEXTS[kind]
    path = folder / f"good.{kind}"
    if kind == "parquet":
        pyarrow.parquet.write_table(TABLE, path)
    elif kind == "arrow":
        pyarrow.feather.write_feather(TABLE, path, compression="uncompressed")
    elif kind == "ipc":
        with pyarrow.ipc.new_stream(str(path), TABLE.schema) as writer:
            writer.write_table(TABLE)
    else:
        with contextlib.closing(sqlite3.connect(path)) as base, base:
            base.execute("create table t (a real, s text, y integer)")
            base.executemany("insert into t values (?, ?, ?)", [(1.0, "x", 0)] * 300)
    return path.read_bytes(), b""


def contents(head: bytes, row: bytes) -> Iterator[tuple[str, bytes]]:
    rows = row * 30
    bad = row[:2] + b"\xe9" + row[2:]
    yield "empty", b""
    yield "line break", b"\n"
    yield "blank", b"  \n\t\n"
    yield "header only", head
    yield "header without line break", head[:-1]
    yield "bad UTF-8 at the start", b"\xfa" + head + rows
    yield "bad UTF-8 alone", b"\xe9"
    yield "bad UTF-8 in the header", head[:3] + b"\xe9" + head[3:] + rows
    yield "bad UTF-8 in the first row", head + bad + rows
    yield "bad UTF-8 in the only row", head + bad
    yield "bad UTF-8 in the only row without line break", head + bad[:-1]
    yield "bad UTF-8 in the middle", head + rows + bad + rows
    yield "bad UTF-8 at the end", head + rows + row[:2] + b"\xe9"
    yield "bad UTF-8 in all rows", head + bad * 30
    yield "NUL at the start", b"\0" + head + rows
    yield "NUL in the middle", head + rows + row[:2] + b"\0" + row[2:] + rows
    yield "NUL at the end", head + rows + b"\0"
    yield "NULs", b"\0" * 1000
    yield "picture", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
    yield "program", b"\x7fELF" + bytes(range(256)) * 40
    yield "web page", b"<!DOCTYPE html>\n<html><body>404</body></html>\n"
    yield "UTF-16 without a mark", (head + rows).decode("latin-1").encode("utf-16-le")
    yield "cut", (head + rows)[:-3]
    yield "half", (head + rows)[: len(head + rows) // 2]
    yield "gzip, cut", gzip.compress(head + rows, mtime=0)[:-9]
    yield "gzip, beginning", b"\x1f\x8b"
    for name, mark in (("zstd", b"\x28\xb5\x2f\xfd"), ("xz", b"\xfd7zXZ\x00"), ("lz4", b"\x04\x22\x4d\x18")):
        yield f"{name}, damaged", mark + b"garbage" * 9
    yield "every 37th byte changed", bytes(c ^ 0x55 if i % 37 == 5 else c for i, c in enumerate(head + rows))
    yield "open quote", b'"a\nb\n'


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("kind", READERS)
def test_bad_files_end_in_one_line(tmp_path: Path, kind: str, on_error: str) -> None:
    path = tmp_path / f"rows.{kind}"
    for name, data in contents(*good(kind, tmp_path)):
        path.write_bytes(data)
        words = f"{path}: good"
        try:
            rows = READERS[kind](path, on_error=on_error)
            sum(len(chunk) for chunk in rows.chunks())
            assert str(getattr(rows, "skipped", "")).isprintable(), name
        except MillstreamError as error:
            words = str(error)
        assert words.startswith(str(path)), name
        assert words.isprintable(), name
        assert len(words) < len(str(path)) + 300, name


@pytest.mark.parametrize("kind", READERS)
def test_commands_say_one_line_of_bad_files(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"rows.{'arrow' if kind == 'ipc' else kind}"
    target = [] if kind in ("libsvm", "vw", "arff") else ["--target", "y"]
    for name, data in contents(*good(kind, tmp_path)):
        path.write_bytes(data)
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            code = main(["run", str(path), *target, "--quiet"])
        lines = [line for line in errors.getvalue().splitlines() if "there is nothing to learn" not in line]
        assert "bug" not in errors.getvalue(), (name, errors.getvalue())
        assert code in (0, 1, 2)
        assert len(lines) == (code != 0) or not lines, (name, lines)
        assert all(line.isprintable() for line in lines), name


@pytest.mark.parametrize("kind", READERS)
def test_what_is_no_file_is_said_in_one_line(tmp_path: Path, kind: str) -> None:
    read = READERS[kind]
    with pytest.raises(Unreadable, match="is a directory, not a file"):
        list(read(tmp_path).chunks())
    with pytest.raises(FileNotFoundError, match="there is no file"):
        list(read(tmp_path / "nothing").chunks())
    with pytest.raises(Unreadable, match="name too long"):
        list(read("x" * 5000).chunks())
    with pytest.raises(FileNotFoundError, match="there is no file"):
        list(read("a\0b").chunks())


def test_a_file_that_may_not_be_read_is_also_a_permission_error() -> None:
    error = cannot_be_read("rows.csv", PermissionError(13, "Permission denied"))
    assert isinstance(error, NotPermitted)
    assert isinstance(error, PermissionError)
    assert str(error) == "'rows.csv' cannot be read: permission denied"


READ = """
import os, sys
from millstream import stream
from millstream.errors import NotPermitted

# All that they need is imported before.
for path in sys.argv[1:]:
    list(stream.open(path).chunks())
for path in sys.argv[1:]:
    os.chmod(path, 0)
# Whoever may read everything gives that up.
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for path in sys.argv[1:]:
    try:
        list(stream.open(path).chunks())
    except NotPermitted as error:
        print(error)
"""


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="no users here")
def test_files_without_permission(tmp_path: Path) -> None:
    paths = []
    for kind in ("csv", "jsonl", "arff", "libsvm", "vw", "parquet", "arrow", "db"):
        path = tmp_path / f"rows.{kind}"
        path.write_bytes(b"".join(good(kind, tmp_path)))
        paths.append(str(path))
    folder = tmp_path
    while folder != folder.parent:
        with contextlib.suppress(PermissionError):
            folder.chmod(folder.stat().st_mode | 0o005)
        folder = folder.parent
    done = subprocess.run([sys.executable, "-c", READ, *paths], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [f"{path!r} cannot be read: permission denied" for path in paths]


def read(data: bytes, **options: Any) -> list[Any]:
    return list(stream.read_csv(io.BytesIO(data), **options))


def test_bad_utf8_in_the_only_row_is_that() -> None:
    for data, place in [
        (b"a,y\n1,\xff", "line 2, column 'y'"),
        (b"a\n\xff", "line 2, column 'a'"),
        (b"a,y\n\xff,1\n", "line 2, column 'a'"),
        (b"\xe9,y\n1,0\n", "line 1, name of column 1"),
    ]:
        with pytest.raises(InvalidValue, match=rf"BytesIO, {place}: bad UTF-8 \(byte 0x"):
            read(data)
    # One bad value does not make a column of numbers nominal.
    rows = stream.read_csv(io.BytesIO(b"a,y\n1,0\n\xff,1\n3,1\n"), on_error="skip")
    assert [x["a"] for x, _ in rows] == [1, 3]
    assert rows.schema["a"] == "number"


def test_files_that_are_no_text_say_so() -> None:
    with pytest.raises(InvalidValue, match=r"line 1: a NUL byte: not a text file, or .* encoding='utf-16'"):
        read("a,y\n1,0\n".encode("utf-16-le"))
    assert read("a,y\n1,0\n".encode("utf-16-le"), encoding="utf-16-le") == read(b"a,y\n1,0\n")
    bad = b"@relation r\n@attribute \xe9 numeric\n@data\n1\n"
    with pytest.raises(InvalidValue, match=r"line 2: bad UTF-8 \(byte 0xe9\)"):
        list(stream.read_arff(io.BytesIO(bad)))
    # Comments may be in any encoding.
    assert len(list(stream.read_arff(io.BytesIO(b"% \xe9\n@relation r\n@attribute a numeric\n@data\n1\n")))) == 1
    with pytest.raises(InvalidValue, match="line 2: attribute 'd': not a date format: 'MM-MM'"):
        list(stream.read_arff(io.BytesIO(b"@relation r\n@attribute d date 'MM-MM'\n@data\n1\n")))


def test_a_damaged_data_base_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows?#%41.db"
    with contextlib.closing(sqlite3.connect(path)) as base, base:
        base.execute("create table t (a real)")
        base.executemany("insert into t values (?)", [(i / 7,) for i in range(10_000)])
    assert len(list(stream.read_sqlite(path))) == 10_000
    rows = stream.read_sqlite(path)
    path.write_bytes(path.read_bytes()[:-20_000])
    with pytest.raises(InvalidValue) as found:
        list(rows.chunks())
    assert str(found.value) == f"{path}: database disk image is malformed"


SEEDS = {
    "csv": b'a,s,t,y\n1,x,2020-01-01,0\n2.5,"y, z",2020-01-02,1\n,"two\nlines",,1\n?,NA,x,0\n',
    "jsonl": b'{"a":1,"s":"x","t":"2020-01-01","y":0}\n{"a":2.5,"n":{"m":[1,2]},"y":1}\n',
    "arff": (
        b"@relation r\n@attribute a numeric\n@attribute 's t' {x,'y z'}\n@attribute d date 'yyyy-MM-dd'\n"
        b"@attribute y {0,1}\n@data\n1,x,'2020-01-01',0\n% c\n?,'y z',?,1\n{0 3, 3 1}\n2,x,?,0,{2.5}\n"
    ),
    "libsvm": b"1 1:1 2:2.5 # c\n-1 qid:3 2:1e3\n0 \n",
    "vw": b"1 2.0 'tag|ns a:1 b |m:2 c\n-1 |n x y:2\n| z\n",
}

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "csv": [
        {},
        {"target": "y"},
        {"header": False},
        {"types": {"a": "number", "s": "nominal"}},
        {"quote": None},
        {"delimiter": ";"},
        {"time": "t", "drop": ["s"]},
        {"weight": "a", "target": "y"},
        {"names": ["p", "q", "r", "u"]},
    ],
    "jsonl": [{}, {"target": "y"}, {"types": {"a": "number"}}, {"weight": "a"}, {"time": "t"}],
    "arff": [{}, {"target": "a"}, {"weight": "{weight}"}, {"types": {"a": "nominal"}}],
    "libsvm": [{}, {"zero_based": False}, {"n_features": 5}, {"labels": "class"}],
    "vw": [{}, {"bits": 5}, {"labels": "number"}, {"constant": False}],
}

TOKENS = (
    b"|\xff|\0|\n|\r|\r\n|\"|'|,|;|\t|:|%|@data\n|@attribute|{|}|#|1e999|nan|inf|-|999999999999999999999|"
    b" |\xc3|\xe9|null|qid:|\\|\xef\xbb\xbf|2020-01-01 00:00:00|1:2|0:1"
).split(b"|")


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes]:
    kind = draw(st.sampled_from(sorted(SEEDS)))
    data = bytearray(SEEDS[kind])
    if draw(st.booleans()):
        data = data[: draw(st.integers(0, len(data)))]
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(data)))
        data[place : place + draw(st.integers(0, 4))] = draw(
            st.sampled_from([*TOKENS, b"|", b"9" * 400]) | st.binary(max_size=3)
        )
    return kind, bytes(data)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(files(), st.sampled_from([1, 9, 1 << 20]), st.sampled_from(["raise", "skip"]), st.data())
def test_damaged_files_are_read_or_refused(file: tuple[str, bytes], block: int, on_error: str, data: Any) -> None:
    kind, content = file
    options = dict(data.draw(st.sampled_from(OPTIONS[kind])))
    if kind in ("csv", "jsonl", "arff"):
        options["block_size"] = block
    with contextlib.suppress(MillstreamError):
        rows = READERS[kind](io.BytesIO(content), on_error=on_error, **options)
        sum(len(chunk) for chunk in rows.chunks())
