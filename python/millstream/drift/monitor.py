"""Several detectors at once beside a model, and what kind of drift they see."""

from __future__ import annotations

import base64
import copy
import json
import numbers
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from html import escape
from pathlib import Path
from typing import Any, Self

from millstream import _core
from millstream._display import held_by, memory_of
from millstream._echo import quoted, visible
from millstream._part import shown_part, unlearned_copy
from millstream._python_loop import teach
from millstream.base import Features, Model
from millstream.drift.base import takes_rows
from millstream.drift.event import Event
from millstream.drift.monitored import Monitored
from millstream.drift.row_counter import Places
from millstream.errors import InvalidState, InvalidType, InvalidValue, MillstreamError
from millstream.roles import LEARNERS, one_of, role_of

__all__ = ["Event", "Monitor"]

_NAME = "drift.Monitor"
#: How the files of monitors began before they had the format of models.
_JSON_FORMAT = b'{"format": "millstream.drift.Monitor 1"'
#: Updates from one copy of the detectors to the next, which is what leads back when one of them refuses.
_KEPT = 64
#: Events that are kept: a detector that finds something in every row must not fill the memory.
_MOST_EVENTS = 10_000


class Monitor:
    """Runs several detectors at once beside any model, and distinguishes real drift from virtual drift.

    Detectors of numbers receive the errors of the model. Rising errors mean that p(y|x) has changed: *real* drift,
    which the model has not learned yet. Detectors of rows, which need no labels, find changes of p(x): *virtual*
    drift, which may be harmless. If both kinds occur within `together` rows, the event is of *both* kinds: the
    rows come from elsewhere, and the model is wrong there.

    Rows and labels may arrive separately: `update(x)` passes a row, `update(y_true=…, y_pred=…)` a label that
    arrived later. Each call returns the drift events that it caused. `events` holds the last 10,000 of them, and
    `event_count` counts all.

    Falling errors are not drift. Detectors such as `ADWIN` find them in every model that is still learning. They
    are recorded in `improvements`, as events of kind "improvement" with `direction == "down"`. Improvements are
    not returned by `update`, do not set `drift_detected`, and never make a virtual drift one of both kinds.

    Parameters
    ----------
    detectors
        Detectors as a list, or a dict by name: those of `drift`, or your own with `update` and `drift_detected`;
        one with `drifting_features` is told rows.
    together
        Largest distance in rows at which real and virtual drift count as one event of both kinds.
    loss
        A function of the truth and the prediction, instead of 0 or 1 for classes and the absolute error.

    Examples
    --------
    >>> from millstream import drift, linear_model, synth
    >>> a, b = synth.Sine(classification_function=0), synth.Sine(classification_function=1)
    >>> model, monitor = linear_model.LogisticRegression(), drift.Monitor([drift.ADWIN()])
    >>> for x, y in synth.Drift(a, b, position=2000, width=0).take(3000):
    ...     for event in monitor.update(x, y, model.predict_one(x)):
    ...         print(event.kind, event.row, event.since, event.detector)
    ...     model.learn_one(x, y)
    real 2016 2001 ADWIN
    >>> [event.row < 2000 for event in monitor.improvements][:1]
    [True]

    References
    ----------
    Gama, J., Žliobaitė, I., Bifet, A., Pechenizkiy, M. and Bouchachia, A. (2014). A survey on concept drift
    adaptation. Section 2.1.
    """

    def __init__(self, detectors: Any, *, together: int = 500, loss: Any = None) -> None:
        if isinstance(together, bool) or not isinstance(together, int) or together < 0:
            raise InvalidValue(f"drift.Monitor: together must be a whole number >= 0, got {quoted(together)}")
        if loss is not None and not callable(loss):
            raise InvalidType(
                f"drift.Monitor: loss must be a function of truth and prediction, got {quoted(loss)}"
            )
        self.together, self.loss = together, loss
        self._detectors = _named(detectors)
        #: The newest 10,000 drift events, the oldest of them first, and how many there were in all.
        self.events: list[Event] = []
        self.event_count = 0
        #: The newest 10,000 improvements (errors fell, which is not drift), and how many there were in all.
        self.improvements: list[Event] = []
        self.improvement_count = 0
        #: Rows seen, and labels heard, those included to which the model had no answer.
        self.rows = self.labels = 0
        self._places = Places()
        #: The row at which each kind was last seen.
        self._last: dict[str, int] = {}
        self._newest: list[Event] = []
        self._before: dict[str, Any] | None = None
        self._since: list[tuple[Any, float | None]] = []

    @property
    def detectors(self) -> dict[str, Any]:
        """The detectors by name, as they are now."""
        return dict(self._detectors)

    @property
    def watched(self) -> dict[str, list[str]]:
        """The names of the detectors that are told "errors", and of those that are told "rows"."""
        rows = [name for name, detector in self._detectors.items() if takes_rows(detector)]
        return {"errors": [name for name in self._detectors if name not in rows], "rows": rows}

    @property
    def memory(self) -> int:
        """Bytes that the detectors, the copies of them that lead back, and the events hold."""
        parts = [*self._detectors.values(), *(self._before or {}).values()]
        held = sum(map(held_by, parts))
        # All of them are about as large as one, and evaluations ask often.
        lists: list[list[Any]] = [self._since, self.events, self.improvements]
        return held + sum(memory_of(each[-1:]) * len(each) for each in lists)

    @property
    def drift_detected(self) -> bool:
        """Whether the last update caused a drift event."""
        return bool(self._newest)

    @property
    def warning_detected(self) -> bool:
        """Whether a detector warns of drift; a warning that errors fall does not count."""
        return any(
            getattr(detector, "warning_detected", False) and not _improved(detector)
            for detector in self._detectors.values()
        )

    def update(
        self, x: Any = None, y_true: Any = None, y_pred: Any = None, *, row: int | None = None
    ) -> list[Event]:
        """Pass a row, a label with its prediction, or both; returns the drift events that this caused.

        A label that comes with its row is of that row. One that comes later is of the row after that of the label
        before, unless `row`, counted from 0, says which row it is of. A prediction of None, of a model that knows
        nothing yet, is not judged, and a `y_true` of None is a label that never came; both count as rows all the
        same. Instead of a row, x may be a number: how wrong the model was, if you have judged it yourself, for the
        detectors of errors. All detectors are told, or none: if one refuses, all are as they were.
        """
        error: float | None = None
        heard = y_true is not None
        if x is not None and not isinstance(x, Mapping) and not hasattr(x, "__len__"):
            x, error, heard = None, self._given_error(x, y_true, y_pred), True
        elif y_true is not None and y_pred is not None:
            error = self._error(y_true, y_pred)
        place = self._place(x is not None, row)
        if self._before is None or len(self._since) >= _KEPT:
            self._before, self._since = copy.deepcopy(self._detectors), []
        try:
            told = self._tell(x, error)
        except BaseException:
            # Some have heard of it.
            self._go_back(self._since)
            raise
        self._since.append((dict(x) if isinstance(x, Mapping) else x, error))
        if heard or (x is None and y_pred is not None):
            self._places.next = place + 1
        if error is not None:
            self._places.judge(place)
        self.rows += x is not None
        self.labels += heard
        return self._noted(told, place)

    def _given_error(self, x: Any, y_true: Any, y_pred: Any) -> float:
        if y_true is not None or y_pred is not None or not isinstance(x, numbers.Real):
            raise InvalidType(f"drift.Monitor: x must be a row of features, got {quoted(x)}")
        if not self.watched["errors"]:
            told = f"{', '.join(self._detectors)} {'is' if len(self._detectors) == 1 else 'are'} told rows"
            raise InvalidType(f"drift.Monitor: x must be a row of features, as {told}, got the number {quoted(x)}")
        try:
            return float(x)
        except OverflowError:
            raise InvalidValue(f"drift.Monitor: x must fit in a float, got {quoted(x)}") from None

    def _place(self, saw: bool, row: Any) -> int:
        """The row that a label is of."""
        if row is None:
            return self.rows if saw else self._places.next
        if isinstance(row, bool) or not isinstance(row, numbers.Integral):
            raise InvalidType(f"drift.Monitor: row must be a whole number, got {quoted(row)}")
        place, seen = int(row), self.rows + saw
        if place < 0 or (seen and place >= seen):
            which = f"a row that was seen, from 0 to {seen - 1}" if seen else "counted from 0"
            raise InvalidValue(f"drift.Monitor: row must be {which}, got {place}")
        return place

    def _go_back(self, since: list[tuple[Any, float | None]]) -> None:
        """Back to the copies of the detectors, and on with what came since."""
        if self._before is not None:
            self._detectors, self._before, self._since = self._before, None, []
            for each in since:
                self._tell(*each)

    def _tell(self, x: Any, error: float | None) -> list[str]:
        told = []
        for name, detector in self._detectors.items():
            value = x if takes_rows(detector) else error
            if value is not None:
                detector.update(value)
                told.append(name)
        return told

    def _noted(self, told: list[str], place: int) -> list[Event]:
        self._newest = []
        for name in told:
            detector = self._detectors[name]
            if not detector.drift_detected:
                continue
            own = "virtual" if takes_rows(detector) else "real"
            at = self.rows - 1 if own == "virtual" else place
            kind, found = "improvement", self.improvements
            if _improved(detector):
                self.improvement_count += 1
            else:
                self._last[own] = at
                other = self._last.get("real" if own == "virtual" else "virtual")
                kind = "both" if other is not None and abs(at - other) <= self.together else own
                found = self._newest
            features = tuple(getattr(detector, "drifting_features", ()))
            direction, since = getattr(detector, "direction", None), self._begin(detector, own)
            found.append(Event(kind, at, since, direction, name, features, max(self.rows, self.labels)))
        self.event_count += len(self._newest)
        self.events += self._newest
        del self.events[:-_MOST_EVENTS]
        del self.improvements[:-_MOST_EVENTS]
        return list(self._newest)

    def _begin(self, detector: Any, kind: str) -> int | None:
        """The row with which a change began, of which the detector only knows how many values ago it was."""
        begin = getattr(detector, "change_point", None)
        if begin is None:
            return None
        count = self.rows if kind == "virtual" else self._places.judged
        # It may have been told others before it came here.
        told = getattr(detector, "updates", count)
        value = max(count - (told - begin), 0)
        return value if kind == "virtual" else self._places.row_of(value)

    def _error(self, y_true: Any, y_pred: Any) -> float:
        if self.loss is not None:
            return float(self.loss(y_true, y_pred))
        if isinstance(y_pred, Mapping):
            y_pred = max(y_pred, key=y_pred.__getitem__) if y_pred else None
        if _is_fraction(y_true) or _is_fraction(y_pred):
            return abs(float(y_true) - float(y_pred))
        return float(y_true != y_pred)

    def update_many(self, X: Any = None, y_true: Any = None, y_pred: Any = None) -> list[Event]:
        """`update` with each row; returns all drift events. If a row is refused, nothing has happened."""
        from millstream import _frames

        rows = [None] * len(y_true) if X is None else list(_frames.dicts(X))
        truths = [None] * len(rows) if y_true is None else _listed(y_true)
        said = [None] * len(rows) if y_pred is None else _listed(y_pred)
        if not len(rows) == len(truths) == len(said):
            counts = f"{len(rows)} rows, {len(truths)} truths and {len(said)} predictions"
            raise InvalidValue(f"drift.Monitor: {counts}; give as many of each")
        before, found = copy.deepcopy(self.__dict__), []
        for row, each in enumerate(zip(rows, truths, said, strict=True)):
            try:
                found += self.update(*each)
            except BaseException as error:
                self.__dict__ = before
                if isinstance(error, MillstreamError):
                    error.at_row(row)
                raise
        return found

    def step_one(self, model: Any, x: Features, y: Any, w: float = 1.0) -> Any:
        """Predict with a model, watch, then let it learn. Returns what was predicted.

        If the model refuses to learn the example, nothing was seen of it either.
        """
        said = model.predict_one(x)
        counts = (
            *(self.rows, self.labels, self.event_count, self.improvement_count),
            *(self._newest, dict(self._last)),
        )
        places = self._places.mark()
        kept = [(each, len(each), each[: len(self._detectors)]) for each in (self.events, self.improvements)]
        self.update(x, y, said)
        try:
            teach(model, x, y, w)
        except BaseException:
            self._go_back(self._since[:-1])
            added = self.event_count - counts[2], self.improvement_count - counts[3]
            for (found, length, oldest), count in zip(kept, added, strict=True):
                # The newest events may have pushed some of the oldest out.
                rest = len(found) - count
                found[:] = oldest[: length - rest] + found[:rest]
            self.rows, self.labels, self.event_count, self.improvement_count, self._newest, self._last = counts
            self._places.go_back(places)
            raise
        return said

    def beside(self, model: Any) -> Monitored:
        """The model with this monitor beside it: a model too, for `evaluate.prequential` and pipelines."""
        if role_of(model) not in LEARNERS:
            raise InvalidType(f"drift.Monitor: a model is {one_of(LEARNERS)}, got {quoted(model)}")
        return Monitored(model, self)

    def clone(self) -> Self:
        """A monitor with the same detectors that has seen nothing."""
        detectors = {name: unlearned_copy(detector) for name, detector in self._detectors.items()}
        return type(self)(detectors, together=self.together, loss=self.loss)

    def to_frame(self, kind: str | None = None) -> Any:
        """The drift events, a row each, as a frame of "pandas", "polars" or "pyarrow"."""
        from millstream.evaluate.frames import frame

        columns: dict[str, list[Any]] = {name: [] for name in Event.__dataclass_fields__}
        for event in self.events:
            for name in columns:
                value = getattr(event, name)
                columns[name].append(", ".join(map(str, value)) if name == "features" else value)
        return frame(columns, kind)

    def to_bytes(self) -> bytes:
        """The whole monitor as plain data, if no detector is of your own and no loss; pickle works for all."""
        if self.loss is not None or not all(hasattr(each, "to_bytes") for each in self._detectors.values()):
            raise InvalidType("drift.Monitor: with Python parts it cannot be saved as data; use pickle")
        packed = {
            name: base64.b64encode(detector.to_bytes()).decode() for name, detector in self._detectors.items()
        }
        state = {
            "together": self.together,
            "rows": self.rows,
            "labels": self.labels,
            "places": self._places.to_data(),
            "last": self._last,
            "detectors": packed,
            "events": [asdict(event) for event in self.events],
            "event_count": self.event_count,
            "improvements": [asdict(event) for event in self.improvements],
            "improvement_count": self.improvement_count,
            # How many of the last events the last update brought.
            "newest": len(self._newest),
        }
        description = {"name": _NAME, "parameters": {"detectors": list(packed), "together": self.together}}
        return _core.seal(json.dumps(description), self.rows, json.dumps(state).encode())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The monitor that `to_bytes` gave, ready to go on."""
        return cls._from_json(data) if data.startswith(_JSON_FORMAT) else cls._revive(_core.SavedFile(data))

    @classmethod
    def _revive(cls, saved: _core.SavedFile) -> Self:
        if saved.name != _NAME:
            raise InvalidState(f"drift.Monitor: not a saved monitor but a saved {quoted(saved.name)}")
        return cls._from_json(saved.take_state()[0])

    @classmethod
    def _from_json(cls, data: bytes) -> Self:
        from millstream.registry import from_bytes

        try:
            state = json.loads(data)
            packed = {name: base64.b64decode(each, validate=True) for name, each in state["detectors"].items()}
            events, improvements = _events(state["events"]), _events(state.get("improvements", []))
            rows, labels, together = (int(state[name]) for name in ("rows", "labels", "together"))
            count, newest = int(state.get("event_count", len(events))), int(state.get("newest", 0))
            improved = int(state.get("improvement_count", 0))
            if not 0 <= newest <= len(events) <= count or improved < len(improvements):
                raise ValueError("events")
            # One that was saved before it held them judged every label.
            places = Places.from_data(state["places"], labels) if "places" in state else Places(labels)
            last = {str(kind): int(row) for kind, row in state["last"].items()}
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            raise InvalidState("drift.Monitor: not a saved monitor") from None
        monitor = cls({name: from_bytes(each) for name, each in packed.items()}, together=together)
        monitor.events, monitor.rows, monitor.labels, monitor._last = events[-_MOST_EVENTS:], rows, labels, last
        monitor.event_count, monitor._newest = count, events[len(events) - newest :]
        monitor._places = places
        monitor.improvements, monitor.improvement_count = improvements[-_MOST_EVENTS:], improved
        if "improvements" not in state:
            monitor._separate_improvements()
        return monitor

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_places" not in state:
            self._places = Places(self.labels)
        if "improvements" not in state:
            self.improvements, self.improvement_count = [], 0
            self._separate_improvements()

    def _separate_improvements(self) -> None:
        """Move improvements out of the events of an earlier version, which counted them as drift."""
        of_errors = self.watched["errors"]
        fell = [event for event in self.events if event.detector in of_errors and event.direction == "down"]
        if not fell:
            return
        self.improvements, self.improvement_count = [replace(each, kind="improvement") for each in fell], len(fell)
        self.events = [event for event in self.events if event not in fell]
        self._newest = [event for event in self._newest if event not in fell]
        self.event_count -= len(fell)
        self._last.pop("real", None)
        for event in self.events:
            if event.detector in of_errors:
                self._last["real"] = event.row

    #: Written whole or not at all, as models are.
    save = Model.save

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The monitor that `save` wrote."""
        return cls.from_bytes(Path(path).read_bytes())

    def _table(self, most: int = 20) -> tuple[list[str], list[list[str]]]:
        head = ["row", "kind", "since", "direction", "detector", "features"]
        rows = [
            [
                f"{event.row:,}",
                event.kind,
                "–" if event.since is None else f"{event.since:,}",
                event.direction or "–",
                event.detector,
                ", ".join(map(str, event.features[:5])) + (", …" if len(event.features) > 5 else ""),
            ]
            for event in self.events[len(self.events) - min(most, len(self.events)) :]
        ]
        return head, rows

    def _code(self) -> str:
        """How it is made anew."""
        plain = list(self._detectors) == list(_named(list(self._detectors.values())))
        made = list(self._detectors.values()) if plain else self._detectors
        rest = f", together={self.together}" if self.together != 500 else ""
        rest += f", loss={getattr(self.loss, '__name__', repr(self.loss))}" if self.loss is not None else ""
        return f"Monitor({made!r}{rest})"

    def __repr__(self) -> str:
        from millstream.evaluate.frames import table

        watched = ", ".join(self._detectors)
        line = f"Monitor({watched}): {self.rows:,} rows, {self.labels:,} labels, {self.event_count:,} events"
        if self.improvement_count:
            line += f", {self.improvement_count:,} improvements"
        return f"{line}\n{table(*self._table())}" if self.events else line

    def _repr_html_(self) -> str:
        head, rows = self._table()
        cells = "".join(f"<th>{name}</th>" for name in head)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        first = escape(repr(self).partition("\n")[0])
        return visible(f"<div><p>{first}</p><table><tr>{cells}</tr>{body}</table></div>")


