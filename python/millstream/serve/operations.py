"""Operations in the log: models, label policies, routes, versions, rollbacks, and single events."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from millstream._core import parse_json
from millstream.errors import InvalidState, InvalidValue, MillstreamError, UnknownName
from millstream.serve.fates import Fate
from millstream.serve.policy import LabelPolicy
from millstream.serve.records import Record
from millstream.serve.route import Route
from millstream.serve.served_model import ServedModel
from millstream.serve.stream import WAITING, Stream

if TYPE_CHECKING:
    from millstream.serve.fold import State

__all__ = ["LostState", "MissingModel", "Operations"]


class MissingModel(InvalidValue):
    """A learner written in Python was not passed to the server, so that its records cannot be applied."""


class LostState(InvalidState):
    """The state after a rollback was saved, is damaged, and cannot be computed again."""


class Operations:
    """Applies operations to a state.

    `make_model` creates the model of a "create" record, and `rebuild` computes the state of a model for a
    rollback; both are deterministic functions of the log and of the data folder. `keep_version` saves the state of
    a model that gets a name.
    """

    def __init__(
        self,
        state: State,
        make_model: Callable[[dict[str, Any]], Any],
        rebuild: Callable[[str, dict[str, Any], int], ServedModel],
        keep_version: Callable[[ServedModel, int], None],
    ) -> None:
        self._state = state
        self._make_model, self._rebuild, self._keep_version = make_model, rebuild, keep_version

    def apply(self, record: Record) -> Any:
        """Apply an operation. Returns the error of one that cannot be applied."""
        try:
            return self._apply(record, parse_json(record.body))
        except (LostState, MissingModel):
            raise
        except MillstreamError as error:
            # A replay applies the same record and must reach the same state.
            return error
        except KeyError as error:
            return UnknownName(f"serve: {error.args[0]!r} has been deleted")

    def _apply(self, record: Record, body: dict[str, Any]) -> None:
        state, op = self._state, body["op"]
        if op == "create":
            self._create(record, body)
        elif op == "delete":
            state.models.pop(body["model"], None)
            self._drop_stream(body["model"])
        elif op == "policy":
            state.by_name[body["stream"]].policy = LabelPolicy.of(body["policy"])
        elif op == "rollback":
            self._roll_back(record, body)
        elif op == "route":
            self._route(record, body)
        elif op == "unroute":
            state.routes.pop(body["route"], None)
            self._drop_stream(body["route"])
        elif op == "promote":
            state.routes[body["route"]].promote(body["model"], record.seq, record.time, body["why"])
        elif op == "version":
            state.models[body["model"]].name_version(body["version"], record.seq)
            self._keep_version(state.models[body["model"]], record.seq)
        elif op == "activate":
            state.by_name[body["stream"]].pending.mark(body["id"], WAITING, 0)
        elif op == "forget":
            self._forget(state.by_name[body["stream"]], body["id"])
        elif op != "skip":
            # Skipped records are known before a replay starts.
            raise InvalidValue(f"serve: unknown operation {op!r}")

    def _create(self, record: Record, body: dict[str, Any]) -> None:
        served = ServedModel(
            body["model"],
            self._make_model(body),
            body["metrics"],
            folder_id=body["folder_id"],
            native=body["native"],
        )
        self._state.models[served.name] = served
        self._add_stream(record.stream, served.name, LabelPolicy.of(body["policy"]))

    def _forget(self, stream: Stream, id: str) -> None:
        found = stream.pending.find(id)
        if found is not None:
            stream.pending.remove(id)
            stream.settle((found[0], found[1]), Fate.EXPIRED)

    def _roll_back(self, record: Record, body: dict[str, Any]) -> None:
        state, name = self._state, body["model"]
        rebuilt = self._rebuild(name, body, record.seq)
        if rebuilt.folder_id != state.models[name].folder_id:
            raise InvalidValue(
                f"serve: model {name!r} did not exist at record {body['to']}; another one had its name"
            )
        rebuilt.take_versions(state.models[name], body["to"], record.seq)
        rebuilt.seq = record.seq
        state.models[name] = rebuilt
        if state.rollbacks is not None:
            state.rollbacks.append((record.seq, body))

    def _route(self, record: Record, body: dict[str, Any]) -> None:
        state, name = self._state, body["route"]
        known = state.routes.get(name)
        state.routes[name] = Route.of(body, known)
        if known is None:
            self._add_stream(record.stream, name, LabelPolicy.of(body["policy"]))
        else:
            state.by_name[name].policy = LabelPolicy.of(body["policy"])

    def _add_stream(self, number: int, name: str, policy: LabelPolicy) -> None:
        state, stream = self._state, Stream(number, name, policy)
        state.last_stream = max(state.last_stream, number)
        state.streams[number] = state.by_name[name] = stream

    def _drop_stream(self, name: str) -> None:
        stream = self._state.by_name.pop(name, None)
        if stream is not None:
            del self._state.streams[stream.number]
