"""No JSON file ends the process, or anything but an error that names its line.

Arrow's JSON reader crashes on some inputs (docs/notes/pyarrow_json.md). A crash would end the tests too, so these
tests read their files in processes of their own.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from millstream import stream
from millstream.errors import InvalidType, InvalidValue
from millstream.stream import blocks

DEEP = 100_000

#: Files, and what is said of them; an empty text if nothing is wrong.
FILES: dict[str, tuple[bytes, str]] = {
    "null first": (b'null\n{"a":1,"y":0}\n', "line 1: a line must be one JSON object, got null"),
    "null alone": (b"null", "line 1: a line must be one JSON object, got null"),
    "null with spaces": (b' \t null \r\n{"a":1}\n', "line 1: a line must be one JSON object, got null"),
    "null and object": (b'null{"a":1}\n', "line 1: not JSON: Extra data"),
    "null behind a mark": (b'\xef\xbb\xbfnull\n{"a":1}\n', "line 1: a line must be one JSON object, got null"),
    "null later": (b'{"a":1}\nnull\n{"a":2}\n', "line 2: a line must be one JSON object, got null"),
    "null in the same line": (b'{"a":1} null\n', "line 1: not JSON: Extra data"),
    "null in a later block": (b'{"a":1}\n' * 200_000 + b"null\n", "line 200001: a line must be one JSON object"),
    "nulls inside": (b'{"a":null,"b":{"c":null}}\n{"a":1,"b":null}\n{"b":{"c":2}}\n', ""),
    "number": (b"1\n", "line 1: a line must be one JSON object, got a number"),
    "string": (b'"x"\n', "line 1: a line must be one JSON object, got a string"),
    "boolean": (b'{"a":1}\ntrue\n', "line 2: a line must be one JSON object, got true or false"),
    "array": (b'[{"a":1}]\n', "line 1: a line must be one JSON object, got an array"),
    "two in a line": (b'{"a":1}{"a":2}\n', "line 1: not JSON: Extra data"),
    "empty objects": (b"{}\n{}\n", ""),
    "null in a list": (b'{"a":[null,1]}\n', "column 'a' is list<item: int64>"),
    "nulls in a list": (b'{"a":[null,null]}\n', "column 'a' is list<item: null>"),
    "null and object in a list": (b'{"a":[null,{"b":1}]}\n', "column 'a' is list"),
    "deep objects": (b'{"a":' * DEEP + b"1" + b"}" * DEEP, "line 1: brackets are nested more than 64 deep"),
    "deep lists": (b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}", "line 1: brackets are nested more than 64 deep"),
    "deep lists behind blank lines": (
        b"\n" * DEEP + b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}",
        "line 100001: brackets are nested more than 64 deep",
    ),
    "deep lists over many lines": (b'{"a":' + b"[\n" * DEEP + b"]\n" * DEEP + b"}", "line 1: not JSON"),
    "brackets in strings": (b'{"a":"' + b"[{" * DEEP + b'"}\n', ""),
    "open brackets": (b'{"a":' + b"[" * DEEP + b"\n", "line 1: brackets are nested more than 64 deep"),
    "many digits": (b'{"a":' + b"9" * 400 + b"}\n", ""),
    "very many digits": (b'{"a":' + b"9" * 100_000 + b',"b":1,"c":[]}\n', "column 'c' is list"),
    "very many digits, and a name twice": (
        b'{"a":' + b"9" * 100_000 + b',"b":1,"b":2}\n',
        "line 1: duplicate name 'b'",
    ),
    "large exponent": (b'{"a":1e999999999999999999999}\n', ""),
    "name twice": (b'{"a":1,"a":"x"}\n', "line 1: duplicate name 'a'"),
    "equal values twice": (b'{"a":1}\n{"b":2,"a":1,"a":1}\n', "line 2: duplicate name 'a'"),
    "name twice by an escape": (b'{"a":1,"\\u0061":2}\n', "line 1: duplicate name 'a'"),
    "name twice in an object": (b'{"a":{"b":1,"b":2}}\n', "line 1: duplicate name 'b'"),
    "name twice in a list": (b'{"a":[{"b":1,"b":2}]}\n', "line 1: duplicate name 'b'"),
    "name twice with a dot": (b'{"a.b":1,"a":{"b":2}}\n', "line 1: duplicate name 'a.b': a nested object"),
    "name with a dot in another line": (b'{"a.b":1}\n{"a":{"b":2}}\n', ""),
    "cut in an object": (b'{"a":1}\n{"a":', "line 2: not JSON: Expecting value at character 6"),
    "cut in a string": (b'{"a":"x\\', "line 1: not JSON: Unterminated string starting at character 6"),
    "cut in null": (b"nul", "line 1: not JSON: Expecting value at character 1"),
    "NUL": (b"\0", "line 1: not JSON"),
    "NUL before": (b'\0{"a":1}\n', "line 1: not JSON"),
    "NUL in a name": (b'{"a\0b":1}\n', "line 1: not JSON: Invalid control character at character 4"),
    "NUL between": (b'{"a":1}\n\0\n{"a":2}\n', "line 2: not JSON"),
    "NUL escaped": (b'{"a\\u0000b":"\\u0000"}\n', ""),
    "half of a pair": (b'{"a":"\\ud800"}\n', "line 1: \\ud800 is half of a surrogate pair"),
    "half of a pair in a name": (b'{"\\udc00":1}\n', "line 1: \\udc00 is half of a surrogate pair"),
    "bad UTF-8": (b'{"a":"\xff"}\n', "line 1: bad UTF-8 (byte 0xff)"),
    "all bytes": (bytes(range(256)), "line 1: not JSON"),
    "carriage returns": (b'{"a":1}\r{"a":2}\r', ""),
    "long string": (b'{"a":"' + b"x" * 5_000_000 + b'"}\n', ""),
    "long name": (b'{"' + b"x" * 5_000_000 + b'":1}\n', ""),
    "many names": (b"{" + b",".join(b'"k%d":1' % i for i in range(20_000)) + b"}\n", ""),
    "many short rows": (b'{"a":1}\n' * 131_072, ""),
    "an object over lines": (b'{\n"a":1\n}\n', "looks like one long JSON value, not like one object per line"),
    "nothing": (b"", "the file is empty"),
    "blank lines": (b" \n\t\r\n", "the file is empty"),
}

READ = """
import json, sys
from millstream import stream
from millstream.errors import MillstreamError