def _named(given: Any) -> dict[str, Any]:
    several = given if isinstance(given, (Mapping, list, tuple)) else [given]
    pairs = list(several.items()) if isinstance(several, Mapping) else [(None, each) for each in several]
    detectors: dict[str, Any] = {}
    for name, detector in pairs:
        if isinstance(detector, type) or not hasattr(detector, "drift_detected"):
            raise InvalidType(
                f"drift.Monitor: a detector has update(…) and drift_detected, got {shown_part(detector)}"
            )
        title, number = str(name or type(detector).__name__), 2
        while title in detectors:
            title, number = f"{name or type(detector).__name__} {number}", number + 1
        detectors[title] = detector
    if not detectors:
        raise InvalidValue("drift.Monitor: there is no detector")
    return detectors


def _improved(detector: Any) -> bool:
    """Whether what a detector has found is that errors fall."""
    return not takes_rows(detector) and getattr(detector, "direction", None) == "down"


def _events(data: list[dict[str, Any]]) -> list[Event]:
    return [Event(**{**each, "features": tuple(each["features"])}) for each in data]


def _is_fraction(value: Any) -> bool:
    """Whether it is a number that is no class: whole numbers and booleans may be."""
    return isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral)


def _listed(values: Any) -> list[Any]:
    return list(values.tolist() if hasattr(values, "tolist") else values)
