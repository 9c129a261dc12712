"""Readers of tables: Parquet, Arrow, JSON lines, ARFF, SQL, frames, matrices, iterables."""

from __future__ import annotations

import datetime
import gzip
import io
import json
import pickle
import sqlite3
import subprocess
import sys
import textwrap

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet
import pytest
import scipy.sparse

from millstream import evaluate, linear_model, preprocessing, stream
from millstream.errors import InvalidType, InvalidValue, MillstreamError, UnknownName

try:
    import adbc_driver_sqlite.dbapi as adbc
except ImportError:
    adbc = None

N = 700
DAY = datetime.datetime(2024, 3, 1)


def make():
    random = np.random.default_rng(4)
    a, b = random.normal(size=(2, N)).round(6)
    place = random.choice(["hall", "roof", "it's"], N)
    return pyarrow.table(
        {
            "a": pyarrow.array(a, mask=random.random(N) < 0.1),
            "place": pyarrow.array(place, mask=random.random(N) < 0.1),
            "b": b,
            "count": random.integers(0, 50, N),
            "w": random.integers(0, 4, N).astype(float),
            "at": [DAY + datetime.timedelta(minutes=minute) for minute in range(N)],
            "label_at": [DAY + datetime.timedelta(minutes=int(m)) for m in np.arange(N) + 10 * random.random(N)],
            "hot": np.where(b + (place == "roof") > 0, "yes", "no"),
        }
    )


TABLE = make()
NAMES = {"target": "hot", "weight": "w", "time": "at", "label_time": "label_at"}


def rows():
    return TABLE.to_pylist()


def as_json(value):
    return value.isoformat() if isinstance(value, datetime.datetime) else value


def json_lines():
    lines = [json.dumps({name: as_json(value) for name, value in row.items()}) for row in rows()]
    return "\n".join(lines).encode() + b"\n"


def arff_cell(value):
    if value is None:
        return "?"
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return "'" + value.replace("'", "\\'") + "'" if isinstance(value, str) else repr(value)


def arff(date="date"):
    header = ["% made here", "@RELATION test", ""]
    for name in TABLE.column_names:
        kind = {"place": '{hall, roof, "it\'s"}', "hot": "{no,yes}", "at": date, "label_at": date}.get(
            name, "numeric"
        )
        header.append(f"@attribute '{name}' {kind}")
    lines = [",".join(arff_cell(value) for value in row.values()) for row in rows()]
    return "\n".join([*header, "@DATA", *lines]).encode() + b"\n"


def base(path=":memory:"):
    connection = sqlite3.connect(path)
    connection.execute(f"create table t ({', '.join(TABLE.column_names)})")
    places = ", ".join("?" * TABLE.num_columns)
    values = [[as_json(value) for value in row.values()] for row in rows()]
    connection.executemany(f"insert into t values ({places})", values)
    connection.commit()
    return connection


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    """The same table through every reader."""
    folder = tmp_path_factory.mktemp("tables")
    pyarrow.parquet.write_table(TABLE, folder / "t.parquet", row_group_size=300)
    pyarrow.feather.write_feather(TABLE, folder / "t.feather")
    pyarrow.feather.write_feather(TABLE, folder / "plain.feather", compression="uncompressed")
    for name, make in (("file.arrow", pyarrow.ipc.new_file), ("stream.arrow", pyarrow.ipc.new_stream)):
        with make(folder / name, TABLE.schema) as writer:
            writer.write_table(TABLE, max_chunksize=123)
    (folder / "t.jsonl").write_bytes(json_lines())
    (folder / "t.jsonl.gz").write_bytes(gzip.compress(json_lines()))
    with pyarrow.CompressedOutputStream(str(folder / "t.jsonl.zst"), "zstd") as file:
        file.write(json_lines())
    TABLE.to_pandas().to_csv(folder / "t.csv", index=False)
    (folder / "t.arff").write_bytes(arff())
    (folder / "t.arff.gz").write_bytes(gzip.compress(arff()))
    base(folder / "t.db").close()
    features = [name for name in TABLE.column_names if name not in NAMES.values()]
    query = "select * from t"

    def examples():
        for row in rows():
            x = {name: row[name] for name in (*features, "at", "label_at")}
            yield x, row["hot"], row["w"]

    return {
        "arrow": stream.from_arrow(TABLE, **NAMES),
        "arrow in pieces": stream.from_arrow(pyarrow.concat_tables([TABLE[:100], TABLE[100:]]), **NAMES),
        "batches": stream.from_arrow(lambda: TABLE.to_reader(max_chunksize=77), **NAMES),
        "c stream": stream.from_arrow(polars.from_arrow(TABLE), **NAMES),
        "data set": stream.from_arrow(pyarrow.dataset.dataset(folder / "t.parquet"), **NAMES),
        "parquet": stream.read_parquet(folder / "t.parquet", **NAMES),
        "feather": stream.read_arrow(folder / "t.feather", **NAMES),
        "plain feather": stream.read_arrow(str(folder / "plain.feather"), **NAMES),
        "ipc file": stream.read_arrow(folder / "file.arrow", **NAMES),
        "ipc stream": stream.read_arrow(folder / "stream.arrow", **NAMES),
        "json": stream.read_json_lines(folder / "t.jsonl", **NAMES),
        "json in blocks": stream.read_json_lines(folder / "t.jsonl", block_size=1000, **NAMES),
        "json.gz": stream.read_json_lines(folder / "t.jsonl.gz", **NAMES),
        "json.zst": stream.read_json_lines(folder / "t.jsonl.zst", **NAMES),
        "arff": stream.read_arff(folder / "t.arff", weight="w", time="at", label_time="label_at"),
        "arff in blocks": stream.read_arff(folder / "t.arff.gz", block_size=3000, **NAMES),
        "sqlite": stream.read_sql(query, base(), **NAMES),
        "sqlite by function": stream.read_sql(query, lambda: sqlite3.connect(folder / "t.db"), **NAMES),
        "adbc": stream.read_sql(query, lambda: adbc.connect(str(folder / "t.db")), **NAMES),
        "sqlite file": stream.read_sqlite(folder / "t.db", **NAMES),
        "opened": stream.open(folder / "t.db", **NAMES),
        "opened parquet": stream.open(folder / "t.parquet", **NAMES),
        "opened json": stream.open(folder / "t.jsonl.gz", **NAMES),
        "opened arff": stream.open(folder / "t.arff.gz", **NAMES),
        "opened feather": stream.open(folder / "t.feather", **NAMES),
        "csv": stream.read_csv(folder / "t.csv", **NAMES),
        "pandas": stream.from_pandas(TABLE.to_pandas(), **NAMES),
        "pandas categories": stream.from_pandas(TABLE.to_pandas().astype({"place": "category"}), **NAMES),
        "polars": stream.from_polars(polars.from_arrow(TABLE), **NAMES),
        "lazy polars": stream.from_polars(polars.from_arrow(TABLE).lazy(), **NAMES),
        "examples": stream.from_examples(examples, time="at", label_time="label_at"),
        "one by one": stream.from_examples(examples, time=lambda x: x.pop("at"), label_time="label_at", rows=1),
        "mapped": stream.from_arrow(TABLE, **NAMES).map(lambda x: x),
        "batched": stream.from_arrow(TABLE, **NAMES).batch(31),
    }


