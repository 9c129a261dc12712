"""One model per key."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import numpy as np

from millstream import _core, _frames
from millstream._echo import quoted
from millstream._python_loop import check_on_error, no_answer
from millstream.base import Features, Label, Wrapper
from millstream.compose.key_columns import first_rows, key_list, split_dict, split_rows
from millstream.compose.key_templates import check_template, is_native
from millstream.compose.keyed_dump import spill_folder
from millstream.compose.keyed_parts import DEFAULT_BYTES, KeyedParts
from millstream.compose.keyed_python import PythonModels
from millstream.compose.keyed_values import KeyedDriftDetector, KeyedForecaster
from millstream.errors import InvalidType, InvalidValue, MillstreamError, UnknownName
from millstream.roles import ANOMALY_DETECTOR, Answer, Truth

__all__ = ["Keyed"]


class Keyed(KeyedParts, Wrapper):
    """One model for each key: a sensor, a user, a shop. Exactly a dict of models, at native speed.

    Each row is predicted and learned by the model of its key. A new key begins with the template. The rows of a
    batch are distributed over threads by key. The result is that of a loop over the rows, whatever the number of
    threads and the size of batches.

    The key is a feature of the row, which the models do not see. It is an integer or a string. For matrices, pass
    the keys as `keys=`.

    The state of a small model is a short list of numbers, so that a million models fit in memory. When they take
    more than `max_bytes`, those that have learned least recently are dropped, or written to a file with `spill`.
    When there are more than `max_keys`, they are dropped. `counters` says how many.

    Parameters
    ----------
    template
        The model or pipeline that each new key begins with: a classifier, regressor, anomaly detector or
        clusterer, also one written in Python, which is slower; or a forecaster or drift detector of millstream,
        with verbs of their own (see `help(model)`).
    key
        The name of the feature that is the key, or the position of its column in a matrix.
    max_keys
        The largest number of keys; None for no limit.
    max_bytes
        The largest memory of the models in bytes; None for no limit.
    time
        The name of the feature that is the time of a row, in seconds or as a date. The models do not see it.
    ttl
        A model starts anew if its key was not seen for longer than this, in seconds of `time`; None for never.
    spill
        A folder for a file with the models that do not fit in `max_bytes`. They come back bit for bit when their
        key does. None to drop them.
    prior
        The model that a new key begins with: "template", or "global" for a copy of a model that learns the
        examples of all keys, in their order. With "global" a batch is learned on one thread.
    n_threads
        The number of threads that a batch is distributed over; None for the number of cores.

    Examples
    --------
    >>> from millstream import compose, linear_model
    >>> model = compose.Keyed(linear_model.LinearRegression(), key="sensor")
    >>> for i in range(200):
    ...     model.learn_one({"sensor": "a", "x": i % 5}, 2.0 * (i % 5))
    ...     model.learn_one({"sensor": "b", "x": i % 5}, 10.0)
    >>> round(model.predict_one({"sensor": "a", "x": 3})), round(model.predict_one({"sensor": "b", "x": 3}))
    (6, 10)
    >>> len(model), "a" in model, model["a"].learned
    (2, True, 200)
    """

    def __init__(
        self,
        template: Any,
        key: str | int,
        *,
        max_keys: int | None = None,
        max_bytes: int | None = DEFAULT_BYTES,
        time: str | int | None = None,
        ttl: float | None = None,
        spill: str | os.PathLike[str] | None = None,
        prior: str = "template",
        n_threads: int | None = None,
    ) -> None:
        check_template(self.name, template)
        if not isinstance(key, (str, int)) or isinstance(key, bool):
            raise InvalidType(f"{self.name}: key must be the name or the position of a column, got {quoted(key)}")
        for limit, value in (("max_keys", max_keys), ("max_bytes", max_bytes), ("n_threads", n_threads)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InvalidValue(f"{self.name}: {limit} must be a positive integer or None, got {quoted(value)}")
        if ttl is not None and not (isinstance(ttl, (int, float)) and 0 < ttl < float("inf")):
            raise InvalidValue(f"{self.name}: ttl must be a positive number of seconds or None, got {quoted(ttl)}")
        if ttl is not None and time is None:
            raise InvalidValue(f"{self.name}: ttl needs the name of the feature with the time: time=…")
        if prior not in ("template", "global"):
            raise InvalidValue(f'{self.name}: prior must be "template" or "global", got {quoted(prior)}')
        if spill is not None and not isinstance(spill, (str, os.PathLike)):
            raise InvalidType(f"{self.name}: spill must be a folder or None, got {quoted(spill)}")
        if spill is not None and max_bytes is None:
            raise InvalidValue(f"{self.name}: spill needs a limit of memory: max_bytes=…")
        if prior == "global" and isinstance(template, (_core.Forecaster, _core.DriftDetector)):
            raise InvalidValue(
                f'{self.name}: prior must be "template" for forecasters and drift detectors, got "global": a '
                "global model learns the rows of all keys, and these have a series for each key"
            )
        self.template = copy.deepcopy(template)
        self.key = key
        self.max_keys = max_keys
        self.max_bytes = max_bytes
        self.time = time
        self.ttl = ttl
        self.spill = None if spill is None else str(Path(spill).resolve())
        self.prior = prior
        self.n_threads = n_threads
        self._models = self._new_models()
        self._folder = None
        self.position = None
        self._wrap(template)

    def _new_models(self) -> Any:
        limits = (self.max_keys or 0, self.max_bytes or 0, float("inf") if self.ttl is None else float(self.ttl))
        if is_native(self.template):
            for template, kind in _KINDS:
                if isinstance(self.template, template):
                    return kind(self.template, *limits, self.prior == "global", spill_folder(self.spill))
        if self.spill is not None:
            raise InvalidType(f"{self.name}: models written in Python cannot be spilled; use spill=None")
        return PythonModels(self.template, *limits, has_global=self.prior == "global")

    def _wrap(self, model: Any) -> None:
        for template, kind in ((_core.Forecaster, KeyedForecaster), (_core.DriftDetector, KeyedDriftDetector)):
            if isinstance(model, template):
                self.__class__ = kind  # type: ignore[assignment]
                return
        Wrapper._wrap(self, model)

    @property
    def classes(self) -> list[Label]:
        """All classes that some model has learned."""
        return [label for label in self._models.labels() if label is not None]

    # Learning.

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example with the model of its key."""
        key, time, features = split_dict(self.name, x, self.key, self.time)
        self._models.learn_one(key, self._plain(features), y, w, time)

    def learn_many(
        self,
        X: Any,
        y: Any = None,
        w: Any = None,
        *,
        keys: Any = None,
        times: Any = None,
        on_error: str = "raise",
    ) -> int:
        """Learn rows, each with the model of its key, exactly as `learn_one` would.

        `keys` has one key for each row if `X` has no column of keys, and `times` likewise. With
        `on_error="raise"` a row that cannot be learned leaves all models as they were; with "stop" the rows before
        it are learned, and the error is raised; with "skip" all others are. Returns the number of skipped rows.
        """
        return self._run(X, y, w, None, keys, times, on_error)[1]

    def _step_one(self, x: Features, y: Any = None, w: float = 1.0, *, proba: bool = False) -> Any:
        """Predict one example with the model of its key, then learn it. Returns the prediction."""
        key, time, features = split_dict(self.name, x, self.key, self.time)
        return self._models.step_one(key, self._plain(features), y, w, time, "proba" if proba else "class")

    def step_many(
        self,
        X: Any,
        y: Any = None,
        w: Any = None,
        *,
        proba: bool = False,
        keys: Any = None,
        times: Any = None,
        on_error: str = "raise",
    ) -> Any:
        """Predict or score each row with the model of its key, then learn it. Returns the predictions."""
        proba = proba and self.role.answer is Answer.CLASS
        return self._run(X, y, w, "proba" if proba else "class", keys, times, on_error)[0]

    def _predict_one(self, x: Features) -> Any:
        """Predict one example with the model of its key, or with the template if the key is unknown."""
        return self._ask_one(x, "classify" if self.role is ANOMALY_DETECTOR else "class")

    def _predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example."""
        return dict(self._ask_one(x, "proba"))

    def _score_one(self, x: Features) -> float:
        """The score of one example."""
        return float(self._ask_one(x, "score"))

    def _predict_interval_one(self, x: Features, coverage: float = 0.9) -> tuple[float, float]:
        """Two numbers between which the target lies with probability `coverage`; copies the model of the key."""
        key, _, features = split_dict(self.name, x, self.key, None)
        if self.time is not None:
            features.pop(self.time, None)
        model = self.get(key)
        found = (self.prior_model if model is None else model).predict_interval_one(features, coverage)
        return float(found[0]), float(found[1])

    def predict_interval_many(self, X: Any, coverage: float = 0.9, *, keys: Any = None) -> Any:
        """Intervals of rows, exactly as `predict_interval_one` would: columns of lower and of upper ends."""
        rows = [self._predict_interval_one(x, coverage) for x in self._dicts(X, keys)]
        return np.array(rows, dtype=np.float64).reshape(-1, 2)

    def predict_many(self, X: Any, *, keys: Any = None) -> Any:
        """Predict rows, each with the model of its key, or with the template if the key is unknown."""
        if self.role is ANOMALY_DETECTOR:
            return np.array([self._ask_one(x, "classify") for x in self._dicts(X, keys)], dtype=np.bool_)
        return self._ask_many(X, keys, "class")

    def _dicts(self, X: Any, keys: Any) -> list[Any]:
        """Rows as dicts with their keys."""
        if keys is None and _is_dicts(X):
            return list(X)
        split = self._split(X, keys, None, asking=True)
        rows = _frames.rows_of(split.rows)
        return [{**x, self.key: key} for x, key in zip(rows, key_list(split.keys), strict=True)]

    def predict_proba_many(self, X: Any, *, keys: Any = None) -> Any:
        """Probabilities of rows: a column for each class, in the order of `classes`."""
        return self._ask_many(X, keys, "proba")

    def score_many(self, X: Any, *, keys: Any = None) -> Any:
        """Scores of rows, each with the model of its key."""
        if self.role is ANOMALY_DETECTOR:
            return self._ask_many(X, keys, "class")
        return np.array([self._ask_one(x, "score") for x in self._dicts(X, keys)], dtype=np.float64)

    def _plain(self, features: dict[Any, Any]) -> Any:
        return features if isinstance(self._models, PythonModels) else _frames.plain_dict(features)

    def _ask_one(self, x: Features, what: str) -> Any:
        key, _, features = split_dict(self.name, x, self.key, None)
        if self.time is not None:
            features.pop(self.time, None)
        return self._models.predict_one(key, self._plain(features), what)

    def _ask_many(self, X: Any, keys: Any, what: str) -> Any:
        if keys is None and _is_dicts(X):
            answers = [
                self._ask_one(x, what if what == "proba" or self.role is not ANOMALY_DETECTOR else "score")
                for x in X
            ]
            return self._pack_list(answers, what)
        split = self._split(X, keys, None, asking=True)
        if split.rows[0] == "dicts":
            rows = [{**x, self.key: key} for x, key in zip(split.rows[1], keys, strict=True)]
            return self._ask_many(rows, None, what)
        answers, labels, _ = self._models.run(
            split.keys, split.rows, None, None, None, what, False, False, self._threads()
        )
        return self._pack(answers, labels, what, X)

    def _threads(self) -> int:
        return self.n_threads or os.cpu_count() or 1

    def _split(self, X: Any, keys: Any, times: Any, *, asking: bool = False) -> Any:
        try:
            return split_rows(self.name, X, self.key, keys, self.time, times)
        except UnknownName:
            # A prediction needs no time.
            if not asking or self.time is None:
                raise
            return split_rows(self.name, X, self.key, keys, None, None)
        except MillstreamError as error:
            raise error.by(self.name) if not str(error).startswith(self.name) else error from None

    def _run(
        self, X: Any, y: Any, w: Any, predict: str | None, keys: Any, times: Any, on_error: str
    ) -> tuple[Any, int]:
        check_on_error(on_error)
        if keys is None and _is_dicts(X):
            answers, skipped = self._run_dicts(list(X), y, w, predict, on_error)
            return (None if predict is None else self._pack_list(answers, predict)), skipped
        split = self._split(X, keys, times)
        if split.rows[0] == "dicts":
            rows = [{**x, self.key: key} for x, key in zip(split.rows[1], keys, strict=True)]
            return self._run(rows, y, w, predict, None, None, on_error)
        parts = (split.keys, split.rows, _frames.targets(y), _frames.weights(w, by_row=True), split.times)
        try:
            answers, labels, skipped = self._models.run(*parts, predict, True, on_error == "skip", self._threads())
        except MillstreamError as error:
            if on_error == "stop" and error.row:
                self._models.run(
                    *(first_rows(part, error.row) for part in parts), None, True, False, self._threads()
                )
            raise
        return (None if predict is None else self._pack(answers, labels, predict, X)), len(skipped)

    def _run_dicts(
        self, rows: list[Any], y: Any, w: Any, predict: str | None, on_error: str
    ) -> tuple[list[Any], int]:
        """Learn dicts; the batch as a whole if an error must leave all models as they were."""
        examples = _frames.examples(rows, y, w)
        if on_error == "raise":
            read = []
            for row, (x, target, weight) in enumerate(examples):
                try:
                    key, time, features = split_dict(self.name, x, self.key, self.time)
                    read.append((key, self._plain(features), target, weight, time))
                except MillstreamError as error:
                    error.at_row(row)
                    raise
            return list(self._models.run_dicts(read, predict)), 0
        answers: list[Any] = []
        skipped = 0
        for row, (x, target, weight) in enumerate(examples):
            try:
                if predict is None:
                    self.learn_one(x, target, weight)
                else:
                    answers.append(self._step_one(x, target, weight, proba=predict == "proba"))
            except (ValueError, TypeError, KeyError) as error:
                if on_error == "stop":
                    if isinstance(error, MillstreamError):
                        error.at_row(row)
                    raise
                skipped += 1
                answers.append({} if predict == "proba" else no_answer(self))
        return answers, skipped

    def _pack(self, answers: Any, labels: list[Any], what: str, like: Any) -> Any:
        if isinstance(answers, list):
            return self._pack_list(answers, what)
        if self.role.answer is not Answer.CLASS:
            return answers
        if what != "proba":
            return _frames.decode(answers, labels)
        known = [code for code, label in enumerate(labels[: answers.shape[1]]) if label is not None]
        return _frames.give_back([labels[code] for code in known], answers[:, known], {}, like=like)

    def _pack_list(self, answers: list[Any], what: str) -> Any:
        if self.role.truth is Truth.NONE:
            return np.array(answers, dtype=self.role.dtype)
        return (
            _frames.pack_probabilities(answers, self.classes) if what == "proba" else _frames.pack_answers(answers)
        )


#: The class of the core for each kind of template.
_KINDS: tuple[tuple[type, Any], ...] = (
    (_core.Model, _core.Keyed),
    (_core.Forecaster, _core.KeyedForecaster),
    (_core.DriftDetector, _core.KeyedDriftDetector),
)

for _kind in (KeyedForecaster, KeyedDriftDetector):
    _kind._wrapper = Keyed


def _is_dicts(X: Any) -> bool:
    return not isinstance(X, np.ndarray) and _frames._library(X) not in ("pandas", "polars", "pyarrow", "scipy")
