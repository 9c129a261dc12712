"""Reading files: CSV of all sorts and sizes of blocks, compression, what is bad in them, growing files, open()."""

import bz2
import csv
import gzip
import io
import lzma
import math
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as arrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream import evaluate, linear_model, preprocessing, stream
from millstream.errors import InvalidType, InvalidValue, MissingFile, UnknownName, Unreadable
from millstream.stream.blocks import LINES, Rules, blocks, line_blocks


def read(data, **options):
    """The rows, what was set aside, and the message of the error that ended it."""
    options.setdefault("target", "y")
    source = stream.read_csv(io.BytesIO(data), **options)
    rows, message = [], None
    try:
        for chunk in source.chunks():
            rows += chunk.examples()
    except (InvalidValue, Unreadable, UnknownName) as error:
        message = str(error)
        assert "\n" not in message
    return rows, source.skipped, message


SIMPLE = [({"x": 1}, 0), ({"x": 2}, 1)]
BIG = b"x,y\n" + b"1,0\n2,1\n" * 1000


@pytest.fixture
def short_head(monkeypatch):
    """Let the first thousand bytes decide what columns are, so that a small file has rows after them."""
    monkeypatch.setattr("millstream.stream.csv.HEAD", 1000)
    monkeypatch.setattr("millstream.stream.source.PIECE", 500)


@pytest.mark.parametrize(
    "data",
    [
        b"x,y\n1,0\n2,1\n",
        b"x,y\n1,0\n2,1",
        b"x,y\r\n1,0\r\n2,1\r\n",
        b"x,y\r1,0\r2,1\r",
        b"\xef\xbb\xbfx,y\n1,0\n2,1\n",
        b'\xef\xbb\xbf"x","y"\r\n"1","0"\r\n2,1',
        "x,y\n1,0\n2,1\n".encode("utf-16"),
        b"\n\nx,y\n\n1,0\n\r\n\n2,1\n\n\n",
        b" x , y\n 1 , 0\n 2 , 1\n",
        b"x;y\n1;0\n2;1\n",
        b"x\ty\n1\t0\n2\t1\n",
        b"x|y\n1|0\n2|1\n",
        b"x y\n1 0\n2 1\n",
        gzip.compress(b"x,y\n1,0\n", mtime=0) + gzip.compress(b"2,1\n", mtime=0),
        gzip.compress(b"x,y\n1,0\n2,1\n", mtime=0) + b"\0" * 512,
        bz2.compress(b"x,y\n1,0\n2,1\n"),
        lzma.compress(b"x,y\n1,0\n2,1\n"),
        arrow.compress(b"x,y\n1,0\n2,1\n", codec="zstd", asbytes=True),
    ],
)
@pytest.mark.parametrize("block_size", [1, 5, 1 << 20])
def test_the_same_rows_in_many_dresses(data, block_size):
    assert read(data, block_size=block_size) == (SIMPLE, stream.TableStream().skipped, None)


