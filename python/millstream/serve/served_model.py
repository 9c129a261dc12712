"""A model with the metrics and drifts of its served predictions."""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple, Self

import millstream
from millstream import _core, drift, metrics, roles
from millstream._examples import check_example
from millstream._python_loop import title_of
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.roles import Role
from millstream.serve.curve import Curve
from millstream.serve.promotion import loss
from millstream.serve.records import Row
from millstream.serve.stream import DELAY_BOUNDS, Stream

__all__ = ["Prediction", "ServedModel", "is_data", "is_native_method", "plain_prediction", "prediction_of"]

#: Window size of the recent metric in the live curve.
_RECENT = 1000
#: Maximum number of remembered drifts.
_MOST_DRIFTS = 1000
#: Larger errors would overflow the sums of the drift detector.
_LARGEST_ERROR = 1e100
#: An interval with a larger end is uninformative.
_LARGEST_END = 1e300

#: Roles that can be served.
_SERVED = (
    roles.CLASSIFIER,
    roles.REGRESSOR,
    roles.ANOMALY_DETECTOR,
    roles.CLUSTERER,
    roles.FORECASTER,
)


class Prediction(NamedTuple):
    """A prediction as returned and stored: plain data, and the class probabilities if requested.

    A model that predicts intervals adds one.
    """

    y: Any
    proba: list[tuple[Any, float]] | None = None
    #: The ends of the interval that contains the target with a probability of 0.9, if the model has one.
    interval: list[float] | None = None


def is_data(model: Any) -> bool:
    """Whether the state of a model can be saved as plain data; a learner written in Python cannot."""
    try:
        model.to_bytes()
    except (AttributeError, MillstreamError):
        return False
    return True


def plain_prediction(who: str, value: Any) -> Any:
    """A prediction as plain JSON data; a NumPy scalar becomes a Python number."""
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidValue(f"{who}: the prediction is {value}")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain_prediction(who, item) for item in value]
    raise InvalidType(f"{who}: a prediction must be a bool, number or string, got {type(value).__name__}")


