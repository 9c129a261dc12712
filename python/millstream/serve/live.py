"""The live feed: the state of the server as Server-Sent Events, about once a second.

Every event has the id `start-seq-tick`: the start of the server, the last record that the event covers, and the
second in which it was created. A reader that reconnects with the header `Last-Event-ID` continues from there and
receives only newer points. A reader that is slower than the feed receives nothing until it has read the last
event, and then one event up to the newest state.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from millstream.serve import live_state
from millstream.serve.committer import Stopped
from millstream.serve.requests import Problem
from millstream.serve.samples import COLUMNS, Samples, Totals

__all__ = ["EVENT_STREAM", "HttpSink", "Live", "Position", "Sink"]

EVENT_STREAM = "text/event-stream"

#: Seconds between two events, and the maximum number of streams.
_PERIOD = 1.0
_MOST_STREAMS = 64
#: Maximum number of models and routes in the overview. Each also has its own page, without a limit.
_MOST_ROWS = 500
#: Seconds that the feed waits before it reports that a learner hangs.
_PATIENCE = 0.25


class Sink(Protocol):
    """The connection to one reader, independent of the protocol."""

    def open(self) -> None:
        """Send the header of the reply."""

    def push(self, data: bytes) -> int | None:
        """Append data. Returns the number of unsent bytes, or None if the reader has disconnected."""

    def end(self) -> None:
        """Close the stream after sending the remaining data."""


class HttpSink:
    """A stream of the HTTP server."""

    def __init__(self, http: Any, ticket: int, headers: Iterable[tuple[str, str]]) -> None:
        self._http, self._ticket = http, ticket
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in headers).encode("latin-1")

    def open(self) -> None:
        """Send the header of the reply."""
        self._http.open_stream(self._ticket, 200, self._headers)

    def push(self, data: bytes) -> int | None:
        """Append data."""
        waiting: int | None = self._http.push(self._ticket, data)
        return waiting

    def end(self) -> None:
        """Close the stream."""
        self._http.end_stream(self._ticket)


class Position(NamedTuple):
    """The position of a reader, which has received everything up to this record and tick."""

    seq: int
    tick: int


class _Reader:
    """An open stream: the overview, or one model or route."""

    __slots__ = ("is_open", "name", "position", "sink")

    def __init__(self, sink: Sink, name: str | None, position: Position | None) -> None:
        self.sink, self.name, self.position = sink, name, position
        self.is_open = False


class Live:
    """Samples the activity of a server, and sends its state to the readers of the feed."""

    def __init__(self, server: Any, *, period: float = _PERIOD, most_streams: int = _MOST_STREAMS) -> None:
        self.server = server
        self.period, self.most_streams = period, most_streams
        self.tick = 0
        #: Distinguishes the ticks of this process from those of an earlier one.
        self.start_id = f"{time.time_ns():x}"
        self._samples: dict[str | None, Samples] = {}
        self._readers: list[_Reader] = []
        #: Rows and names of the overview, each with the tick of its last change.
        self._rows: dict[str, tuple[dict[str, Any], int]] = {}
        self._names: tuple[list[str], int] = ([], 0)
        self._rows_tick = 0
        #: The objects of each model and route, and the latest record by which they may have been replaced.
        self._identities: dict[str, tuple[tuple[Any, ...], int]] = {}
        self._messages: dict[tuple[str | None, Position | None], tuple[bytes, Position] | None] = {}
        self._stalled_since: float | None = None
        self._stalled_tick = 0
        self._last = self._born = time.monotonic()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="millstream-live", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Close all streams, so that a drain does not wait for them."""
        self._stopping = True
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(10.0)
        with self._lock:
            readers, self._readers = self._readers, []
        for reader in readers:
            reader.sink.end()

    def position_of(self, event_id: str | None) -> Position | None:
        """The position in a `Last-Event-ID`; None if the id is not from this process."""
        parts = (event_id or "").split("-")
        if len(parts) != 3 or parts[0] != self.start_id or not all(part.isdecimal() for part in parts[1:]):
            return None
        if any(len(part) > 18 for part in parts[1:]):
            return None
        position = Position(int(parts[1]), int(parts[2]))
        return position if position.tick <= self.tick else None

    def add(self, sink: Sink, name: str | None, event_id: str | None) -> None:
        """Add a reader of the overview (None) or of one model or route."""
        reader = _Reader(sink, name, self.position_of(event_id))
        with self._lock:
            if self._stopping:
                raise Problem(503, "stopping", "the server is stopping")
            if len(self._readers) >= self.most_streams:
                raise Problem(
                    503, "too-many-streams", f"{self.most_streams} live streams are open; try again later"
                )
            self._readers.append(reader)
        self._wake.set()

    @property
    def readers(self) -> int:
        """Number of open streams."""
        return len(self._readers)

    # -------------------------------------------------------------------------------------------------- thread

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stopping:
            now = time.monotonic()
            if now >= due:
                # After a pause of the process, missed ticks are skipped.
                due = max(due + self.period, now)
                self.sample()
            self.serve()
            self._wake.wait(max(due - time.monotonic(), 0.0))
            self._wake.clear()

    def sample(self) -> None:
        """Take the samples of a tick. The counts are read without the lock, because each is a single number."""
        server = self.server
        now = time.monotonic()
        seconds, self._last = now - self._last, now
        wall = server.engine.clock.now()
        durations = server.counters.durations
        whole = Totals()
        with self._lock:
            self.tick += 1
            self._messages.clear()
            streams = dict(server.engine.state.by_name)
            for name in [known for known in self._samples if known is not None and known not in streams]:
                del self._samples[name]
            for name, stream in streams.items():
                delay, delayed = stream.delays
                totals = Totals(
                    stream.predictions, stream.received, delay, delayed, len(stream.pending), durations.get(name)
                )
                self._samples.setdefault(name, Samples()).add(self.tick, wall, seconds, totals)
                for each in ("predictions", "labels", "delay", "delayed", "remembered"):
                    setattr(whole, each, getattr(whole, each) + getattr(totals, each))
            self._samples.setdefault(None, Samples()).add(self.tick, wall, seconds, whole)

    def serve(self) -> None:
        """Send an event to every reader that has read its last event and has not received one in this tick."""
        with self._lock:
            readers = list(self._readers)
        gone = []
        for reader in readers:
            if reader.is_open and reader.position is not None and reader.position.tick == self.tick:
                continue
            if not self._send(reader):
                gone.append(reader)
        if gone:
            with self._lock:
                self._readers = [reader for reader in self._readers if reader not in gone]

    def _send(self, reader: _Reader) -> bool:
        """Send an event to one reader. False if it has disconnected."""
        if not reader.is_open:
            reader.sink.open()
            reader.is_open = True
        waiting = reader.sink.push(b"")
        if waiting is None:
            return False
        if waiting:
            return True
        key = (reader.name, reader.position)
        if key not in self._messages:
            self._messages[key] = self._message(reader.name, reader.position)
        found = self._messages[key]
        if found is None:
            reader.sink.push(b"event: gone\ndata: {}\n\n")
            reader.sink.end()
            return False
        data, reader.position = found
        return reader.sink.push(data) is not None

    # ------------------------------------------------------------------------------------------------ messages

    def _message(self, name: str | None, since: Position | None) -> tuple[bytes, Position] | None:
        """The event for a reader at a position, and the next position; None if the model was deleted."""
        if self._stalled_tick == self.tick:
            return self._stalled(since)
        try:
            with self.server.engine.committer.reading(_PATIENCE):
                self._stalled_since = None
                if name is not None and name not in self.server.engine.state.by_name:
                    return None
                seq = self.server.engine.state.seq
                body, whole = self._overview(since) if name is None else self._detail(name, since)
        except Stopped:
            return self._stalled(since)
        position = Position(seq, self.tick)
        body["server"] = live_state.server_state(self.server, time.monotonic() - self._born)
        with self._lock:
            # A reader that was disconnected for longer than the samples cover receives the remaining ones.
            samples = self._samples.get(name)
            body["samples"] = (
                [] if samples is None else samples.after(-1 if whole or since is None else since.tick)
            )
        return self._event("state" if whole else "delta", body, position), position

    def _overview(self, since: Position | None) -> tuple[dict[str, Any], bool]:
        if self._rows_tick != self.tick:
            self._refresh_rows()
        names, changed = self._names
        whole = since is None or changed > since.tick
        tick = -1 if whole or since is None else since.tick
        rows = [self._rows[name][0] for name in names[:_MOST_ROWS] if self._rows[name][1] > tick]
        return {"streams": rows, "stream_count": len(names)}, whole

    def _refresh_rows(self) -> None:
        """Compute the rows of this tick once. All readers receive the same rows, so none misses a change."""
        state = self.server.engine.state
        names = list(state.by_name)
        if names != self._names[0]:
            self._names = (names, self.tick)
            self._rows = {name: self._rows[name] for name in names if name in self._rows}
        for name in names[:_MOST_ROWS]:
            samples = self._samples.get(name)
            row = live_state.row_of(state, name, None if samples is None else samples.latest())
            if name not in self._rows or self._rows[name][0] != row:
                self._rows[name] = (row, self.tick)
        self._rows_tick = self.tick

    def _detail(self, name: str, since: Position | None) -> tuple[dict[str, Any], bool]:
        state = self.server.engine.state
        found = live_state.identity(state, name)
        known, changed = self._identities.get(name, ((), 0))
        if len(known) != len(found) or any(one is not other for one, other in zip(known, found, strict=True)):
            # Also the first time, because it is unknown whether it changed after an earlier record.
            changed = state.seq
            if len(self._identities) > _MOST_ROWS:
                self._identities.clear()
            self._identities[name] = (found, changed)
        whole = since is None or since.seq < changed
        body = live_state.detail(state, name, 0 if whole or since is None else since.seq)
        body["latency"] = live_state.latency_of(self.server.counters.durations.get(name))
        return body, whole

    def _stalled(self, since: Position | None) -> tuple[bytes, Position]:
        """The event while a learner holds the lock of the state. The position of the reader does not change."""
        self._stalled_since = self._stalled_since or time.monotonic()
        self._stalled_tick = self.tick
        seconds = time.monotonic() - self._stalled_since + _PATIENCE
        position = since or Position(0, 0)
        return self._event("stalled", {"seconds": math.floor(seconds)}, None), position

    def _event(self, kind: str, body: dict[str, Any], position: Position | None) -> bytes:
        text = json.dumps(body, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        id_line = "" if position is None else f"id: {self.start_id}-{position.seq}-{position.tick}\n"
        return f"{id_line}event: {kind}\ndata: {text}\n\n".encode("utf-8", "backslashreplace")

    def whole(self, name: str) -> dict[str, Any]:
        """All data about a model or route, as in the first event of its stream."""
        with self.server.engine.committer.reading():
            body = live_state.detail(self.server.engine.state, name, 0)
            body["seq"] = self.server.engine.state.seq
        body["latency"] = live_state.latency_of(self.server.counters.durations.get(name))
        with self._lock:
            samples = self._samples.get(name)
            body["samples"] = {"columns": COLUMNS, "rows": [] if samples is None else samples.after(-1)}
        return body
