"""The loop for models, metrics or detectors written in Python, equivalent to the native loop."""

from __future__ import annotations

import copy
import heapq
import math
from collections import deque
from typing import Any

import numpy as np

from millstream import _core
from millstream._answers import anomaly_score
from millstream._echo import typed
from millstream._examples import check_example
from millstream._python_loop import teach, title_of
from millstream.base import Model
from millstream.drift.monitored import monitor_of
from millstream.errors import InvalidValue, MillstreamError
from millstream.evaluate.chunks import EvaluationChunk, TableChunk
from millstream.evaluate.interrupts import Interrupts
from millstream.evaluate.times import NO_TIME
from millstream.roles import Answer, role_named, role_of

__all__ = ["AnomalyRun", "PythonRun", "stopped"]


def stopped(error: Exception, row: int) -> Exception:
    """The error that ends a run: it names the row, and states that the rows before are learned."""
    before = " (rows before it whose labels had arrived are learned)" if row else ""
    if isinstance(error, MillstreamError):
        error.args = (f"row {row}: {error}{before}", *error.args[1:])
        error.row = row
    else:
        error.add_note(f"at row {row}{before}")
    return error


class PythonMetrics:
    """Metrics written in Python: any objects with `update(y_true, y_pred)` and `get()`."""

    def __init__(self, metrics: list[Any], window: int) -> None:
        self.metrics = metrics
        self.fresh = [copy.deepcopy(metric) for metric in metrics]
        self.recent: deque[tuple[Any, Any, Any, float]] = deque(maxlen=window)

    def update(self, y: Any, predicted: Any, probabilities: Any, w: float) -> None:
        """Score one prediction."""
        for metric in self.metrics:
            _update(metric, y, predicted, probabilities, w)
        if self.metrics:
            self.recent.append((y, predicted, probabilities, w))

    def values(self) -> tuple[list[float], list[float]]:
        """Each metric over the whole stream, and over the window."""
        rolling = []
        for fresh in self.fresh:
            metric = copy.deepcopy(fresh)
            for outcome in self.recent:
                _update(metric, *outcome)
            rolling.append(float(metric.get()))
        return [float(metric.get()) for metric in self.metrics], rolling


def wants_probabilities(metric: Any) -> bool:
    """Whether a metric scores probabilities; River's metrics have `requires_labels`."""
    return not getattr(metric, "requires_labels", True)


def _update(metric: Any, y: Any, predicted: Any, probabilities: Any, w: float) -> None:
    answer = probabilities if wants_probabilities(metric) else predicted
    metric.update(y, answer, w) if w != 1.0 else metric.update(y, answer)


class CountedMemory:
    """The memory of a model in Python, which is counted object by object.

    A count may take longer than many rows, so that the calls of which the numbers are powers of 2 count, and the
    others repeat the last result.
    """

    def __init__(self, model: Any) -> None:
        self.model, self.calls, self.last = model, 0, 0

    @property
    def memory(self) -> int:
        """The memory at the last count, in bytes."""
        self.calls += 1
        if self.calls & (self.calls - 1) == 0:
            self.last = int(self.model.memory)
        return self.last


def _with_memory(model: Any) -> Any:
    """What tells the memory of a model while it learns."""
    is_counted = not isinstance(model, _core.Model) and getattr(type(model), "memory", None) is Model.memory
    return CountedMemory(model) if is_counted else model


