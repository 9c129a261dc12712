"""Predictions: returned immediately, and stored with their features so that a label can be learned later."""

from __future__ import annotations

import time
from typing import Any

from millstream.errors import MillstreamError
from millstream.serve.api.fields import as_json, checked_object, event_time, features, object_and_raw, optional_id
from millstream.serve.api.operation import WAIT, Operation, stream_of
from millstream.serve.event_reader import StoredEvent
from millstream.serve.fold import DEFERRED_END
from millstream.serve.in_flight import Unsettled
from millstream.serve.names import new_id
from millstream.serve.problems import problem_of
from millstream.serve.proposal import Proposal
from millstream.serve.records import Kind
from millstream.serve.requests import Call, Problem, Reply
from millstream.serve.served_model import Prediction, ServedModel, prediction_of
from millstream.serve.stream import Entry, Stream

__all__ = [
    "MEMBERS",
    "OPERATIONS",
    "STATUSES",
    "Answered",
    "durable",
    "event_members",
    "item_problem",
    "predict_all",
    "predicted_value",
    "stored_event",
]

MEMBERS = ("id", "key", "x", "ts", "trace")
_MEMBERS_OF_ONE = (*MEMBERS, "defer")
#: Seconds that a prediction waits while a learner written in Python is learning.
_LEARNING = 1.0


class Answered:
    """The predictions of all models of a stream for one example, and which of them is served."""

    __slots__ = ("name", "predictions", "served")

    def __init__(self, name: str, served: ServedModel, predictions: dict[str, Prediction]) -> None:
        self.name, self.served, self.predictions = name, served, predictions

    def stored(self, is_route: bool) -> str:
        """The members of an event's record, without the braces and without the features."""
        if is_route:
            each = {name: _members(prediction) for name, prediction in self.predictions.items()}
            return f'"m":{as_json(each)},"s":{as_json(self.name)}'
        return as_json(_members(self.predictions[self.name]))[1:-1]

    def reply(self, id: str, stream: Stream) -> dict[str, Any]:
        """The members of a reply."""
        prediction = self.predictions[self.name]
        found: dict[str, Any] = {
            "id": id,
            "model": self.name,
            "version": self.served.version,
            "seq": self.served.seq,
        }
        if stream.name != self.name:
            found["route"] = stream.name
        found["y"] = prediction.y
        if prediction.proba is not None:
            found["proba"] = {_key(label): p for label, p in prediction.proba}
        if prediction.interval is not None:
            found["interval"] = prediction.interval
        return found


def _members(prediction: Prediction) -> dict[str, Any]:
    found = {"y": prediction.y}
    if prediction.proba is not None:
        found["p"] = prediction.proba
    if prediction.interval is not None:
        found["i"] = prediction.interval
    return found


def _key(label: Any) -> str:
    return label if isinstance(label, str) else as_json(label)


def predict_all(server: Any, stream: Stream, x: dict[str, Any], key: str) -> Answered:
    """Predict with every model of a stream."""
    state = server.engine.state
    route = state.routes.get(stream.name)
    if route is None:
        served = state.models[stream.name]
        return Answered(stream.name, served, {stream.name: predicted(served, x)})
    chosen = route.serving(key)
    predictions = {}
    for name in route.members:
        try:
            predictions[name] = predicted(state.models[name], x)
        except (MillstreamError, Problem):
            # A failing challenger must not prevent the reply of the route.
            if name == chosen:
                raise
    return Answered(chosen, state.models[chosen], predictions)


def predicted(served: ServedModel, x: dict[str, Any]) -> Prediction:
    """Predict with one model; an exception of a learner written in Python becomes a problem that names it."""
    try:
        if served.is_native:
            return served.predict(x)
        return _predicted_by_python(served, x)
    except (MillstreamError, Problem):
        raise
    except BaseException as error:  # a learner written in Python may raise anything
        if not served.contains(error):
            raise
        detail = f"{served.title} raised {type(error).__name__}: {error}"[:500]
        raise Problem(500, "learner-failed", detail) from None


def predicted_value(served: ServedModel, x: dict[str, Any]) -> Any:
    """Predict with one model, without probabilities."""
    return predicted(served, x).y


def _predicted_by_python(served: ServedModel, x: dict[str, Any]) -> Prediction:
    # All models wait meanwhile, so a learner that never returns must not block the handler for long.
    if not served.lock.acquire(timeout=_LEARNING):
        raise Problem(503, "learner-busy", f"{served.title} has been learning for more than {_LEARNING:g} s")
    try:
        return served.predict(x)
    finally:
        served.lock.release()


def predict(call: Call) -> Reply | None:
    """One prediction."""
    stream = stream_of(call)
    try:
        return _predicted_one(call, stream)
    except (Problem, MillstreamError):
        call.server.counters.refuse(stream.name)
        raise


