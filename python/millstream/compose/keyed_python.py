"""Models written in Python, by key, with the interface of `_core.Keyed`."""

from __future__ import annotations

import copy
import math
from collections import OrderedDict
from typing import Any

import numpy as np

from millstream import _frames
from millstream._answers import probabilities_of
from millstream._display import memory_of
from millstream._echo import quoted, typed
from millstream._part import shown_part
from millstream._python_loop import no_answer, teach
from millstream.compose.key_columns import key_list
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.roles import Answer, role_of

__all__ = ["PythonModels"]

#: Number of learned examples between two looks at the memory of a model, which takes a walk through it.
_BETWEEN_MEASUREMENTS = 256
#: The longest key in bytes.
_LONGEST_KEY = 4096


class _Entry:
    """The model of a key, with what is known about it."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.learned = 0
        self.time = float("nan")
        self.scored = 0
        self.errors = 0.0
        self.tick = 0
        self.memory = memory_of(model)


class _Savepoint:
    """What leads back to the state before a batch: the entries that have changed, and all that is small."""

    def __init__(self, models: PythonModels) -> None:
        self.former: dict[Any, _Entry | None] = {}
        self.small = (dict(models._counters), models._clock, models._tick, models._memory)
        self.prior = copy.deepcopy(models.prior) if models._has_global else models.prior


class PythonModels:
    """A table from keys to copies of a template, the one that learned least recently first."""

    def __init__(
        self, template: Any, max_keys: int, max_bytes: int, ttl: float, *, has_global: bool = False
    ) -> None:
        self._template = copy.deepcopy(template)
        self._has_global = has_global
        #: What a new key begins with.
        self.prior = copy.deepcopy(template) if has_global else self._template
        self._limits = (max_keys or float("inf"), max_bytes or float("inf"), ttl)
        self._entries: OrderedDict[Any, _Entry] = OrderedDict()
        self._clock = float("-inf")
        self._tick = 0
        self._memory = 0
        self._counters = {"created": 0, "spilled": 0, "returned": 0, "expired": 0, "dropped": 0}
        self._savepoint: _Savepoint | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def has(self, key: Any) -> bool:
        return self._find(key) is not None

    def _find(self, key: Any) -> _Entry | None:
        entry = self._entries.get(key)
        return None if entry is None or self._is_expired(entry) else entry

    def _is_expired(self, entry: _Entry) -> bool:
        return self._clock - entry.time > self._limits[2]

    @property
    def memory(self) -> int:
        return self._memory

    def counters(self) -> dict[str, int]:
        expired = sum(self._is_expired(entry) for entry in self._entries.values())
        return {**self._counters, "expired": self._counters["expired"] + expired}

    def spilled(self) -> tuple[int, int]:
        return 0, 0

    def labels(self) -> list[Any]:
        return list(dict.fromkeys(label for entry in self._entries.values() for label in _classes(entry.model)))

    def copy_of(self, key: Any) -> Any:
        entry = self._find(key)
        if entry is None:
            raise KeyError(key)
        return copy.deepcopy(entry.model)

    def put(self, key: Any, model: Any) -> None:
        self._check_key(key)
        if type(model) is not type(self._template):
            raise InvalidType(
                f"compose.Keyed: a model of the template is required, got {shown_part(model)} for "
                f"{shown_part(self._template)}"
            )
        self._tick += 1
        entry = _Entry(copy.deepcopy(model))
        entry.tick = self._tick
        entry.learned = int(getattr(model, "learned", 0))
        if math.isfinite(self._clock):
            entry.time = self._clock
        self._remove(key)
        self._add(key, entry)
        self._counters["created"] += 1

    def remove(self, key: Any) -> None:
        if key not in self._entries:
            raise KeyError(key)
        self._remove(key)

    def facts(self) -> tuple[list[Any], Any, Any, Any, Any, Any]:
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
            column("tick", np.uint64),
        )

    def learn_one(self, key: Any, x: Any, y: Any, w: float, time: float) -> None:
        self.run_dicts([(key, x, y, w, time)], None, single=True)

    def step_one(self, key: Any, x: Any, y: Any, w: float, time: float, predict: str) -> Any:
        return self.run_dicts([(key, x, y, w, time)], predict, single=True)[0]

    def predict_one(self, key: Any, x: Any, predict: str) -> Any:
        self._check_key(key)
        entry = self._find(key)
        return _ask(self.prior if entry is None else entry.model, x, predict)

    def run_dicts(
        self, examples: list[tuple[Any, ...]], predict: str | None, *, single: bool = False
    ) -> list[Any]:
        """Learn all examples, or none. Only the models that learn are copied, for a return to the state before."""
        self._savepoint = _Savepoint(self)
        answers = []
        try:
            for row, (key, x, y, w, time) in enumerate(examples):
                try:
                    answers.append(self._change(key, x, y, w, time, predict))
                except MillstreamError as error:
                    if not single:
                        error.at_row(row)
                    raise
                except Exception as error:
                    error.add_note(f"key {key!r}" if single else f"row {row}, key {key!r}")
                    raise
        except BaseException:
            self._rollback()
            raise
        finally:
            self._savepoint = None
        return answers

    def _rollback(self) -> None:
        savepoint = self._savepoint
        assert savepoint is not None, "a batch is being learned"
        self._counters, self._clock, self._tick, self._memory = savepoint.small
        self.prior = savepoint.prior
        for key, entry in savepoint.former.items():
            if entry is None:
                self._entries.pop(key, None)
            else:
                self._entries[key] = entry
        self._entries = OrderedDict(sorted(self._entries.items(), key=lambda item: item[1].tick))

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
    ) -> tuple[list[Any] | None, list[Any], list[tuple[int, str]]]:
        """Rows of a table, one by one; `threads` is ignored."""
        columns = zip(key_list(keys), _frames.rows_of(rows), strict=True)
        many = [(key, x) for key, x in columns]
        if not learn:
            return [self.predict_one(key, x, predict or "class") for key, x in many], self.labels(), []
        targets = [None] * len(many) if y is None else y.tolist() if isinstance(y, np.ndarray) else y
        weights = np.ones(len(many)) if w is None else w
        moments = np.full(len(many), np.nan) if times is None else times
        examples = [
            (key, x, target, float(weight), float(time))
            for (key, x), target, weight, time in zip(many, targets, weights, moments, strict=True)
        ]
        if not skip:
            return self.run_dicts(examples, predict), self.labels(), []
        answers, skipped = [], []
        for row, example in enumerate(examples):
            try:
                answers += self.run_dicts([example], predict, single=True)
            except (ValueError, TypeError, KeyError) as error:
                skipped.append((row, str(error)))
                answers.append({} if predict == "proba" else no_answer(self._template))
        return answers, self.labels(), skipped

    def _change(self, key: Any, x: Any, y: Any, w: float, time: float, predict: str | None) -> Any:
        self._check_key(key)
        self._clock = max(self._clock, time) if time == time else self._clock
        entry = self._entries.get(key)
        if entry is not None and self._is_expired(entry):
            self._remove(key)
            self._counters["expired"] += 1
            entry = None
        if entry is None:
            entry = _Entry(copy.deepcopy(self.prior))
            self._add(key, entry)
            self._counters["created"] += 1
        else:
            self._remember(key, copied=True)
        answer = None if predict is None else _ask(entry.model, x, predict)
        teach(entry.model, x, y, w)
        if self._has_global:
            teach(self.prior, x, y, w)
        self._tick += 1
        entry.tick = self._tick
        entry.learned += w > 0
        entry.time = time if entry.time != entry.time else max(entry.time, time)
        if predict is not None and (error := _error(entry.model, answer, y, predict)) is not None:
            entry.scored += 1
            entry.errors += error
        if entry.learned % _BETWEEN_MEASUREMENTS == 1:
            before, entry.memory = entry.memory, memory_of(entry.model)
            self._memory += entry.memory - before
        self._entries.move_to_end(key)
        self._make_room()
        return answer

    def _remember(self, key: Any, *, copied: bool = False) -> None:
        """Keep the entry of a key for a return to the savepoint, or that there is none."""
        if self._savepoint is not None and key not in self._savepoint.former:
            entry = self._entries.get(key)
            self._savepoint.former[key] = copy.deepcopy(entry) if copied else entry

    def _add(self, key: Any, entry: _Entry) -> None:
        self._remember(key)
        self._entries[key] = entry
        self._memory += entry.memory
        self._make_room()

    def _remove(self, key: Any) -> None:
        self._remember(key)
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._memory -= entry.memory

    def _make_room(self) -> None:
        most, bytes_, ttl = self._limits
        if len(self._entries) <= most and self._memory <= bytes_:
            return
        if ttl < float("inf"):
            for key in [key for key, entry in self._entries.items() if self._is_expired(entry)]:
                self._remove(key)
                self._counters["expired"] += 1
        while len(self._entries) > 1 and (len(self._entries) > most or self._memory > bytes_):
            self._remove(next(iter(self._entries)))
            self._counters["dropped"] += 1

    def _check_key(self, key: Any) -> None:
        if key is None or key != key:
            raise InvalidValue("the key is missing")
        if isinstance(key, bool) or not isinstance(key, (int, str)):
            raise InvalidType(f"a key must be an integer or a string, got {typed(key)}")
        if isinstance(key, str) and len(key.encode("utf-8", "surrogatepass")) > _LONGEST_KEY:
            raise InvalidValue(f"a key may have up to {_LONGEST_KEY} bytes, got {len(key)}")
        if isinstance(key, int) and not -(1 << 63) <= key < 1 << 63:
            raise InvalidValue(f"a key must fit in 64 bits, got {quoted(key)}")
        known = next(iter(self._entries), key)
        if isinstance(known, str) != isinstance(key, str):
            kinds = ("strings", "an integer") if isinstance(known, str) else ("integers", "a string")
            raise InvalidType(f"compose.Keyed: the keys so far are {kinds[0]}, got {kinds[1]}")


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