@pytest.mark.parametrize(
    ("data", "options", "n_rows", "message"),
    [
        (b"", {}, 0, "BytesIO: the file is empty"),
        (b"\n \n", {}, 0, "BytesIO: the file is empty"),
        (b"x,y\n", {}, 0, "BytesIO: there are no rows, only a header"),
        (b"x,y", {}, 0, "BytesIO: there are no rows, only a header"),
        (b"x,y\n1,0\n1,2,3\n2,1\n", {}, 1, "BytesIO, line 3: 3 fields where the header has 2"),
        (b"x,y\n1,0\n\n7\n2,1\n", {}, 1, "BytesIO, line 4: 1 field where the header has 2"),
        (b"1,0\n7\n", {"names": ["x", "y"]}, 1, "BytesIO, line 2: 1 field where there should be 2"),
        (b'x,y\n1,0\n2,"1\n3,0\n', {}, 1, "BytesIO, line 3: a quote is never closed"),
        (
            b"x,late\n1,0\n",
            {"target": "lat"},
            0,
            "BytesIO: there is no column 'lat' for target, did you mean 'late'?",
        ),
        (
            b"x;y\n1;0\n",
            {"delimiter": ","},
            0,
            "BytesIO: there is no column 'y' for target: the file has one column, 'x;y'; perhaps delimiter=';'",
        ),
        (b"x,x,y\n1,2,0\n", {}, 0, "BytesIO: duplicate column 'x'"),
        (b"x,y\n1,0\n2,\n", {}, 1, "BytesIO, line 3, column 'y': the target must not be missing, got nothing"),
        (
            b'"a\nb",y\nu,0\n"v\n\nw",0\n\xe9t\xe9,1\n',
            {},
            2,
            "BytesIO, line 7, column 'a\\nb': bad UTF-8 (byte 0xe9); if the file is in another encoding, "
            "say which, as in encoding='latin-1'",
        ),
        (BIG + b"abc,0\n", {}, 2000, "BytesIO, line 2002, column 'x': must be a number, got 'abc'"),
        (BIG + b"1,z\n", {}, 2000, "BytesIO, line 2002, column 'y': must be a number, got 'z'"),
        (
            gzip.compress(BIG, mtime=0)[:-8],
            {},
            2000,
            "BytesIO: the gzip file is truncated; the rows before the end were read",
        ),
        (b"x,y\n\xff,1\n", {"encoding": "ascii"}, 0, None),
        (
            b"x,y\n1,\x81\n",
            {"encoding": "cp1252"},
            0,
            "BytesIO, at or after line 1: not valid CP1252",
        ),
    ],
)
@pytest.mark.parametrize("block_size", [None, 7])
@pytest.mark.usefixtures("short_head")
def test_what_is_bad_is_named(data, options, n_rows, message, block_size):
    if block_size is not None:
        if len(data) > 1000:
            pytest.skip("too many blocks")
        options = {**options, "block_size": block_size}
    rows, _, found = read(data, **options)
    assert len(rows) == n_rows
    if message is not None:
        assert found == message
    assert found is not None


def test_bad_rows_are_skipped_and_counted():
    data = b'x,t,y\n1,a,0\n1,2,3,4\n2,\xff,1\n3,b,\n4,c,1\n5,"d,0\n6,e,1\n'
    rows, aside, message = read(data, on_error="skip")
    assert message is None
    assert [x["x"] for x, _ in rows] == [1, 4, 6]
    assert aside.count == 4
    assert [reason.partition(":")[0] for reason in aside.reasons] == [
        "BytesIO, line 3",
        "BytesIO, line 4, column 't'",
        "BytesIO, line 5, column 'y'",
        "BytesIO, line 7",
    ]
    for block_size in (1, 8, 30):
        assert read(data, on_error="skip", block_size=block_size)[0] == rows


@pytest.mark.usefixtures("short_head")
def test_values_of_another_kind_later():
    rows, aside, _ = read(BIG + b"abc,0\n3.5,1\n4,z\n", on_error="skip")
    assert rows[-1] == ({"x": 3.5}, 1)
    assert [y for _, y in rows[:2]] == [0, 1]
    assert type(rows[-1][1]) is int
    assert aside.reasons == [
        "BytesIO, line 2002, column 'x': must be a number, got 'abc'",
        "BytesIO, line 2004, column 'y': must be a number, got 'z'",
    ]


@pytest.mark.usefixtures("short_head")
def test_whole_numbers_become_fractions_in_silence():
    rows, aside, message = read(BIG + b"1.5,0\n123456789012345678901234567890,1\n")
    assert (message, aside.count) == (None, 0)
    assert [x["x"] for x, _ in rows[-2:]] == [1.5, 123456789012345678901234567890.0]


