"""Learning a labelled event: each model of the stream learns the event, and its served prediction is scored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from millstream.errors import MillstreamError
from millstream.serve import promotion
from millstream.serve.fates import Fate, Outcome
from millstream.serve.served_model import ServedModel, prediction_of
from millstream.serve.skips import REASON
from millstream.serve.stream import Stream

if TYPE_CHECKING:
    from millstream.serve.fold import State

__all__ = ["Learning"]

#: Looking up an enum member takes 80 ns, and each label needs several.
_LEARNED, _SCORED, _QUARANTINED = Fate.LEARNED, Fate.SCORED, Fate.QUARANTINED
_new = tuple.__new__


class Learning:
    """Passes labelled events to the models of a state."""

    def __init__(self, state: State) -> None:
        self._state = state

    def members(self, stream: Stream) -> Iterable[str]:
        """The names of the models of a stream."""
        route = self._state.routes.get(stream.name)
        return (stream.name,) if route is None else route.members

    def learns_without_labels(self, stream: Stream) -> bool:
        """Whether a model of a stream learns events when they arrive."""
        models = self._state.models
        return any(models[name].learns_without_labels for name in self.members(stream))

    def native_model(self, stream: Stream) -> ServedModel | None:
        """The model of a stream if its labels can be learned natively, many in one call."""
        state = self._state
        if stream.name in state.routes or stream.collected or state.is_skipping:
            return None
        if state.excluded.get(stream.name):
            return None
        if stream.policy.learn_when != "on_label":
            return None
        served = state.models[stream.name]
        return None if served.label_learner is None else served

    def learn(
        self,
        stream: Stream,
        id: str,
        x: Any,
        y: Any,
        w: float,
        served_as: dict[str, Any] | None,
        seq: int,
        time: int,
    ) -> Outcome:
        """Learn one example with every model of a stream; without `served_as`, it is not scored."""
        state = self._state
        if state.is_skipping:
            return self.skip(stream, id, y, seq, time)
        fate = _LEARNED
        route = state.routes.get(stream.name)
        champion = stream.name if route is None else route.champion
        losses: dict[str, float | None] = {}
        for name in (champion,) if route is None else route.members:
            served = state.models[name]
            if state.excluded and id in state.excluded.get(name, ()):
                continue
            try:
                if served.learns_without_labels:
                    served.check(y, w)
                    fate = _SCORED
                elif served.is_native:
                    served.learn(x, y, w, state.seq)
                else:
                    with served.lock:
                        served.learn(x, y, w, state.seq)
            except BaseException as error:  # a learner written in Python may raise anything
                if not served.contains(error):
                    raise
                text = str(error) if isinstance(error, MillstreamError) else f"{served.title}: {error!r}"
                stream.refuse(id, seq, time, text, y)
                if name == champion:
                    # The event waits for a label that can be learned; then all models learn it, once.
                    return Outcome(_QUARANTINED, seq, text)
                continue
            if served_as is not None:
                prediction = prediction_of(served_as, name)
                if prediction is not None:
                    served.score(prediction, y, w, state.seq, time)
                    if route is not None:
                        losses[name] = promotion.loss(served.role, prediction.y, y)
        if route is not None and losses:
            route.observe(losses, seq, time, state.models)
        outcome: Outcome = _new(Outcome, (fate, seq, ""))
        return outcome

    def skip(self, stream: Stream, id: str, y: Any, seq: int, time: int) -> Outcome:
        """Quarantine a label or an example of a skipped record."""
        stream.refuse(id, seq, time, REASON, y, kind="skipped")
        return Outcome(_QUARANTINED, seq, REASON)

    def learn_unlabelled(self, stream: Stream, id: str, x: Any, seq: int, time: int) -> None:
        """Learn the features of an event with the models of a stream that need no label."""
        for name in self.members(stream):
            served = self._state.models[name]
            if not served.learns_without_labels:
                continue
            if self._state.is_skipping:
                self.skip(stream, id, None, seq, time)
                return
            try:
                with served.lock:
                    served.learn_unlabelled(x, seq)
            except BaseException as error:  # a learner written in Python may raise anything
                if not served.contains(error):
                    raise
                stream.refuse(id, seq, time, f"{served.title}: {error}")
