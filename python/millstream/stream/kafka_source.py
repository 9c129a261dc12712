"""Topics of Kafka: each record is a message.

In `stream.process`, the checkpoint decides where reading begins. Offsets are committed to the consumer group after
each checkpoint, or in the transactions of the sink, so that Kafka's tools show the lag.
"""

from __future__ import annotations

import time as clock
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, Unpack

from millstream._echo import quoted, shortened
from millstream.errors import InvalidValue, MissingMessages, MissingPackage, Unreadable
from millstream.stream.message_source import Assignments, MessageOptions, MessageSource, Reader
from millstream.stream.messages import Message, Offset
from millstream.stream.options import check_options

__all__ = ["KafkaSource", "read_kafka"]

#: Bytes that the client fetches before they are read.
BUFFER = 64 << 20

_Result = TypeVar("_Result")


def kafka() -> Any:
    """The client library."""
    try:
        import confluent_kafka
    except ImportError:
        raise MissingPackage(
            "stream: Kafka needs the package confluent-kafka: pip install 'millstream[kafka]'"
        ) from None
    return confluent_kafka


def words(error: Any) -> str:
    """An error of the client in one line."""
    return shortened(" ".join(str(error.str() if hasattr(error, "str") else error).split()), 200)


def quiet(_: Any) -> None:
    """Ignore an error that the client handles itself, instead of printing it."""


class KafkaSource(MessageSource):
    """A topic of Kafka; created by `read_kafka`."""

    maker = "stream.read_kafka"
    rebalances = True

    def __init__(
        self, servers: str, topic: str, target: str | None, settings: Mapping[str, Any], options: MessageOptions
    ) -> None:
        super().__init__(target=target, options=options)
        self.servers, self.topic = servers, topic
        self.group: str | None = settings["group"]
        self.partitions: list[int] | None = settings["partitions"]
        self.start, self.on_missing, self.patience = (
            settings["start"],
            settings["on_missing"],
            settings["patience"],
        )
        self.client: dict[str, Any] = dict(settings["client"] or {})
        for what, value, known in (
            ("start", self.start, ("earliest", "latest")),
            ("on_missing", self.on_missing, ("raise", "earliest")),
        ):
            if value not in known:
                raise InvalidValue(f"stream.read_kafka: {what} must be one of {known}, got {quoted(value)}")
        for what, text in (("servers", servers), ("topic", topic)):
            if not isinstance(text, str) or not text:
                raise InvalidValue(f"stream.read_kafka: {what} must be a string, got {quoted(text)}")

    @property
    def source(self) -> str:
        return f"kafka:{self.topic}"

    def reader(
        self,
        offsets: Mapping[str, Offset] | None = None,
        assignments: Assignments | None = None,
        resume: bool = False,
    ) -> KafkaReader:
        return KafkaReader(self, offsets, assignments, resume)