@pytest.mark.parametrize("block_size", [100, 1 << 12, 1 << 20])
@pytest.mark.parametrize(
    ("end", "kind", "last"),
    [(b"1.5,0\n2,1\n", "number", 2), (b"1,0\nabc,1\n", "number", None), (b"abc,0\n1,1\n", "nominal", "1")],
)
@pytest.mark.usefixtures("short_head")
def test_a_column_that_begins_late_is_what_its_first_value_is(block_size, end, kind, last):
    source = stream.read_csv(
        io.BytesIO(b"x,y\n" + b",0\n,1\n" * 1000 + end), target="y", on_error="skip", block_size=block_size
    )
    *_, chunk = source.chunks()
    assert source.schema == {"x": kind}
    assert source.skipped.count == (last is None)
    if last is not None:
        assert list(chunk.examples())[-1][0]["x"] == last


@pytest.mark.usefixtures("short_head")
@pytest.mark.parametrize("block_size", [100, 1 << 20])
@pytest.mark.parametrize(
    ("cells", "last", "message"),
    [
        (b"2020-01-01", b"2020-01-02 10:00:00.5", None),
        (b"2020-01-01", b"maybe", "must be a time, got 'maybe'"),
        (b"2020-01-01T10:00:00Z", b"2020-01-01", None),
        (b"true", b"0", None),
        (b"true", b"maybe", "must be a number, got 'maybe'"),
        (b"1.5", b" 2 ", None),
        (b"1.5", b"1,5", "must be a number, got '1,5'"),
    ],
)
def test_each_kind_of_column_breaks_in_its_way(block_size, cells, last, message):
    data = b"x;y\n" + (cells + b";0\n") * 300 + last + b";1\n"
    rows, _, found = read(data, block_size=block_size)
    assert len(rows) == 300 + (message is None)
    assert found == (None if message is None else f"BytesIO, line 302, column 'x': {message}")


def test_kinds():
    data = b"n,f,b,d,s,m,y\n1,0.5,true,2020-01-02,u,?,a\n2,NA,false,2020-01-03 10:00,v,NaN,b\n"
    source = stream.read_csv(io.BytesIO(data), target="y")
    first, second = list(source)
    assert source.schema == {
        "n": "number", "f": "number", "b": "number", "d": "time", "s": "nominal", "m": "unknown"
    }  # fmt: skip
    assert first[0] | {"m": 0} == {"n": 1, "f": 0.5, "b": 1.0, "d": 1577923200.0, "s": "u", "m": 0}
    assert math.isnan(second[0]["f"])
    assert math.isnan(second[0]["m"])
    assert [first[1], second[1]] == ["a", "b"]


def test_what_is_stated_wins():
    data = b"zip,age,y\n01234,1,0\n99,x,1\n"
    rows, aside, _ = read(data, types={"zip": "nominal", "age": "number", "y": "nominal"}, on_error="skip")
    assert rows == [({"zip": "01234", "age": 1}, "0")]
    assert aside.reasons == ["BytesIO, line 3, column 'age': must be a number, got 'x'"]


def test_options_of_the_text():
    assert read(b"x;y\n1,5;0\n", decimal=",")[0] == [({"x": 1.5}, 0)]
    assert read(b"x,y\n-,0\n2,1\n", missing=["-"])[0][1] == ({"x": 2}, 1)
    assert read(b"x,y\nNA,0\n", missing=[])[0] == [({"x": "NA"}, 0)]
    assert read(b"x,y\n'a,b',0\n", quote="'")[0] == [({"x": "a,b"}, 0)]
    assert read(b'x,y\n"a,0\n', quote=None)[0] == [({"x": '"a'}, 0)]
    assert read(b"1,0\n", header=False, target="column_2")[0] == [({"column_1": 1}, 0)]
    assert read("x,y\né,0\n".encode("latin-1"), encoding="latin-1")[0] == [({"x": "é"}, 0)]
    assert read(b"x,z,y\n1,\xff,0\n", drop=["z"])[0] == [({"x": 1}, 0)]


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": "ab"},
        {"delimiter": 3},
        {"quote": ""},
        {"block_size": 0},
        {"encoding": "klingon"},
        {"idle": -1},
    ],
)
def test_options_out_of_range(options):
    with pytest.raises(InvalidValue):
        stream.read_csv(io.BytesIO(b"x,y\n"), **options)


