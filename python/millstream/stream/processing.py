"""The driver that runs a model over a source of messages, exactly once.

For each message: decode, predict and learn, write the output. Now and then: flush the sink, store model and
position in one atomic write, commit the position to the source, in this order. A process that dies between two of
these steps repeats messages whose effects were not stored, and the sink says which output it has already.
"""

from __future__ import annotations

import os
import signal
import threading
import time as clock
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as arrow

from millstream._echo import quoted
from millstream._part import unlearned_copy
from millstream.compose.keyed import Keyed
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.roles import Answer, Truth, role_of
from millstream.stream.chunk import Chunk
from millstream.stream.message_source import WAIT, MessageSource, Reader, Silence
from millstream.stream.messages import Message, Offset, Origin, order
from millstream.stream.partition_state import DeadLetter, PartitionState
from millstream.stream.process_progress import ProcessProgress, Watch
from millstream.stream.sink import Sink, as_sink

__all__ = ["Processed", "process"]

#: Seconds after which output is passed on, also if messages keep coming.
PUSH = 0.2

#: Number of messages set aside that are kept in memory.
DEAD_LETTERS = 100

#: Bytes of a bad message that are kept.
KEPT = 1 << 20

#: Seconds to wait for another process to hand over a partition.
HAND_OVER = 30.0


@dataclass
class Processed:
    """The result of `stream.process`."""

    #: The model, or None if there is one for each partition.
    model: Any
    #: The model of each partition that was assigned last, with `by_partition`.
    models: dict[str, Any]
    #: Counters and rates.
    progress: ProcessProgress
    #: The last messages that were set aside.
    dead_letters: list[DeadLetter] = field(default_factory=list)
    #: Whether it was stopped by Ctrl-C or SIGTERM.
    interrupted: bool = False


