"""Redis Streams: each entry is a message, and each stream a partition.

In `stream.process`, the checkpoint decides where reading begins, and the consumer group is set to it. What another
consumer has received but not acknowledged is thus delivered again, in order, and what the checkpoint contains
already is acknowledged. Progress is acknowledged after each checkpoint, so that `XPENDING` and `XINFO GROUPS` show
it.

Entries that were trimmed before they were read are noticed: a stream knows how many entries were ever added, and
the position contains how many were read.
"""

from __future__ import annotations

import os
import socket
import time as clock
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, Unpack

from millstream._echo import quoted, shortened
from millstream.errors import InvalidValue, MissingMessages, MissingPackage, Unreadable
from millstream.stream.message_source import Assignments, MessageOptions, MessageSource, Reader
from millstream.stream.messages import Message, Offset, order
from millstream.stream.options import check_options

__all__ = ["RedisSource", "read_redis"]

#: The field of an entry that holds the message.
FIELD = b"message"

#: Entries read at once: as many as fit in these bytes, by the size of earlier ones.
READ_BYTES = 8 << 20
MOST_ENTRIES = 1000

_Result = TypeVar("_Result")


def client(url: str, timeout: float) -> Any:
    """A connection to Redis."""
    try:
        import redis
    except ImportError:
        raise MissingPackage("stream: Redis needs the package redis: pip install 'millstream[redis]'") from None
    try:
        return redis.Redis.from_url(
            url if "://" in url else f"redis://{url}",
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=None,
        )
    except ValueError as error:
        raise InvalidValue(f"stream: {quoted(url)} is not an address of Redis: {error}") from None


def patiently(what: str, work: Callable[[], _Result], patience: float) -> _Result:
    """Do some work again while Redis cannot be reached, for up to `patience` seconds."""
    import redis

    begun = clock.monotonic()
    while True:
        try:
            return work()
        except (redis.ConnectionError, redis.TimeoutError, redis.exceptions.BusyLoadingError) as error:
            if clock.monotonic() - begun >= patience:
                words = shortened(" ".join(str(error).split()), 200)
                raise Unreadable(f"{what}: Redis cannot be reached: {words}") from None
            clock.sleep(0.1)
        except redis.ResponseError as error:
            raise Unreadable(f"{what}: {shortened(' '.join(str(error).split()), 200)}") from None


class RedisSource(MessageSource):
    """One or more streams of Redis; created by `read_redis`."""

    maker = "stream.read_redis"

    def __init__(
        self,
        url: str,
        streams: Sequence[str],
        target: str | None,
        settings: Mapping[str, Any],
        options: MessageOptions,
    ) -> None:
        super().__init__(target=target, options=options)
        self.url, self.streams = url, list(streams)
        self.group: str | None = settings["group"]
        self.consumer: str = settings["consumer"] or f"{socket.gethostname()}-{os.getpid()}"
        self.start, self.on_missing, self.patience = (
            settings["start"],
            settings["on_missing"],
            settings["patience"],
        )
        for what, value, known in (
            ("start", self.start, ("earliest", "latest")),
            ("on_missing", self.on_missing, ("raise", "earliest")),
        ):
            if value not in known:
                raise InvalidValue(f"stream.read_redis: {what} must be one of {known}, got {quoted(value)}")
        if not self.streams or not all(isinstance(name, str) and name for name in self.streams):
            raise InvalidValue(f"stream.read_redis: a stream must be the name of a key, got {quoted(streams)}")

    @property
    def source(self) -> str:
        return f"redis:{','.join(self.streams)}"

    def reader(
        self,
        offsets: Mapping[str, Offset] | None = None,
        assignments: Assignments | None = None,
        resume: bool = False,
    ) -> RedisReader:
        if assignments is not None:
            # Redis does not divide streams among consumers, so this process reads all of those given.
            offsets = {**(offsets or {}), **assignments.assigned(list(self.streams))}
        return RedisReader(self, offsets, resume)