def test_paths(tmp_path):
    with pytest.raises(Unreadable, match="is a directory, not a file"):
        stream.read_csv(tmp_path)
    (tmp_path / "flights.csv").write_text("x,y\n1,0\n")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*flihgts.csv', did you mean 'flights.csv'\?"):
        stream.read_csv(tmp_path / "flihgts.csv")
    with pytest.raises(MissingFile, match="there is no folder"):
        stream.read_csv(tmp_path / "nowhere" / "flights.csv")
    with pytest.raises(InvalidType, match="a source must be a path"):
        stream.read_csv(5)
    source = stream.read_csv(tmp_path / "flights.csv", target="y")
    assert list(pickle.loads(pickle.dumps(source))) == list(source) == [({"x": 1}, 0)]


cells = st.one_of(
    st.text(alphabet='ab,;" \n\r\t|é😀', max_size=6),
    st.integers(-(10**6), 10**6).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    width=st.integers(2, 4),
    rows=st.data(),
    block_size=st.integers(1, 60),
    delimiter=st.sampled_from([",", ";", "\t"]),
    ends=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_any_table_cut_anywhere(width, rows, block_size, delimiter, ends, quoting):
    table = rows.draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=12))
    names = [f"c{place}" for place in range(width)]
    if any("\r" in cell for row in table for cell in row):
        # Python writes a carriage return without quotes where lines end with something else.
        quoting = csv.QUOTE_ALL
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, lineterminator=ends, quoting=quoting)
    writer.writerows([names, *table])
    options = {
        "target": None,
        "delimiter": delimiter,
        "types": dict.fromkeys(names, "text"),
        "missing": [],
    }
    found, _, message = read(file.getvalue().encode(), block_size=block_size, **options)
    assert message is None
    assert [list(x.values()) for x, _ in found] == table


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(text=st.text(alphabet='ab,"\n\r', max_size=40), block_size=st.integers(1, 12))
def test_whatever_the_bytes_the_cut_changes_nothing(text, block_size):
    data = b"p,q\n" + text.encode()
    options = {"target": None, "delimiter": ",", "types": {"p": "text", "q": "text"}, "on_error": "skip"}
    assert read(data, block_size=block_size, **options) == read(data, block_size=1 << 20, **options)


@pytest.mark.slow
@given(st.binary(max_size=60), st.integers(1, 9))
def test_blocks_are_the_bytes(data, size):
    pieces = [data[start : start + 3] for start in range(0, len(data), 3)]
    for rules in (LINES, Rules(b'"')):
        cut = list(blocks(iter(pieces), size, rules))
        assert b"".join(block.data for block in cut) == data
        for block in cut:
            assert block.line == 1 + data[: data.find(block.data)].count(b"\n") or cut.index(block)


@given(st.text(alphabet="a\n", max_size=40), st.integers(1, 9), st.booleans())
def test_blocks_of_lines_are_the_bytes(text, size, fails):
    data = text.encode()

    def pieces():
        yield from (data[start : start + 3] for start in range(0, len(data), 3))
        if fails:
            raise OSError("gone")

    cut = []
    try:
        for parts, inside in line_blocks(pieces(), size):
            # What comes before it has been given whole.
            before = b"".join(cut)
            assert inside == bool(before)
            assert before == b"" or before.endswith(b"\n")
            cut.append(b"".join(parts))
    except OSError:
        # The beginning of a line whose end could not be read is left out.
        assert fails
        assert b"".join(cut) == data[: data.rfind(b"\n") + 1]
    else:
        assert not fails
        assert b"".join(cut) == data


def numbers(n, seed=1):
    import numpy as np

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(4)
    lines = [f"{a},{b},{c},{int(a + b > c)}" for a, b, c in X]
    return ("a,b,c,y\n" + "\n".join(lines) + "\n").encode()