class PythonRun:
    """The run of one model over a stream."""

    def __init__(
        self, engine: _core.Prequential, place: int, model: Any, metrics: list[Any], detector: Any, settings: Any
    ) -> None:
        self.engine, self.place, self.model, self.detector, self.settings = (
            engine,
            place,
            model,
            detector,
            settings,
        )
        #: Tells the engine the memory of the model.
        self.measured = _with_memory(model)
        self.metrics = PythonMetrics(metrics, settings.window)
        self.role = role_named(str(role_of(model)))
        self.proba = self.role.answer is Answer.CLASS and (
            engine.wants_probabilities(place) or any(map(wants_probabilities, metrics))
        )
        self.rows = 0
        self.marks: list[int] = []
        #: Rows at which a monitor beside the model had an event.
        self.noticed: list[int] = []
        self.monitor = monitor_of(model)
        self.curve: dict[int, tuple[list[float], list[float]]] = {}
        self.waiting: list[tuple[int, int, tuple[Any, ...]]] = []
        #: Predictions that have not been fetched, by row; None if they are not kept.
        self.kept: dict[int, tuple[Any, Any]] | None = None
        self.handed = 0

    def keep_predictions(self) -> None:
        """Keep each prediction until `predictions` fetches it."""
        self.kept = {}
        self.proba = self.role.answer is Answer.CLASS

    def predictions(self) -> tuple[Any, Any]:
        """The predictions since the last call, up to the last row that has one, and their probabilities."""
        kept = self.kept or {}
        rows = range(self.handed, max(kept, default=self.handed - 1) + 1)
        self.handed, self.kept = self.rows, {}
        found = [kept.get(row, (None, None)) for row in rows]
        probabilities = [
            proba.get(answer, math.nan) if isinstance(proba, dict) else math.nan for answer, proba in found
        ]
        predicted = [answer for answer, _ in found]
        if self.role.answer is not Answer.CLASS:
            none = self.role.no_answer
            known = [none if answer is None else answer for answer in predicted]
            return np.array(known, dtype=self.role.dtype), np.array(probabilities, dtype=np.float64)
        return predicted, np.array(probabilities, dtype=np.float64)

    def feed(self, chunk: EvaluationChunk, interrupts: Interrupts | None = None) -> None:
        """Process the next examples; the run may be interrupted between two of them."""
        late = chunk.now is not None or self.settings.delay > 0
        for place, (x, y, w) in enumerate(chunk.examples()):
            if interrupts is not None and interrupts.asked:
                raise KeyboardInterrupt
            row = self.rows
            self.rows += 1
            now, due = row, row + self.settings.delay
            if chunk.now is not None:
                now, due = int(chunk.now[place]), int(chunk.due[place])
            if NO_TIME in (now, due):
                self.refuse(InvalidValue("the time of the row or of its label is missing"), row)
                continue
            if late:
                self.learn_due(now)
            try:
                answer = self.predict(x)
                if self.kept is not None:
                    self.kept[row] = answer
                if late:
                    heapq.heappush(self.waiting, (due, row, (dict(x), y, w, answer)))
                else:
                    self.learn(row, x, y, w)
                    self.score(row, y, w, answer)
            except Exception as error:
                self.refuse(error, row)

    def learn_due(self, now: int | None) -> None:
        """Score and learn the examples whose labels have arrived by `now`; all remaining ones if it is None."""
        while self.waiting and (now is None or self.waiting[0][0] <= now):
            _, row, (x, y, w, answer) = heapq.heappop(self.waiting)
            try:
                self.learn(row, x, y, w)
                self.score(row, y, w, answer)
            except Exception as error:
                self.refuse(error, row)

    def finish(self) -> None:
        """End the stream."""
        self.learn_due(None)
        self.stop()

    def stop(self) -> None:
        """End the run, even before the end of the stream."""
        self.engine.finish_scores(self.place, self.model)
        self.record()

    def predict(self, x: Any) -> tuple[Any, Any]:
        """The prediction, and the probabilities if a metric needs them."""
        return self.model.predict_one(x), self.model.predict_proba_one(x) if self.proba else None

    def learn(self, row: int, x: Any, y: Any, w: float) -> None:
        """Learn one example, with the checks of native models."""
        check_example(title_of(self.model), self.role, y, w)
        before = 0 if self.monitor is None else self.monitor.event_count
        if w == 1.0:
            self.model.learn_one(x, y)
        elif w > 0.0:
            self.model.learn_one(x, y, w)
        if self.monitor is not None and self.monitor.event_count > before:
            self.noticed.append(row)

    def score(self, row: int, y: Any, w: float, answer: tuple[Any, Any]) -> None:
        """Score the prediction of an example."""
        predicted, probabilities = answer
        self.engine.observe(self.place, self.measured, row, y, predicted, probabilities, w, len(self.waiting))
        if row >= self.settings.warmup and predicted is not None:
            self.metrics.update(y, predicted, probabilities, w)
            if self.detector is not None:
                error = float(predicted != y) if self.role.answer is Answer.CLASS else abs(y - predicted)
                self.detector.update(error)
                if self.detector.drift_detected and getattr(self.detector, "direction", None) != "down":
                    self.marks.append(row)
        if self.metrics.metrics:
            self.record()

    def record(self) -> None:
        """Record the Python metrics if the curve has a new point."""
        rows = self.engine.last_point(self.place)
        if rows and rows not in self.curve:
            self.curve[rows] = self.metrics.values()

    def refuse(self, error: Exception, row: int) -> None:
        """Skip a row, or stop."""
        if self.settings.on_error == "skip" and isinstance(
            error, (ValueError, TypeError, KeyError, OverflowError)
        ):
            self.engine.skip_row(self.place, row, str(error))
            return
        raise stopped(error, row)


