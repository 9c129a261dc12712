"""Messages of a socket, Redis or Kafka, sent to a server: each row is predicted, and its label learned.

Each row has an id that consists of the source, partition, offset and row number. The server recognises repeated
ids. A message that is sent again after a crash therefore changes nothing: rows are learned exactly once.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time as clock
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as arrow

from millstream._echo import quoted, typed
from millstream.errors import InvalidType, InvalidValue
from millstream.serve.client import Client, ServeError
from millstream.stream.chunk import Chunk
from millstream.stream.message_source import WAIT, Conversion, MessageSource, Reader, Silence
from millstream.stream.messages import Message, Offset, Origin, order
from millstream.stream.partition_state import DeadLetter
from millstream.stream.sink import Sink, as_sink

__all__ = ["Fed", "feed"]

#: Number of refused messages and rows that are kept.
_DEAD_LETTERS = 100
#: The longest id that a server accepts.
_LONGEST_ID = 128


@dataclass
class Fed:
    """The result of `serve.feed`."""

    #: Messages and rows that the server has received.
    messages: int = 0
    rows: int = 0
    #: Labels by fate: see the guide of serving.
    fates: dict[str, int] = field(default_factory=dict)
    #: Messages that were delivered again and dropped, and rows that the server already had.
    repeats: int = 0
    #: Messages that cannot be read, and rows that the server refused.
    set_aside: int = 0
    #: The last of them, with the reason.
    dead_letters: list[DeadLetter] = field(default_factory=list)


def feed(
    source: MessageSource,
    client: Client,
    model: str,
    *,
    sink: Sink | Callable[[Any, Origin | None], Any] | None = None,
    every: float = 1.0,
    batch_size: int = 1000,
    limit: int | None = None,
    stop: threading.Event | None = None,
) -> Fed:
    """Send the messages of a source to a server, which predicts and learns them; write the predictions to a sink.

    Each row is learned exactly once, even if this process or the server is killed and started again: its id
    consists of the source, the partition, the offset and the row number, and the server recognises repeated ids as
    long as it remembers the event. Messages without an offset, from a plain connection to a socket, are sent at
    most once.

    Parameters
    ----------
    source
        `stream.read_socket`, `stream.read_redis` or `stream.read_kafka`. With `target`, the labels are sent too;
        without, labels may come later from elsewhere, by the ids of the predictions.
    client
        A client of the server.
    model
        The name of a model or route of the server.
    sink
        Where the predictions go: a table with the columns `id` and `prediction` for each message.
    every
        Number of seconds after which the position is committed to the source; 0 for each message.
    batch_size
        Number of rows per request.
    limit
        Number of rows after which to stop, at the end of a message.
    stop
        An event that ends the run.

    Examples
    --------
    >>> import tempfile, threading
    >>> import pyarrow
    >>> from millstream import linear_model, serve, stream
    >>> folder = tempfile.mkdtemp()
    >>> def write():
    ...     with stream.write_socket(f"unix:{folder}/readings.sock", writer="plant") as readings:
    ...         readings.write(pyarrow.table({"load": [0.5, 0.25], "hot": [True, False]}))
    >>> writer = threading.Thread(target=write)
    >>> writer.start()
    >>> with serve.Server(linear_model.LogisticRegression(), data=f"{folder}/data", port=0) as server:
    ...     source = stream.read_socket(f"unix:{folder}/readings.sock", target="hot")
    ...     done = serve.feed(source, serve.Client(server.url), "model", limit=2)
    >>> done.rows, done.fates
    (2, {'learned': 2})
    >>> writer.join()
    """
    if not isinstance(source, MessageSource):
        raise InvalidType(f"serve.feed: source must read messages, got {type(source).__name__}")
    if not isinstance(client, Client):
        raise InvalidType(f"serve.feed: client must be a serve.Client, got {type(client).__name__}")
    if isinstance(every, bool) or not (isinstance(every, (int, float)) and every >= 0):
        raise InvalidValue(f"serve.feed: every must be at least 0 seconds, got {quoted(every)}")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise InvalidValue(f"serve.feed: limit must be an integer >= 0 or None, got {quoted(limit)}")
    if stop is not None and not isinstance(stop, threading.Event):
        raise InvalidType(f"serve.feed: stop must be a threading.Event, got {typed(stop)}")
    run = _Run(source, client, model, as_sink("sink", sink), batch_size)
    with source.reader({}, resume=True) as reader:
        run.run(reader, every, limit, stop or threading.Event())
    run.fed.dead_letters = list(run.letters)
    return run.fed


class _Run:
    """One run, which may repeat messages of the run before."""

    def __init__(
        self, source: MessageSource, client: Client, model: str, sink: Sink | None, batch_size: int
    ) -> None:
        self.source, self.client, self.model, self.sink = source, client, model, sink
        self.batch_size = batch_size
        self.fed = Fed()
        self.letters: deque[DeadLetter] = deque(maxlen=_DEAD_LETTERS)
        self.conversion = Conversion(source)
        self.offsets: dict[str, Offset] = {}
        #: What the sink has of each partition already.
        self.written: dict[str, Offset] = {}

    def run(self, reader: Reader, every: float, limit: int | None, stop: threading.Event) -> None:
        silence = Silence(self.source.idle)
        stored = clock.monotonic()
        changed = False
        while not stop.is_set() and (limit is None or self.fed.rows < limit):
            before = clock.monotonic()
            message = reader.poll(WAIT)
            if message is not None:
                silence.end()
                changed = True
                self._handle(message, reader)
            elif silence.lasts(clock.monotonic() - before):
                break
            if changed and clock.monotonic() - stored >= every:
                self._commit(reader)
                stored, changed = clock.monotonic(), False
        if changed:
            self._commit(reader)

    def _handle(self, message: Message, reader: Reader) -> None:
        last = self.offsets.get(message.partition)
        if last is not None and message.repeatable and order(message.offset) <= order(last):
            self.fed.repeats += 1
            return
        origin = Origin(self.source.source, message.partition, message.offset)
        try:
            chunk, _ = self.conversion.chunk(message)
        except InvalidValue as error:
            if self.source.on_error == "raise":
                raise InvalidValue(f"{origin}: {error}") from None
            self._set_aside(origin, str(error), message.data)
        else:
            if chunk is not None:
                self._send(chunk, origin if message.repeatable else None, origin, reader)
            self.fed.messages += 1
        if message.repeatable:
            self.offsets[message.partition] = message.offset

    def _send(self, chunk: Chunk, names: Origin | None, origin: Origin, reader: Reader) -> None:
        """Predict the rows of a message, then send their labels. `names` makes their ids."""
        xs, ys = (list(column) for column in zip(*chunk.examples(), strict=True)) if len(chunk) else ([], [])
        xs = [_with_none(x) for x in xs]
        ids = None if names is None else [_id(names, row) for row in range(len(xs))]
        found = self._predicted(xs, ids)
        for row, result in enumerate(found):
            if result.get("status") == 409 and ids is not None:
                # It was sent before. The server has the prediction, or has learned the example.
                self.fed.repeats += 1
                found[row] = self._again(xs[row], ids[row])
            elif "status" in result:
                self._set_aside(origin, f"row {row}: {result.get('detail')}", None)
        self.fed.rows += len(xs)
        if chunk.y is not None:
            self._label(chunk, xs, ys, found, origin)
        self._write(found, origin, reader)

    def _predicted(self, xs: list[Any], ids: list[str] | None) -> list[dict[str, Any]]:
        """The result of each row. Rows with numbers that JSON does not have are refused without the server."""
        infinite = {row: name for row, x in enumerate(xs) for name, value in x.items() if _is_infinite(value)}
        rows = [row for row in range(len(xs)) if row not in infinite]
        some = None if ids is None else [ids[row] for row in rows]
        # Stored before the source forgets the message.
        results = iter(
            self.client.predict_many(
                self.model, [xs[row] for row in rows], ids=some, batch_size=self.batch_size, wait="durable"
            )
        )
        return [
            {"status": 422, "detail": f"x: {quoted(infinite[row])} must be a finite number"}
            if row in infinite
            else next(results)
            for row in range(len(xs))
        ]

    def _again(self, x: Mapping[str, Any], id: str) -> dict[str, Any]:
        """The prediction of a row that was sent before."""
        try:
            return self.client.predict(self.model, x, id=id, wait="durable")
        except ServeError as error:
            if error.status != 409:
                raise
            return {"id": id, "y": None}

    def _label(
        self, chunk: Chunk, xs: list[Any], ys: list[Any], found: list[dict[str, Any]], origin: Origin
    ) -> None:
        weights = None if chunk.w is None else [float(weight) for weight in chunk.w]
        items, rows = [], []
        for row, (x, y, result) in enumerate(zip(xs, ys, found, strict=True)):
            if y is None or y != y or "id" not in result:
                continue
            y = float(y) if isinstance(y, Decimal) else y
            if _is_infinite(y) or (weights is not None and not math.isfinite(weights[row])):
                what, value = ("y", y) if _is_infinite(y) else ("weight", weights[row])  # type: ignore[index]
                self._set_aside(origin, f"row {row}: {what}: must be a finite number, got {value}", None)
                continue
            # With the features, in case the server has forgotten the event.
            item = {"id": result["id"], "y": y, "x": x}
            items.append(item if weights is None else {**item, "weight": weights[row]})
            rows.append(row)
        for row, told in zip(rows, self.client.labels(self.model, items, batch_size=self.batch_size), strict=True):
            fate = str(told.get("fate", "refused"))
            self.fed.fates[fate] = self.fed.fates.get(fate, 0) + 1
            if fate in ("quarantined", "conflict", "refused"):
                self._set_aside(origin, f"row {row}: {told.get('detail', fate)}", None)

    def _write(self, found: list[dict[str, Any]], origin: Origin, reader: Reader) -> None:
        if self.sink is None:
            return
        if origin.partition not in self.written:
            self.written |= self.sink.written(origin.source, [origin.partition], reader)
        last = self.written.get(origin.partition)
        if last is None or order(origin.offset) > order(last):
            columns = {"id": [each.get("id") for each in found], "prediction": [each.get("y") for each in found]}
            self.sink.write(arrow.table(columns), origin)

    def _set_aside(self, origin: Origin, reason: str, data: bytes | None) -> None:
        self.fed.set_aside += 1
        self.letters.append(DeadLetter(*origin, reason, data))

    def _commit(self, reader: Reader) -> None:
        """The server has everything; then the sink, then the source."""
        if self.sink is not None:
            self.sink.flush(self.offsets)
        reader.commit(self.offsets)


def _with_none(x: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The features with None for NaN: JSON has no such number, and both are a missing value."""
    if any(value != value for value in x.values()):
        return {name: value if value == value else None for name, value in x.items()}
    return x


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and math.isinf(value)


def _id(origin: Origin, row: int) -> str:
    """The id of a row, always the same."""
    offset = origin.offset
    if isinstance(offset, str):
        # The id of an entry of Redis, without its number, which depends on where reading began.
        offset = "-".join(map(str, order(offset)))
    id = f"{origin.source}/{origin.partition}/{offset}/{row}"
    if len(id) <= _LONGEST_ID and id.isprintable():
        return id
    return f"{hashlib.blake2b(id.encode(), digest_size=24).hexdigest()}/{row}"
