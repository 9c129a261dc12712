"""Rollbacks: the state of a model after a record, without the labels of excluded events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from millstream._echo import quoted
from millstream.errors import InvalidValue, MillstreamError
from millstream.serve.operations import LostState, MissingModel
from millstream.serve.served_model import ServedModel
from millstream.serve.store_errors import StoreDamaged, StoreFailed, StoreFull

if TYPE_CHECKING:
    from millstream.serve.engine import Engine
    from millstream.serve.fold import State

__all__ = ["Rollbacks"]


class Rollbacks:
    """Computes the states of rollbacks from the log of an engine and from the states that it has kept.

    With `salvage`, a recovery leaves out a rollback whose state is lost.
    """

    def __init__(self, engine: Engine, *, salvage: bool) -> None:
        self._engine, self._salvage = engine, salvage
        #: Model states computed by replays within the current rebuild.
        self._rebuilt: dict[tuple[str, int, frozenset[str]], tuple[dict[str, Any], dict[str, bytes]]] = {}
        self._depth = 0

    def rebuild(self, name: str, body: dict[str, Any], seq: int) -> ServedModel:
        """The model after record `to`, without the labels of the excluded events: a replay into an empty state.

        The result of the rollback in record `seq` is kept, because a later recovery needs it once older records
        are trimmed.
        """
        to, exclude, folder_id = body["to"], set(body.get("exclude", ())), body["folder_id"]
        done = self._engine.kept.read(name, folder_id, seq)
        if done is None and not exclude:
            done = self._engine.kept.read(name, folder_id, to)
        if done is None:
            try:
                done = self._replayed_once(name, to, frozenset(exclude), folder_id)
            except MissingModel:
                raise
            except MillstreamError as error:
                raise self._unrestorable(name, folder_id, seq, error) from None
        if seq:
            self._engine.kept.write(done, seq)
        return done

    def _unrestorable(self, name: str, folder_id: str, seq: int, error: MillstreamError) -> MillstreamError:
        """The error of a rollback whose state could neither be read nor be computed.

        A rollback that was refused when it was requested is not applied in a replay either. A saved state shows
        that it was applied: without it, every later state would silently differ from the original.
        """
        engine = self._engine
        if isinstance(error, LostState):
            # A request is refused; only a recovery cannot go on.
            return error if engine.is_recovering or self._depth else InvalidValue(str(error))
        if engine.is_recovering and isinstance(error, StoreDamaged | StoreFailed | StoreFull):
            return LostState(str(error))
        what = f"the rollback of model {quoted(name)} in record {seq}"
        fault = engine.kept.fault(folder_id, seq)
        if fault is not None:
            file = engine.kept.path(folder_id, seq)
            if not (engine.is_recovering and self._salvage):
                reason = str(error).removeprefix("serve: ")
                hint = "; --salvage starts without this rollback" if engine.is_recovering else ""
                return LostState(f"{file} cannot be used ({fault}), but {what} needs it: {reason}{hint}")
            file.replace(file.with_name(f"{file.name}.damaged"))
        if engine.is_recovering:
            engine.recovery.note(f"{what} is not applied: {str(error).removeprefix('serve: ')}")
        return error

    def _replayed_once(self, name: str, to: int, exclude: frozenset[str], folder_id: str) -> ServedModel:
        """Restore the result of an earlier rollback. A replay contains the rollbacks before it, which are replays
        too. Each is computed once; otherwise every further rollback would take twice as long."""
        known = self._rebuilt.get((name, to, exclude))
        if known is not None:
            return ServedModel.restored(name, *known)
        self._depth += 1
        try:
            done = self._replayed(name, to, exclude, folder_id)
        finally:
            self._depth -= 1
            if not self._depth:
                self._rebuilt.clear()
        if self._depth and done.is_native:
            self._rebuilt[name, to, exclude] = done.snapshot()
        return done

    def _replayed(self, name: str, to: int, exclude: frozenset[str], folder_id: str) -> ServedModel:
        """The model after record `to`. The last rollback before it determines the model, so the labels are also
        excluded from that rollback, from the last one before it, and so on.

        Rollbacks between them are applied as they were: they only matter for which labels are refused meanwhile.
        Otherwise each combination of rollbacks would need a replay of its own.
        """
        state = self._fold(name, to, exclude)
        if not exclude:
            return state.models[name]
        rollbacks = [each for each in state.rollbacks or () if each[1]["folder_id"] == folder_id]
        found = state.models[name]
        parts: list[tuple[int, frozenset[str], int]] = []
        while True:
            last = next((each for each in reversed(rollbacks) if each[0] <= to), None)
            if last is None:
                break
            parts.append((to, exclude, last[0]))
            to, exclude = last[1]["to"], exclude.union(last[1]["exclude"])
        if parts:
            found = self._fold(name, to, exclude).models[name]
        for end, excluded, seq in reversed(parts):
            found = self._fold(name, end, excluded, {seq: found}).models[name]
        return found

    def _fold(
        self, name: str, to: int, exclude: frozenset[str], known: Mapping[int, ServedModel] | None = None
    ) -> State:
        """The state after record `to`, whose model has not learned the excluded labels. `known` are the results of
        rollbacks of this model by their records."""

        def rebuild(model: str, body: dict[str, Any], seq: int) -> ServedModel:
            found = (known or {}).get(seq)
            return self.rebuild(model, body, seq) if found is None else found

        # A state without the excluded labels must not be stored as a version.
        state = self._engine.empty_state(lambda served, seq: None, rebuild)
        state.excluded, state.rollbacks = {name: exclude}, []
        if not exclude:
            found, _ = self._engine.newest_snapshot(to)
            if found is not None and any(data["name"] == name for data in found.header["models"]):
                state.restore(found.header, found.blobs)
        if state.seq + 1 < self._engine.store.first_seq:
            raise InvalidValue(
                f"serve: cannot restore record {to}: the log starts at record {self._engine.store.first_seq}"
            )
        self._engine.replay(state, to)
        if name not in state.models:
            raise InvalidValue(f"serve: model {quoted(name)} did not exist at record {to}")
        return state