def process(
    source: MessageSource,
    model: Any,
    *,
    sink: Sink | Callable[[Any, Origin | None], Any] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 10.0,
    output: Callable[[Chunk, Any], Any] | None = None,
    dead_letters: Sink | Callable[[Any, Origin | None], Any] | None = None,
    learn: bool = True,
    by_partition: bool = False,
    limit: int | None = None,
    stop: threading.Event | None = None,
    progress: bool | Callable[[ProcessProgress], Any] | None = None,
    on_interrupt: str = "return",
) -> Processed:
    """Predict and learn the messages of a source, write the predictions to a sink, and continue after a restart.

    With `checkpoint`, model and position are stored in one atomic write. A process that is started again after a
    crash continues there: no message is lost or learned twice, and the model is the same as without the crash.

    Memory is bounded: messages are read one at a time, and the client's buffers have limits. If the model or the
    sink is slower than the source, the source is read more slowly; `ProcessProgress.busy` and `lag` show it.

    Parameters
    ----------
    source
        `stream.read_socket`, `stream.read_redis` or `stream.read_kafka`.
    model
        A model, a pipeline or `compose.Keyed`. If the checkpoint has a state, it replaces the model.
    sink
        Where the output goes: `stream.write_socket`, `stream.write_redis`, `stream.write_kafka`, another
        `stream.Sink`, or a function that receives each table and its origin.
    checkpoint
        A folder for the model and the position; None to store nothing.
    every
        Number of seconds between checkpoints; 0 for one after each message.
    output
        A function of a chunk and its predictions that returns an Arrow table, or None to write nothing. By default
        the table has the prediction of each row (`score` for anomaly detectors), and the key if the model is
        keyed.
    dead_letters
        Where bad messages go, with the reason; by default the last 100 are kept in the result.
    learn
        Whether to learn, or only to predict.
    by_partition
        Whether each partition has a model of its own, stored in a folder of its own. Then several processes can
        share the partitions of a Kafka topic: a partition moves to another process together with its model. All
        messages of a key must be in the same partition.
    limit
        Number of rows after which to stop, at the end of a message.
    stop
        An event that stops the run, after a last checkpoint.
    progress
        True for a line on standard error; a function that receives a `ProcessProgress` once per second; None for a
        line if standard error is a terminal.
    on_interrupt
        After Ctrl-C or SIGTERM, the current message is finished and a checkpoint is written. Then: "return" the
        result, with `interrupted` set, or "raise" KeyboardInterrupt. A second Ctrl-C stops at once.

    Examples
    --------
    >>> import pathlib, tempfile, threading
    >>> import pyarrow
    >>> from millstream import anomaly, compose, stream
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> source = stream.read_socket(f"unix:{folder}/readings.sock", idle=2)
    >>> model = compose.Keyed(anomaly.GaussianScorer(grace_period=3), key="sensor")
    >>> def write():
    ...     with stream.write_socket(f"unix:{folder}/readings.sock", writer="plant") as readings:
    ...         for value in (20.0, 21.0, 20.5, 21.5, 90.0):
    ...             readings.write(pyarrow.table({"sensor": ["a"], "value": [value]}))
    >>> writer = threading.Thread(target=write)
    >>> writer.start()
    >>> found = []
    >>> done = stream.process(source, model, sink=lambda table, origin: found.append(table), limit=5)
    >>> writer.join()
    >>> [round(table["score"][0].as_py(), 2) for table in found]
    [0.0, 0.0, 0.0, 0.95, 1.0]
    """
    if not isinstance(source, MessageSource):
        raise InvalidType(f"stream.process: source must read messages, got {type(source).__name__}")
    if not (isinstance(every, (int, float)) and every >= 0):
        raise InvalidValue(f"stream.process: every must be at least 0 seconds, got {quoted(every)}")
    if on_interrupt not in ("raise", "return"):
        raise InvalidValue(f"stream.process: on_interrupt must be 'raise' or 'return', got {quoted(on_interrupt)}")
    _check_model(source, model, learn, checkpoint is not None)
    if getattr(dead_letters, "transactional", False):
        raise InvalidValue("stream.process: dead_letters must not be transactional: omit transactional_id")
    run = _Run(source, model, as_sink("sink", sink), as_sink("dead_letters", dead_letters), output, learn)
    run.folder = None if checkpoint is None else Path(checkpoint)
    run.every, run.limit, run.stop = every, limit, stop or threading.Event()
    run.watch = Watch(progress)
    with _Signals(run.stop) as signals:
        try:
            run.run(by_partition)
        finally:
            run.close()
    if signals.asked and on_interrupt == "raise":
        raise KeyboardInterrupt
    return run.result(by_partition, signals.asked)


def _check_model(source: MessageSource, model: Any, learn: bool, stored: bool) -> None:
    role = role_of(model)
    if role is None or role.answer not in (Answer.CLASS, Answer.NUMBER, Answer.SCORE, Answer.CLUSTER):
        raise InvalidType(f"stream.process: a model must predict or score, got {quoted(model)}")
    if learn and source.target is None and role.truth is not Truth.NONE:
        raise InvalidValue(
            f"stream.process: {role.phrase} needs a target to learn: pass target= to the source, or learn=False"
        )
    if stored:
        # Before the first message, not at the first checkpoint.
        model.to_bytes()


