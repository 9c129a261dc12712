"""`serve.feed`: messages of a socket or broker are learned by a server exactly once."""

from __future__ import annotations

import math
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pytest

from millstream import anomaly, base, compose, linear_model, serve, stream
from millstream.errors import InvalidType, InvalidValue
from millstream.serve.message_feed import _id


def messages(count: int = 6, rows: int = 5) -> list[arrow.Table]:
    return [
        arrow.table(
            {
                "key": [f"k{row % 2}" for row in range(rows)],
                "x": [number + row / 10 for row in range(rows)],
                "hot": [(number + row) % 3 == 0 for row in range(rows)],
            }
        )
        for number in range(count)
    ]


def model() -> Any:
    return compose.Keyed(linear_model.LogisticRegression(), key="key")


def learned(tables: list[arrow.Table]) -> Any:
    keyed = model()
    for table in tables:
        keyed.learn_many(table.drop_columns(["hot"]), table["hot"].to_pylist())
    return keyed


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"unix:{tmp_path}/s.sock"


def writing(address: str, tables: list[Any]) -> threading.Thread:
    def write() -> None:
        with stream.write_socket(address, writer="plant") as sink:
            for table in tables:
                if isinstance(table, bytes):
                    sink.send(table, stream.Origin("plant", "0", sink.next_offset))
                    sink._next = sink.next_offset + 1
                else:
                    sink.write(table)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


def served(server: serve.Server) -> Any:
    return server.engine.state.models["model"].model


def same(one: Any, other: Any) -> bool:
    return {key: one[key].to_bytes() for key in one} == {key: other[key].to_bytes() for key in other}


def test_rows_are_predicted_learned_and_written(address: str, tmp_path: Path) -> None:
    tables = messages()
    writer = writing(address, tables)
    found: list[tuple[arrow.Table, Any]] = []
    with serve.Server(model(), data=tmp_path / "data", port=0) as server:
        source = stream.read_socket(address, target="hot")
        done = serve.feed(
            source,
            serve.Client(server.url),
            "model",
            limit=30,
            sink=lambda table, origin: found.append((table, origin)),
        )
        writer.join()
        assert same(served(server), learned(tables))
    assert (done.messages, done.rows, done.fates, done.set_aside) == (6, 30, {"learned": 30}, 0)
    assert [table.num_rows for table, _ in found] == [5] * 6
    assert [origin.offset for _, origin in found] == list(range(6))
    # A message is predicted before any of its rows is learned.
    assert found[0][0]["prediction"].to_pylist() == [None] * 5
    assert found[1][0]["prediction"].null_count == 0