class ServedModel:
    """One model of a server.

    `learned` counts the examples learned since the model was created on this server, and `scored` those of them
    that were predicted before. Scores use the served prediction, not a new one.
    """

    def __init__(
        self,
        name: str,
        model: Any,
        metric_names: Sequence[str] | None = None,
        *,
        folder_id: str = "",
        native: bool | None = None,
    ) -> None:
        role = roles.role_of(model)
        if role is None or role not in _SERVED:
            found = "an object without the methods of a model" if role is None else role.phrase
            raise InvalidType(f"serve: only {roles.one_of(_SERVED)} can be served, got {found}")
        self.name = name
        self.role: Role = role
        #: Whether the model learns an example when it predicts it, because its role has no target.
        self.learns_without_labels = role.truth is roles.Truth.NONE
        #: Label types for which every value is valid.
        self._plain_labels = (bool, int, str) if role.truth is roles.Truth.LABEL else ()
        self.model = model
        #: Whether its predictions have intervals.
        self.has_interval = role is roles.REGRESSOR and hasattr(model, "predict_interval_one")
        #: Whether its state can be saved as plain data.
        self.is_native = is_data(model) if native is None else native
        self.title = title_of(model)
        #: The name of its files in the data folder.
        self.folder_id = folder_id
        self.metric_names = list(metric_names if metric_names is not None else role.metrics)
        if role is roles.CLUSTERER:
            # The silhouette needs distances, which events do not contain.
            self.metric_names = [each for each in self.metric_names if each != "Silhouette"]
        self.seq = 0
        self.learned = 0
        #: Named versions: the record after which each was named.
        self.versions: dict[str, int] = {}
        self._version: str | None = None
        #: The versions over time: each record after which the version changed, and the version from then on.
        self._version_changes: list[tuple[int, str | None]] = []
        #: A learner written in Python need not be thread-safe.
        self.lock = threading.RLock()
        self._reset_scores()
        #: Learns common labels natively, many in one call; None if labels must be learned one by one.
        self.label_learner = self._label_learner()

    def _reset_scores(self) -> None:
        self.scored = 0
        self.unscored = 0
        self.metrics = [_metric(name) for name in self.metric_names]
        self.recent = metrics.Rolling(_metric(self.metric_names[0]), _RECENT) if self.metric_names else None
        self.detector = drift.ADWIN()
        self.curve = Curve()
        self.drifts: list[dict[str, Any]] = []
        #: Number of all drifts, including those no longer remembered.
        self.drift_count = 0
        self.wants_proba = any(_wants_proba(metric) for metric in self.metrics)

    @property
    def version(self) -> str | None:
        """The newest named version that the present state descends from."""
        return self._version

    def name_version(self, version: str, seq: int) -> None:
        """Name the present state."""
        self.versions[version] = seq
        self._set_version(version, seq)

    def take_versions(self, before: ServedModel, to: int, seq: int) -> None:
        """Take the named versions of the state before a rollback to a record; the newest one up to it becomes the
        present one. `seq` is the record of the rollback."""
        self.versions, self._version_changes = before.versions, before._version_changes
        self._set_version(next((name for name, at in reversed(self.versions.items()) if at <= to), None), seq)

    def _set_version(self, version: str | None, seq: int) -> None:
        self._version = version
        self._version_changes.append((seq, version))

    def version_at(self, seq: int) -> str | None:
        """The version of the state that predicted the event of a record."""
        place = bisect_left(self._version_changes, seq, key=itemgetter(0))
        return self._version_changes[place - 1][1] if place else None

    # ------------------------------------------------------------------------------------------------- predict

    def predict(self, x: Any) -> Prediction:
        """Predict one example. For a forecaster, `x` has the member `horizon` and optionally `xs`."""
        x = self._own(x)
        if self.role is roles.FORECASTER:
            return Prediction(self._forecast(x))
        if self.role is roles.ANOMALY_DETECTOR:
            return Prediction(plain_prediction(self.title, self.model.score_one(x)))
        if self.wants_proba:
            found = self.model.predict_proba_one(x)
            proba = [(plain_prediction(self.title, label), float(p)) for label, p in found.items()]
            best = max(proba, key=lambda pair: pair[1])[0] if proba else None
            return Prediction(best, proba)
        y = plain_prediction(self.title, self.model.predict_one(x))
        if self.role is roles.REGRESSOR and (isinstance(y, bool) or not isinstance(y, (int, float, type(None)))):
            raise InvalidType(f"{self.title}: a regressor must predict a number, got {type(y).__name__}")
        return Prediction(y, None, self._interval(x) if self.has_interval else None)

    def _interval(self, x: Any) -> list[float] | None:
        """The interval of a prediction; None while the model knows none."""
        ends = [float(end) for end in self.model.predict_interval_one(x)]
        return ends if all(abs(end) < _LARGEST_END for end in ends) else None

    def _own(self, x: Any) -> Any:
        """The features for this model alone: a learner written in Python may change them."""
        return x if self.is_native or not isinstance(x, dict) else dict(x)

    def _forecast(self, x: Any) -> list[float]:
        horizon = x.get("horizon", 1)
        if not isinstance(horizon, int) or isinstance(horizon, bool) or not 1 <= horizon <= 10_000:
            raise InvalidValue(f"x.horizon: must be an integer between 1 and 10000, got {horizon!r}")
        forecast: list[float] = plain_prediction(self.title, list(self.model.forecast(horizon, x.get("xs"))))
        return forecast

    # --------------------------------------------------------------------------------------------------- learn

    def check(self, y: Any, w: float) -> None:
        """Refuse a label or a weight that a model of this role cannot learn."""
        if w == 1.0 and type(y) in self._plain_labels:
            return
        role = self.role
        if role in (roles.ANOMALY_DETECTOR, roles.CLUSTERER):
            if role is roles.ANOMALY_DETECTOR and not isinstance(y, bool):
                raise InvalidType(f"{self.title}: the label of an anomaly detector must be true or false")
            return
        check_example(self.title, role, y, w)
        if role.truth is roles.Truth.LABEL and not isinstance(y, (bool, int, str)):
            raise InvalidType(f"{self.title}: a class label must be a bool, int or str, got {type(y).__name__}")

    def learn(self, x: Any, y: Any, w: float, seq: int) -> None:
        """Learn one example. An error leaves a native model unchanged."""
        self.check(y, w)
        x = self._own(x)
        if self.role is roles.FORECASTER:
            self.model.learn_one(float(y), _next_features(x))
        elif self.learns_without_labels:
            self.model.learn_one(x)
        elif w == 1.0:
            self.model.learn_one(x, y)
        else:
            self.model.learn_one(x, y, w)
        self.learned += 1
        self.seq = seq

    def _label_learner(self) -> _core.LabelLearner | None:
        scores = self.metrics if self.recent is None else [*self.metrics, self.recent]
        is_number = self.role is roles.REGRESSOR
        if not self.is_native or self.wants_proba or not (is_number or self.role is roles.CLASSIFIER):
            return None
        if not isinstance(self.model, _core.Model) or not is_native_method(self.model, "learn_one"):
            return None
        if any(metric._takes_numbers() is not is_number for metric in scores):
            return None
        bounds = [1000 * bound for bound in DELAY_BOUNDS]
        return _core.LabelLearner(self.model, scores, self.detector, _LARGEST_ERROR, bounds)

    def learn_labels(
        self,
        pending: _core.PendingEvents,
        events: Any,
        ids: list[str],
        labels: list[dict[str, Any]],
        start: int,
        place: tuple[int, int, int, int],
    ) -> _core.LabelRun:
        """Learn and score the labels from `start` on natively, as `learn` and `score` would, as far as they are
        common ones and no point of the curve is due. See `_core.LabelLearner`."""
        assert self.label_learner is not None
        run = self.label_learner.learn(pending, events, ids, labels, start, place, self._until_point)
        self._count(run)
        return run

    def replay(
        self, stream: Stream, events: Any, rows: list[Row], start: int, now: int, until: int
    ) -> _core.LabelRun:
        """Apply the events and labels of a stream from `start` on natively, as far as they are common ones and no
        point of the curve is due. `now` is the time of the state; no window closes up to the time `until`."""
        assert self.label_learner is not None
        policy = stream.policy
        times = (policy.window_ms, now, until)
        run = self.label_learner.replay(
            stream.pending, events, rows, start, stream.number, times, policy.max_pending, self._until_point
        )
        self._count(run)
        return run

    @property
    def _until_point(self) -> int:
        """Number of scored labels until the next point of the curve."""
        return self.curve.every - self.scored % self.curve.every

    def _count(self, run: _core.LabelRun) -> None:
        if not run.learned:
            return
        is_due = run.scored == self._until_point
        self.learned += run.learned
        self.scored += run.scored
        self.unscored += run.unscored
        self.seq = run.seq
        if run.drift:
            self._note_drift(run.seq, run.time)
        if is_due:
            self._add_point(run.seq, run.time)

    def learn_unlabelled(self, x: Any, seq: int) -> None:
        """Learn the features of an event, for a role without a target."""
        self.model.learn_one(self._own(x))
        self.learned += 1
        self.seq = seq

    def score(self, prediction: Prediction, y: Any, w: float, seq: int, time: int) -> None:
        """Compare the served prediction with its label."""
        predicted: Any = prediction.y
        if self.role is roles.FORECASTER:
            predicted, y = predicted[0] if predicted else None, float(y)
        elif prediction.proba is not None:
            predicted = dict(prediction.proba)
        if predicted is None or predicted == {}:
            # There was no prediction before the first label.
            self.unscored += 1
            return
        try:
            if type(predicted) is dict:
                for metric in self.metrics:
                    metric.update(y, _for(metric, predicted), w)
                if self.recent is not None:
                    self.recent.update(y, _for(self.metrics[0], predicted), w)
            else:
                for metric in self.metrics:
                    metric.update(y, predicted, w)
                if self.recent is not None:
                    self.recent.update(y, predicted, w)
        except (MillstreamError, OverflowError):
            self.unscored += 1
            return
        self.scored += 1
        self._watch(prediction.y, y, seq, time)
        if self.curve.is_due(self.scored):
            self._add_point(seq, time)

    def _add_point(self, seq: int, time: int) -> None:
        values = [self.recent] if self.recent is not None else []
        self.curve.add(self.scored, seq, time, [_finite(metric.get()) for metric in [*values, *self.metrics]])

    def _watch(self, predicted: Any, y: Any, seq: int, time: int) -> None:
        """Pass the error to the drift detector."""
        error = loss(self.role, predicted, y)
        if error is None or not error <= _LARGEST_ERROR:
            return
        try:
            self.detector.update(error)
        except MillstreamError:
            return
        if self.detector.drift_detected:
            self._note_drift(seq, time)

    def _note_drift(self, seq: int, time: int) -> None:
        self.drift_count += 1
        self.drifts.append({"seq": seq, "time": time, "scored": self.scored})
        del self.drifts[:-_MOST_DRIFTS]

    def contains(self, error: BaseException) -> bool:
        """Whether an exception of the learner concerns only its request or record.

        A learner written in Python may exit, or use a library that panics, which would end a thread of the server.
        """
        if isinstance(error, Exception):
            return True
        # In the main thread, which replays the log at the start, it is the user who interrupts.
        is_user = isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()
        return not self.is_native and not is_user

    # -------------------------------------------------------------------------------------------------- report

    def metric_named(self, name: str | None) -> Any:
        """The metric with a name over all scored labels; None if the model has no such metric."""
        return next(
            (metric for own, metric in zip(self.metric_names, self.metrics, strict=True) if own == name), None
        )

    def figures(self) -> dict[str, Any]:
        """The values of the metrics, over all scored labels and over the most recent ones."""
        found: dict[str, Any] = {
            name: _finite(metric.get()) for name, metric in zip(self.metric_names, self.metrics, strict=True)
        }
        if self.recent is not None:
            found[f"recent_{self.metric_names[0]}"] = _finite(self.recent.get())
        return found if self.scored else dict.fromkeys(found)

    # ------------------------------------------------------------------------------------------------ snapshot

    def snapshot(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """All state that can influence later predictions or metrics: plain data, and the bytes of components."""
        data = {
            "metrics": self.metric_names,
            "seq": self.seq,
            "learned": self.learned,
            "scored": self.scored,
            "unscored": self.unscored,
            "versions": self.versions,
            "version": self._version,
            "version_changes": self._version_changes,
            "drifts": self.drifts,
            "drift_count": self.drift_count,
            "curve": self.curve.describe(),
            "folder_id": self.folder_id,
        }
        parts = {f"metric{index}": metric.to_bytes() for index, metric in enumerate(self.metrics)}
        parts["detector"] = self.detector.to_bytes()
        if self.recent is not None:
            parts["recent"] = self.recent.to_bytes()
        parts["model"] = self.model.to_bytes()
        return data, parts

    @classmethod
    def restored(cls, name: str, data: dict[str, Any], parts: dict[str, bytes]) -> Self:
        """The model of a snapshot."""
        model = millstream.from_bytes(parts["model"])
        served = cls(name, model, data["metrics"], folder_id=data["folder_id"], native=True)
        served._restore(data, parts)
        return served

    def _restore(self, data: dict[str, Any], parts: dict[str, bytes]) -> None:
        self.seq, self.learned, self.versions = data["seq"], data["learned"], dict(data["versions"])
        self._version = data["version"]
        # Snapshots of the first release have no changes.
        changes = data.get("version_changes") or [(seq, name) for name, seq in self.versions.items()]
        self._version_changes = [(seq, name) for seq, name in changes]
        self.scored, self.unscored = data["scored"], data["unscored"]
        self.drifts, self.curve = list(data["drifts"]), Curve.of(data["curve"])
        self.drift_count = data["drift_count"]
        self.metrics = [millstream.from_bytes(parts[f"metric{index}"]) for index in range(len(self.metric_names))]
        self.detector = millstream.from_bytes(parts["detector"])
        if self.recent is not None:
            self.recent = millstream.from_bytes(parts["recent"])
        self.label_learner = self._label_learner()


def prediction_of(body: dict[str, Any], model: str) -> Prediction | None:
    """The prediction of a model in the body of an event."""
    if "m" in body:
        body = body["m"].get(model)
        if body is None:
            return None
    proba = body.get("p")
    if proba is not None:
        proba = [(label, p) for label, p in proba]
    # The constructor of the named tuple takes twice as long.
    prediction: Prediction = tuple.__new__(Prediction, (body.get("y"), proba, body.get("i")))
    return prediction


def is_native_method(model: _core.Model, name: str) -> bool:
    """Whether neither the class of a model nor the model itself overrides a method of `_core.Model`."""
    native = getattr(_core.Model, f"_{name}")
    return getattr(type(model), name, None) is native and name not in vars(model)


def _next_features(x: Any) -> Any:
    """The features of the next value: those of a labelled example, or of the first step of a forecast."""
    if not isinstance(x, dict) or not x:
        return None
    if "horizon" in x or "xs" in x:
        later = x.get("xs")
        return later[0] if isinstance(later, list) and later else None
    return x


def _metric(name: str) -> Any:
    cls = getattr(metrics, name, None)
    if not (isinstance(cls, type) and issubclass(cls, metrics.Metric)):
        raise InvalidValue(f"serve: no metric named {name!r}; `millstream list metric` lists them")
    return cls()


def _wants_proba(metric: Any) -> bool:
    return bool(metric._wants_probabilities())


def _for(metric: Any, predicted: Any) -> Any:
    """The form of a prediction that a metric accepts."""
    if isinstance(predicted, dict) and not _wants_proba(metric):
        return max(predicted, key=predicted.__getitem__)
    return predicted


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
