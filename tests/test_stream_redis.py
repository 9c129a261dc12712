"""Redis Streams: reading, writing, trimming, and faults. Needs `make redis`."""

from __future__ import annotations

import threading
import time

import pytest

from brokers import Redis, require_redis
from millstream import evaluate, linear_model, serve, stream
from millstream.errors import MissingMessages, Unreadable
from millstream.stream.messages import encode
from stream_messages import keyed, learned, readings, state
from stream_process import LONG, MOMENTS, Worker, check_model, check_outputs, died, finished

pytestmark = pytest.mark.redis

MESSAGES = 60


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    require_redis()
    broker = Redis(tmp_path_factory.mktemp("redis")).start()
    yield broker
    broker.close()


@pytest.fixture
def redis(server):
    with server.client() as client:
        client.flushall()
    return server


def fill(redis, numbers, **options):
    with stream.write_redis(redis.address, "in", writer="w", **options) as sink:
        for number in numbers:
            if number >= sink.next_offset:
                sink.write(readings(number))


def run(redis, folder, sink=None, **options):
    source = stream.read_redis(redis.address, "in", **{"idle": 0.3, **options})
    return stream.process(source, keyed(), sink=sink, checkpoint=folder, every=0.05)


def settings_of(redis, tmp_path, **more):
    return {
        "source": "redis",
        "address": redis.address,
        "sink": "redis",
        "sink_address": redis.address,
        "options": {"idle": 1.0},
        "checkpoint": str(tmp_path / "c"),
        "every": 0,
        **more,
    }


def out(redis):
    return stream.read_redis(redis.address, "out", idle=0.2)


def test_process_and_groups(redis, tmp_path):
    fill(redis, range(20))
    sink = stream.write_redis(redis.address, "out")
    done = run(redis, tmp_path / "c", sink)
    assert state(done.model) == state(learned(range(20))[0])
    check_outputs(out(redis), range(20))
    with redis.client() as client:
        (group,) = client.xinfo_groups("in")
    assert (group["name"], group["pending"], group["lag"]) == (b"millstream", 0, 0)
    fill(redis, range(25))
    assert run(redis, tmp_path / "c", sink).progress.messages == 25
    check_outputs(out(redis), range(25))


def test_streams_are_partitions(redis, tmp_path):
    for number in range(10):
        with redis.client() as client:
            client.xadd(f"in:{number % 2}", {"message": encode(readings(number))})
    source = stream.read_redis(redis.address, ["in:0", "in:1"], idle=0.3)
    done = stream.process(source, keyed(), checkpoint=tmp_path / "c", by_partition=True)
    assert state(done.models["in:0"]) == state(learned(range(0, 10, 2))[0])
    assert state(done.models["in:1"]) == state(learned(range(1, 10, 2))[0])


def test_evaluation_and_json(redis):
    with redis.client() as client:
        for number in range(4):
            client.xadd("in", {"message": encode(readings(number), format="json")})
        client.xadd("in", {"a": "1", "b": "2"})
        client.xadd("in", {"only": encode(readings(4))})
    source = stream.read_redis(redis.address, "in", target="value", idle=0.2)
    result = evaluate.prequential(linear_model.LinearRegression(), source, metrics="MAE")
    assert result.rows == 250
    assert "needs the field 'message'" in str(source.skipped)
    assert evaluate.prequential(linear_model.LinearRegression(), source, metrics="MAE")["MAE"] == result["MAE"]


def test_without_a_checkpoint_the_group_continues(redis):
    fill(redis, range(10))
    source = stream.read_redis(redis.address, "in", idle=0.2)
    assert stream.process(source, keyed(), limit=200).progress.messages == 4
    assert stream.process(source, keyed()).progress.messages == 6


def test_a_server_learns_each_entry_once(redis, tmp_path):
    fill(redis, range(6))
    model = keyed()
    for number in range(6):
        model.learn_many(readings(number))
    with serve.Server(keyed(), data=tmp_path / "data", port=0) as server:
        client = serve.Client(server.url)
        # The group continues; another group begins anew, and changes nothing.
        for group, limit, repeats in (("one", 100, 0), ("one", None, 0), ("two", None, 300)):
            source = stream.read_redis(redis.address, "in", group=group, idle=1)
            assert serve.feed(source, client, "model", limit=limit).repeats == repeats
        assert state(server.engine.state.models["model"].model) == state(model)


def test_trimmed_entries_are_noticed(redis, tmp_path):
    fill(redis, range(10))
    done = stream.process(
        stream.read_redis(redis.address, "in", idle=0.2), keyed(), checkpoint=tmp_path / "c", limit=200
    )
    assert done.progress.messages == 4
    with redis.client() as client:
        client.xtrim("in", maxlen=3, approximate=False)
    with pytest.raises(MissingMessages, match=r"3 entries of 'in' after \S+ were deleted before they were read"):
        run(redis, tmp_path / "c")
    done = run(redis, tmp_path / "c", on_missing="earliest")
    assert (done.progress.missing, done.progress.messages) == (3, 7)
    with redis.client() as client:
        client.delete("in")
        client.xadd("in", {"message": encode(readings(0))}, id="5-0")
    with pytest.raises(MissingMessages, match="deleted and created again"):
        run(redis, tmp_path / "c")


