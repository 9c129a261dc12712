"""Messages written to a stream of Redis, each exactly once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream._echo import quoted
from millstream.errors import InvalidValue
from millstream.stream.counts import count
from millstream.stream.message_source import Reader
from millstream.stream.messages import Offset, Origin, order
from millstream.stream.redis_source import FIELD, client, patiently
from millstream.stream.sink import Sink

__all__ = ["RedisSink", "write_redis"]

#: Adds an entry unless the hash of positions says that it was added before. A script is atomic, so that entry and
#: position are stored together, and a repetition after a lost reply changes nothing.
_SCRIPT = """
local last = redis.call('HGET', KEYS[2], ARGV[1])
if last then
  local a, b = string.match(last, '^(%d+)-(%d+)')
  a, b = tonumber(a), tonumber(b)
  local c, d = tonumber(ARGV[2]), tonumber(ARGV[3])
  if c < a or (c == a and d <= b) then return 0 end
end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2] .. '-' .. ARGV[3] .. ' ' .. ARGV[4])
if ARGV[6] ~= '0' then
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[6], '*', 'message', ARGV[5])
else
  redis.call('XADD', KEYS[1], '*', 'message', ARGV[5])
end
return 1
"""

#: Bytes of messages that are sent together.
BUFFER = 4 << 20


class RedisSink(Sink):
    """A stream of Redis; created by `write_redis`."""

    def __init__(
        self,
        url: str,
        stream: str,
        writer: str | None,
        format: str,  # noqa: A002
        max_entries: int | None,
        patience: float,
    ) -> None:
        super().__init__(format=format, writer=writer)
        if not isinstance(stream, str) or not stream:
            raise InvalidValue(f"stream.write_redis: a stream must be the name of a key, got {quoted(stream)}")
        self.stream, self.patience = stream, patience
        self.max_entries = 0 if max_entries is None else count("max_entries", max_entries, 1)
        self._redis = client(url, timeout=10.0)
        self._script = self._redis.register_script(_SCRIPT)
        self._buffer: list[tuple[bytes, Origin | None]] = []
        self._bytes = 0

    @property
    def _positions(self) -> str:
        return f"{self.stream}:positions"

    def send(self, data: bytes, origin: Origin | None) -> None:
        self._buffer.append((data, origin))
        self._bytes += len(data)
        if self._bytes > BUFFER:
            self.push({})

    def push(self, offsets: Mapping[str, Offset]) -> None:
        if self._buffer:
            patiently(f"redis:{self.stream}", self._send_all, self.patience)
            self._buffer.clear()
            self._bytes = 0

    def _send_all(self) -> None:
        with self._redis.pipeline(transaction=False) as pipeline:
            for data, origin in self._buffer:
                if origin is None:
                    limit = {"maxlen": self.max_entries} if self.max_entries else {}
                    pipeline.xadd(self.stream, {FIELD: data}, **limit)
                    continue
                first, second = order(origin.offset)
                name = f"{origin.source}\n{origin.partition}"
                self._script(
                    keys=[self.stream, self._positions],
                    args=[name, first, second, str(origin.offset), data, self.max_entries],
                    client=pipeline,
                )
            pipeline.execute()

    def written(self, source: str | None, partitions: Iterable[str], reader: Reader | None) -> dict[str, Offset]:
        found = patiently(f"redis:{self.stream}", lambda: self._redis.hgetall(self._positions), self.patience)
        offsets: dict[str, Offset] = {}
        for name, value in found.items():
            writer, _, partition = name.decode().partition("\n")
            if writer == source:
                text = value.decode().partition(" ")[2]
                offsets[partition] = int(text) if text.isdigit() else text
        return offsets

    def abandon(self) -> None:
        self._buffer.clear()
        self._bytes = 0

    def close(self) -> None:
        self.push({})
        self._redis.close()


def write_redis(
    url: str,
    stream: str,
    *,
    writer: str | None = None,
    format: str = "arrow",  # noqa: A002
    max_entries: int | None = None,
    patience: float = 60.0,
) -> RedisSink:
    """Write messages to a stream of Redis, each exactly once.

    The origin of the last message of each partition is stored in the hash `<stream>:positions`, in one step with
    the message, so that repeats after a restart are not added. Redis keeps what it has confirmed if it is
    configured with `appendonly yes` and `appendfsync always`.

    Needs the package redis: `pip install 'millstream[redis]'`.

    Parameters
    ----------
    url
        `"host:port"`, or a URL such as `"redis://:password@host:port/0"`.
    stream
        The key of the stream.
    writer
        The name under which `write(table)` numbers its messages; see `stream.Sink`. Not needed in
        `stream.process`.
    format
        `"arrow"` or `"json"`.
    max_entries
        Number of entries above which Redis trims the oldest, approximately; None for never.
    patience
        Number of seconds to wait for a Redis that cannot be reached.
    """
    return RedisSink(url, stream, writer, format, max_entries, patience)
