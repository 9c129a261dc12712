"""Addresses of messages, such as kafka://host:port/topic, in `stream.open` and on the command line."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pytest

from millstream import cli, stream
from millstream.errors import InvalidType, InvalidValue
from millstream.stream.formats import is_address


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"unix:{tmp_path}/s.sock"


def writing(address: str) -> threading.Thread:
    def write() -> None:
        with stream.write_socket(address, writer="plant") as sink:
            sink.write(arrow.table({"load": [0.5, 0.25, 0.75], "hot": [1.5, 0.5, 2.5]}))

    thread = threading.Thread(target=write)
    thread.start()
    return thread


def run(capsys: Any, *arguments: Any) -> tuple[int, str, str]:
    code = cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_short_names() -> None:
    assert stream.socket is stream.read_socket
    assert stream.redis is stream.read_redis
    assert stream.kafka is stream.read_kafka


def test_addresses_of_brokers() -> None:
    kafka = stream.open("kafka://one:9092,two:9092/readings", target="y", group="g", idle=1)
    assert (kafka.servers, kafka.topic, kafka.target, kafka.group, kafka.idle) == (  # type: ignore[attr-defined]
        "one:9092,two:9092",
        "readings",
        "y",
        "g",
        1,
    )
    for url, server, name in (
        ("redis://host:6379/readings", "redis://host:6379", "readings"),
        ("redis://:word@host:6379/1/readings", "redis://:word@host:6379/1", "readings"),
        ("rediss://host:6379/readings", "rediss://host:6379", "readings"),
    ):
        redis: Any = stream.open(url)
        assert (redis.url, redis.streams) == (server, [name])
    socket: Any = stream.open("tcp://127.0.0.1:7000")
    assert (socket.address.host, socket.address.port) == ("127.0.0.1", 7000)
    assert not is_address("C:/rows.csv")
    assert not is_address("kafka.csv")
    assert not is_address("http://host/rows.csv")


def test_a_stream_is_opened_by_its_address(address: str) -> None:
    writer = writing(address)
    found = stream.open(address, target="hot", idle=2)
    assert list(found) == [({"load": 0.5}, 1.5), ({"load": 0.25}, 0.5), ({"load": 0.75}, 2.5)]
    writer.join()


def test_run_reads_an_address(capsys: Any, address: str) -> None:
    writer = writing(address)
    model = ("--model", "LinearRegression()")
    code, said, err = run(capsys, "run", address, "--target", "hot", "--option", "idle=2", *model, "--quiet")
    writer.join()
    assert (code, err) == (0, "")
    assert f"{address} → hot" in said
    assert "3 rows" in said


def test_wrong_addresses_and_options_have_one_line(capsys: Any, address: str) -> None:
    with pytest.raises(InvalidValue, match="an address must be kafka://host:port/topic, got 'kafka://host:1'"):
        stream.open("kafka://host:1")
    with pytest.raises(InvalidValue, match="an address must be redis://host:port/stream, got 'redis://host:1/'"):
        stream.open("redis://host:1/")
    with pytest.raises(InvalidType, match="unexpected keyword argument 'idel'; did you mean|unexpected keyword"):
        stream.open(address, idel=1)
    code, said, err = run(capsys, "run", address, "--target", "hot", "--option", "idel=1")
    assert (code, said) == (2, "")
    assert "read_socket has no option 'idel', did you mean 'idle'?" in err
    code, said, err = run(capsys, "run", "kafka://host:1", "--target", "hot")
    assert (code, said) == (2, "")
    assert "an address must be kafka://host:port/topic" in err