class KafkaReader(Reader):
    """A consumer."""

    def __init__(
        self,
        source: KafkaSource,
        offsets: Mapping[str, Offset] | None,
        assignments: Assignments | None,
        resume: bool,
    ) -> None:
        library = kafka()
        self.source, self._assignments, self._library, self._resume = source, assignments, library, resume
        #: Whether offsets are committed here; not if the sink commits them in its transactions.
        self.commits = offsets is not None and source.group is not None
        self._closing = False
        self._down: float | None = None
        #: Where the reading of each partition began.
        self._starts: dict[int, int] = {}
        try:
            self.consumer = library.Consumer(self._settings())
        except (library.KafkaException, TypeError) as error:
            raise InvalidValue(f"stream.read_kafka: {words(error)}") from None
        try:
            if assignments is None:
                chosen = self._partitions() if source.partitions is None else source.partitions
                self.consumer.assign([self._place(number, (offsets or {}).get(str(number))) for number in chosen])
            else:
                self._partitions()
                self.consumer.subscribe(
                    [source.topic], on_assign=self._assign, on_revoke=self._revoke, on_lost=self._lose
                )
        except BaseException:
            self.close()
            raise

    def _settings(self) -> dict[str, Any]:
        source = self.source
        return {
            "bootstrap.servers": source.servers,
            "group.id": source.group or f"millstream-{uuid.uuid4()}",
            "client.id": "millstream",
            "enable.auto.commit": False,
            # A position that does not exist is reported, never replaced silently.
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            "partition.assignment.strategy": "range",
            "queued.max.messages.kbytes": BUFFER >> 10,
            "fetch.message.max.bytes": min(source.limits.message_bytes, 16 << 20),
            "error_cb": self._failed,
            # Lost connections are repaired, and lasting errors are raised here.
            "log_level": 2,
            **source.client,
        }

    def _failed(self, error: Any) -> None:
        if error.code() == self._library.KafkaError._ALL_BROKERS_DOWN and self._down is None:
            self._down = clock.monotonic()

    def _patiently(self, work: Callable[[], _Result]) -> _Result:
        """Do some work again while the broker cannot be reached."""
        begun = clock.monotonic()
        while True:
            try:
                return work()
            except self._library.KafkaException as error:
                if clock.monotonic() - begun >= self.source.patience:
                    raise Unreadable(f"{self.source.source}: {words(error.args[0])}") from None
                clock.sleep(0.1)

    def _partitions(self) -> list[int]:
        def ask() -> Any:
            return self.consumer.list_topics(self.source.topic, timeout=5.0).topics[self.source.topic]

        begun = clock.monotonic()
        while True:
            found = self._patiently(ask)
            if found.error is None and found.partitions:
                return sorted(found.partitions)
            # A topic that was just created is not known everywhere at once.
            if clock.monotonic() - begun > min(5.0, self.source.patience):
                raise Unreadable(f"{self.source.source}: {words(found.error or 'no partitions')}")
            clock.sleep(0.1)

    def _place(self, number: int, last: Offset | None) -> Any:
        """Where to read a partition from."""
        place = self._begin(number, last)
        self._starts[number] = place.offset
        return place

    def _begin(self, number: int, last: Offset | None) -> Any:
        place = self._library.TopicPartition(self.source.topic, number)
        low, high = self._patiently(lambda: self.consumer.get_watermark_offsets(place, timeout=5.0))
        if last is None and self._resume and self.source.group is not None:
            committed = self._patiently(lambda: self.consumer.committed([place], timeout=5.0))[0].offset
            last = committed - 1 if committed >= 0 else None
        if last is None:
            place.offset = low if self.source.start == "earliest" else high
            return place
        place.offset = int(last) + 1
        if place.offset > high:
            raise MissingMessages(
                f"{self.source.source}: partition {number} ends at offset {high}, before the position "
                f"{place.offset}: the topic was deleted and created again, or the broker has lost messages"
            )
        if place.offset < low:
            place.offset = self._skip_missing(number, place.offset, low)
        return place

    def _skip_missing(self, number: int, wanted: int, low: int) -> int:
        if self.source.on_missing == "raise":
            raise MissingMessages(
                f"{self.source.source}: offset {wanted} of partition {number} no longer exists, the earliest is "
                f"{low}; pass on_missing='earliest' to go on there"
            )
        self.missing += low - wanted
        return low

    # Rebalancing: called within `poll`.

    def _assign(self, consumer: Any, places: list[Any]) -> None:
        assert self._assignments is not None, "subscribed with assignments"
        offsets = self._assignments.assigned([str(place.partition) for place in places])
        consumer.assign([self._place(place.partition, offsets.get(str(place.partition))) for place in places])

    def _revoke(self, consumer: Any, places: list[Any]) -> None:
        if self._assignments is not None and not self._closing:
            self._assignments.revoked([str(place.partition) for place in places])

    def _lose(self, consumer: Any, places: list[Any]) -> None:
        if self._assignments is not None and not self._closing:
            self._assignments.lost([str(place.partition) for place in places])

    def poll(self, seconds: float) -> Message | None:
        record = self.consumer.poll(seconds)
        if record is None:
            self._check_broker()
            return None
        error = record.error()
        if error is not None:
            self._handle(record, error)
            return None
        self._down = None
        kind, time = record.timestamp()
        stamp = time / 1000 if kind != self._library.TIMESTAMP_NOT_AVAILABLE else None
        data = record.value()
        fault = None if data is not None else "a record without a value"
        return Message(str(record.partition()), record.offset(), data, stamp, fault)

    def _handle(self, record: Any, error: Any) -> None:
        code = error.code()
        known = self._library.KafkaError
        if code in (known._AUTO_OFFSET_RESET, known.OFFSET_OUT_OF_RANGE):
            place = self._library.TopicPartition(self.source.topic, record.partition())
            low, _ = self._patiently(lambda: self.consumer.get_watermark_offsets(place, timeout=5.0))
            wanted = max(record.offset() or 0, 0)
            position = self.consumer.position([place])[0].offset
            begin = self._skip_missing(record.partition(), position if position >= 0 else wanted, low)
            self._starts[record.partition()] = begin
            self._assign_again(record.partition())
            return
        if error.fatal() or code in (
            known.TOPIC_AUTHORIZATION_FAILED,
            known.GROUP_AUTHORIZATION_FAILED,
            known._UNKNOWN_TOPIC,
            known._UNKNOWN_PARTITION,
        ):
            raise Unreadable(f"{self.source.source}: {words(error)}")
        # Other errors are handled by the client: it connects again.
        self._check_broker()

    def _assign_again(self, changed: int) -> None:
        """Continue all partitions where they are, and one at its new start: the client has stopped fetching it."""
        places = self.consumer.position(self.consumer.assignment())
        for place in places:
            if place.partition == changed or place.offset < 0:
                place.offset = self._starts[place.partition]
        self.consumer.assign(places)

    def _check_broker(self) -> None:
        if self._down is None or clock.monotonic() - self._down < self.source.patience:
            return
        try:
            self.consumer.list_topics(self.source.topic, timeout=5.0)
        except self._library.KafkaException as error:
            raise Unreadable(
                f"{self.source.source}: {self.source.servers} cannot be reached: {words(error.args[0])}"
            ) from None
        self._down = None

    def commit(self, offsets: Mapping[str, Offset]) -> None:
        if not self.commits:
            return
        places = self.places(offsets)
        if not places:
            return
        try:
            self.consumer.commit(offsets=places, asynchronous=False)
        except self._library.KafkaException:
            # For tools only: the position that counts is in the checkpoint. Without a checkpoint, messages are
            # delivered again.
            return

    def places(self, offsets: Mapping[str, Offset]) -> list[Any]:
        """The offsets to commit: each is that of the next message."""
        return [
            self._library.TopicPartition(self.source.topic, int(partition), int(offset) + 1)
            for partition, offset in offsets.items()
        ]

    def lag(self) -> int | None:
        total = 0
        for place in self.consumer.assignment():
            _, high = self.consumer.get_watermark_offsets(place, cached=True)
            position = self.consumer.position([place])[0].offset
            if high > 0 and position >= 0:
                total += max(0, high - position)
        return total

    def close(self) -> None:
        self._closing = True
        self.consumer.close()


