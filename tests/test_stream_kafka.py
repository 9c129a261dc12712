"""Kafka: reading, writing in transactions, retention, and faults. Needs `make kafka`."""

from __future__ import annotations

import itertools
import threading
import time

import pytest

from brokers import Kafka, require_kafka
from millstream import evaluate, linear_model, stream
from millstream.errors import InvalidType, InvalidValue, MissingMessages, Unreadable
from millstream.stream.messages import encode
from stream_messages import ROWS, SENSORS, keyed, learned, readings, state
from stream_process import LONG, MOMENTS, Worker, check_model, check_outputs, died, finished

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

MESSAGES = 60
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    require_kafka()
    broker = Kafka(tmp_path_factory.mktemp("kafka")).start()
    yield broker
    broker.close()


class Topics:
    """A topic for input and one for output, of one test."""

    def __init__(self, broker, partitions=1, **settings):
        self.broker = broker
        number = next(NUMBERS)
        self.inputs, self.outputs, self.group = f"in{number}", f"out{number}", f"group{number}"
        broker.create(self.inputs, partitions, **settings)
        broker.create(self.outputs, partitions)

    def fill(self, numbers, partition=0, pause=0.0, singly=False):
        """Write readings to a partition."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.broker.address, "enable.idempotence": True, "log_level": 2})
        for number in numbers:
            producer.produce(self.inputs, encode(readings(number)), partition=partition)
            producer.poll(pause)
            if singly:
                producer.flush()
        assert producer.flush(60) == 0

    def source(self, **options):
        """The source of input."""
        given = {"idle": 1.0, "group": self.group, **options}
        return stream.read_kafka(self.broker.address, self.inputs, **given)

    def out(self, **options):
        """The output, as a reader of committed messages sees it."""
        return stream.read_kafka(self.broker.address, self.outputs, idle=1.0, **options)

    def sink(self, **options):
        """The sink of output, with transactions."""
        return stream.write_kafka(self.broker.address, self.outputs, **{"transactional_id": self.group, **options})

    def settings(self, tmp_path, **more):
        """Settings of a process."""
        return {
            "source": "kafka",
            "address": self.broker.address,
            "topic": self.inputs,
            "out_topic": self.outputs,
            "sink": "kafka",
            "sink_address": self.broker.address,
            "transactional_id": self.group,
            "options": {"idle": 3.0, "group": self.group},
            "checkpoint": str(tmp_path / "c"),
            "every": 0,
            **more,
        }


@pytest.fixture
def topics(server):
    return Topics(server)


def test_process_in_transactions(topics, tmp_path):
    topics.fill(range(10))
    for expected in (10, 25):
        with topics.sink() as sink:
            done = stream.process(topics.source(), keyed(), sink=sink, checkpoint=tmp_path / "c", every=0.1)
        assert done.progress.messages == expected
        if expected == 10:
            topics.fill(range(10, 25))
    assert state(done.model) == state(learned(range(25))[0])
    check_outputs(topics.out(), range(25))


def test_state_older_than_the_output_repeats_nothing(topics, tmp_path):
    topics.fill(range(10))
    for folder in ("first", "second"):
        # The second run has no checkpoint: it learns all again, and the output is there already.
        with topics.sink() as sink:
            done = stream.process(topics.source(), keyed(), sink=sink, checkpoint=tmp_path / folder)
        assert state(done.model) == state(learned(range(10))[0])
    check_outputs(topics.out(), range(10))


def test_repeats_of_other_sinks_are_dropped_by_origin(topics, tmp_path):
    topics.fill(range(6))
    for folder in ("first", "second"):
        with topics.sink(transactional_id=None) as sink:
            stream.process(topics.source(), keyed(), sink=sink, checkpoint=tmp_path / folder)
    assert sum(len(chunk) for chunk in topics.out().chunks()) == 12 * ROWS
    done = stream.process(topics.out(), keyed())
    assert (done.progress.messages, done.progress.repeats) == (6, 6)


def test_evaluation_json_and_bad_messages(topics, tmp_path):
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": topics.broker.address})
    for data in (encode(readings(0)), b"?", None, encode(readings(1), format="json"), encode(readings(2))[:-8]):
        producer.produce(topics.inputs, data)
        producer.flush()
    source = topics.source(target="value")
    assert evaluate.prequential(linear_model.LinearRegression(), source).rows == 2 * ROWS
    assert source.skipped.count == 3
    letters = stream.write_kafka(topics.broker.address, topics.outputs)
    done = stream.process(topics.source(), keyed(), checkpoint=tmp_path / "c", dead_letters=letters)
    assert [letter.offset for letter in done.dead_letters] == [1, 2, 4]
    written = [offset for chunk in topics.out(drop=["data"]).chunks() for offset in chunk.X["offset"].to_pylist()]
    assert written == ["1", "2", "4"]


def test_deleted_messages_are_noticed(topics, tmp_path):
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    topics.fill(range(10))
    stream.process(topics.source(), keyed(), checkpoint=tmp_path / "c", limit=3 * ROWS)
    admin = AdminClient({"bootstrap.servers": topics.broker.address})
    for future in admin.delete_records([TopicPartition(topics.inputs, 0, 7)]).values():
        future.result(timeout=30)
    with pytest.raises(MissingMessages, match="offset 3 of partition 0 no longer exists, the earliest is 7"):
        stream.process(topics.source(), keyed(), checkpoint=tmp_path / "c")
    done = stream.process(topics.source(on_missing="earliest"), keyed(), checkpoint=tmp_path / "c")
    assert (done.progress.missing, done.progress.messages) == (4, 6)
    for future in admin.delete_topics([topics.inputs]).values():
        future.result(timeout=30)
    time.sleep(1)
    topics.broker.create(topics.inputs)
    with pytest.raises(MissingMessages, match="deleted and created again"):
        stream.process(topics.source(), keyed(), checkpoint=tmp_path / "c")


def test_messages_deleted_while_reading_are_noticed(topics, tmp_path):
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    topics.fill(range(10), singly=True)
    admin = AdminClient({"bootstrap.servers": topics.broker.address})
    # One message is fetched at a time, so that the rest can be deleted meanwhile.
    small = {"fetch.message.max.bytes": 1000, "queued.min.messages": 1, "queued.max.messages.kbytes": 1}
    deleted = []

    def delete(table, origin):
        if not deleted:
            deleted.append(True)
            for future in admin.delete_records([TopicPartition(topics.inputs, 0, 9)]).values():
                future.result(timeout=30)

    done = stream.process(topics.source(on_missing="earliest", client=small, idle=6.0), keyed(), sink=delete)
    assert done.progress.messages + done.progress.missing == 10
    assert done.progress.missing > 0


def test_wrong_calls_have_one_line(topics, tmp_path):
    for call, kind, words in (
        (
            lambda: next(stream.read_kafka(topics.broker.address, "absent", patience=1).chunks()),
            Unreadable,
            "absent",
        ),
        (lambda: next(stream.read_kafka("127.0.0.1:1", "in", patience=1).chunks()), Unreadable, "kafka:in"),
        (lambda: next(topics.source(client={"no.such": 1}).chunks()), InvalidValue, "no.such"),
        (lambda: topics.source(start="middle"), InvalidValue, "start must be"),
        (lambda: topics.sink().write(readings(0)), InvalidType, "transactions are for stream.process"),
        (
            lambda: stream.process(topics.source(), keyed(), dead_letters=topics.sink()),
            InvalidValue,
            "dead_letters",
        ),
        (
            lambda: stream.process(stream.read_socket(f"unix:{tmp_path}/s", idle=0), keyed(), sink=topics.sink()),
            InvalidType,
            "need a source of Kafka",
        ),
    ):
        with pytest.raises(kind, match=words) as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("turn", range(7 if LONG else 1))
def test_consumer_killed_between_two_steps(topics, tmp_path, turn):
    topics.fill(range(MESSAGES))
    settings = topics.settings(tmp_path)
    kills = 0
    for number, (step, after) in enumerate(MOMENTS):
        kills += died(**settings, die=(step, 1 + (number + turn) % 5, after))
    finished(**settings)
    check_model(tmp_path / "c", range(MESSAGES))
    check_outputs(topics.out(), range(MESSAGES))
    print(f"Kafka: consumer killed {kills} times between two steps, 0 of {MESSAGES} messages lost or doubled")
    assert kills >= 7


@pytest.mark.skipif(not LONG, reason="sessions and transactions take minutes to expire; MILLSTREAM_FAULTS=long")
def test_broker_killed(tmp_path):
    require_kafka()
    kills = 10
    broker = Kafka(tmp_path / "kafka").start()
    try:
        topics = Topics(broker)
        messages = 150 * kills
        thread = threading.Thread(target=topics.fill, args=(range(messages),), kwargs={"pause": 0.02}, daemon=True)
        thread.start()
        settings = topics.settings(tmp_path, options={"idle": 30.0, "group": topics.group}, every=0.2)
        settings["messages"] = messages
        with Worker(**settings) as worker:
            worker.wait_until_ready()
            for _ in range(kills):
                time.sleep(2)
                broker.kill()
                broker.start()
            thread.join(timeout=120)
            assert not thread.is_alive()
            assert worker.end() == 0, worker.errors.read_text()[-2000:]
        check_model(tmp_path / "c", range(messages))
        check_outputs(topics.out(), range(messages))
        print(f"Kafka broker killed {kills} times: 0 of {messages:,} messages lost or doubled")
    finally:
        broker.close()


@pytest.mark.parametrize("turn", range(10 if LONG else 1))
def test_rebalance_with_two_consumers(server, tmp_path, turn):
    topics = Topics(server, partitions=4)
    parts = {partition: range(1000 * partition, 1000 * partition + 60) for partition in range(4)}
    writers = [
        threading.Thread(target=topics.fill, args=(numbers, partition, 0.05), daemon=True)
        for partition, numbers in parts.items()
    ]
    for writer in writers:
        writer.start()
    client = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500}
    options = {"idle": 12.0, "group": topics.group, "client": client}
    settings = topics.settings(tmp_path, options=options, by_partition=True, every=0.2)
    first = Worker(**{**settings, "transactional_id": "first" + topics.group})
    with first, Worker(**{**settings, "transactional_id": "second" + topics.group}) as second:
        first.wait_until_ready()
        second.wait_until_ready()
        time.sleep(1.5 + 0.3 * turn)
        # Killed: its partitions move after the session has ended.
        first.kill()
        time.sleep(1)
        with Worker(**{**settings, "transactional_id": "third" + topics.group}) as third:
            for writer in writers:
                writer.join(timeout=60)
            for worker in (second, third):
                assert worker.end() == 0, worker.errors.read_text()[-2000:]
    found = []
    for partition, numbers in parts.items():
        check_model(tmp_path / "c" / f"partition-{partition}", numbers)
        found += numbers
    expected = {tuple(scores) for numbers in parts.values() for scores in learned(numbers)[1].values()}
    outputs = [tuple(chunk.X["score"].to_pylist()) for chunk in topics.out().chunks()]
    assert len(outputs) == len(found)
    assert set(outputs) == expected
    print(f"Kafka: 1 of 2 consumers killed, its partitions moved; 0 of {len(found)} messages lost or doubled")


def test_partitions_share_no_keys_with_others(server, tmp_path):
    """One model per partition is one model for all, if each key has a partition."""
    topics = Topics(server, partitions=2)
    tables = {}
    for number in range(10):
        table = readings(number)
        for partition in range(2):
            part = table.filter([key.as_py() % 2 == partition for key in table["sensor"]])
            tables.setdefault(partition, []).append(part)
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": server.address})
    for partition, parts in tables.items():
        for part in parts:
            producer.produce(topics.inputs, encode(part), partition=partition)
    producer.flush()
    done = stream.process(topics.source(idle=5.0), keyed(), checkpoint=tmp_path / "c", by_partition=True)
    whole, _ = learned(range(10))
    for key in range(SENSORS):
        assert done.models[str(key % 2)][key].to_bytes() == whole[key].to_bytes()
    assert sorted(done.models) == ["0", "1"]
