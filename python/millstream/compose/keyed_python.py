"""Models written in Python, by key, with the interface of `_core.Keyed`."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

import numpy as np

from millstream import _frames
from millstream._answers import probabilities_of
from millstream._display import memory_of
from millstream._echo import quoted, typed
from millstream._python_loop import no_answer, teach
from millstream.compose.key_columns import key_list
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.roles import Answer, role_of

__all__ = ["PythonModels"]

#: Number of learned examples between two looks at the memory of a model, which takes a walk through it.
_BETWEEN_MEASUREMENTS = 256


class _Entry:
    """The model of a key, with what is known about it."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.learned = 0
        self.time = float("nan")
        self.scored = 0
        self.errors = 0.0
        self.memory = memory_of(model)


class PythonModels:
    """A table from keys to copies of a template, the one that learned least recently first."""

    def __init__(self, template: Any, max_keys: int, max_bytes: int, ttl: float) -> None:
        self._template = copy.deepcopy(template)
        self._limits = (max_keys or float("inf"), max_bytes or float("inf"), ttl)
        self._entries: OrderedDict[Any, _Entry] = OrderedDict()
        self._clock = float("-inf")
        self._counters = {"created": 0, "dropped": 0, "expired": 0}

    def __len__(self) -> int:
        return len(self._entries)

    def has(self, key: Any) -> bool:
        return self._find(key) is not None

    def _find(self, key: Any) -> _Entry | None:
        entry = self._entries.get(key)
        return None if entry is None or self._clock - entry.time > self._limits[2] else entry

    @property
    def memory(self) -> int:
        return sum(entry.memory for entry in self._entries.values())

    def counters(self) -> dict[str, int]:
        return self._counters

    def labels(self) -> list[Any]:
        return list(dict.fromkeys(label for entry in self._entries.values() for label in _classes(entry.model)))

    def copy_of(self, key: Any) -> Any:
        entry = self._find(key)
        if entry is None:
            raise KeyError(key)
        return copy.deepcopy(entry.model)

    def put(self, key: Any, model: Any) -> None:
        _check_key(key)
        self._entries.pop(key, None)
        self._entries[key] = _Entry(copy.deepcopy(model))
        self._counters["created"] += 1
        self._make_room()

    def remove(self, key: Any) -> None:
        del self._entries[key]

    def facts(self) -> tuple[list[Any], Any, Any, Any, Any]:
        keys = sorted(key for key in self._entries if self._find(key) is not None)
        entries = [self._entries[key] for key in keys]

        def column(name: str, dtype: Any) -> Any:
            return np.array([getattr(entry, name) for entry in entries], dtype=dtype)

        return (
            keys,
            column("learned", np.uint64),
            column("time", np.float64),
            column("scored", np.uint64),
            column("errors", np.float64),
        )

    def learn_one(self, key: Any, x: Any, y: Any, w: float, time: float) -> None:
        self._change(key, x, y, w, time, None)

    def step_one(self, key: Any, x: Any, y: Any, w: float, time: float, predict: str) -> Any:
        return self._change(key, x, y, w, time, predict)

    def predict_one(self, key: Any, x: Any, predict: str) -> Any:
        _check_key(key)
        entry = self._find(key)
        return _ask(self._template if entry is None else entry.model, x, predict)

    def run_dicts(self, examples: list[tuple[Any, ...]], predict: str | None) -> list[Any]:
        """Learn all examples, or none."""
        before = copy.deepcopy(self.__dict__)
        answers = []
        for row, (key, x, y, w, time) in enumerate(examples):
            try:
                answers.append(self._change(key, x, y, w, time, predict))
            except Exception as error:
                self.__dict__.update(before)
                if isinstance(error, MillstreamError):
                    error.at_row(row)
                else:
                    error.add_note(f"at row {row}")
                raise
        return answers

    def run(
        self,
        keys: Any,
        rows: tuple[Any, ...],
        y: Any,
        w: Any,
        times: Any,
        predict: str | None,
        learn: bool,
        skip: bool,
        threads: int,
    ) -> tuple[list[Any] | None, list[tuple[int, str]]]:
        """Rows of a table, one by one; `threads` is ignored."""
        columns = zip(key_list(keys), _frames.rows_of(rows), strict=True)
        many = [(key, x) for key, x in columns]
        if not learn:
            return [self.predict_one(key, x, predict or "class") for key, x in many], []
        targets = [None] * len(many) if y is None else y.tolist() if isinstance(y, np.ndarray) else y
        weights = np.ones(len(many)) if w is None else w
        moments = np.full(len(many), np.nan) if times is None else times
        examples = [
            (key, x, target, float(weight), float(time))
            for (key, x), target, weight, time in zip(many, targets, weights, moments, strict=True)
        ]
        if not skip:
            return self.run_dicts(examples, predict), []
        answers, skipped = [], []
        for row, example in enumerate(examples):
            try:
                answers.append(self._change(*example, predict))
            except (ValueError, TypeError, KeyError) as error:
                skipped.append((row, str(error)))
                answers.append({} if predict == "proba" else no_answer(self._template))
        return answers, skipped

    def _change(self, key: Any, x: Any, y: Any, w: float, time: float, predict: str | None) -> Any:
        _check_key(key)
        clock = max(self._clock, time) if time == time else self._clock
        entry = self._entries.get(key)
        expired = entry is not None and clock - entry.time > self._limits[2]
        fresh = entry is None or expired
        if entry is None or expired:
            entry = _Entry(copy.deepcopy(self._template))
        answer = None if predict is None else _ask(entry.model, x, predict)
        teach(entry.model, x, y, w)
        entry.learned += w > 0
        entry.time = time if entry.time != entry.time else max(entry.time, time)
        if predict is not None and (error := _error(entry.model, answer, y, predict)) is not None:
            entry.scored += 1
            entry.errors += error
        if entry.learned % _BETWEEN_MEASUREMENTS == 1:
            entry.memory = memory_of(entry.model)
        self._clock = clock
        self._counters["expired"] += expired
        self._counters["created"] += fresh
        self._entries[key] = entry
        self._entries.move_to_end(key)
        self._make_room()
        return answer

    def _make_room(self) -> None:
        most, bytes_, _ = self._limits
        memory = self.memory if bytes_ < float("inf") else 0
        while len(self._entries) > 1 and (len(self._entries) > most or memory > bytes_):
            _, dropped = self._entries.popitem(last=False)
            memory -= dropped.memory
            self._counters["dropped"] += 1


def _check_key(key: Any) -> None:
    if key is None or key != key:
        raise InvalidValue("the key is missing")
    if isinstance(key, bool) or not isinstance(key, (int, str)):
        raise InvalidType(f"a key must be an integer or a string, got {typed(key)}")
    if isinstance(key, str) and len(key) > 4096:
        raise InvalidValue(f"a key may have up to 4096 characters, got {quoted(key)}")


def _classes(model: Any) -> Any:
    return getattr(model, "classes", ())


def _ask(model: Any, x: Any, predict: str) -> Any:
    if predict == "proba":
        return probabilities_of(model, x)
    role = role_of(model)
    if predict == "score" or (predict == "class" and role is not None and role.answer is Answer.SCORE):
        return model.score_one(x)
    return model.predict_one(x)


def _error(model: Any, answer: Any, y: Any, predict: str) -> float | None:
    role = role_of(model)
    kind = None if role is None else role.answer
    if kind is Answer.SCORE:
        return float(answer)
    if kind is Answer.NUMBER and y is not None:
        return abs(float(answer) - float(y))
    if kind is Answer.CLASS and y is not None and answer is not None and answer != {}:
        return float((max(answer, key=answer.__getitem__) if predict == "proba" else answer) != y)
    return None