def _predicted_one(call: Call, stream: Stream) -> Reply | None:
    server = call.server
    body, raw = object_and_raw(call.request.body, "x")
    checked_object(body, _MEMBERS_OF_ONE)
    x = features(body.get("x"))
    now = server.engine.clock.now()
    at = event_time(body, now)
    id = optional_id(body)
    is_given = id is not None
    if id is None:
        id = new_id(now)
    elif (repeated := _repeated(call, stream, id, x)) is not None:
        return repeated
    start = time.perf_counter()
    answered = predict_all(server, stream, x, str(body.get("key") or id))
    server.counters.predicted(stream.name, time.perf_counter() - start)
    given = body.get("trace") or call.trace
    trace = f',"t":{as_json(str(given)[:128])}' if given else ""
    ts = "" if at is None else f',"ts":{at}'
    end = DEFERRED_END if body.get("defer") is True else "}"
    text = f'{{"x":{raw},{answered.stored(stream.name in server.engine.state.routes)}{trace}{ts}{end}'
    reply = answered.reply(id, stream)
    is_durable = call.request.query and call.query().get("wait") == "durable"
    if is_durable or body.get("defer") is True:
        # The native queue is for events that only wait for a label.
        proposal = Proposal(Kind.EVENT, stream, id, text, parsed=x, sent=len(call.request.body))
        if not is_durable:
            return Reply.json(reply | {"stored": server.try_propose(proposal)})
        proposal.answer = lambda outcome: call.respond(durable(outcome, reply))
        server.engine.committer.propose(proposal)
        return None
    is_stored = server.engine.committer.events.add(stream.number, id, text, stream.pending if is_given else None)
    if is_stored is None:
        # Another request with this id was answered in the meantime.
        raise Unsettled(stream.number, id)
    reply["stored"] = is_stored
    return Reply.json(reply)


def durable(outcome: Any, reply: dict[str, Any]) -> Reply:
    """The reply after the commit, with the number of the event's record."""
    if isinstance(outcome, BaseException):
        return problem_of(outcome).reply()
    return Reply.json(reply | {"stored": True, "durable": True, "event": outcome})


def _repeated(call: Call, stream: Stream, id: str, x: dict[str, Any]) -> Reply | None:
    """The first prediction, for a repeated request."""
    event = stored_event(call, stream, id, x)
    if event is None:
        return None
    name = event.body.get("s", stream.name)
    prediction = prediction_of(event.body, name)
    reply = {"id": id, "model": name, "seq": event.seq, "y": None if prediction is None else prediction.y}
    if prediction is not None and prediction.interval is not None:
        reply["interval"] = prediction.interval
    return Reply.json(reply | {"stored": True, "repeated": True})


def stored_event(call: Call, stream: Stream, id: str, x: dict[str, Any]) -> StoredEvent | None:
    """The event with an id, for a repeated request; a different example with the same id is refused.

    Raises `Unsettled` if the event is not in the state yet: the request is then handled again.
    """
    call.server.engine.committer.in_flight.check(stream.number, id)
    found = stream.pending.find(id)
    if found is None:
        return None
    entry = Entry(*found)
    event: StoredEvent = call.server.reader.event(entry.seq, entry.item)
    if event.id != id:
        return None
    if call.server.reader.record(entry.seq).kind not in (Kind.EVENT, Kind.EVENTS):
        raise Problem(409, "id-in-use", f"id: {id!r} belongs to an example that was learned", seq=entry.seq)
    if event.x != x:
        raise Problem(409, "id-in-use", f"id: {id!r} belongs to an event with other features", seq=entry.seq)
    return event


def event_members(answered: Answered, is_route: bool, trace: Any = None, at: int | None = None) -> Any:
    """The part of the predictions for one example that a batch record stores."""
    members = {name: _members(prediction) for name, prediction in answered.predictions.items()}
    own: dict[str, Any] = {"m": members, "s": answered.name} if is_route else members[answered.name]
    if trace:
        own["t"] = str(trace)[:128]
    if at is not None:
        own["ts"] = at
    return own if len(own) > 1 else own["y"]


def item_problem(index: int, error: Exception) -> dict[str, Any]:
    """The error of an item of a batch."""
    return {"item": index, **problem_of(error).describe()}


STATUSES = {
    400: "malformed JSON",
    404: "unknown model",
    409: "the id belongs to an event with other features",
    422: "a member is invalid",
    503: "overloaded; send it again after Retry-After",
}

OPERATIONS = (
    Operation("POST", "/v1/models/{model}/predict", predict, "predict", "Predict one example", STATUSES, WAIT),
)
