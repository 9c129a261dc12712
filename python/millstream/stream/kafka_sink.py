"""Messages written to a topic of Kafka, in transactions with the offsets of their source if wanted."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue, Unreadable
from millstream.stream.kafka_source import KafkaReader, kafka, quiet, words
from millstream.stream.message_source import Reader
from millstream.stream.messages import Offset, Origin
from millstream.stream.sink import Sink

__all__ = ["KafkaSink", "write_kafka"]


class KafkaSink(Sink):
    """A topic of Kafka; created by `write_kafka`."""

    def __init__(
        self,
        servers: str,
        topic: str,
        transactional_id: str | None,
        format: str,  # noqa: A002
        patience: float,
        client: Mapping[str, Any] | None,
    ) -> None:
        super().__init__(format=format)
        if not isinstance(topic, str) or not topic:
            raise InvalidValue(f"stream.write_kafka: topic must be a string, got {quoted(topic)}")
        library = kafka()
        self.topic, self.patience, self.transactional = topic, patience, transactional_id is not None
        self._library = library
        settings: dict[str, Any] = {
            "bootstrap.servers": servers,
            "client.id": "millstream",
            "enable.idempotence": True,
            "linger.ms": 5,
            "message.max.bytes": 64 << 20,
            "delivery.timeout.ms": max(1000, int(patience * 1000)),
            "queue.buffering.max.kbytes": 256 << 10,
            "error_cb": quiet,
            # Lost connections are repaired, and lasting errors are raised here.
            "log_level": 2,
        }
        if transactional_id is not None:
            settings |= {"transactional.id": transactional_id, "transaction.timeout.ms": 15_000}
            settings["delivery.timeout.ms"] = 15_000
        try:
            self._producer = library.Producer({**settings, **(client or {})})
        except (library.KafkaException, TypeError) as error:
            raise InvalidValue(f"stream.write_kafka: {words(error)}") from None
        self._failure: Any = None
        self._reader: KafkaReader | None = None
        self._initialised = False
        self._open = False
        #: The messages of the open transaction, to send again if it is aborted.
        self._pending: list[tuple[bytes, bytes | None]] = []

    def written(self, source: str | None, partitions: Iterable[str], reader: Reader | None) -> dict[str, Offset]:
        if not self.transactional:
            return {}
        if not isinstance(reader, KafkaReader) or reader.source.group is None:
            raise InvalidType("stream.write_kafka: transactions need a source of Kafka with a group")
        self._reader, reader.commits = reader, False
        if not self._initialised:
            # Ends the transaction of a process with the same id that died, and shuts out one that did not.
            self._try(lambda: self._producer.init_transactions(self.patience))
            self._initialised = True
        names = list(partitions) or [str(place.partition) for place in reader.consumer.assignment()]
        places = [self._library.TopicPartition(reader.source.topic, int(name)) for name in names]
        if not places:
            return {}
        found = self._try(lambda: reader.consumer.committed(places, timeout=5.0))
        return {str(place.partition): place.offset - 1 for place in found if place.offset > 0}

    def send(self, data: bytes, origin: Origin | None) -> None:
        # Repeats follow the first of them in the same partition.
        key = None if origin is None else f"{origin.source}/{origin.partition}".encode()
        if self.transactional:
            if not self._initialised:
                raise InvalidType("stream.write_kafka: transactions are for stream.process; omit transactional_id")
            if not self._open:
                self._try(self._producer.begin_transaction)
                self._open = True
            self._pending.append((data, key))
        self._produce(data, key)

    def _produce(self, data: bytes, key: bytes | None) -> None:
        begun = clock.monotonic()
        while True:
            try:
                self._producer.produce(self.topic, data, key=key, on_delivery=self._delivered)
                self._producer.poll(0)
                return
            except BufferError:
                # The buffer is full: wait for the broker.
                self._producer.poll(0.1)
                if clock.monotonic() - begun > self.patience:
                    raise Unreadable(f"kafka:{self.topic}: the broker accepts no messages") from None
            except self._library.KafkaException as error:
                if self.transactional and error.args[0].txn_requires_abort():
                    # The commit finds out, and repeats the transaction.
                    return
                raise Unreadable(f"kafka:{self.topic}: {words(error.args[0])}") from None

    def _delivered(self, error: Any, _: Any) -> None:
        if error is not None and self._failure is None:
            self._failure = error

    def push(self, offsets: Mapping[str, Offset]) -> None:
        if not self.transactional:
            self._producer.poll(0)
            self._check()
        elif self._open:
            self._commit(offsets)

    def flush(self, offsets: Mapping[str, Offset]) -> None:
        if self.transactional:
            self.push(offsets)
            return
        left = self._producer.flush(self.patience)
        self._check()
        if left:
            raise Unreadable(f"kafka:{self.topic}: {left} messages were not confirmed within {self.patience:g} s")

    def _check(self) -> None:
        if self._failure is not None and not self.transactional:
            failure, self._failure = self._failure, None
            raise Unreadable(f"kafka:{self.topic}: a message was not delivered: {words(failure)}")

    def _commit(self, offsets: Mapping[str, Offset]) -> None:
        """Commit messages and offsets together; a transaction that must be aborted is repeated."""
        assert self._reader is not None, "a transaction was begun"
        reader, begun = self._reader, clock.monotonic()
        refused = {
            getattr(self._library.KafkaError, name)
            for name in ("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID")
        }
        while True:
            try:
                self._retrying(
                    lambda: self._producer.send_offsets_to_transaction(
                        reader.places(offsets), reader.consumer.consumer_group_metadata(), self.patience
                    )
                )
                self._retrying(lambda: self._producer.commit_transaction(self.patience))
                break
            except self._library.KafkaException as failure:
                error = failure.args[0]
                if not error.txn_requires_abort() or clock.monotonic() - begun > self.patience:
                    raise Unreadable(f"kafka:{self.topic}: {words(error)}") from None
                self._retrying(lambda: self._producer.abort_transaction(self.patience))
                if error.code() in refused:
                    raise Unreadable(
                        f"kafka:{self.topic}: the partitions were given to another process: {words(error)}"
                    ) from None
                clock.sleep(0.1)
                self._try(self._producer.begin_transaction)
                for data, key in self._pending:
                    self._produce(data, key)
        self._open = False
        self._failure = None
        self._pending.clear()

    def _retrying(self, work: Callable[[], Any]) -> Any:
        begun = clock.monotonic()
        while True:
            try:
                return work()
            except self._library.KafkaException as failure:
                error = failure.args[0]
                if not error.retriable() or clock.monotonic() - begun > self.patience:
                    raise
                clock.sleep(0.1)

    def _try(self, work: Callable[[], Any]) -> Any:
        try:
            return self._retrying(work)
        except self._library.KafkaException as failure:
            raise Unreadable(f"kafka:{self.topic}: {words(failure.args[0])}") from None

    def abandon(self) -> None:
        if self._open:
            self._try(lambda: self._producer.abort_transaction(self.patience))
        self._open = False
        self._pending.clear()

    def close(self) -> None:
        if not self.transactional:
            self.flush({})
        else:
            self.abandon()


def write_kafka(
    servers: str,
    topic: str,
    *,
    transactional_id: str | None = None,
    format: str = "arrow",  # noqa: A002
    patience: float = 60.0,
    client: Mapping[str, Any] | None = None,
) -> KafkaSink:
    """Write messages to a topic of Kafka.

    With `transactional_id`, messages and the offsets of their source are committed in one transaction: readers
    with `isolation.level=read_committed` see each message exactly once. Otherwise a crash may repeat messages;
    they carry their origin, by which `stream.process` and other readers drop repeats.

    Needs the package confluent-kafka: `pip install 'millstream[kafka]'`.

    Parameters
    ----------
    servers
        `"host:port"`, or several with commas.
    topic
        The name of the topic.
    transactional_id
        A name for transactions in `stream.process`, whose source must be of the same Kafka and have a group. Each
        process has its own name, and keeps it after a restart.
    format
        `"arrow"` or `"json"`.
    patience
        Number of seconds to wait for a broker that cannot be reached.
    client
        Further settings of librdkafka.
    """
    return KafkaSink(servers, topic, transactional_id, format, patience, client)