@pytest.mark.parametrize("step", ["predict_many", "labels", "commit"])
def test_a_feeder_that_dies_repeats_without_effect(
    address: str, tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = messages()
    writer = writing(address, tables)
    calls = 0

    def dying(work: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            result = work(*given, **named)
            if calls == 3:
                raise ConnectionAbortedError("killed")
            return result

        return call

    with serve.Server(model(), data=tmp_path / "data", port=0) as server:
        client = serve.Client(server.url)
        with monkeypatch.context() as patch:
            if step == "commit":
                reader = stream.read_socket(address).reader.__globals__["SocketReader"]
                patch.setattr(reader, "commit", lambda self, offsets: dying(lambda: None)())
            else:
                patch.setattr(client, step, dying(getattr(client, step)))
            with pytest.raises(ConnectionAbortedError):
                serve.feed(stream.read_socket(address, target="hot"), client, "model", every=0)
        done = serve.feed(stream.read_socket(address, target="hot", idle=2), client, "model", every=0)
        writer.join()
        assert done.repeats > 0
        assert same(served(server), learned(tables))
        assert client._object("GET", "/v1/models/model")["learned"] == 30


def test_a_server_that_is_started_again_learns_each_row_once(address: str, tmp_path: Path) -> None:
    tables = messages()
    writer = writing(address, tables)
    for limit in (15, 15):
        with serve.Server(model(), data=tmp_path / "data", port=0) as server:
            # Nothing is committed before the end, so that the last message of the first run is sent again.
            source = stream.read_socket(address, target="hot", idle=2)
            done = serve.feed(source, serve.Client(server.url), "model", limit=limit, every=1000)
            assert done.fates["learned"] == 15
            last = served(server)
    writer.join()
    assert same(last, learned(tables))


def test_bad_messages_and_rows_are_set_aside(address: str, tmp_path: Path) -> None:
    tables: list[Any] = [*messages(2), b"noise", arrow.table({"other": [1.0]})]
    bad = messages(1)[0].set_column(0, "key", arrow.array(["k0", None, "k1", "k0", "k1"]))
    writer = writing(address, [*tables, bad])
    with serve.Server(model(), data=tmp_path / "data", port=0) as server:
        source = stream.read_socket(address, target="hot", idle=2)
        done = serve.feed(source, serve.Client(server.url), "model")
        writer.join()
    assert done.fates == {"learned": 14}
    assert done.set_aside == 3
    assert [letter.offset for letter in done.dead_letters] == [2, 3, 4]
    assert "neither an Arrow IPC stream nor JSON" in done.dead_letters[0].reason
    assert "changed schema" in done.dead_letters[1].reason
    assert "row 1: " in done.dead_letters[2].reason
    assert "the key is missing" in done.dead_letters[2].reason
    assert done.dead_letters[0].data == b"noise"


def test_numbers_that_json_lacks_do_not_stop_the_feed(address: str, tmp_path: Path) -> None:
    tables = [
        arrow.table({"x": [1.0, math.inf, math.nan, 2.0], "y": [1.0, 2.0, 3.0, -math.inf], "w": [1.0] * 4}),
        arrow.table({"x": [1.0, 2.0], "y": [1.0, 2.0], "w": [1.0, math.inf]}),
    ]
    writer = writing(address, tables)
    with serve.Server(linear_model.LinearRegression(), data=tmp_path / "data", port=0) as server:
        source = stream.read_socket(address, target="y", weight="w", idle=2)
        done = serve.feed(source, serve.Client(server.url), "model")
        writer.join()
        # NaN is a missing value.
        assert served(server).learned == 3
    assert (done.messages, done.rows, done.fates) == (2, 6, {"learned": 3})
    assert [letter.reason for letter in done.dead_letters] == [
        "row 1: x: 'x' must be a finite number",
        "row 3: y: must be a finite number, got -inf",
        "row 1: weight: must be a finite number, got inf",
    ]


def test_decimal_targets_are_numbers(address: str, tmp_path: Path) -> None:
    writer = writing(address, [arrow.table({"x": [1.0, 2.0], "y": [Decimal("1.5"), Decimal("2.5")]})])
    with serve.Server(Slow(), data=tmp_path / "data", port=0) as server:
        done = serve.feed(stream.read_socket(address, target="y"), serve.Client(server.url), "model", limit=2)
        writer.join()
        assert served(server).sum == 4.0
    assert done.fates == {"learned": 2}


def test_models_without_labels_and_messages_without_offsets(address: str, tmp_path: Path) -> None:
    import socket

    def write() -> None:
        with stream.write_socket(address, writer="plant") as sink:
            sink.write(arrow.table({"x": [1.0, 2.0]}))
        plain = socket.socket(socket.AF_UNIX)
        plain.connect(address.removeprefix("unix:"))
        plain.sendall(b'{"x": 3.0}\n')
        plain.close()

    writer = threading.Thread(target=write)
    writer.start()
    with serve.Server(anomaly.GaussianScorer(), data=tmp_path / "data", port=0) as server:
        done = serve.feed(stream.read_socket(address), serve.Client(server.url), "model", limit=3)
        writer.join()
        assert served(server).learned == 3
    assert (done.rows, done.fates) == (3, {})


class Slow(base.Regressor):
    """A learner written in Python."""

    def __init__(self) -> None:
        self.sum = 0.0

    def learn_one(self, x: Any, y: Any) -> None:
        self.sum += y

    def predict_one(self, x: Any) -> float:
        return self.sum


def test_weights_and_learners_in_python(address: str, tmp_path: Path) -> None:
    table = arrow.table({"x": [1.0, 2.0], "y": [3.0, 4.0], "w": [1.0, 1.0]})
    writer = writing(address, [table])
    with serve.Server(Slow(), data=tmp_path / "data", port=0) as server:
        source = stream.read_socket(address, target="y", weight="w")
        done = serve.feed(source, serve.Client(server.url), "model", limit=2)
        writer.join()
        assert served(server).sum == 7.0
    assert done.fates == {"learned": 2}


def test_ids_depend_on_the_position_alone() -> None:
    assert _id(stream.Origin("kafka:in", "3", 17), 2) == "kafka:in/3/17/2"
    # The number of an entry of Redis depends on where reading began.
    first, again = (_id(stream.Origin("redis:in", "in", f"1700-5-{number}"), 0) for number in (1, 9))
    assert first == again == "redis:in/in/1700-5/0"
    long = [_id(stream.Origin("kafka:" + "t" * 200, "3", 17), row) for row in (0, 1)]
    assert max(map(len, long)) <= 128
    assert len(set(long)) == 2


def test_wrong_calls_have_one_line(address: str) -> None:
    client = serve.Client("http://127.0.0.1:1", retries=0)
    source = stream.read_socket(address, idle=2)
    with pytest.raises(InvalidType, match="serve.feed: source must read messages, got list"):
        serve.feed([], client, "model")  # type: ignore[arg-type]
    with pytest.raises(InvalidType, match=r"serve.feed: client must be a serve.Client, got str"):
        serve.feed(source, "http://127.0.0.1:1", "model")  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="every must be at least 0 seconds, got -1"):
        serve.feed(source, client, "model", every=-1)
    with pytest.raises(InvalidValue, match="limit must be an integer >= 0 or None, got 'a'"):
        serve.feed(source, client, "model", limit="a")  # type: ignore[arg-type]
    with pytest.raises(InvalidType, match=r"stop must be a threading.Event, got int 5"):
        serve.feed(source, client, "model", stop=5)  # type: ignore[arg-type]
