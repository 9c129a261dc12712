"""`stream.process` over a socket: models, checkpoints, bad messages, stops."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from contextlib import nullcontext, suppress

import numpy as np
import pyarrow as arrow
import pytest

from millstream import anomaly, base, evaluate, linear_model, preprocessing, stream
from millstream.errors import InvalidState, InvalidType, InvalidValue, Unreadable
from millstream.stream.message_source import WAIT, Silence
from millstream.stream.messages import encode
from millstream.stream.socket_frames import HEAD, MAGIC
from stream_messages import keyed, learned, readings, state


@pytest.fixture
def address(tmp_path):
    return f"unix:{tmp_path}/s"


def writing(address, tables, lossy=False, **options):
    """Write tables in a thread, and return it."""

    def write():
        # A source that ends early confirms nothing.
        with (
            suppress(Unreadable) if lossy else nullcontext(),
            stream.write_socket(address, writer="w", **options) as sink,
        ):
            for table in list(tables)[sink.next_offset :]:
                sink.write(table)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


def collected():
    found = {}

    def sink(table, origin):
        assert origin.offset not in found
        found[origin.offset] = table["score"].to_pylist()

    return found, sink


def test_one_pass_equals_a_loop(address):
    expected, scores = learned(range(20))
    found, sink = collected()
    thread = writing(address, map(readings, range(20)))
    done = stream.process(stream.read_socket(address, idle=0.3), keyed(), sink=sink)
    thread.join()
    assert found == scores
    assert state(done.model) == state(expected)
    assert (done.progress.messages, done.progress.rows, done.progress.set_aside) == (20, 1000, 0)
    assert done.progress.keys == len(expected)
    assert not done.interrupted


@pytest.mark.parametrize("every", [0, 0.01])
def test_restarts_continue_where_they_stopped(address, tmp_path, every):
    expected, scores = learned(range(20))
    found, sink = collected()
    thread = writing(address, map(readings, range(20)))
    for _ in range(20):
        source = stream.read_socket(address, idle=0.3)
        done = stream.process(source, keyed(), sink=sink, checkpoint=tmp_path / "c", every=every, limit=150)
    thread.join(timeout=20)
    assert not thread.is_alive()
    assert found == scores
    assert state(done.model) == state(expected)
    assert (done.progress.messages, done.progress.rows) == (20, 1000)


def test_any_model_with_a_target(address, tmp_path):
    def regression():
        return preprocessing.StandardScaler() | linear_model.LinearRegression()

    thread = writing(address, map(readings, range(10)))
    found = []
    for _ in range(2):
        source = stream.read_socket(address, target="value", idle=0.3)
        done = stream.process(
            source, regression(), sink=lambda table, _: found.append(table), checkpoint=tmp_path / "c", limit=250
        )
    thread.join()
    expected = regression()
    answers = [
        expected.step_many(readings(number).select(["sensor"]), readings(number)["value"]).tolist()
        for number in range(10)
    ]
    assert [table["prediction"].to_pylist() for table in found] == answers
    assert done.model.to_bytes() == expected.to_bytes()


def test_predictions_without_learning(address):
    model, _ = learned(range(5))
    before = state(model)
    thread = writing(address, [readings(9)])
    found, sink = collected()
    stream.process(stream.read_socket(address, idle=0.3), model, sink=sink, learn=False)
    thread.join()
    assert found == {0: model.score_many(readings(9)).tolist()}
    assert state(model) == before


def test_own_output(address):
    thread = writing(address, map(readings, range(6)))
    found = []

    def alarms(chunk, scores):
        chosen = np.flatnonzero(scores > 0.99)
        return chunk.X.take(chosen) if len(chosen) else None

    stream.process(
        stream.read_socket(address, idle=0.3), keyed(), output=alarms, sink=lambda table, _: found.append(table)
    )
    thread.join()
    _, scores = learned(range(6))
    assert (
        sum(len(table) for table in found) == sum(score > 0.99 for each in scores.values() for score in each) > 0
    )


def test_bad_messages_are_set_aside(address, tmp_path):
    def send():
        with stream.write_socket(address, writer="w") as sink:
            for number in range(9):
                data = {
                    1: b"not a table",
                    2: encode(readings(2))[:-9],
                    3: encode(readings(3).drop_columns(["sensor"])),
                    4: encode(arrow.table({"sensor": [1], "value": ["text"]})),
                    5: encode(arrow.table({"sensor": [1, 2], "value": [1.0, float("inf")]})),
                    6: bytes(300_000),
                    7: encode(arrow.table({"sensor": arrow.array([None], arrow.int64()), "value": [1.0]})),
                }.get(number, encode(readings(number)))
                sink.send(data, stream.Origin("w", "0", number))

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    letters = []
    source = stream.read_socket(address, idle=0.3, max_message_bytes=100_000)
    done = stream.process(
        source, keyed(), checkpoint=tmp_path / "c", every=0, dead_letters=lambda table, _: letters.append(table)
    )
    thread.join()
    expected, _ = learned([0, 8])
    assert state(done.model) == state(expected)
    assert [(letter.partition, letter.offset) for letter in done.dead_letters] == [("w/0", n) for n in range(1, 8)]
    reasons = [letter.reason for letter in done.dead_letters]
    for reason, words in zip(
        reasons,
        ("neither", "truncated", "'sensor' is missing", "was number", "row 1", "max_message_bytes", "key"),
        strict=True,
    ):
        assert words in reason
    assert [table["reason"][0].as_py() for table in letters] == reasons
    assert letters[0].to_pylist()[0]["data"] == b"not a table"
    assert done.progress.set_aside == 7
    assert "offset 1: neither" in str(source.skipped)
    # They are not tried again, and the schema is remembered.
    thread = writing(address, [*[None] * 9, readings(9).rename_columns(["sensor", "other"])])
    source = stream.read_socket(address, idle=0.3)
    again = stream.process(source, keyed(), checkpoint=tmp_path / "c")
    thread.join()
    assert again.progress.set_aside == 8
    assert "changed schema" in again.dead_letters[0].reason


def test_bad_messages_end_the_run_by_choice(address):
    thread = writing(address, [readings(0), readings(1).drop_columns(["sensor"])], patience=1, lossy=True)
    with pytest.raises(InvalidValue, match=r"partition w/0, offset 1: changed schema"):
        stream.process(stream.read_socket(address, idle=1, on_error="raise"), keyed())
    thread.join()


def test_a_message_of_two_gigabytes_is_refused_by_its_header(address, tmp_path):
    ended = threading.Event()

    def send():
        time.sleep(0.3)
        with socket.socket(socket.AF_UNIX) as plain:
            plain.connect(address.removeprefix("unix:"))
            head = b'{"partition": "p", "offset": 0, "time": 0}'
            plain.sendall(MAGIC + HEAD.pack(len(head), 2 << 30) + head + bytes(1 << 20))
            ended.wait(10)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    done = stream.process(stream.read_socket(address, idle=0.6), keyed())
    ended.set()
    thread.join()
    assert [letter.reason for letter in done.dead_letters] == [
        "2,147,483,648 bytes, more than max_message_bytes=67,108,864"
    ]


@pytest.mark.parametrize("kind", ["arrow", "json"])
def test_programs_that_know_nothing_of_millstream(address, kind):
    def send():
        time.sleep(0.3)
        with socket.socket(socket.AF_UNIX) as plain:
            plain.connect(address.removeprefix("unix:"))
            if kind == "arrow":
                with plain.makefile("wb") as file, arrow.ipc.new_stream(file, readings(0).schema) as writer:
                    for number in range(5):
                        writer.write_table(readings(number))
            else:
                for number in range(5):
                    plain.sendall(encode(readings(number), format="json") + b"\n")

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    done = stream.process(stream.read_socket(address, idle=0.6), keyed())
    thread.join()
    assert state(done.model) == state(learned(range(5))[0])


def test_noise_on_a_connection_does_no_harm(address):
    def send():
        time.sleep(0.3)
        noise = np.random.default_rng(3)
        for start in (b"", b"\xff\xff\xff\xff", MAGIC, b"{"):
            for size in (3, 200, 5000):
                with socket.socket(socket.AF_UNIX) as plain:
                    plain.connect(address.removeprefix("unix:"))
                    plain.sendall(start + noise.bytes(size) + (b"\n" if start == b"{" else b""))
        with stream.write_socket(address, writer="w") as sink:
            sink.write(readings(0))

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    done = stream.process(stream.read_socket(address, idle=1), keyed())
    thread.join()
    assert state(done.model) == state(learned([0])[0])
    assert 1 <= done.progress.set_aside <= 12


def test_evaluation_reads_messages(address):
    tables = [readings(number) for number in range(8)]
    thread = writing(address, tables)
    source = stream.read_socket(address, target="value", idle=0.4)
    result = evaluate.prequential(linear_model.LinearRegression(), source, metrics="MAE")
    thread.join()
    whole = arrow.concat_tables(tables)
    expected = evaluate.prequential(
        linear_model.LinearRegression(), (whole.select(["sensor"]), whole["value"].to_numpy()), metrics="MAE"
    )
    assert result["MAE"] == expected["MAE"]


def test_a_slow_learner_makes_the_writer_wait(address):
    class Slow(base.AnomalyDetector):
        def learn_one(self, x, y=None, w=1.0):
            time.sleep(0.0005)

        def score_one(self, x):
            return 0.0

    seen = []
    sinks = []

    def write():
        with stream.write_socket(address, writer="w", buffer_bytes=20_000) as sink:
            sinks.append(sink)
            for number in range(40):
                sink.write(readings(number))

    thread = threading.Thread(target=write, daemon=True)
    thread.start()

    def note(progress):
        seen.append((progress.busy, progress.lag, str(progress)))

    stream.process(stream.read_socket(address, idle=1), Slow(), every=0.1, progress=note)
    thread.join()
    assert sinks[0].waited > 0.2
    assert max(busy for busy, _, _ in seen) > 0.8
    assert all(lag is not None for _, lag, _ in seen)
    assert "busy" in seen[0][2]


def test_stop_writes_a_last_checkpoint(address, tmp_path):
    stop = threading.Event()
    thread = writing(address, map(readings, range(4)), patience=5)
    threading.Timer(1.5, stop.set).start()
    stream.process(stream.read_socket(address), keyed(), checkpoint=tmp_path / "c", every=1000, stop=stop)
    thread.join()
    with stream.Checkpoint(tmp_path / "c") as checkpoint:
        model, position = checkpoint.load()
    assert position["offsets"] == {"w/0": 3}
    assert state(model) == state(learned(range(4))[0])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_stop_at_a_message(address, tmp_path, number):
    thread = writing(address, map(readings, range(4)), patience=5)
    threading.Timer(1.2, os.kill, (os.getpid(), number)).start()
    held = signal.getsignal(number)
    signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    try:
        done = stream.process(stream.read_socket(address), keyed(), checkpoint=tmp_path / "c", every=1000)
    finally:
        signal.signal(number, held)
    thread.join()
    assert done.interrupted
    assert state(done.model) == state(learned(range(4))[0])
    with stream.Checkpoint(tmp_path / "c") as checkpoint:
        assert checkpoint.load()[1]["counts"] == {"messages": 4, "rows": 200, "set_aside": 0}


def test_a_checkpoint_belongs_to_one_process_and_one_source(address, tmp_path):
    with stream.Checkpoint(tmp_path / "c"), pytest.raises(InvalidState, match=f"in use by process {os.getpid()}"):
        stream.process(stream.read_socket(address, idle=0.1), keyed(), checkpoint=tmp_path / "c")
    thread = writing(address, [readings(0)])
    stream.process(stream.read_socket(address, idle=0.3), keyed(), checkpoint=tmp_path / "c")
    thread.join()
    other = stream.read_socket(f"unix:{tmp_path}/other", idle=0.1)
    with pytest.raises(InvalidState, match="is that of"):
        stream.process(other, keyed(), checkpoint=tmp_path / "c")
    with pytest.raises(InvalidState, match="has a Keyed, got a GaussianScorer"):
        stream.process(stream.read_socket(address), anomaly.GaussianScorer(), checkpoint=tmp_path / "c")


def test_every_flipped_bit_of_a_checkpoint_is_found(tmp_path):
    model = linear_model.LinearRegression()
    model.learn_one({"x": 1.0}, 2.0)
    with stream.Checkpoint(tmp_path) as checkpoint:
        assert checkpoint.load() is None
        checkpoint.save(model, {"offset": 3})
        path = tmp_path / "model.checkpoint"
        data = path.read_bytes()
        for place in range(len(data)):
            changed = bytearray(data)
            changed[place] ^= 1 << place % 8
            path.write_bytes(bytes(changed))
            with pytest.raises(InvalidState):
                checkpoint.load()
        for length in range(0, len(data), 7):
            path.write_bytes(data[:length])
            with pytest.raises(InvalidState):
                checkpoint.load()


def test_wrong_calls_have_one_line(address, tmp_path):
    source = stream.read_socket(address)
    for call, kind, words in (
        (lambda: stream.process([], keyed()), InvalidType, "must read messages"),
        (lambda: stream.process(source, "model"), InvalidType, "must predict or score"),
        (lambda: stream.process(source, linear_model.LinearRegression()), InvalidValue, "needs a target"),
        (lambda: stream.process(source, keyed(), every=-1), InvalidValue, "every must be"),
        (lambda: stream.process(source, keyed(), sink=3), InvalidType, "sink must be"),
        (lambda: stream.process(source, keyed(), by_partition=True), InvalidValue, "by_partition"),
        (lambda: stream.process(source, keyed(), on_interrupt="x"), InvalidValue, "on_interrupt"),
        (lambda: stream.read_socket("nowhere"), InvalidValue, "host:port"),
        (lambda: stream.read_socket("127.0.0.1:99999"), InvalidValue, "host:port"),
        (lambda: stream.read_socket(address, schema="x"), InvalidValue, "schema must be"),
        (lambda: stream.read_socket(address, max_rows=0), InvalidValue, "max_rows"),
        (lambda: stream.read_socket(address, targe="x"), InvalidType, "unexpected keyword"),
        (lambda: stream.write_socket(address, format="csv"), InvalidValue, "format must be"),
        (lambda: stream.write_socket(address).write(readings(0)), InvalidType, "pass writer="),
        (lambda: stream.write_socket(address, writer="w").write([1]), InvalidType, "Arrow tables"),
        (lambda: stream.write_socket(address, writer="w", patience=0).next_offset, Unreadable, "nobody listens"),
    ):
        with pytest.raises(kind, match=words) as caught:
            call()
        assert "\n" not in str(caught.value)
    (tmp_path / "file").write_text("x")
    with pytest.raises(Unreadable, match="not a socket"):
        next(stream.read_socket(f"unix:{tmp_path}/file").chunks())


def test_time_without_a_server_is_not_silence():
    silence = Silence(idle=10 * WAIT)
    # A poll that had to wait a minute for a server that restarted.
    assert not silence.lasts(60.0)
    assert not silence.lasts(60.0)
    assert [silence.lasts(WAIT) for _ in range(7)] == [False] * 6 + [True]
    silence.end()
    assert not silence.lasts(WAIT)
    assert not Silence(idle=None).lasts(1e9)
