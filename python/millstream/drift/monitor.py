"""Several drift detectors beside a model, and the kind of drift they detect."""

from __future__ import annotations

import base64
import contextlib
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
from millstream.drift.row_counter import RowCounter
from millstream.errors import InvalidState, InvalidType, InvalidValue, MillstreamError
from millstream.roles import LEARNERS, one_of, role_of

__all__ = ["Event", "Monitor"]

_NAME = "drift.Monitor"
#: First bytes of monitor files before they had the format of models.
_JSON_FORMAT = b'{"format": "millstream.drift.Monitor 1"'
#: Number of updates between copies of the detectors, which are restored when one of them rejects an update.
_KEPT = 64
#: Maximum number of events that are kept: a detector with an event in every row must not fill the memory.
_MOST_EVENTS = 10_000


class Monitor:
    """Runs several detectors at once beside any model, and distinguishes real drift from virtual drift.

    Detectors of numbers receive the errors of the model. Rising errors mean that p(y|x) has changed: *real* drift,
    which the model has not learned yet. Detectors of rows, which need no labels, find changes of p(x): *virtual*
    drift, which may be harmless. If both kinds occur within `together` rows, the event is *both*: the inputs have
    moved to a region where the model is wrong.

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
        one with `drifting_features` receives rows.
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

    #: Updates since the copy of the detectors, if a refused one is still to be removed: see `_go_back`.
    _unfinished: list[tuple[Any, float | None]] | None = None

    def __init__(self, detectors: Any, *, together: int = 500, loss: Any = None) -> None:
        if isinstance(together, bool) or not isinstance(together, int) or together < 0:
            raise InvalidValue(f"drift.Monitor: together must be an integer >= 0, got {quoted(together)}")
        if loss is not None and not callable(loss):
            raise InvalidType(
                f"drift.Monitor: loss must be a function of truth and prediction, got {quoted(loss)}"
            )
        self.together, self.loss = together, loss
        self._detectors = _named(detectors)
        #: The newest 10,000 drift events, oldest first, and the total number.
        self.events: list[Event] = []
        self.event_count = 0
        #: The newest 10,000 improvements (errors fell, which is not drift), and the total number.
        self.improvements: list[Event] = []
        self.improvement_count = 0
        #: Numbers of rows and labels received, including labels of rows without a prediction.
        self.rows = self.labels = 0
        self._places = RowCounter()
        #: The row at which each kind of drift last occurred.
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
        """The names of the detectors that receive "errors", and of those that receive "rows"."""
        rows = [name for name, detector in self._detectors.items() if takes_rows(detector)]
        return {"errors": [name for name in self._detectors if name not in rows], "rows": rows}

    @property
    def memory(self) -> int:
        """Memory of the detectors, of the copies of them for rollback, and of the events, in bytes."""
        parts = [*self._detectors.values(), *(self._before or {}).values()]
        held = sum(map(held_by, parts))
        # All entries have about the same size, and evaluations ask often.
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

        A label passed with its row belongs to that row. A later label belongs to the row after that of the
        previous label, unless `row` gives its row, counted from 0. A prediction of None, from a model that has
        learned nothing, produces no error, and a `y_true` of None is a label that never arrived; both count as
        rows. Instead of a row, x may be a number: the error of the model, computed by the caller, for the
        detectors of errors. The update is atomic: if a detector rejects it, all are unchanged.
        """
        error: float | None = None
        labelled = y_true is not None
        if x is not None and not isinstance(x, Mapping) and not hasattr(x, "__len__"):
            x, error, labelled = None, self._given_error(x, y_true, y_pred), True
        elif y_true is not None and y_pred is not None:
            error = self._error(y_true, y_pred)
        at_row = self._label_row(x is not None, row)
        if self._unfinished is not None:
            self._go_back(self._unfinished)
        if self._before is None or len(self._since) >= _KEPT:
            self._before, self._since = copy.deepcopy(self._detectors), []
        try:
            updated = self._update_detectors(x, error)
        except BaseException:
            # Some detectors are already updated.
            self._try_to_go_back(self._since)
            raise
        self._since.append((dict(x) if isinstance(x, Mapping) else x, error))
        if labelled or (x is None and y_pred is not None):
            self._places.next = at_row + 1
        if error is not None:
            self._places.judge(at_row)
        self.rows += x is not None
        self.labels += labelled
        return self._record(updated, at_row)

    def _given_error(self, x: Any, y_true: Any, y_pred: Any) -> float:
        if y_true is not None or y_pred is not None or not isinstance(x, numbers.Real):
            raise InvalidType(f"drift.Monitor: x must be a row of features, got {quoted(x)}")
        if not self.watched["errors"]:
            names = f"{', '.join(self._detectors)} {'is' if len(self._detectors) == 1 else 'are'} for rows"
            raise InvalidType(
                f"drift.Monitor: x must be a row of features, as {names}, got the number {quoted(x)}"
            )
        try:
            return float(x)
        except OverflowError:
            raise InvalidValue(f"drift.Monitor: x must fit in a float, got {quoted(x)}") from None

    def _label_row(self, has_row: bool, row: Any) -> int:
        """The row that a label belongs to."""
        if row is None:
            return self.rows if has_row else self._places.next
        if isinstance(row, bool) or not isinstance(row, numbers.Integral):
            raise InvalidType(f"drift.Monitor: row must be an integer, got {quoted(row)}")
        index, seen = int(row), self.rows + has_row
        if index < 0 or (seen and index >= seen):
            which = f"a row that was seen, from 0 to {seen - 1}" if seen else "counted from 0"
            raise InvalidValue(f"drift.Monitor: row must be {which}, got {index}")
        return index

    def _try_to_go_back(self, since: list[tuple[Any, float | None]]) -> None:
        """Go back now, or else before the next update."""
        self._unfinished = since
        # The caller raises the error of the update.
        with contextlib.suppress(Exception):
            self._go_back(since)

    def _go_back(self, since: list[tuple[Any, float | None]]) -> None:
        """Repeat the updates since the copy of the detectors; if this fails too, nothing changes."""
        failed, self._detectors = self._detectors, copy.deepcopy(self._before or {})
        try:
            for each in since:
                self._update_detectors(*each)
        except BaseException:
            self._detectors = failed
            raise
        self._since, self._unfinished = since, None

    def _update_detectors(self, x: Any, error: float | None) -> list[str]:
        updated = []
        for name, detector in self._detectors.items():
            value = x if takes_rows(detector) else error
            if value is not None:
                detector.update(value)
                updated.append(name)
        return updated

    def _record(self, updated: list[str], at_row: int) -> list[Event]:
        self._newest = []
        for name in updated:
            detector = self._detectors[name]
            if not detector.drift_detected:
                continue
            own = "virtual" if takes_rows(detector) else "real"
            at = self.rows - 1 if own == "virtual" else at_row
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
        """The row of the estimated change point, which the detector counts in its own updates."""
        begin = getattr(detector, "change_point", None)
        if begin is None:
            return None
        count = self.rows if kind == "virtual" else self._places.judged
        # The detector may have received values before it was added.
        updates = getattr(detector, "updates", count)
        value = max(count - (updates - begin), 0)
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
        """Call `update` with each row; returns all drift events. Atomic: if a row is rejected, nothing changes."""
        from millstream import _frames

        rows = [None] * len(y_true) if X is None else list(_frames.dicts(X))
        truths = [None] * len(rows) if y_true is None else _listed(y_true)
        predictions = [None] * len(rows) if y_pred is None else _listed(y_pred)
        if not len(rows) == len(truths) == len(predictions):
            counts = f"{len(rows)} rows, {len(truths)} truths and {len(predictions)} predictions"
            raise InvalidValue(f"drift.Monitor: X, y_true and y_pred must have the same length, got {counts}")
        before, found = copy.deepcopy(self.__dict__), []
        for row, each in enumerate(zip(rows, truths, predictions, strict=True)):
            try:
                found += self.update(*each)
            except BaseException as error:
                self.__dict__ = before
                if isinstance(error, MillstreamError):
                    error.at_row(row)
                raise
        return found

    def step_one(self, model: Any, x: Features, y: Any, w: float = 1.0) -> Any:
        """Predict with a model, update the detectors, then let the model learn. Returns the prediction.

        If the model rejects the example, the monitor is unchanged.
        """
        prediction = model.predict_one(x)
        counts = (
            *(self.rows, self.labels, self.event_count, self.improvement_count),
            *(self._newest, dict(self._last)),
        )
        places = self._places.mark()
        kept = [(each, len(each), each[: len(self._detectors)]) for each in (self.events, self.improvements)]
        self.update(x, y, prediction)
        try:
            teach(model, x, y, w)
        except BaseException:
            self._try_to_go_back(self._since[:-1])
            added = self.event_count - counts[2], self.improvement_count - counts[3]
            for (found, length, oldest), count in zip(kept, added, strict=True):
                # The newest events may have displaced some of the oldest.
                rest = len(found) - count
                found[:] = oldest[: length - rest] + found[:rest]
            self.rows, self.labels, self.event_count, self.improvement_count, self._newest, self._last = counts
            self._places.go_back(places)
            raise
        return prediction

    def beside(self, model: Any) -> Monitored:
        """A model that combines the given one with this monitor, for `evaluate.prequential` and pipelines."""
        if role_of(model) not in LEARNERS:
            raise InvalidType(f"drift.Monitor: model must be {one_of(LEARNERS)}, got {quoted(model)}")
        return Monitored(model, self)

    def clone(self) -> Self:
        """A monitor with the same detectors in their initial state."""
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
        """The monitor as bytes, without code. A loss or detectors of your own need pickle."""
        if self.loss is not None or not all(hasattr(each, "to_bytes") for each in self._detectors.values()):
            raise InvalidType("drift.Monitor: a loss or detectors in Python cannot be saved as data; use pickle")
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
            # Number of events of the last update.
            "newest": len(self._newest),
        }
        description = {"name": _NAME, "parameters": {"detectors": list(packed), "together": self.together}}
        return _core.seal(json.dumps(description), self.rows, json.dumps(state).encode())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The monitor that `to_bytes` saved, ready to continue."""
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
            # In older files every label has an error.
            places = RowCounter.from_data(state["places"], labels) if "places" in state else RowCounter(labels)
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
            self._places = RowCounter(self.labels)
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

    #: Written atomically, like models.
    save = Model.save

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a monitor that `save` wrote."""
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
        """The constructor call."""
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
                f"drift.Monitor: a detector must have update(…) and drift_detected, got {shown_part(detector)}"
            )
        title, number = str(name or type(detector).__name__), 2
        while title in detectors:
            title, number = f"{name or type(detector).__name__} {number}", number + 1
        detectors[title] = detector
    if not detectors:
        raise InvalidValue("drift.Monitor: detectors must contain at least one detector, got none")
    return detectors


def _improved(detector: Any) -> bool:
    """Whether a detector has found falling errors."""
    return not takes_rows(detector) and getattr(detector, "direction", None) == "down"


def _events(data: list[dict[str, Any]]) -> list[Event]:
    return [Event(**{**each, "features": tuple(each["features"])}) for each in data]


def _is_fraction(value: Any) -> bool:
    """Whether a value is a number but not a class; integers and booleans may be classes."""
    return isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral)


def _listed(values: Any) -> list[Any]:
    return list(values.tolist() if hasattr(values, "tolist") else values)
