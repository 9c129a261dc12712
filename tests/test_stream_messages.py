"""Messages: Arrow and JSON, limits, damage."""

from __future__ import annotations

import json
import random
import struct

import numpy as np
import pyarrow as arrow
import pytest

from millstream import stream
from millstream.errors import InvalidValue
from millstream.stream.ipc_sizes import size_in_memory
from millstream.stream.message_source import Conversion
from millstream.stream.messages import Limits, Message, Origin, decode, encode, order

TABLE = arrow.table({"sensor": [3, 1], "value": [0.5, None], "place": ["hall", "roof"]})


def compressed(table, codec="zstd", **options):
    written = arrow.BufferOutputStream()
    settings = arrow.ipc.IpcWriteOptions(compression=codec, **options)
    with arrow.ipc.new_stream(written, table.schema, options=settings) as writer:
        writer.write_table(table)
    return written.getvalue().to_pybytes()


@pytest.mark.parametrize("kind", ["arrow", "json"])
@pytest.mark.parametrize("origin", [None, Origin("plant", "7", 12), Origin("redis:in", "in", "1700000000000-2-9")])
def test_round_trip(kind, origin):
    decoded = decode(encode(TABLE, origin, kind), Limits())
    assert decoded.table.to_pylist() == TABLE.to_pylist()
    assert decoded.origin == origin
    assert decoded.is_json == (kind == "json")


def test_forms_of_json():
    rows = [{"a": 1, "b": {"c": 2.5}}, {"a": 2}]
    expected = [{"a": 1, "b.c": 2.5}, {"a": 2, "b.c": None}]
    for text in (json.dumps(rows), "\n".join(map(json.dumps, rows)), json.dumps(rows, indent=2)):
        assert decode(text.encode(), Limits()).table.to_pylist() == expected
    assert decode(b' {"a": 1}', Limits()).table.to_pylist() == [{"a": 1}]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty message"),
        (b"hello", "neither an Arrow IPC stream nor JSON"),
        (b'{"a": 1', "not JSON"),
        (b'{"a": 1, "a": 2}', "duplicate name"),
        (b"[1, 2]", "one JSON object"),
        (b"{}", "without members"),
        (b"[" * 100_000, "damaged|deep"),
        (encode(TABLE)[:-8], "truncated: the Arrow IPC stream has no end"),
        (encode(TABLE) + b"\xff\xff\xff\xff\0\0\0\0", "after the end"),
        (b"\xff\xff\xff\xff" + struct.pack("<i", 2**31 - 1) + b"\xff\xff\xff\xff\0\0\0\0", "truncated"),
        (b"\xff\xff\xff\xff" + struct.pack("<i", -5) + b"\xff\xff\xff\xff\0\0\0\0", "negative"),
    ],
)
def test_bad_messages_have_one_line(data, words):
    with pytest.raises(InvalidValue, match=words) as caught:
        decode(data, Limits())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_decompression_is_bounded(codec):
    table = arrow.table({"zeros": np.zeros(2_000_000)})
    data = compressed(table, codec)
    assert len(data) < len(table["zeros"]) * 8 / 200
    assert size_in_memory(data, 1 << 40) == 16_000_000
    with pytest.raises(InvalidValue, match="after decompression"):
        decode(data, Limits(table_bytes=1_000_000))
    assert decode(data, Limits()).table.num_rows == 2_000_000


def test_a_declared_size_is_not_allocated():
    data = bytearray(compressed(arrow.table({"zeros": np.zeros(100_000)})))
    place = data.index(struct.pack("<q", 800_000))
    data[place : place + 8] = struct.pack("<q", 1 << 61)
    with pytest.raises(InvalidValue, match="after decompression"):
        decode(bytes(data), Limits())


def test_dictionaries_count_too():
    table = arrow.table({"place": arrow.array(["x" * 1000 + str(i) for i in range(500)]).dictionary_encode()})
    assert size_in_memory(compressed(table), 1 << 40) > 500_000
    assert decode(compressed(table), Limits()).table == table
    with pytest.raises(InvalidValue, match="after decompression"):
        decode(compressed(table), Limits(table_bytes=100_000))


def test_rows_without_bytes_are_limited():
    table = arrow.table({"nothing": arrow.nulls(1000)})
    with pytest.raises(InvalidValue, match="more than 100 rows"):
        decode(encode(table), Limits(rows=100))


def test_flipped_and_missing_bytes_are_refused_or_harmless():
    noise = random.Random(5)
    for data in (encode(TABLE), compressed(TABLE), encode(TABLE, format="json")):
        for _ in range(1500):
            changed = bytearray(data)
            for _ in range(noise.choice([1, 1, 4])):
                changed[noise.randrange(len(changed))] ^= 1 << noise.randrange(8)
            if noise.random() < 0.2:
                del changed[noise.randrange(len(changed)) :]
            try:
                decoded = decode(bytes(changed), Limits())
            except InvalidValue:
                continue
            decoded.table.validate(full=True)


def test_order_of_offsets():
    ids = ["9-1-3", "10-0-4", "10-11-5", "11-2-6"]
    assert sorted(set(ids), key=order) == ids
    assert order(9) < order(10)


def conversion(**options):
    return Conversion(stream.read_socket("127.0.0.1:0", **options))


def test_a_changed_schema_is_refused_and_forgotten():
    reading = conversion()
    first = reading.chunk(Message("0", 0, encode(TABLE)))[0]
    assert first.X.column_names == ["sensor", "value", "place"]
    for table, words in (
        (TABLE.drop_columns(["value"]), "column 'value' is missing"),
        (TABLE.append_column("more", arrow.array([1, 2])), "column 'more' is new"),
        (TABLE.set_column(1, "value", arrow.array(["a", "b"])), "column 'value' was number and is nominal"),
        (arrow.table([[1], [2]], names=["sensor", "sensor"]), "duplicate column"),
    ):
        with pytest.raises(InvalidValue, match=words):
            reading.chunk(Message("0", 1, encode(table)))
    assert len(reading.chunk(Message("0", 2, encode(TABLE)))[0]) == 2
    assert len(conversion(schema="any").chunk(Message("0", 0, encode(TABLE)))[0]) == 2


def test_a_refused_first_message_does_not_define_the_schema():
    reading = conversion(target="value")
    bad = arrow.table({"value": [[1], [2]], "other": [1, 2]})
    with pytest.raises(InvalidValue):
        reading.chunk(Message("0", 0, encode(bad)))
    assert reading.columns == {}
    assert len(reading.chunk(Message("0", 1, encode(arrow.table({"value": [1.0], "x": [2.0]}))))[0]) == 1


def test_json_may_omit_members():
    reading = conversion()
    reading.chunk(Message("0", 0, b'{"a": 1.5, "b": "x"}'))
    assert reading.chunk(Message("0", 1, b'{"b": "y"}'))[0].X.to_pylist() == [{"b": "y"}]
    with pytest.raises(InvalidValue, match="new"):
        reading.chunk(Message("0", 2, b'{"c": 1}'))