READERS = [
    "arrow in pieces", "batches", "c stream", "data set", "parquet", "feather", "plain feather", "ipc file",
    "ipc stream", "json", "json in blocks", "json.gz", "json.zst", "arff", "arff in blocks", "sqlite",
    "sqlite by function", "sqlite file", "adbc", "pandas", "pandas categories", "polars", "lazy polars",
    "examples", "one by one", "mapped", "batched", "opened", "opened parquet", "opened json", "opened arff",
    "opened feather", "csv",
]  # fmt: skip


def run(source, **options):
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    result = evaluate.prequential(model, source, ["Accuracy", "LogLoss"], progress=False, every=50, **options)
    return result.rows, result.values, result.curve["row"].tolist(), model.to_bytes()


@pytest.mark.parametrize("name", READERS)
def test_every_reader_gives_the_same_result(readers, name):
    if name == "adbc" and adbc is None:
        pytest.skip("needs adbc_driver_sqlite")
    expected = run(readers["arrow"])
    assert expected[0] == N
    assert expected[1]["Accuracy"] > 0.8
    source = readers[name]
    assert run(source) == expected
    # And again from the beginning.
    assert run(source, delay=5) == run(readers["arrow"], delay=5)
    xs = [x for x, _ in source]
    assert len(xs) == N
    assert set(xs[0]) == {"a", "place", "b", "count"}
    assert source.schema == {"a": "number", "place": "nominal", "b": "number", "count": "number"}
    assert source.n_samples in (None, N)
    assert source.target in ("hot", "y")
    assert "&" not in repr(source)
    assert repr(N) in source._repr_html_() or source.n_samples is None


def test_readers_pickle(readers):
    for name in ("parquet", "json", "arff", "pandas", "polars", "arrow", "feather"):
        source = pickle.loads(pickle.dumps(readers[name]))
        assert list(source.take(3)) == list(readers[name].take(3)) or name != "arrow"
        assert run(source) == run(readers["arrow"])


@pytest.mark.parametrize("name", ["parquet", "arrow", "json", "sqlite", "pandas"])
def test_columns_that_are_not_there(readers, name, tmp_path):
    make = {
        "parquet": lambda **o: stream.read_parquet(readers["parquet"].files, **o),
        "arrow": lambda **o: stream.from_arrow(TABLE, **o),
        "json": lambda **o: stream.read_json_lines(io.BytesIO(json_lines()), **o),
        "sqlite": lambda **o: stream.read_sql("select * from t", base(), **o),
        "pandas": lambda **o: stream.from_pandas(TABLE.to_pandas(), **o),
    }[name]
    with pytest.raises(UnknownName, match="there is no column 'hott'.*'hot'"):
        list(make(target="hott"))
    if name != "json":
        with pytest.raises(UnknownName, match="there is no column 'plase'.*'place'"):
            list(make(target="hot", drop=["plase"]))
    dropped = make(target="hot", drop=["place", "at", "label_at"])
    assert set(dropped.schema) == {"a", "b", "count", "w"}