for path in sys.argv[1:]:
    told = []
    for on_error in ("raise", "skip"):
        source = stream.read_json_lines(path, on_error=on_error)
        try:
            told.append([sum(len(chunk) for chunk in source.chunks()), len(source.skipped)])
        except MillstreamError as error:
            told.append(str(error))
    print(json.dumps([path, told]), flush=True)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What is said of each file, or how its process ended."""
    folder = tmp_path_factory.mktemp("files")
    paths = {}
    for number, (name, (data, _)) in enumerate(FILES.items()):
        paths[str(folder / f"{number}.jsonl")] = name
        (folder / f"{number}.jsonl").write_bytes(data)
    found, left = {}, list(paths)
    while left:
        command = [sys.executable, "-c", READ, *left]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        for line in done.stdout.splitlines():
            path, words = json.loads(line)
            found[paths[path]] = (path, words)
            left.remove(path)
        if left:
            # This one ended the process; the others are read by another.
            path = left.pop(0)
            found[paths[path]] = (path, f"the process ended with {done.returncode}: {done.stderr}")
    return found


@pytest.mark.parametrize("name", FILES)
def test_no_file_ends_the_process(name, told):
    data, words = FILES[name]
    path, results = told[name]
    assert isinstance(results, list), results
    raised, skipped = results
    if words:
        assert raised.startswith(path)
        assert words in raised
        assert "\n" not in raised
    else:
        assert raised == skipped
    if not isinstance(skipped, str):
        rows, aside = skipped
        assert rows + aside == sum(1 for line in data.replace(b"\r", b"\n").split(b"\n") if line.strip())


FUZZ = r"""
import io, json, math
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from millstream import stream
from millstream.errors import MillstreamError

names = st.sampled_from(["a", "b", "y", "", "a.b", "\0", "x" * 300])
leaves = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from([10**400, -(10**5000), 2**63, "2020-01-01", "null", "[{"])
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)
objects = st.dictionaries(names, values, max_size=4)


def dumps(value):
    # Python's own conversion of long integers is limited.
    return json.dumps(value, default=str).encode("utf-8", "surrogatepass")