def read_kafka(
    servers: str,
    topic: str,
    target: str | None = None,
    *,
    group: str | None = "millstream",
    partitions: Sequence[int] | None = None,
    start: str = "earliest",
    on_missing: str = "raise",
    patience: float = 60.0,
    client: Mapping[str, Any] | None = None,
    **options: Unpack[MessageOptions],
) -> KafkaSource:
    """Read a topic of Kafka: each record is a message with an Arrow table or rows of JSON.

    Messages of aborted transactions are not read. Needs the package confluent-kafka:
    `pip install 'millstream[kafka]'`.

    Parameters
    ----------
    servers
        `"host:port"`, or several with commas.
    topic
        The name of the topic.
    target
        The column to predict.
    group
        The consumer group of `stream.process`. With `by_partition=True`, the processes of a group share the
        partitions; otherwise the group only stores offsets.
    partitions
        The partitions to read; None for all.
    start
        Where to begin without a stored position: `"earliest"` or `"latest"`.
    on_missing
        What to do if messages were deleted before they were read: `"raise"` an error, or go on with the
        `"earliest"` that is there and count them.
    patience
        Number of seconds to wait for a broker that cannot be reached, for example while it restarts.
    client
        Further settings of librdkafka, such as `{"security.protocol": "ssl"}`.
    **options
        Options of `stream.MessageSource`, such as `idle`, and of `stream.TableStream`, such as `drop`.
    """
    check_options(read_kafka, {name: 0 for name in options if name not in MessageOptions.__annotations__})
    settings = {
        "group": group,
        "partitions": None if partitions is None else [int(number) for number in partitions],
        "start": start,
        "on_missing": on_missing,
        "patience": patience,
        "client": client,
    }
    return KafkaSource(servers, topic, target, settings, options)
