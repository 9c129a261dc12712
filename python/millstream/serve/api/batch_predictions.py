"""Many predictions in one request, stored as one record.

One native model predicts all examples of a batch together. For routes, learners written in Python, probabilities
and batches with a bad item, examples are predicted one by one; bad items are reported, and the others are
predicted.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pyarrow as pa

from millstream import roles
from millstream._core import IdRange, parse_json, predict_lines, write_json
from millstream._native import Columns, predict_columns
from millstream.errors import MillstreamError
from millstream.serve.api.bodies import MOST_ITEMS, Batch, batch_of, column_bytes, is_lines, table_of
from millstream.serve.api.fields import MOST_FEATURES, checked_object, event_time, features, optional_id
from millstream.serve.api.operation import WAIT, Operation, stream_of
from millstream.serve.api.predictions import (
    MEMBERS,
    STATUSES,
    Answered,
    durable,
    event_members,
    item_problem,
    predict_all,
)
from millstream.serve.batches import MEMBER_COLUMNS, pack_arrow_events, pack_events, pack_lines
from millstream.serve.formats import ARROW, NDJSON
from millstream.serve.names import new_ids
from millstream.serve.proposal import Proposal
from millstream.serve.records import Kind
from millstream.serve.requests import Call, Problem, Reply
from millstream.serve.served_model import ServedModel, is_native_method
from millstream.serve.stream import Stream

__all__ = ["OPERATIONS"]

#: Columns whose numbers a float holds exactly.
_EXACT = {
    kind: np.dtype(kind.to_pandas_dtype())
    for kind in (
        *(pa.float64(), pa.float32(), pa.int32(), pa.int16()),
        *(pa.int8(), pa.uint32(), pa.uint16(), pa.uint8()),
    )
}


class _Examples:
    """The valid examples of a batch, and the result of each item: None until it is predicted."""

    def __init__(self, call: Call, stream: Stream, batch: Batch) -> None:
        self.results: list[dict[str, Any] | None] = []
        self.ids: list[str] = []
        self.xs: list[dict[str, Any]] = []
        self.bodies: list[dict[str, Any]] = []
        #: The times that clients gave, by id, and the ids that they chose.
        self.times: dict[str, int] = {}
        self.given: set[str] = set()
        now = call.server.engine.clock.now()
        fresh = iter(new_ids(now, len(batch.items)).texts())
        in_flight = call.server.engine.committer.in_flight
        errors = batch.errors
        for index, body in enumerate(batch.items):
            if _is_common(body) and index not in errors:
                self.ids.append(next(fresh))
            else:
                try:
                    if index in errors:
                        raise Problem(400, "malformed-json", errors[index])
                    body = checked_object(body, MEMBERS, f"item {index}")
                    features(body.get("x"), f"item {index}: x")
                    at = event_time(body, now)
                    id = optional_id(body)
                    if id is None:
                        id = next(fresh)
                    # In this order, because an event moves from the queue to the state.
                    elif (
                        id in self.given or in_flight.has(stream.number, id) or stream.pending.find(id) is not None
                    ):
                        raise Problem(409, "id-in-use", f"id: {id!r} belongs to another event")
                    else:
                        self.given.add(id)
                except (Problem, MillstreamError) as error:
                    call.server.counters.refuse(stream.name)
                    self.results.append(item_problem(index, error))
                    continue
                self.ids.append(id)
                if at is not None:
                    self.times[id] = at
            self.bodies.append(body)
            self.xs.append(body["x"])
            self.results.append(None)

    def drop(self, dropped: set[int]) -> None:
        """Remove examples that could not be predicted."""
        self.given -= {self.ids[place] for place in dropped}
        self.ids = [id for place, id in enumerate(self.ids) if place not in dropped]
        self.bodies = [body for place, body in enumerate(self.bodies) if place not in dropped]
        self.xs = [body["x"] for body in self.bodies]


def _is_common(body: Any) -> bool:
    """Whether an item consists of features only, and needs no further checks."""
    if type(body) is not dict or len(body) != 1:
        return False
    x = body.get("x")
    return type(x) is dict and len(x) <= MOST_FEATURES


def predict_batch(call: Call) -> Reply | None:
    """Many predictions in one request, stored as one record. A bad item is reported and does not stop the
    others."""
    server, stream = call.server, stream_of(call)
    served = _single(server, stream)
    if served is not None and (table := table_of(call)) is not None:
        columns = _exact_columns(table)
        reply = None if columns is None else _predict_table(call, stream, served, table, columns)
        if reply is not None:
            return reply[0]
    elif served is not None and is_lines(call):
        answered = _predict_lines(call, stream, served)
        if answered is not None:
            return answered[0]
    batch = batch_of(call, MEMBERS)
    examples = _Examples(call, stream, batch)
    start = time.perf_counter()
    trace = call.trace
    ys = None if served is None or trace else _predicted(served, examples.xs)
    if ys is None or any("trace" in body for body in examples.bodies):
        stored, replies = _one_by_one(call, stream, examples, trace)
    else:
        stored, replies = _timed(ys, examples), _replies(served, stream.name, examples.ids, ys)  # type: ignore[arg-type]
    server.counters.predicted(stream.name, time.perf_counter() - start, len(replies))
    predicted = iter(replies)
    results = [next(predicted) if each is None else each for each in examples.results]
    if not examples.ids:
        return batch.reply(results)
    body = _packed(call, batch, examples, stored)
    sent = len(call.request.body) if _is_durable(call) else 0
    proposal = Proposal(Kind.EVENTS, stream, None, body, parsed=examples.ids, given=examples.given, sent=sent)
    return _propose(call, proposal, lambda: batch.reply(results), lambda: batch.reply(_not_stored(results)))


def _predict_lines(call: Call, stream: Stream, served: ServedModel) -> tuple[Reply | None] | None:
    """The reply to NDJSON of features alone; None if an example needs more or cannot be predicted."""
    if call.trace or not is_native_method(served.model, "predict_one"):
        return None
    server = call.server
    start = time.perf_counter()
    data = call.request.body
    fresh = new_ids(server.engine.clock.now(), MOST_ITEMS)
    found = predict_lines(served.model, data, fresh, stream.name, served.version, served.seq)
    if found is None:
        return None
    count, replies, ys = found
    server.counters.predicted(stream.name, time.perf_counter() - start, count)
    ids = fresh.take(count)
    body = pack_lines(ids, data, ys)
    assert body is not None
    proposal = Proposal(Kind.EVENTS, stream, None, body, parsed=ids)

    def not_stored() -> Reply:
        lines = replies.splitlines()
        return Reply(200, b"".join([line[:-1] + b',"stored":false}\n' for line in lines]), NDJSON)

    return (_propose(call, proposal, lambda: Reply(200, replies, NDJSON), not_stored),)


def _single(server: Any, stream: Stream) -> ServedModel | None:
    """The model of a stream if it can predict many examples together: native, no route, no probabilities or
    intervals."""
    served: ServedModel | None = server.engine.state.models.get(stream.name)
    if served is None or stream.name in server.engine.state.routes or not served.is_native or served.wants_proba:
        return None
    if served.has_interval:
        return None
    return served if served.role in (roles.CLASSIFIER, roles.REGRESSOR) else None


def _predicted(served: ServedModel, xs: list[dict[str, Any]]) -> list[Any] | None:
    """The predictions of all examples, or None if one of them cannot be predicted."""
    predict = served.model.predict_one
    try:
        ys = [predict(x) for x in xs]
    except MillstreamError:
        return None
    return ys if served.role is roles.CLASSIFIER or _are_finite(ys) else None


def _timed(ys: list[Any], examples: _Examples) -> list[Any]:
    """The predictions as a record stores them, with the times that clients gave."""
    times = examples.times
    if not times:
        return ys
    return [{"y": y, "ts": times[id]} if id in times else y for id, y in zip(examples.ids, ys, strict=True)]


def _are_finite(ys: list[Any]) -> bool:
    return all(type(y) is float and y - y == 0.0 for y in ys)


def _replies(served: ServedModel, name: str, ids: list[str], ys: list[Any]) -> list[dict[str, Any]]:
    version, seq = served.version, served.seq
    return [
        {"id": id, "model": name, "version": version, "seq": seq, "y": y} for id, y in zip(ids, ys, strict=True)
    ]


def _one_by_one(
    call: Call, stream: Stream, examples: _Examples, trace: str | None
) -> tuple[list[Any], list[dict[str, Any]]]:
    """Predict each example separately; errors become results."""
    server = call.server
    is_route = stream.name in server.engine.state.routes
    places = [index for index, result in enumerate(examples.results) if result is None]
    stored: list[Any] = []
    replies: list[dict[str, Any]] = []
    dropped: set[int] = set()
    for place, (index, id, body) in enumerate(zip(places, examples.ids, examples.bodies, strict=True)):
        try:
            answered: Answered = predict_all(server, stream, body["x"], str(body.get("key") or id))
        except (Problem, MillstreamError) as error:
            server.counters.refuse(stream.name)
            examples.results[index] = item_problem(index, error)
            dropped.add(place)
            continue
        stored.append(event_members(answered, is_route, body.get("trace") or trace, examples.times.get(id)))
        replies.append(answered.reply(id, stream))
    if dropped:
        examples.drop(dropped)
    return stored, replies


def _packed(call: Call, batch: Batch, examples: _Examples, stored: list[Any]) -> str | bytes:
    """The body of the record: the examples as sent, unless some of them were refused."""
    if any(type(value) in (dict, list) for x in examples.xs for value in x.values()):
        text = pack_events(examples.ids, [write_json(examples.xs)[1:-1].decode()], stored)
        # In the record they are nested deeper than in the request, and a replay must be able to read them.
        parse_json(text)
        return text
    if len(examples.ids) == len(batch.items):
        if batch.kind == ARROW:
            return pack_arrow_events(examples.ids, stored, call.request.body)
        if batch.kind == NDJSON:
            lines = pack_lines(examples.ids, call.request.body, stored)
            if lines is not None:
                return lines
    return pack_events(examples.ids, [write_json(examples.xs)[1:-1].decode()], stored)


def _is_durable(call: Call) -> bool:
    return bool(call.request.query) and call.query().get("wait") == "durable"


def _propose(call: Call, proposal: Proposal, reply: Any, not_stored: Any) -> Reply | None:
    if _is_durable(call):
        proposal.answer = lambda outcome: call.respond(
            durable(outcome, {}) if isinstance(outcome, BaseException) else reply()
        )
        call.server.engine.committer.propose(proposal)
        return None
    found: Reply = reply() if call.server.try_propose(proposal) else not_stored()
    return found


def _not_stored(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each | {"stored": False} if "y" in each else each for each in results]


# ------------------------------------------------------------------------------------------------------ tables


def _exact_columns(table: pa.Table) -> Columns | None:
    """The columns of a table that has features only, all of them finite numbers; None for another table."""
    if not table.num_rows:
        return None
    batches = table.to_batches()
    if len(batches) > 1:
        batches = table.combine_chunks().to_batches()
    columns: Columns = []
    with np.errstate(all="ignore"):
        for name, column in zip(table.column_names, batches[0].columns, strict=True):
            dtype = _EXACT.get(column.type)
            if dtype is None or column.null_count or name in MEMBER_COLUMNS or name == "x":
                return None
            values = np.frombuffer(column.buffers()[1], dtype, len(column), column.offset * dtype.itemsize)
            # The sum is not finite if a value is not; the functions of pyarrow take four times as long.
            if dtype.kind == "f" and not math.isfinite(np.add.reduce(values)):
                return None
            columns.append((name, values, None))
    return columns


def _id_column(ids: IdRange) -> pa.Array:
    texts = ids.joined()
    offsets = np.arange(0, len(texts) + 1, len(texts) // len(ids), dtype=np.int32)
    return pa.StringArray.from_buffers(len(ids), pa.py_buffer(offsets), pa.py_buffer(texts))


def _predict_table(
    call: Call, stream: Stream, served: ServedModel, table: pa.Table, columns: Columns
) -> tuple[Reply | None] | None:
    """The reply to a table of numbers; None if an example cannot be predicted."""
    server = call.server
    if call.trace:
        return None
    start = time.perf_counter()
    seq = served.seq
    try:
        found = predict_columns(served.model, columns, table.num_rows)
        if found is None:
            found = served.model.predict_many(table)
    except MillstreamError:
        return None
    ys = found.tolist()
    if served.role is roles.REGRESSOR and not _are_finite(ys):
        return None
    ids = new_ids(server.engine.clock.now(), len(ys))
    server.counters.predicted(stream.name, time.perf_counter() - start, len(ys))
    proposal = Proposal(Kind.EVENTS, stream, None, pack_arrow_events(ids, ys, call.request.body), parsed=ids)

    def reply(**more: Any) -> Reply:
        seqs = np.full(len(ys), seq, np.int64)
        columns = {"id": _id_column(ids), "seq": seqs, "y": found if found.dtype.kind in "bif" else ys}
        return Reply(200, column_bytes(columns | more), ARROW)

    return (_propose(call, proposal, reply, lambda: reply(stored=[False] * len(ys))),)


OPERATIONS = (
    Operation(
        "POST",
        "/v1/models/{model}/predict:batch",
        predict_batch,
        "predict",
        "Predict many examples: a JSON array, NDJSON or Arrow IPC",
        STATUSES,
        WAIT,
    ),
)