tokens = st.sampled_from(
    [b"null", b"true", b"1", b'"x"', b"[]", b"{}", b"{", b"}", b"[", b"nul", b"\0", b"\xff", b"\xef\xbb\xbf", b" ",
     b'{"a":[null,1]}', b'{"a":1,"a":null}', b'{"a":' + b"[" * 70 + b"]" * 70 + b"}", b'"', b"\\", b",", b":"]
)
lines = objects.map(dumps) | values.map(dumps) | tokens | st.binary(max_size=12)
ends = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\r", b"", b" ", b"\n\n"])
files = st.lists(st.tuples(lines, ends), max_size=8).map(lambda parts: b"".join(a + b for a, b in parts))


@st.composite
def damaged(draw):
    data = bytearray(draw(files))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(data)))
        data[place : place + draw(st.integers(0, 3))] = draw(tokens | st.binary(max_size=3))
    return bytes(data)


@settings(
    max_examples=800, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(
    damaged(),
    st.sampled_from([1, 7, 64, 1 << 20]),
    st.sampled_from(["raise", "skip"]),
    st.sampled_from([{}, {"target": "y"}, {"drop": ["a", "b"]}, {"types": {"a": "nominal"}}]),
)
def read(data, block_size, on_error, options):
    source = stream.read_json_lines(io.BytesIO(data), on_error=on_error, block_size=block_size, **options)
    try:
        rows = sum(len(chunk) for chunk in source.chunks())
    except MillstreamError as error:
        assert "\n" not in str(error) and len(str(error)) < 1000, error
        return
    if data[:2] not in (b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b"):
        lines = data.replace(b"\r", b"\n").removeprefix(b"\xef\xbb\xbf").split(b"\n")
        assert rows + len(source.skipped) == sum(1 for line in lines if line.strip())


if hasattr(__import__("sys"), "set_int_max_str_digits"):
    __import__("sys").set_int_max_str_digits(0)
read()
"""


def test_random_files_end_in_rows_or_in_one_line():
    command = [sys.executable, "-c", FUZZ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_parsed_in_python_is_what_arrow_parses():
    rows = [{"a": i / 3, "b": f"w{i % 7}", "in": {"x": i, "s": None if i % 2 else "t"}} for i in range(300)]
    text = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    fast = list(stream.read_json_lines(io.BytesIO(text)))
    # Arrow does not accept a line with a name twice, so that the whole block is parsed in Python.
    faulty = b'{"a": 0, "a": 1}\n' + text
    slow = stream.read_json_lines(io.BytesIO(faulty), on_error="skip")
    assert fast == list(slow)
    assert slow.skipped.count == 1
    assert len(fast) == 300


def test_a_list_that_is_dropped_may_have_nulls():
    text = b'{"a":[null,1],"b":2}\n' * 3
    assert list(stream.read_json_lines(io.BytesIO(text), drop="a")) == [({"b": 2}, None)] * 3
    with pytest.raises(InvalidType, match=r"leave it out with drop=\['a'\]"):
        list(stream.read_json_lines(io.BytesIO(text)))


def test_a_line_without_an_end_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(blocks, "LONGEST_LINE", 1 << 21)
    endless = b"x" * (1 << 23)
    for source in (
        stream.read_json_lines(io.BytesIO(b'{"a":1}\n' + endless), block_size=1000),
        stream.read_csv(io.BytesIO(b"a,b\n1,2\n" + b"1,2\n" * 300_000 + endless)),
        stream.read_arff(io.BytesIO(b"@relation r\n@attribute a numeric\n@data\n1\n" + endless)),
    ):
        with pytest.raises(InvalidValue, match=r"BytesIO, line \d+: a line must be at most 2 MiB long"):
            list(source.chunks())


@pytest.mark.parametrize("ending", ["vw", "libsvm"])
def test_a_sparse_line_without_an_end_does_not_fill_the_memory(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(blocks, "LONGEST_LINE", 1 << 21)
    path = tmp_path / f"rows.{ending}"
    path.write_bytes((b"1 |n a\n" if ending == "vw" else b"1 1:1\n") + b"1 " * (1 << 22))
    with pytest.raises(InvalidValue, match="a line must be at most 2 MiB long"):
        list(stream.open(path).chunks())