class _Run:
    """One run: the models of the partitions, the reader and the sinks."""

    every: float
    limit: int | None
    stop: threading.Event
    folder: Path | None
    watch: Watch

    def __init__(
        self,
        source: MessageSource,
        model: Any,
        sink: Sink | None,
        aside: Sink | None,
        output: Callable[[Chunk, Any], Any] | None,
        learn: bool,
    ) -> None:
        self.source, self.model, self.sink, self.aside = source, model, sink, aside
        self.output = output or _default_output(model)
        self.learn = learn
        self.states: dict[str, PartitionState] = {}
        self.shared: PartitionState | None = None
        self.reader: Reader | None = None
        #: What the sinks have of each partition already.
        self.written: dict[int, dict[str, Offset]] = {}
        self.letters: deque[DeadLetter] = deque(maxlen=DEAD_LETTERS)
        self.finished = {"messages": 0, "rows": 0, "set_aside": 0}

    # The loop.

    def run(self, by_partition: bool) -> None:
        if by_partition:
            self.reader = self.source.reader({}, self, resume=self.folder is None)
            if self.states:
                # Assigned before the reader was there to ask.
                self._ask_sinks(list(self.states))
        else:
            self.shared = PartitionState(self.source, self.model, self.folder)
            self.reader = self.source.reader(self.shared.offsets, resume=self.folder is None)
            self._ask_sinks(list(self.shared.offsets))
        silence = Silence(self.source.idle)
        pushed = stored = clock.monotonic()
        rows = 0
        while not self.stop.is_set():
            before = clock.monotonic()
            message = self.reader.poll(WAIT)
            now = clock.monotonic()
            self.watch.waited(now - before)
            if message is not None:
                silence.end()
                rows += self._handle(message)
            elif silence.lasts(now - before):
                break
            if message is None or now - pushed >= PUSH:
                self._push()
                pushed = now
            if self.every <= now - stored and (self.every or message is not None):
                self._store()
                # After the work, so that a slow checkpoint does not follow another at once.
                stored = clock.monotonic()
            if self.watch.is_due:
                self._measure()
            if self.limit is not None and rows >= self.limit:
                break
        self._store()
        self._measure()

    def _handle(self, message: Message) -> int:
        """Process one message; returns the number of its rows."""
        state = self.shared or self.states.get(message.partition)
        if state is None:
            # The partition was taken away after the message was fetched.
            return 0
        if message.time is not None:
            self.watch.received(max(0.0, clock.time() - message.time))
        if state.is_repeat(message):
            self.watch.progress.repeats += 1
            return 0
        rows = 0
        origin = Origin(self.source.source, message.partition, message.offset)
        try:
            chunk, decoded = state.conversion.chunk(message)
            if state.is_repeated_origin(decoded.origin):
                self.watch.progress.repeats += 1
            else:
                rows = 0 if chunk is None else len(chunk)
                table = None if chunk is None else self._step(state.model, chunk)
                if table is not None:
                    self._write(self.sink, table, origin)
                state.counts["messages"] += 1
                state.counts["rows"] += rows
        except (MillstreamError, ValueError, TypeError, KeyError) as error:
            if isinstance(error, _SinkFailed):
                raise error.cause from None
            if self.source.on_error == "raise":
                raise InvalidValue(f"{origin}: {error}") from error
            self._set_aside(state, message, str(error))
        state.done(message)
        return rows

    def _step(self, model: Any, chunk: Chunk) -> Any:
        """Predict and learn a chunk; returns the table to write."""
        answers = _answers(model, chunk, self.learn)
        return self.output(chunk, answers) if self.sink is not None else None

    def _write(self, sink: Sink | None, table: Any, origin: Origin) -> None:
        if sink is None:
            return
        last = self.written.get(id(sink), {}).get(origin.partition)
        if last is not None and order(origin.offset) <= order(last):
            return
        try:
            sink.write(table, origin)
        except (MillstreamError, ValueError, TypeError, KeyError) as error:
            raise _SinkFailed(error) from None

    def _set_aside(self, state: PartitionState, message: Message, reason: str) -> None:
        origin = Origin(self.source.source, message.partition, message.offset)
        data = None if message.data is None else message.data[:KEPT]
        letter = DeadLetter(*origin, reason, data)
        state.counts["set_aside"] += 1
        self.letters.append(letter)
        self.source.skipped.add(f"{origin}: {reason}")
        columns = {name: [str(value) if name == "offset" else value] for name, value in letter._asdict().items()}
        table = arrow.table(columns | {"data": arrow.array([data], arrow.binary())})
        try:
            self._write(self.aside, table, origin)
        except _SinkFailed as error:
            raise error.cause from None

    def _offsets(self) -> dict[str, Offset]:
        states = [self.shared] if self.shared is not None else list(self.states.values())
        return {partition: offset for state in states for partition, offset in state.offsets.items()}

    def _push(self) -> None:
        for sink in (self.sink, self.aside):
            if sink is not None:
                sink.push(self._offsets())

    def _store(self, states: list[PartitionState] | None = None) -> None:
        """Flush the sinks, save the models, commit the offsets; in this order."""
        if states is None:
            states = [self.shared] if self.shared is not None else list(self.states.values())
        changed = [state for state in states if state.changed]
        if not changed:
            return
        for sink in (self.sink, self.aside):
            if sink is not None:
                sink.flush(self._offsets())
        for state in changed:
            state.save()
            state.changed = False
        assert self.reader is not None, "messages come from a reader"
        self.reader.commit({name: offset for state in changed for name, offset in state.offsets.items()})

    def _measure(self) -> None:
        states = [self.shared] if self.shared is not None else list(self.states.values())
        progress = self.watch.progress
        for name, finished in self.finished.items():
            setattr(progress, name, finished + sum(state.counts[name] for state in states))
        progress.missing = self.reader.missing if self.reader is not None else 0
        self.watch.update(self.reader.lag() if self.reader is not None else None, [each.model for each in states])

    def _ask_sinks(self, partitions: list[str]) -> None:
        for sink in (self.sink, self.aside):
            if sink is not None:
                found = sink.written(self.source.source, partitions, self.reader)
                self.written.setdefault(id(sink), {}).update(found)

    # Assignments of partitions, called by the reader.

    def assigned(self, partitions: list[str]) -> Mapping[str, Offset]:
        offsets: dict[str, Offset] = {}
        for partition in partitions:
            folder = None if self.folder is None else self.folder / f"partition-{partition}"
            state = PartitionState(self.source, unlearned_copy(self.model), folder, HAND_OVER)
            self.states[partition] = state
            offsets.update(state.offsets)
        if self.reader is not None:
            self._ask_sinks(partitions)
        return offsets

    def revoked(self, partitions: list[str]) -> None:
        self._store([self.states[name] for name in partitions if name in self.states])
        self._drop(partitions)

    def lost(self, partitions: list[str]) -> None:
        for sink in (self.sink, self.aside):
            if sink is not None:
                sink.abandon()
        self._drop(partitions)

    def _drop(self, partitions: list[str]) -> None:
        for partition in partitions:
            state = self.states.pop(partition, None)
            if state is not None:
                for name, number in state.counts.items():
                    self.finished[name] += number
                state.close()

    def close(self) -> None:
        if self.reader is not None:
            self.reader.close()
        for state in (*self.states.values(), self.shared):
            if state is not None:
                state.close()

    def result(self, by_partition: bool, interrupted: bool) -> Processed:
        models = {name: state.model for name, state in self.states.items()}
        model = None if by_partition or self.shared is None else self.shared.model
        return Processed(model, models, self.watch.progress, list(self.letters), interrupted)