# Files of columns.


def test_only_wanted_columns_are_read(tmp_path):
    pyarrow.parquet.write_table(TABLE, tmp_path / "t.parquet")
    source = stream.read_parquet(tmp_path / "t.parquet", target="hot", columns=["b"])
    assert source.schema == {"b": "number"}
    assert next(source.tables()).column_names == ["b", "hot"]
    with pytest.raises(UnknownName, match="there is no column 'bb'"):
        list(stream.read_parquet(tmp_path / "t.parquet", columns=["bb"]))


def test_several_files_follow_each_other(tmp_path):
    paths = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    for path, part in zip(paths, (TABLE[:300], TABLE[300:]), strict=True):
        pyarrow.parquet.write_table(part, path)
    source = stream.read_parquet(paths, **NAMES)
    assert source.n_samples == N
    assert run(source) == run(stream.from_arrow(TABLE, **NAMES))
    pyarrow.parquet.write_table(TABLE.drop_columns(["hot"]), paths[1])
    with pytest.raises(UnknownName, match=r"2.parquet: there is no column 'hot'"):
        list(source)


@pytest.mark.parametrize("reader", [stream.read_parquet, stream.read_arrow])
def test_damaged_files_say_so_in_a_line(reader, tmp_path):
    whole = tmp_path / "whole"
    wide = pyarrow.table({f"c{place}": np.random.default_rng(place).normal(size=40000) for place in range(4)})
    if reader is stream.read_parquet:
        pyarrow.parquet.write_table(wide, whole, row_group_size=10000)
    else:
        with pyarrow.ipc.new_stream(whole, wide.schema) as writer:
            writer.write_table(wide, max_chunksize=10000)
    data = whole.read_bytes()
    for name, damaged in [
        ("cut", data[: len(data) // 2]),
        ("text", b"a,b\n1,2\n" * 10),
        ("empty", b""),
        ("short", b"PAR1"),
    ]:
        path = tmp_path / name
        path.write_bytes(damaged)
        with pytest.raises(MillstreamError, match=name) as failure:
            list(reader(path, target="c0"))
        assert "\n" not in str(failure.value)
        assert isinstance(failure.value, OSError)
        assert reader(path).n_samples is None
    with pytest.raises(FileNotFoundError, match="there is no file"):
        reader(tmp_path / "nothing")
    with pytest.raises(OSError, match="is a directory"):
        reader(tmp_path)


def test_open_files_and_standard_input(tmp_path, monkeypatch):
    expected = run(stream.from_arrow(TABLE, **NAMES))
    pyarrow.parquet.write_table(TABLE, tmp_path / "t.parquet")
    with (tmp_path / "t.parquet").open("rb") as file:
        source = stream.read_parquet(file, **NAMES)
        assert run(source) == run(source) == expected
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)
    source = stream.read_arrow(io.BytesIO(sink.getvalue()), **NAMES)
    assert run(source) == run(source) == expected

    class Pipe(io.BytesIO):
        buffer = property(lambda self: self)

        def seekable(self):
            return False

    monkeypatch.setattr(sys, "stdin", Pipe(sink.getvalue()))
    source = stream.read_arrow("-", **NAMES)
    assert run(source) == expected
    with pytest.raises(InvalidValue, match="standard input can be read only once"):
        list(source)
    with pytest.raises(OSError, match="cannot be read from a pipe; pass a file"):
        list(stream.read_parquet("-"))
    with pytest.raises(InvalidType, match="a path or an open file, got int"):
        stream.read_parquet(3)


def test_rows_before_the_damage_are_learned(tmp_path):
    wide = pyarrow.table({"x": np.random.default_rng(1).normal(size=40000), "y": np.zeros(40000)})
    path = tmp_path / "t.arrow"
    with pyarrow.ipc.new_stream(path, wide.schema) as writer:
        writer.write_table(wide, max_chunksize=10000)
    path.write_bytes(path.read_bytes()[:400_000])
    model = linear_model.LinearRegression()
    with pytest.raises(OSError, match="after row 20000"):
        evaluate.prequential(model, stream.read_arrow(path, target="y"), progress=False)
    assert model.learned == 20000
    damaged = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(wide, damaged, row_group_size=10000, write_page_checksum=True)
    data = bytearray(damaged.read_bytes())
    data[len(data) * 3 // 4 : len(data) * 3 // 4 + 2000] = bytes(2000)
    damaged.write_bytes(data)
    model = linear_model.LinearRegression()
    with pytest.raises(OSError, match=r"t.parquet: damaged after row 16384"):
        evaluate.prequential(model, stream.read_parquet(damaged, target="y"), progress=False)
    assert model.learned == 16384


@pytest.mark.parametrize("reader", [stream.read_parquet, stream.read_arrow])
def test_bytes_of_strangers(reader):
    sink = io.BytesIO()
    if reader is stream.read_parquet:
        pyarrow.parquet.write_table(TABLE[:40], sink, row_group_size=11)
    else:
        with pyarrow.ipc.new_stream(sink, TABLE.schema) as writer:
            writer.write_table(TABLE[:40], max_chunksize=11)
    random = np.random.default_rng(5)
    refused = []
    for _ in range(200):
        data = bytearray(sink.getvalue())
        for place in random.integers(0, len(data), 3):
            data[place] = random.integers(0, 256)
        try:
            list(reader(io.BytesIO(data), target="hot"))
        except MillstreamError as error:
            refused.append(str(error))
    assert len(refused) > 50
    assert not any("\n" in words for words in refused)


def test_nested_columns_are_named(tmp_path):
    pyarrow.parquet.write_table(pyarrow.table({"a": [[1, 2]], "y": [1]}), tmp_path / "t.parquet")
    with pytest.raises(InvalidType, match=r"column 'a' is list.* leave it out with drop=\['a'\]"):
        list(stream.read_parquet(tmp_path / "t.parquet", target="y"))
    assert list(stream.read_parquet(tmp_path / "t.parquet", target="y", drop=["a"])) == [({}, 1)]


PEAK = """
    import resource, sys
    from millstream import evaluate, linear_model, stream
    source = stream.read_parquet(sys.argv[1], target="y").take(int(sys.argv[2]))
    evaluate.prequential(linear_model.LogisticRegression(), source, progress=False)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path):
    random = np.random.default_rng(0)
    path = tmp_path / "t.parquet"
    part = pyarrow.table({f"c{place}": random.normal(size=100_000) for place in range(10)})
    part = part.append_column("y", pyarrow.array(random.integers(0, 2, 100_000)))
    # One group of rows alone would be 90 MB.
    with pyarrow.parquet.ParquetWriter(path, part.schema, compression="none") as writer:
        writer.write_table(pyarrow.concat_tables([part] * 10), row_group_size=1_000_000)

    def peak(rows):
        command = [sys.executable, "-c", textwrap.dedent(PEAK), str(path), str(rows)]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    few, all_rows = peak(50_000), peak(1_000_000)
    assert all_rows - few < 30_000, (few, all_rows)


# JSON lines.


def read_json(text, **options):
    return stream.read_json_lines(io.BytesIO(text.encode() if isinstance(text, str) else text), **options)


@pytest.mark.parametrize("block", [10, 1 << 20])
def test_a_bad_line_is_named_or_skipped(block):
    good = '{"a": 1, "b": "x", "y": true}\n'
    for bad, words in [
        ('{"a": }', "not JSON: Expecting value at character 7"),
        ("[1, 2]", "a line must be one JSON object, got an array"),
        ("nonsense", "not JSON"),
        ('{"a": "text", "y": true}', "column 'a': must be a number, got 'text'"),
        ('{"a": 1, "b": "x"}', "column 'y': the target must not be missing, got nothing"),
    ]:
        text = good * 3 + "\n" + bad + "\n" + good * 2
        source = read_json(text, target="y", block_size=block)
        found = []
        with pytest.raises(InvalidValue, match="BytesIO, line 5") as failure:
            found.extend(source)
        assert words in str(failure.value)
        assert len(found) == 3
        source = read_json(text, target="y", on_error="skip", block_size=block)
        assert len(list(source)) == 5
        assert source.skipped.count == 1
        assert "line 5" in str(source.skipped)
        shuffled = source.shuffle(3).take(10)
        assert len(list(shuffled)) == 5
        assert shuffled.skipped.count == 1
    source = read_json(good.encode() * 2 + b'{"b": "\xff", "y": true}\n' + good.encode(), target="y")
    with pytest.raises(InvalidValue, match=r"line 3: bad UTF-8 \(byte 0xff\)"):
        list(source)


@pytest.mark.parametrize("block", [1, 60, 1 << 20])
def test_json_is_read_the_same_in_any_blocks(block):
    text = (
        '\ufeff{"a": 1, "in": {"x": 1.5, "deep": {"z": "q"}}, "note": "n", "y": 0}\r\n'
        '{"a": 2.5, "in": {"x": 2}, "note": "2024-01-01", "y": 1}\r\n'
        "\r\n"
        '{"note": "2024-01-02", "y": 1, "late": "l"}\r\n'
        '{"a": null, "note": "3", "y": 0, "late": "m"}'
    )
    source = read_json(text, target="y", block_size=block)

    def present(x):
        return {name: value for name, value in x.items() if value is not None and value == value}

    assert [(present(x), y) for x, y in source] == [
        ({"a": 1, "in.x": 1.5, "in.deep.z": "q", "note": "n"}, 0),
        ({"a": 2.5, "in.x": 2, "note": "2024-01-01"}, 1),
        ({"note": "2024-01-02", "late": "l"}, 1),
        ({"note": "3", "late": "m"}, 0),
    ]
    text = '{"place": "roof", "y": 1}\n{"place": 7, "y": 1}\n{"place": 8, "y": 0}\n'
    assert [x["place"] for x, _ in read_json(text, target="y", block_size=block)] == ["roof", "7", "8"]


@pytest.mark.parametrize("depth", [65, 500, 50_000])
@pytest.mark.parametrize("brackets", ['{"a":1}', "[]"])
def test_brackets_without_end(depth, brackets):
    opening, closing = ('{"a":', "}") if brackets == '{"a":1}' else ("[", "]")
    deep = '{"a":' + opening * depth + "1" + closing * depth + ', "y": 1}'
    text = '{"b": 1, "y": 0}\n' * 3 + deep + '\n{"b": "[[[{{", "y": 0}\n'
    with pytest.raises(InvalidValue, match="line 4: brackets are nested more than 64 deep"):
        list(read_json(text, target="y"))
    assert len(list(read_json(text, target="y", on_error="skip", types={"b": "nominal"}))) == 4
    wide = '{"a": {"x": ' + '"' + "{" * 100 + '"' + "}}\n"
    assert list(read_json(wide * 3))[2][0] == {"a.x": "{" * 100}


@pytest.mark.slow
def test_json_with_a_name_of_its_own_in_every_line_is_read_in_small_tables(monkeypatch):
    text = "".join(f'{{"k{line}": {line}, "y": 0}}\n' for line in range(2000)) + "no JSON\n"
    source = read_json(text, target="y", on_error="skip")
    assert [chunk.X.num_columns for chunk in source.chunks()] == [2000]
    monkeypatch.setattr("millstream.stream.json_lines.CELLS", 1 << 20)
    chunks = list(source.chunks())
    assert max(chunk.X.num_columns * chunk.X.num_rows for chunk in chunks) < 1 << 20
    seen = [{name: v for name, v in x.items() if v is not None and v == v} for x, _ in source]
    assert seen == [{f"k{line}": line} for line in range(2000)]
    assert "line 2001" in str(source.skipped)


def test_json_that_grows(tmp_path):
    path = tmp_path / "feed.jsonl"
    path.write_text('{"a": 1, "y": 0}\n{"a": 2')
    found = []
    for x, y in stream.read_json_lines(path, "y", follow=True, idle=0.2):
        found.append((x["a"], y))
        if len(found) == 1:
            with path.open("a") as file:
                file.write(', "y": 1}\n{"a": 3, "y": 0}\n')
    assert found == [(1, 0), (2, 1), (3, 0)]


def test_json_that_is_no_json_lines():
    with pytest.raises(InvalidValue, match="looks like one long JSON value"):
        list(read_json('[\n{"a": 1},\n{"a": 2}\n]\n'))
    with pytest.raises(InvalidValue, match="the file is empty"):
        list(read_json("\n\n"))
    with pytest.raises(InvalidType, match=r"column 'a' is list.*drop=\['a'\]"):
        list(read_json('{"a": [1], "y": 1}\n', target="y"))
    assert list(read_json('{"a": [1], "b": 2, "y": 1}\n', target="y", drop="a")) == [({"b": 2}, 1)]
    cut = gzip.compress(json_lines())[:-20]
    model = linear_model.LogisticRegression()
    with pytest.raises(OSError, match="truncated"):
        evaluate.prequential(model, stream.read_json_lines(io.BytesIO(cut), target="hot", drop=["at", "label_at"]))
    assert model.learned > 100


# ARFF.


def read_arff(text, **options):
    return stream.read_arff(io.BytesIO(text.encode()), **options)


WEATHER = """% comment
@relation 'the weather'

@attribute "the outlook" {sunny, 'very rainy', "it's"}
@ATTRIBUTE heat\tREAL
@attribute note string
@attribute day date "yyyy-MM-dd HH:mm"
@attribute n integer
@data
"""


def test_arff_of_all_types():
    text = WEATHER + (
        "sunny, 30.5, 'a, b', \"2024-01-02 10:30\", 1\n"
        "% between\n\n"
        "'very rainy',?,'?','2024-01-03 00:00',0\n"
        '"it\'s",1e3,it,?,1\n'
        "'it\\'s',-1,\"x\\\"y\",?,1"
    )
    source = read_arff(text)
    assert source.target == "n"
    nan = pytest.approx(float("nan"), nan_ok=True)
    when = datetime.datetime(2024, 1, 2, 10, 30, tzinfo=datetime.UTC).timestamp()
    assert list(source) == [
        ({"the outlook": "sunny", "heat": 30.5, "note": "a, b", "day": when}, 1),
        ({"the outlook": "very rainy", "heat": nan, "note": "?", "day": when + 13.5 * 3600}, 0),
        ({"the outlook": "it's", "heat": 1000.0, "note": "it", "day": nan}, 1),
        ({"the outlook": "it's", "heat": -1.0, "note": 'x"y', "day": nan}, 1),
    ]
    assert [type(y) for _, y in source] == [int] * 4
    assert read_arff(text, target=None).target is None
    assert read_arff(text.replace("heat", "Class")).target == "Class"


def test_arff_sparse_and_weights():
    header = (
        "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@attribute 'c d' numeric\n@attribute class {n,p}\n"
    )
    source = read_arff(header + "@data\n{0 1.5, 3 p}\n{}\n{1 y, 2 ?, 3 'p'}\n")
    nan = pytest.approx(float("nan"), nan_ok=True)
    assert list(source) == [
        ({"a": 1.5, "b": "x", "c d": 0.0}, "p"),
        ({"a": 0.0, "b": "x", "c d": 0.0}, "n"),
        ({"a": 0.0, "b": "y", "c d": nan}, "p"),
    ]
    text = header + "@data\n1,x,2,n,{5}\n{3 p}, {0.5}\n1,y,2,p\n"
    assert [chunk.w.to_pylist() for chunk in read_arff(text, weight="{weight}").chunks()] == [[5.0, 0.5, 1.0]]
    assert len(list(read_arff(text))) == 3


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("1,x", "2 values where the header has 4 attributes"),
        ("1,x,2,n,3,4", "6 values where"),
        ("one,x,2,n", "attribute 'a' must be a number, got 'one'"),
        ("1,z,2,n", "attribute 'b' must be one of x, y, got 'z'"),
        ("1,'x,2,n", "a quote is not closed"),
        ("{7 1}", "attribute 7 where the header has 4"),
        ("{0 1", "the brace of a sparse row is not closed"),
        ("{a b}", "pairs of index and value"),
        ("1,x,2,?", "the target must not be missing"),
    ],
)
@pytest.mark.parametrize("block", [10, 1 << 19])
def test_arff_rows_that_are_wrong(row, words, block):
    header = "@relation r\n@attribute a real\n@attribute b {x,y}\n@attribute c real\n@attribute class {n,p}\n"
    text = header + "@data\n1,x,2,n\n1,y,2,p\n" + row + "\n3,x,1,p\n"
    found = []
    with pytest.raises(InvalidValue, match="BytesIO, line 9") as failure:
        found.extend(read_arff(text, block_size=block))
    assert words in str(failure.value)
    assert len(found) == 2
    source = read_arff(text, block_size=block, on_error="skip")
    assert [x["a"] for x, _ in source] == [1.0, 1.0, 3.0]
    assert source.skipped.count == 1


def test_arff_headers_that_are_wrong():
    for text, words in [
        ("", "the file is empty"),
        ("a,b\n1,2\n", "line 1: not a line of an ARFF header"),
        ("@relation r\n@attribute a numeric\n1,2\n", "line 3: not a line of an ARFF header"),
        ("@relation r\n@attribute a numeric\n", "there is no line @data"),
        ("@relation r\n@data\n1\n", "@data before any @attribute"),
        ("@relation r\n@attribute a {x,y\n@data\n", "line 2: the values of 'a' do not end with a brace"),
        ("@relation r\n@attribute a relational\n@data\n", "must be numeric, nominal, string or date"),
        ("@relation r\n@attribute a\n@data\n", "must be numeric, nominal, string or date"),
        ("@relation r\n@attribute a real\n@attribute a real\n@data\n", "duplicate attribute 'a'"),
        ("@relation r\n@attribute a real\n@data\n", "there are no rows"),
    ]:
        with pytest.raises(MillstreamError) as failure:
            list(read_arff(text))
        assert words in str(failure.value)


def test_a_large_arff_reads_fast_and_as_slowly():
    random = np.random.default_rng(0)
    lines = [
        f"{a!r},{b},{c}"
        for a, b, c in zip(random.normal(size=3000).tolist(), "xy" * 1500, "np" * 1500, strict=True)
    ]
    text = "@relation r\n@attribute a real\n@attribute b {x,y}\n@attribute c {n,p}\n@data\n" + "\n".join(lines)
    slow = text.replace("@data\n", "@data\n% slowly\n")
    assert list(read_arff(text, block_size=5000)) == list(read_arff(slow))
    assert [y for _, y in read_arff(text)] == list("np" * 1500)


def test_spaces_in_arff():
    header = "@relation r\n@attribute a string\n@attribute b {x,' y'}\n@attribute c {n,p}\n@data\n"
    rows = [(" one ", "one"), ("' one '", " one "), ("'?'", "?"), (" ? ", None), ("?", None)]
    for block in (10, 1 << 19):
        text = header + "".join(f"{given}, x ,n\n" for given, _ in rows)
        assert [x["a"] for x, _ in read_arff(text, block_size=block)] == [found for _, found in rows]
        assert [x["b"] for x, _ in read_arff(text, block_size=block)] == ["x"] * 5
    assert [x["b"] for x, _ in read_arff(header + "a,' y',n\na,x,p\n")] == [" y", "x"]


# SQL.


def test_sql_with_parameters_and_faults():
    connection = base()
    source = stream.read_sql("select b, hot from t where b > ?", connection, "hot", parameters=[1.0])
    assert 0 < len(list(source)) < N
    named = stream.read_sql("select b, hot from t where b > :low", connection, "hot", parameters={"low": 1.0})
    assert list(named) == list(source)
    assert repr(source) == "SQL('select b, hot from t where b > ?', target='hot')"
    assert list(stream.read_sql("select b, hot from t where b > 1e9", connection, "hot")) == []
    cursor = connection.cursor()
    assert len(list(stream.read_sql("select b from t", cursor))) == N
    for query, words in [
        ("select * from nowhere", "query 'select \\* from nowhere': no such table"),
        ("selekt", "syntax error"),
        ("create table u (a)", "pass a SELECT"),
    ]:
        with pytest.raises(InvalidValue, match=words) as failure:
            list(stream.read_sql(query, connection))
        assert "\n" not in str(failure.value)
    if adbc is not None:
        with adbc.connect() as other, pytest.raises(InvalidValue, match="no such table"):
            list(stream.read_sql("select * from nowhere", other))
    for wrong in (3, "sqlite:///t.db"):
        with pytest.raises(InvalidType, match="connection must be an open connection or a function"):
            stream.read_sql("select 1", wrong)
    with pytest.raises(InvalidType, match="query must be a string"):
        stream.read_sql(None, connection)


def test_files_of_sqlite(tmp_path):
    path = tmp_path / "t'1.db"
    connection = base(path)
    query = "select b, hot from t where b > ?"
    assert 0 < len(list(stream.read_sqlite(path, "hot", query=query, parameters=[1.0]))) < N
    pickle.loads(pickle.dumps(stream.read_sqlite(path, "hot", query=query, parameters=[1.0])))
    connection.execute("create table other (a)")
    connection.commit()
    with pytest.raises(InvalidValue, match="pass query=; the tables are 't', 'other'"):
        stream.read_sqlite(path)
    path.write_bytes(b"nonsense" * 1000)
    with pytest.raises(OSError, match="not an SQLite database"):
        stream.read_sqlite(path)
    with pytest.raises(FileNotFoundError):
        stream.read_sqlite(tmp_path / "nothing.db")
    assert not (tmp_path / "nothing.db").exists()


def test_sql_columns_of_mixed_values():
    connection = sqlite3.connect(":memory:")
    connection.execute("create table t (a, b, y)")
    values = [(None, "x", 0), (1, 2, 1), (2.5, None, 0), ("7", "z", 1), ("bad", "z", 1), (3, 1.5, 0)]
    connection.executemany("insert into t values (?, ?, ?)", values)
    found = []
    with pytest.raises(InvalidValue, match="row 4, column 'a': must be a number, got 'bad'"):
        found.extend(stream.read_sql("select * from t", connection, "y"))
    assert [(x["a"], x["b"]) for x, _ in found[1:]] == [(1.0, "2"), (2.5, None), (7.0, "z")]
    source = stream.read_sql("select * from t", connection, "y", on_error="skip")
    assert len(list(source)) == 5
    assert source.skipped.count == 1


def test_a_connection_that_is_opened_here_is_closed():
    opened = []

    def connect():
        opened.append(base())
        return opened[-1]

    source = stream.read_sql("select b, hot from t", connect, "hot")
    assert run(source)[0] == N
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError):
            connection.execute("select 1")


# In memory.


def test_matrices():
    X = np.random.default_rng(1).normal(size=(40000, 3))
    y, w = X[:, 0] > 0, np.arange(40000) % 3
    expected = run((X, y, w))
    dense = stream.from_numpy(X, y, w)
    assert [len(chunk) for chunk in dense.chunks()] == [16384, 16384, 7232]
    assert dense.n_samples == 40000
    assert run(dense) == expected
    assert run(stream.from_numpy(scipy.sparse.csr_matrix(X), y, w)) == run((scipy.sparse.csr_matrix(X), y, w))
    assert stream.from_numpy(X, names="abc").schema == dict.fromkeys("abc", "number")
    frame = stream.from_pandas(pandas.DataFrame(X, columns=list("abc")), target=pandas.Series(y, name="late"))
    assert frame.target == "late"
    assert run(stream.from_numpy(X, y, names="abc")) == run(frame)
    times = np.arange(40000)
    by_time = stream.from_numpy(X, y, time=times, label_time=times + 10)
    assert run(by_time)[1:] == run((X, y), delay=10)[1:]
    objects = stream.from_numpy(np.array([["a", 1], ["b", None]], dtype=object), [1, 0])
    assert [x[0] for x, _ in objects] == ["a", "b"]
    assert repr(dense) == "Matrix(40000 × 3)"
    for wrong in (lambda: stream.from_numpy(X[0]), lambda: stream.from_numpy(X, y[:5])):
        with pytest.raises(InvalidValue):
            wrong()
    with pytest.raises(InvalidValue, match="a matrix must be rectangular"):
        stream.from_numpy([[1, 2], [3]])
    with pytest.raises(InvalidValue, match="names must have one entry for each of 3 columns of a dense matrix"):
        stream.from_numpy(X, names="ab")
    with pytest.raises(MillstreamError, match="needs a target"):
        run(stream.from_numpy(X))


def test_targets_beside_a_frame():
    frame = TABLE.select(["a", "b"])
    y = TABLE["hot"].to_numpy()
    expected = [y for _, y in stream.from_arrow(TABLE, target="hot", drop=["at", "label_at"])]
    for source in (
        stream.from_arrow(frame, y),
        stream.from_pandas(frame.to_pandas(), y),
        stream.from_pandas(frame.to_pandas(), y.tolist()),
        stream.from_polars(polars.from_arrow(frame), polars.Series("hot", y)),
    ):
        assert [y for _, y in source] == expected
        assert set(source.schema) == {"a", "b"}
    with pytest.raises(InvalidValue, match="target has 3 values for 700 rows"):
        stream.from_arrow(frame, y[:3])


def test_odd_frames():
    mixed = pandas.DataFrame({1: [1, "x", None], "y": [True, False, True]})
    assert [x["1"] for x, _ in stream.from_pandas(mixed, target="y")] == ["1", "x", None]
    assert list(stream.from_pandas(mixed.iloc[:0], target="y")) == []
    assert list(stream.from_arrow(TABLE[:0], target="hot")) == []
    with pytest.raises(InvalidValue, match="duplicate column 'a'"):
        list(stream.from_pandas(pandas.DataFrame([[1, 2]], columns=["a", "a"])))
    for make, wrong in [
        (stream.from_pandas, TABLE),
        (stream.from_polars, TABLE),
        (stream.from_arrow, 3),
        (stream.from_examples, 3),
        (stream.from_examples, "text"),
    ]:
        with pytest.raises(InvalidType, match="must be a"):
            make(wrong)


def test_what_can_be_read_once_says_so():
    once = stream.from_arrow(TABLE.to_reader(), **NAMES)
    assert once.schema["a"] == "number"
    assert run(once)[0] == N
    with pytest.raises(InvalidValue, match="only once; pass a function that returns a new one"):
        list(once)
    examples = stream.from_examples(({"a": float(i)}, i) for i in range(5))
    assert examples.schema == {"a": "number"}
    assert examples.schema == {"a": "number"}
    assert [y for _, y in examples] == list(range(5))
    with pytest.raises(InvalidValue, match="pass the generator function without calling it"):
        list(examples)
    assert "can be read once" in stream.from_examples(iter([]))._repr_html_()
    with pytest.raises(InvalidValue, match="can be read only once"):
        examples.repeat(2)


def test_examples():
    rows = [({"a": 1.0}, "x"), ({"a": 2.0}, "y", 3.0), ({"a": 3.0}, "x", {"w": 2.0})]
    (chunk,) = stream.from_examples(rows).chunks()
    assert (chunk.y, chunk.w) == (["x", "y", "x"], [1.0, 3.0, 2.0])
    assert stream.from_examples(rows).n_samples == 3
    (chunk,) = stream.from_examples([{"a": 1.0}, {"a": 2.0}]).chunks()
    assert chunk.y is None

    def broken():
        yield {"a": 1.0}, 1
        yield {"a": 2.0}, 0
        raise ConnectionError("gone")

    model = linear_model.LogisticRegression()
    with pytest.raises(ConnectionError):
        evaluate.prequential(model, stream.from_examples(broken), progress=False)
    assert model.learned == 2
    with pytest.raises(InvalidType, match="an example must be"):
        list(stream.from_examples([1, 2]))
    with pytest.raises(InvalidValue, match="label_time needs time"):
        stream.from_examples(rows, label_time="a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[1, 2]\n", "line 1: a line must be one JSON object, got an array"),
        (b"7\n", "line 1: a line must be one JSON object, got a number"),
        (b'{"y": "\xff"}\n', "line 1: bad UTF-8"),
        (b'{"x": ' + b"[" * 1000 + b"]" * 1000 + b"}\n", "line 1: brackets are nested more than 64 deep"),
        (b'{"y": 1, "x": "\\ud800"}\n', r"line 1: \\ud800"),
        (b'{"y": 1, "\\udfff": 2}\n', r"line 1: \\udfff"),
    ],
)
def test_a_first_line_that_is_no_row_is_what_is_wrong(text, message):
    with pytest.raises(InvalidValue, match=message):
        list(stream.read_json_lines(io.BytesIO(text), target="y"))
    rows = stream.read_json_lines(io.BytesIO(text + b'{"x": 1, "y": 0}\n'), target="y", on_error="skip")
    assert list(rows) == [({"x": 1}, 0)]
    assert rows.skipped.count == 1
    # A letter of two halves is one.
    whole = stream.read_json_lines(io.BytesIO(b'{"x": "\\ud83d\\ude00", "y": 0}\n'), target="y")
    assert list(whole) == [({"x": "\N{GRINNING FACE}"}, 0)]