def test_trimming_of_what_was_read_is_no_loss(redis, tmp_path):
    fill(redis, range(10))
    run(redis, tmp_path / "c")
    with redis.client() as client:
        client.xtrim("in", maxlen=0, approximate=False)
    fill(redis, range(13))
    done = run(redis, tmp_path / "c")
    assert (done.progress.missing, done.progress.messages) == (0, 13)


def test_a_writer_that_repeats_itself_adds_nothing(redis):
    for _ in range(3):
        with stream.write_redis(redis.address, "in") as sink:
            for number in range(5):
                sink.write(readings(number), stream.Origin("w", "0", number))
    with redis.client() as client:
        assert client.xlen("in") == 5


def test_lost_replies_are_delivered_again(redis, monkeypatch):
    import redis as package

    fill(redis, range(6))
    source = stream.read_redis(redis.address, "in", idle=0.3)
    reader = source.reader({})
    received = [reader.poll(0.1)]
    away = [True, True, True]

    def losing(method):
        def lost(*arguments, **named):
            result = method(*arguments, **named)
            if away:
                away.pop()
                raise package.ConnectionError("the server went away after it had answered")
            return result

        return lost

    # The reply of a read is lost, and the group cannot be set at first: Redis restarts.
    monkeypatch.setattr(reader, "_sound", losing(reader._sound))
    monkeypatch.setattr(reader, "_set_group", losing(reader._set_group))
    while (message := reader.poll(0.1)) is not None:
        received.append(message)
    reader.close()
    assert not away
    assert [message.offset.split("-")[2] for message in received] == ["1", "2", "3", "4", "5", "6"]


def test_no_server_has_one_line():
    require_redis()
    source = stream.read_redis("127.0.0.1:1", "in", patience=0)
    with pytest.raises(Unreadable, match="Redis cannot be reached"):
        next(source.chunks())


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(7 if LONG else 1))
def test_consumer_killed_between_two_steps(redis, tmp_path, turn):
    fill(redis, range(MESSAGES))
    settings = settings_of(redis, tmp_path)
    kills = 0
    for number, (step, after) in enumerate(MOMENTS):
        # Each successor has a name of its own, and takes over what is pending.
        kills += died(**settings, die=(step, 1 + (number + turn) % 5, after))
    finished(**settings)
    check_model(tmp_path / "c", range(MESSAGES))
    check_outputs(out(redis), range(MESSAGES))
    print(f"Redis: consumer killed {kills} times between two steps, 0 of {MESSAGES} messages lost or doubled")
    assert kills >= 7
    with redis.client() as client:
        (group,) = client.xinfo_groups("in")
    assert (group["pending"], group["lag"]) == (0, 0)
    assert group["consumers"] >= 3


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(50 if LONG else 2))
def test_consumer_killed_and_pending_entries_claimed(redis, tmp_path, turn):
    fill(redis, range(MESSAGES))
    settings = settings_of(redis, tmp_path)
    # The consumer dies with entries that it has received and not acknowledged.
    died(**settings, die=("step", 1 + turn % 20, bool(turn % 2)))
    with redis.client() as client:
        pending = client.xpending("in", "millstream")
        assert pending["pending"] > 0
        (dead,) = [entry["name"] for entry in pending["consumers"]]
    finished(**settings)
    with redis.client() as client:
        assert client.xpending("in", "millstream")["pending"] == 0
        names = {consumer["name"] for consumer in client.xinfo_consumers("in", "millstream")}
    assert dead in names
    assert len(names) == 2
    check_model(tmp_path / "c", range(MESSAGES))
    check_outputs(out(redis), range(MESSAGES))
    waiting = pending["pending"]
    print(f"Redis: consumer killed with {waiting} pending entries, which another claimed; 0 lost, 0 doubled")


@pytest.mark.slow
def test_redis_killed(tmp_path):
    require_redis()
    kills = 10 if LONG else 2
    redis = Redis(tmp_path / "redis").start()
    messages = 40 * kills
    try:
        slow = threading.Thread(target=slowly, args=(redis, messages), daemon=True)
        slow.start()
        settings = settings_of(redis, tmp_path, options={"idle": 4.0}, every=0.02)
        with Worker(**settings) as worker:
            worker.wait_until_ready()
            for _ in range(kills):
                time.sleep(0.6)
                redis.kill()
                redis.start()
            slow.join(timeout=60)
            assert not slow.is_alive()
            assert worker.end() == 0, worker.errors.read_text()[-2000:]
        check_model(tmp_path / "c", range(messages))
        check_outputs(out(redis), range(messages))
        print(f"Redis killed {kills} times: 0 of {messages} messages lost or doubled")
    finally:
        redis.close()


def slowly(redis, messages):
    """Write while the server is killed."""
    with stream.write_redis(redis.address, "in", writer="w") as sink:
        for number in range(messages):
            sink.write(readings(number))
            sink.push({})
            time.sleep(0.01)
