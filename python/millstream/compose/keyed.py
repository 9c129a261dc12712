"""One model per key."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from millstream import _core, _frames
from millstream._echo import quoted
from millstream._part import shown_part, unlearned_copy
from millstream._python_loop import check_on_error, no_answer
from millstream.base import Features, Label, Wrapper
from millstream.compose.key_columns import key_list, split_dict, split_rows
from millstream.compose.key_templates import check_template, is_native
from millstream.compose.keyed_dump import AS_BEFORE, DumpFolder, load_bytes, load_folder, read_note, spill_folder
from millstream.compose.keyed_python import PythonModels
from millstream.errors import InvalidType, InvalidValue, MillstreamError, UnknownName
from millstream.registry import class_of
from millstream.roles import ANOMALY_DETECTOR, Answer, Truth

__all__ = ["Keyed"]

#: The default of `max_bytes`: 1 GiB.
DEFAULT_BYTES = 1 << 30


class Keyed(Wrapper):
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
        clusterer. A model written in Python works too, only slower.
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

    name = "compose.Keyed"

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
        self._folder: DumpFolder | None = None
        #: How far the stream was learned at the last `dump`.
        self.position: Any = None
        self._wrap(template)

    def _new_models(self) -> Any:
        limits = (self.max_keys or 0, self.max_bytes or 0, float("inf") if self.ttl is None else float(self.ttl))
        if is_native(self.template):
            return _core.Keyed(self.template, *limits, self.prior == "global", spill_folder(self.spill))
        if self.spill is not None:
            raise InvalidType(f"{self.name}: models written in Python cannot be spilled; use spill=None")
        return PythonModels(self.template, *limits, has_global=self.prior == "global")

    @property
    def parameters(self) -> dict[str, Any]:
        """The given parameters."""
        names = ("template", "key", "max_keys", "max_bytes", "time", "ttl", "spill", "prior", "n_threads")
        return {name: getattr(self, name) for name in names}

    def describe(self) -> dict[str, Any]:
        raise InvalidType(f"{self.name}: keyed models have no description; their template has one")

    def clone(self, **changes: Any) -> Any:
        """Keyed models that have learned nothing, with the same parameters except for `changes`."""
        return type(self)._wrapper(**{**self.parameters, "template": unlearned_copy(self.template), **changes})

    def __repr__(self) -> str:
        changed = {
            name: value
            for name, value in self.parameters.items()
            if value not in (None, DEFAULT_BYTES, "template") and name not in ("template", "key")
        }
        given = "".join(f", {name}={value!r}" for name, value in changed.items())
        return f"Keyed({self.template!r}, key={self.key!r}{given})"

    # Dumps.

    def _note(self, position: Any) -> str:
        """What a dump says about this object besides its models."""
        names = ("key", "time", "spill", "n_threads")
        try:
            return json.dumps({**{name: getattr(self, name) for name in names}, "position": position})
        except (TypeError, ValueError):
            got = quoted(position)
            raise InvalidType(
                f"{self.name}: a position must consist of numbers, strings, lists and dicts, got {got}"
            ) from None

    def to_bytes(self) -> bytes:
        """All models as versioned, checksummed bytes."""
        return bytes(self._native("saved as data").to_bytes(self._note(self.position)))

    def _native(self, doing: str) -> _core.Keyed:
        if isinstance(self._models, PythonModels):
            raise InvalidType(f"{self.name}: models written in Python cannot be {doing}; use pickle")
        models: _core.Keyed = self._models
        return models

    @classmethod
    def from_bytes(cls, data: bytes, *, spill: Any = AS_BEFORE) -> Any:
        """Models from the result of `to_bytes`. They continue exactly as the saved ones would.

        `spill` replaces the folder for models that do not fit in memory; None to drop them.
        """
        return cls._revived(*load_bytes(data, spill), None, spill)

    def dump(self, folder: str | os.PathLike[str], *, position: Any = None) -> dict[str, Any]:
        """Write the models to a folder: all the first time, later those that changed since.

        `position` says how far the stream was learned, as numbers, strings, lists or dicts. It is written together
        with the models, so that after a restart the stream continues exactly there: see the attribute `position`.

        The write is atomic: whenever the process is killed, `Keyed.load` finds the state of this dump or of the
        one before. Predictions go on meanwhile. Now and then all models are written again, and older files are
        removed. Returns the kind of the dump ("full" or "delta"), and the number of its models and bytes.
        """
        models = self._native("dumped")
        path = Path(folder).resolve()
        if self._folder is None or self._folder.path != path:
            self._folder = DumpFolder(path)
        written = self._folder.dump(models, self._note(position))
        self.position = position
        return written

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, spill: Any = AS_BEFORE) -> Any:
        """The models of the last `dump` to a folder. They continue exactly as if they had never stopped.

        `spill` replaces the folder for models that do not fit in memory; None to drop them.
        """
        return cls._revived(*load_folder(Path(folder).resolve(), spill), spill)

    @classmethod
    def _revived(cls, models: _core.Keyed, note: str, folder: DumpFolder | None, spill: Any) -> Any:
        wrapper: Any = getattr(cls, "_wrapper", cls)
        keyed = object.__new__(wrapper)
        name = json.loads(models.description())["name"]
        kind: Any = class_of(name)
        template = kind.__new__(kind)
        models.copy_template(template)
        if hasattr(template, "_publish"):
            template._publish()
        limits = {name: limit for name, limit in models.limits().items() if limit is not None}
        keyed.template, keyed._models, keyed._folder = template, models, folder
        keyed.max_keys, keyed.max_bytes, keyed.ttl = (
            limits.get(name) for name in ("max_keys", "max_bytes", "ttl")
        )
        given = read_note(note)
        for parameter in ("key", "time", "spill", "n_threads", "position"):
            setattr(keyed, parameter, given[parameter])
        if spill is not AS_BEFORE:
            keyed.spill = None if spill is None else str(Path(spill).resolve())
        keyed.prior = "global" if models.has_global() else "template"
        keyed._wrap(template)
        return keyed

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_folder": None}
        if not isinstance(self._models, PythonModels):
            state["_models"] = self.to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(self._models, bytes):
            self._models = load_bytes(self._models, AS_BEFORE)[0]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        wrapper, given, state = self.__reduce__()
        other = wrapper(*given)
        other.__setstate__(copy.deepcopy(state, memo))
        return other

    # Keys as values.

    def __len__(self) -> int:
        # Models that have expired still take memory, but count as absent.
        return len(self._models) if self.ttl is None else len(self.keys())

    def __contains__(self, key: Any) -> bool:
        return bool(self._models.has(_plain_key(key)))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def __bool__(self) -> bool:
        return True

    def keys(self) -> list[Any]:
        """All keys in ascending order."""
        return list(self._models.facts()[0])

    def __getitem__(self, key: Any) -> Any:
        """A copy of the model of a key, which may be used and saved on its own."""
        if isinstance(self._models, PythonModels):
            return self._models.copy_of(_plain_key(key))
        return self._filled(lambda model: self._models.copy_to(_plain_key(key), model))

    @property
    def prior_model(self) -> Any:
        """A copy of the model that a new key begins with: the template, or the global model."""
        if isinstance(self._models, PythonModels):
            return copy.deepcopy(self._models.prior)
        return self._filled(self._models.copy_prior)

    def _filled(self, fill: Callable[[Any], None]) -> Any:
        """A model of the template that `fill` gives its state."""
        kind: Any = getattr(type(self.template), "_wrapper", type(self.template))
        model = kind.__new__(kind)
        fill(model)
        if hasattr(model, "_publish"):
            model._publish()
        return model

    def __setitem__(self, key: Any, model: Any) -> None:
        """Replace or add the model of a key. `model`, which is copied, must have the template's parameters."""
        if not isinstance(model, _core.Model) and not isinstance(self._models, PythonModels):
            raise InvalidType(f"{self.name}: a model of the template is required, got {shown_part(model)}")
        self._models.put(_plain_key(key), model)

    def __delitem__(self, key: Any) -> None:
        """Forget the model of a key."""
        self._models.remove(_plain_key(key))

    @property
    def counters(self) -> dict[str, int]:
        """Numbers of models: `created`, `spilled`, `returned`, `expired` by `ttl`, `dropped` for lack of room."""
        return dict(self._models.counters())

    @property
    def memory(self) -> int:
        """Memory of all models in bytes."""
        return int(self._models.memory)

    @property
    def spilled(self) -> int:
        """Number of models that are in the spill file."""
        return int(self._models.spilled()[0])

    @property
    def spilled_bytes(self) -> int:
        """Size of the spill file in bytes."""
        return int(self._models.spilled()[1])

    @property
    def learned(self) -> int:
        """Number of examples that the present models have learned."""
        return int(np.sum(self._models.facts()[1]))

    @property
    def classes(self) -> list[Label]:
        """All classes that some model has learned."""
        return [label for label in self._models.labels() if label is not None]

    def totals(self) -> dict[str, Any]:
        """One row per key, as columns: `key`, `learned`, `last_seen`, `scored` and `mean_error`.

        `mean_error` is the error rate, the mean absolute error or the mean score of the predictions of `step_one`
        and `step_many`; NaN before the first. `pandas.DataFrame(model.totals())` makes a frame of it.
        """
        keys, learned, times, scored, errors, _ = self._models.facts()
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.where(scored > 0, errors / scored, np.nan)
        column = np.array(keys, dtype=object if keys and isinstance(keys[0], str) else np.int64)
        return {"key": column, "learned": learned, "last_seen": times, "scored": scored, "mean_error": means}

    def most_surprising(self, n: int = 10) -> list[tuple[Any, float]]:
        """The keys with the highest mean error or score of their predictions, and that mean."""
        totals = self.totals()
        means = np.nan_to_num(totals["mean_error"], nan=-np.inf)
        chosen = np.argsort(-means, kind="stable")[:n]
        return [(totals["key"][at], float(means[at])) for at in chosen if means[at] > -np.inf]

    def least_recent(self, n: int = 10) -> list[Any]:
        """The keys that have learned least recently, the oldest first."""
        keys, *_, ticks = self._models.facts()
        return [keys[at] for at in np.argsort(ticks, kind="stable")[:n]]

    @property
    def mean_error(self) -> float:
        """Mean error or score of the predictions of all present models, as in `totals`; NaN before the first."""
        _, _, _, scored, errors, _ = self._models.facts()
        return float(np.sum(errors) / np.sum(scored)) if np.sum(scored) else float("nan")

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

    def predict_many(self, X: Any, *, keys: Any = None) -> Any:
        """Predict rows, each with the model of its key, or with the template if the key is unknown."""
        if self.role is ANOMALY_DETECTOR:
            rows = list(X) if keys is None and _is_dicts(X) else self._dicts(X, keys)
            return np.array([self._ask_one(x, "classify") for x in rows], dtype=np.bool_)
        return self._ask_many(X, keys, "class")

    def _dicts(self, X: Any, keys: Any) -> list[Any]:
        """Rows as dicts with their keys."""
        split = self._split(X, keys, None, asking=True)
        rows = _frames.rows_of(split.rows)
        return [{**x, self.key: key} for x, key in zip(rows, key_list(split.keys), strict=True)]

    def predict_proba_many(self, X: Any, *, keys: Any = None) -> Any:
        """Probabilities of rows: a column for each class, in the order of `classes`."""
        return self._ask_many(X, keys, "proba")

    def score_many(self, X: Any, *, keys: Any = None) -> Any:
        """Scores of rows, each with the model of its key."""
        return self._ask_many(X, keys, "class")

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
        targets, weights = _frames.targets(y), _frames.weights(w, by_row=True)
        try:
            answers, labels, skipped = self._models.run(
                split.keys,
                split.rows,
                targets,
                weights,
                split.times,
                predict,
                True,
                on_error == "skip",
                self._threads(),
            )
        except MillstreamError as error:
            if on_error == "stop" and error.row:
                self._models.run(
                    *(_first(part, error.row) for part in (split.keys, split.rows, targets, weights, split.times)),
                    None, True, False, self._threads(),
                )  # fmt: skip
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


def _plain_key(key: Any) -> Any:
    return key.item() if isinstance(key, np.generic) else key


def _is_dicts(X: Any) -> bool:
    return not isinstance(X, np.ndarray) and _frames._library(X) not in ("pandas", "polars", "pyarrow", "scipy")


def _first(part: Any, rows: int) -> Any:
    """The first rows of a column, of a tuple of columns, or of a batch."""
    if part is None or not isinstance(part, tuple):
        return None if part is None else part[:rows]
    if part[0] == "texts":
        return ("texts", part[1][: rows + 1], part[2], None if part[3] is None else part[3][:rows])
    if part[0] == "codes":
        return ("codes", part[1][:rows], part[2])
    if part[0] == "integers":
        return ("integers", part[1][:rows], part[2][:rows])
    if part[0] == "matrix":
        return ("matrix", part[1][:rows])
    return ("columns", [(name, values[:rows], categories) for name, values, categories in part[1]], rows)