def test_results_do_not_depend_on_the_blocks(tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_bytes(numbers(3000))
    (tmp_path / "numbers.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    states = set()
    for options in ({"block_size": 200}, {"block_size": 10_000}, {}, {"path": "numbers.csv.gz"}):
        source = stream.read_csv(tmp_path / options.pop("path", "numbers.csv"), target="y", **options)
        model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
        result = evaluate.prequential(model, source, metrics="Accuracy", progress=False)
        assert result["Accuracy"] > 0.85
        states.add((model.to_bytes(), result["Accuracy"]))
    assert len(states) == 1


def test_a_pass_that_is_left_leaves_no_thread(tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_bytes(numbers(3000))
    before = threading.active_count()
    source = stream.read_csv(path, target="y", block_size=1000)
    for _ in range(3):
        next(iter(source.chunks()))
    chunks = source.chunks()
    next(chunks)
    chunks.close()
    assert source.schema == dict.fromkeys("abc", "number")
    assert threading.active_count() == before


def test_a_truncated_gzip_learns_what_is_there(tmp_path):
    path = tmp_path / "numbers.csv.gz"
    path.write_bytes(gzip.compress(numbers(20_000))[:-5000])
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    with pytest.raises(Unreadable, match="truncated"):
        evaluate.prequential(model, stream.read_csv(path, target="y"), progress=False)
    assert model.learned > 10_000


# A growing file


def follow(path, **options):
    return stream.read_csv(path, target="y", follow=True, **options)


def test_rows_are_given_as_they_come(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("x,y\n1,0\n2,1\n3,")
    chunks = follow(path, idle=20).chunks()
    assert list(next(chunks).examples()) == SIMPLE
    with path.open("a") as file:
        file.write("0\n4,1\n")
    assert [x["x"] for x, _ in next(chunks).examples()] == [3, 4]
    # Another file in its place, with a header of its own; then the same file, cut.
    other = tmp_path / "new.csv"
    other.write_text("x,y\n5,0\n5,1\n")
    other.replace(path)
    assert [x["x"] for x, _ in next(chunks).examples()] == [5, 5]
    path.write_text("x,y\n6,1")
    with path.open("a") as file:
        file.write("\n")
    assert [x["x"] for x, _ in next(chunks).examples()] == [6]
    chunks.close()


def test_a_quiet_file_ends_the_stream(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("x,y\n1,0\n2,1")
    source = follow(path, idle=0.2)
    assert not source.endless
    assert follow(path).endless
    assert list(source) == SIMPLE


def test_a_growing_file_that_begins_empty(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("")
    timer = threading.Timer(0.2, lambda: path.write_text("x,y\n1,0\n2,1\n"))
    timer.start()
    assert list(follow(path, idle=1.0)) == SIMPLE


# Standard input


def run(code, feed):
    top = Path(__file__).parent.parent
    environment = os.environ | {"PYTHONPATH": str(top / "python")}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, input=feed, capture_output=True, env=environment, timeout=60)


@pytest.mark.parametrize("feed", [b"x,y\n1,0\n2,1\n", gzip.compress(b"x,y\n1,0\n2,1\n", mtime=0)])
def test_standard_input(feed):
    code = """
from millstream import stream
source = stream.open("-", target="y")
print(source.schema, list(source), source.repeatable)
try:
    list(source)
except ValueError as error:
    print(error)
"""
    done = run(code, feed)
    assert done.stderr == b""
    assert done.stdout.decode().splitlines() == [
        "{'x': 'number'} [({'x': 1}, 0), ({'x': 2}, 1)] False",
        "standard input can be read only once",
    ]


@pytest.mark.slow
def test_reading_does_not_load_pandas():
    code = """
import io, sys
from millstream import baseline, evaluate, stream
text = b"x,b,t,when,y\\n1,true,u,2020-01-01,p\\n,false,,2020-01-02,q\\n3,true,v,2020-01-03,q\\n"
source = stream.read_csv(io.BytesIO(text), target="y", time="when")
evaluate.prequential(baseline.MajorityClass(), source, progress=False)
print("pandas" in sys.modules)
"""
    done = run(code, b"")
    assert done.stderr == b""
    assert done.stdout == b"False\n"


# open


def test_open_by_name_and_by_content(tmp_path):
    for name in ("a.csv", "a.tsv", "a.txt", "a", "a.csv.gz", "a.dat.zst"):
        text = b"x\ty\n1\t0\n2\t1\n" if name == "a.tsv" else b"x,y\n1,0\n2,1\n"
        if name.endswith(".gz"):
            text = gzip.compress(text)
        if name.endswith(".zst"):
            text = arrow.compress(text, codec="zstd", asbytes=True)
        (tmp_path / name).write_bytes(text)
        assert list(stream.open(tmp_path / name, target="y")) == SIMPLE
    with (tmp_path / "a.csv").open("rb") as file:
        assert list(stream.open(file, target="y")) == SIMPLE
    assert list(stream.open(io.BytesIO(b"x,y\n1,0\n2,1\n"), target="y")) == SIMPLE


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"PAR1....", "parquet"),
        (b"ARROW1\0\0", "arrow"),
        (b'{"a": 1}\n', "json_lines"),
        (b"% words\n@RELATION iris\n", "arff"),
        (b"+1 1:0.5 7:-2e-3\n-1 2:1\n", "libsvm"),
        (b"1 | price:.23 sqft:.25\n", "vw"),
        (b"-1 0.5 'tag|ns a b:2 |other c\n", "vw"),
        (b"| a b c\n", "vw"),
        (b"x|y\n1|0\n", "csv"),
        (b"1|0\n2|1\n", "csv"),
        (b"1.5,2:3\n", "csv"),
    ],
)
def test_formats_are_known_by_their_first_bytes(tmp_path, data, name):
    from millstream.stream import formats

    path = tmp_path / "thing"
    for bytes_ in (data, gzip.compress(data)):
        path.write_bytes(bytes_)
        assert formats._found(path)[0] == name
    assert formats._found(io.BytesIO(data))[0] == name


def test_open_says_what_it_cannot_read(tmp_path):
    path = tmp_path / "letter.doc"
    path.write_text("Dear friend,\nwords and words\nwithout any order, as it is\n")
    with pytest.raises(InvalidValue, match=r"letter.doc: the format cannot be detected.*csv, parquet"):
        stream.open(path)
    with pytest.raises(InvalidValue, match=r"there is no format 'parqet', did you mean 'parquet'\?"):
        stream.open(path, format="parqet")
    with pytest.raises(InvalidType):
        stream.open(5)
    with pytest.raises(MissingFile):
        stream.open(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("sep", "; use delimiter="),
        ("usecols", "; use drop=['column', …], which leaves columns out"),
        ("parse_dates", "; use types={'column': 'time'}, or time='column' if it is the event time"),
        ("nrows", "; use .take(n) on the stream"),
        ("delimeter", ", did you mean 'delimiter'?"),
        ("options", "; there are target, delimiter, header, names"),
    ],
)
def test_an_option_of_another_library_is_answered_with_ours(tmp_path, name, instead):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n1,0\n")
    words = f"stream.read_csv() got an unexpected keyword argument {name!r}{instead}"
    for reader in (stream.read_csv, stream.open):
        with pytest.raises(InvalidType) as caught:
            reader(path, target="y", **{name: ","})
        assert str(caught.value).startswith(words)


def test_a_reader_shows_the_call_that_makes_it(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("1;2,5;0\n")
    shown = (
        f"stream.read_csv({str(path)!r}, target='y', drop=['a'], on_error='skip', delimiter=';', "
        "names=['a', 'b', 'y'], decimal=',')"
    )
    assert repr(eval(shown)) == shown
    assert list(eval(shown)) == [({"b": 2.5}, 0)]
    assert repr(stream.read_csv(path)) == f"stream.read_csv({str(path)!r})"
    shown = f"stream.read_parquet({str(path)!r}, target='y', columns=['a', 'y'])"
    assert repr(eval(shown)) == shown


def test_options_are_named_with_the_reader_that_was_called(tmp_path):
    path = tmp_path / "rows.parquet"
    path.touch()
    with pytest.raises(InvalidType, match=r"stream.read_parquet\(\) got .* 'usecols'; use columns="):
        stream.open(path, usecols=["x"])
    table = arrow.table({"x": [1], "y": [0]})
    with pytest.raises(InvalidType, match=r"stream.from_arrow\(\) got .* 'wieght', did you mean 'weight'"):
        stream.from_arrow(table, target="y", wieght="x")


def test_files_with_labels_of_their_own_have_the_target_label(tmp_path):
    path = tmp_path / "rows.vw"
    path.write_text("1 |a b\n")
    assert [y for _, y in stream.open(path, target="label")] == [1]
    with pytest.raises(InvalidType, match=r"stream.read_vw\(\) got .* 'target'; the target is the label"):
        stream.open(path, target="click")


def test_a_header_that_is_no_utf8_is_named_with_its_place():
    for text in (b"x,\xff,y\n1,2,0\n3,4,1\n", b"x,\xff,y\n"):
        with pytest.raises(InvalidValue, match=r"line 1, name of column 2: bad UTF-8 \(byte 0xff\); .*encoding="):
            list(stream.read_csv(io.BytesIO(text), target="y"))
    rows = stream.read_csv(io.BytesIO(b"x,\xff,y\n1,2,0\n"), target="y", encoding="latin-1")
    assert list(rows) == [({"x": 1, "\xff": 2}, 0)]


@pytest.mark.slow
def test_a_field_longer_than_what_is_read_at_once():
    # The first value of a column that was empty so far decides its type, however long it is.
    long = "z" * 3_000_000
    text = f'x,c,y\n1,"{long}",1\n2,b,0\n'.encode()
    assert [x["c"] for x, _ in stream.read_csv(io.BytesIO(text), target="y")] == [long, "b"]
    empty = b"x,c,y\n" + b"1,,0\n" * 300_000 + f'1,"{long}",1\n'.encode()
    *_, (x, _) = stream.read_csv(io.BytesIO(empty), target="y")
    assert x["c"] == long


@pytest.mark.slow
def test_very_many_columns_are_read_in_a_moment():
    names = [f"f{place}" for place in range(20_000)]
    text = "\n".join([",".join([*names, "y"]), ",".join(["1"] * 20_001), ""])
    begun = time.process_time()
    rows = stream.read_csv(io.BytesIO(text.encode()), target="y")
    assert sum(len(chunk) for chunk in rows.chunks()) == 1
    # Each name was once looked for among all of them, for half a minute.
    assert time.process_time() - begun < 5
    twice = text.replace("f19999", "f7")
    with pytest.raises(InvalidValue, match="duplicate column 'f7'"):
        list(stream.read_csv(io.BytesIO(twice.encode()), target="y"))


# Memory

_PEAK = """
import sys
from millstream import evaluate, linear_model, preprocessing, stream
model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
evaluate.prequential(model, stream.read_csv(sys.argv[1], target="y"), metrics="Accuracy", progress=False)
with open("/proc/self/status") as file:
    print(next(int(line.split()[1]) for line in file if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux for the peak")
def test_memory_does_not_grow_with_the_file(tmp_path):
    header, _, rows = numbers(100_000).partition(b"\n")

    def peak(times):
        path = tmp_path / f"{times}.csv"
        path.write_bytes(header + b"\n" + rows * times)
        done = subprocess.run([sys.executable, "-c", _PEAK, str(path)], capture_output=True, text=True, check=True)
        return int(done.stdout)

    # 10 MB and 100 MB. Thread scheduling changes a peak by 10 MB and more. Growth would be in every run,
    # so one run without it is enough.
    bound = peak(4) + 20_000
    assert any(peak(40) < bound for _ in range(3))