class AnomalyRun(PythonRun):
    """The run of an anomaly detector, which learns without labels; its scores are compared with them."""

    def feed(self, chunk: EvaluationChunk, interrupts: Interrupts | None = None) -> None:
        """Process the next examples, a block of rows in one call where that gives the same result."""
        for block in chunk.blocks():
            if interrupts is not None and interrupts.asked:
                raise KeyboardInterrupt
            if not self._feed_at_once(block):
                super().feed(block, interrupts)

    def _feed_at_once(self, chunk: EvaluationChunk) -> bool:
        """Score and learn a table in one call; False if rows must be processed one by one."""
        # A filter decides after each row, by a threshold that may move.
        native = isinstance(self.model, _core.Model) and not hasattr(self.model, "classify")
        late = chunk.now is not None or self.settings.delay > 0
        recorded = self.metrics.metrics or self.detector is not None or self.kept is not None
        if not native or late or recorded or not isinstance(chunk, TableChunk):
            return False
        try:
            y = np.asarray(chunk.y)
            # Other labels are refused row by row.
            if y.ndim != 1 or y.dtype.kind not in "bif" or not np.isin(y, (0, 1)).all():
                return False
            labels, indices = np.unique(y, return_inverse=True)
            scores, _ = self.model._run_many(chunk.parts, None, chunk.w, "class", "raise")
        except (MillstreamError, TypeError, ValueError):
            # The model is unchanged. Row by row, the faulty one is named or skipped.
            return False
        given = (labels.tolist(), indices.tolist(), scores, chunk.w)
        self.engine.observe_scores(self.place, self.model, self.rows, *given)
        self.rows += chunk.size
        return True

    def predict(self, x: Any) -> tuple[Any, Any]:
        """The score, and the score as the probability of an anomaly."""
        score = anomaly_score(self.model, x)
        return score, {False: 1.0 - score, True: score}

    def learn(self, row: int, x: Any, y: Any, w: float) -> None:
        """Learn one example; its label must be True or False, and is passed on only if the detector accepts it."""
        known = isinstance(y, (bool, int, float, np.bool_, np.number)) and y in (0, 1)
        if not known:
            must = "the labels for an anomaly detector must be True and False, or 1 and 0"
            raise InvalidValue(f"{title_of(self.model)}: {must}, got {typed(y)}")
        check_example(title_of(self.model), self.role, y, w)
        teach(self.model, x, y, w)

    def score(self, row: int, y: Any, w: float, answer: tuple[Any, Any]) -> None:
        """Score the decision of a filter; without a filter, scores >= 0.5 are anomalies."""
        score, probabilities = answer
        classify = getattr(self.model, "classify", None)
        decided = bool(classify(score)) if callable(classify) else score >= 0.5
        super().score(row, y, w, (decided, probabilities))