class RedisReader(Reader):
    """A connection that reads streams in turn."""

    def __init__(self, source: RedisSource, offsets: Mapping[str, Offset] | None, resume: bool = False) -> None:
        self.source = source
        self._group = source.group if offsets is not None else None
        self._resume = resume
        self._redis = client(source.url, timeout=10.0)
        #: The id of the last entry of each stream that was delivered here, and its number among all entries.
        self._at: dict[str, tuple[str, int | None]] = {}
        self._ready: deque[Message] = deque()
        #: Streams with a failed read. The group may be ahead of this reader, which did not receive the reply.
        self._uncertain: set[str] = set()
        self._count = 1
        self._waiting = 0
        for stream in source.streams:
            given = (offsets or {}).get(stream)
            self._at[stream] = _split(given)
            self._patiently(lambda stream=stream, given=given: self._begin(stream, given))  # type: ignore[misc]

    def _patiently(self, work: Callable[[], _Result]) -> _Result:
        return patiently(self.source.source, work, self.source.patience)

    def _begin(self, stream: str, given: Offset | None) -> None:
        """Find where to begin, and set the group to it."""
        info = self._info(stream)
        if given is None:
            if self.source.start == "latest":
                self._at[stream] = info["last"], info["added"]
            else:
                self._at[stream] = "0-0", info["added"] - info["length"]
            if self._resume and self._group is not None and (found := self._committed(stream)) is not None:
                self._at[stream] = found
        self._set_group(stream)

    def _committed(self, stream: str) -> tuple[str, int | None] | None:
        """The last entry before all that the group has not acknowledged; None without such a group."""
        groups = self._redis.xinfo_groups(stream) if self._redis.exists(stream) else []
        group = next((each for each in groups if _text(each["name"]) == self._group), None)
        if group is None:
            return None
        last, read = _text(group["last-delivered-id"]), group.get("entries-read")
        pending = self._redis.xpending(stream, self._group)
        if not pending["pending"]:
            return last, None if read is None else int(read)
        earliest = order(_text(pending["min"]))
        before = self._redis.xrevrange(stream, f"({earliest[0]}-{earliest[1]}", "-", count=1)
        return (_text(before[0][0]) if before else "0-0"), None

    def _set_group(self, stream: str) -> None:
        """Let the group continue after the last entry that was delivered here, whoever has received later ones."""
        if self._group is None:
            return
        import redis

        last, _ = self._at[stream]
        try:
            self._redis.xgroup_create(stream, self._group, id=last, mkstream=True)
        except redis.ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise
            self._redis.xgroup_setid(stream, self._group, last)
            self._acknowledge(stream, last)

    def _acknowledge(self, stream: str, last: str) -> None:
        """Acknowledge all entries up to an id, whichever consumer has received them."""
        while True:
            pending = self._redis.xpending_range(stream, self._group, "-", last, 1000)
            if not pending:
                return
            self._redis.xack(stream, self._group, *(entry["message_id"] for entry in pending))

    def _info(self, stream: str) -> dict[str, Any]:
        return _summary(self._redis.xinfo_stream(stream) if self._redis.exists(stream) else {})

    def poll(self, seconds: float) -> Message | None:
        if not self._ready:
            self._waiting = 0
            for stream in self.source.streams:
                self._patiently(lambda stream=stream: self._read(stream))  # type: ignore[misc]
            if not self._ready:
                self._patiently(lambda: self._wait(seconds))
                for stream in self.source.streams:
                    self._patiently(lambda stream=stream: self._read(stream))  # type: ignore[misc]
        return self._ready.popleft() if self._ready else None

    def _wait(self, seconds: float) -> None:
        """Wait until there is an entry; it is read afterwards."""
        last = {stream: at[0] for stream, at in self._at.items()}
        self._redis.xread(last, count=1, block=max(1, int(seconds * 1000)))

    def _read(self, stream: str) -> None:
        last, number = self._at[stream]
        if stream in self._uncertain:
            # Let the group deliver again what may not have arrived. If Redis is still away, the next attempt
            # begins here.
            self._set_group(stream)
            self._uncertain.discard(stream)
        try:
            # In one transaction, so that the number of entries is that before the read.
            with self._redis.pipeline(transaction=True) as both:
                both.xlen(stream)
                both.execute_command("XINFO", "STREAM", stream)
                if self._group is None:
                    both.xread({stream: last}, count=self._count)
                else:
                    both.xreadgroup(self._group, self.source.consumer, {stream: ">"}, count=self._count)
                length, info, found = both.execute(raise_on_error=False)
            found = self._sound(stream, length, info, found)
        except Exception:
            self._uncertain.add(stream)
            raise
        if found is None:
            return
        info = _summary(info)
        number = self._check_missing(stream, info, last, number)
        entries = [entry for _, entries in _pairs(found) for entry in entries]
        size = 0
        for name, fields in entries:
            if fields is None or order(name.decode()) <= order(self._at[stream][0]):
                continue
            number += 1
            self._at[stream] = name.decode(), number
            data, fault = _content(fields)
            size += len(data or b"")
            time = order(name.decode())[0] / 1000
            self._ready.append(
                Message(stream, f"{name.decode()}-{number}", data, time if time > 1e9 else None, fault)
            )
        if not entries:
            self._at[stream] = self._at[stream][0], number
        if size:
            self._count = max(1, min(MOST_ENTRIES, READ_BYTES * len(entries) // size))
        self._waiting += max(0, info["added"] - number)

    def _sound(self, stream: str, length: Any, info: Any, found: Any) -> Any:
        import redis

        if isinstance(length, Exception):
            raise length
        if not length and isinstance(info, redis.ResponseError) and "no such key" in str(info):
            if self._group is not None:
                self._set_group(stream)
            return None
        for result in (info, found):
            if isinstance(result, redis.ResponseError) and "NOGROUP" in str(result):
                # The group was deleted.
                self._set_group(stream)
                return None
            if isinstance(result, Exception):
                raise result
        return found

    def _check_missing(self, stream: str, info: dict[str, Any], last: str, number: int | None) -> int:
        """The number of the last entry before those that were just read; entries deleted unread are an error."""
        if order(info["last"]) < order(last):
            raise MissingMessages(
                f"{self.source.source}: {quoted(stream)} ends at {info['last']}, before the position {last}: the "
                "stream was deleted and created again, or Redis has lost entries"
            )
        first = int(info["added"] - info["length"])
        if number is None:
            number = first
        # While an entry at or before the position is there, nothing after it was trimmed.
        if info["first"] is not None and order(info["first"]) <= order(last):
            return number
        lost = first - number
        if lost <= 0:
            return number
        if self.source.on_missing == "raise":
            raise MissingMessages(
                f"{self.source.source}: {lost:,} entries of {quoted(stream)} after {last} were deleted before "
                "they were read; pass on_missing='earliest' to go on with the earliest that is there"
            )
        self.missing += lost
        return first

    def commit(self, offsets: Mapping[str, Offset]) -> None:
        if self._group is None:
            return
        for stream in self.source.streams:
            if (given := offsets.get(stream)) is not None:
                last, _ = _split(given)
                self._patiently(lambda stream=stream, last=last: self._acknowledge(stream, last))  # type: ignore[misc]

    def lag(self) -> int | None:
        return self._waiting + len(self._ready)

    def close(self) -> None:
        self._redis.close()


def _split(offset: Offset | None) -> tuple[str, int | None]:
    """The id of an entry and its number, from an offset such as "1700000000000-0-17"."""
    if offset is None:
        return "0-0", None
    parts = str(offset).split("-")
    if len(parts) not in (2, 3) or not all(part.isdigit() for part in parts):
        raise InvalidValue(
            f"stream: an offset of Redis must be an id such as '1700000000000-0', got {quoted(offset)}"
        )
    return "-".join(parts[:2]), int(parts[2]) if len(parts) == 3 else None


def _summary(info: Any) -> dict[str, Any]:
    """Length, entries ever added, first and last id of a stream, from `XINFO STREAM` in any form."""
    if isinstance(info, list):
        info = dict(zip(info[::2], info[1::2], strict=True))
    named = {(key.decode() if isinstance(key, bytes) else key): value for key, value in info.items()}
    first = named.get("first-entry")
    length = int(named.get("length", 0))
    return {
        "length": length,
        "added": int(named.get("entries-added", length)),
        "first": None if not first else _text(first[0]),
        "last": _text(named.get("last-generated-id", "0-0")),
    }


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _pairs(found: Any) -> Iterable[tuple[Any, Any]]:
    return list(found.items()) if isinstance(found, dict) else list(found or [])


def _content(fields: Mapping[bytes, bytes]) -> tuple[bytes | None, str | None]:
    """The message of an entry: its field `message`, or its only field."""
    if FIELD in fields:
        return fields[FIELD], None
    if len(fields) == 1:
        return next(iter(fields.values())), None
    return None, f"an entry needs the field 'message', got {quoted([_text(name) for name in fields])}"


def read_redis(
    url: str,
    streams: str | Sequence[str],
    target: str | None = None,
    *,
    group: str | None = "millstream",
    consumer: str | None = None,
    start: str = "earliest",
    on_missing: str = "raise",
    patience: float = 60.0,
    **options: Unpack[MessageOptions],
) -> RedisSource:
    """Read streams of Redis: each entry is a message with an Arrow table or rows of JSON in its field `message`.

    Needs the package redis: `pip install 'millstream[redis]'`.

    Parameters
    ----------
    url
        `"host:port"`, or a URL such as `"redis://:password@host:port/0"`, `"rediss://…"` or `"unix:///path"`.
    streams
        The key of a stream, or several; each is a partition.
    target
        The column to predict.
    group
        The consumer group of `stream.process`, created if needed. One process at a time reads for a group; a
        process that takes over needs the checkpoint of the one before.
    consumer
        The name of this consumer in the group; by default from host and process id.
    start
        Where to begin without a stored position: `"earliest"` or `"latest"`.
    on_missing
        What to do if entries were trimmed before they were read: `"raise"` an error, or go on with the
        `"earliest"` that is there and count them.
    patience
        Number of seconds to wait for a Redis that cannot be reached, for example while it restarts.
    **options
        Options of `stream.MessageSource`, such as `idle`, and of `stream.TableStream`, such as `drop`.
    """
    check_options(read_redis, {name: 0 for name in options if name not in MessageOptions.__annotations__})
    names = [streams] if isinstance(streams, str) else list(streams)
    settings = {
        "group": group,
        "consumer": consumer,
        "start": start,
        "on_missing": on_missing,
        "patience": patience,
    }
    return RedisSource(url, names, target, settings, options)