class _SinkFailed(ValueError):
    """An error of the sink, which is not an error of the message."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _answers(model: Any, chunk: Chunk, learn: bool) -> Any:
    role = role_of(model)
    assert role is not None, "the model was checked"
    if not learn:
        return (model.score_many if role.answer is Answer.SCORE else model.predict_many)(chunk.X)
    if role.truth is Truth.NONE:
        return model.step_many(chunk.X, w=chunk.w) if chunk.w is not None else model.step_many(chunk.X)
    return model.step_many(chunk.X, chunk.y, chunk.w)


def _default_output(model: Any) -> Callable[[Chunk, Any], Any]:
    role = role_of(model)
    name = "score" if role is not None and role.answer is Answer.SCORE else "prediction"
    key = model.key if isinstance(model, Keyed) else None

    def output(chunk: Chunk, answers: Any) -> Any:
        columns = {} if key is None else {str(key): chunk.X.column(key)}
        return arrow.table({**columns, name: arrow.array(answers)})

    return output


class _Signals:
    """Turns Ctrl-C and SIGTERM into a request to stop, in the main thread."""

    def __init__(self, stop: threading.Event) -> None:
        self.stop = stop
        self.asked = False
        self._held: dict[int, Any] = {}

    def __enter__(self) -> _Signals:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
                    self._held[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._held.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        again, self.asked = self.asked, True
        self.stop.set()
        if again:
            raise KeyboardInterrupt
