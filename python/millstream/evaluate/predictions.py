"""Each prediction of a run, handed over chunk by chunk as it goes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from millstream import _frames
from millstream.roles import Answer, Role

__all__ = ["Predictions", "Sink"]

#: Is given the columns of some consecutive rows.
Sink = Callable[[Mapping[str, Any]], None]


class Predictions:
    """Brings truths and answers together for a sink."""

    def __init__(self, sink: Sink, names: list[str], role: Role) -> None:
        self.sink, self.role = sink, role
        self.rows = 0
        #: What the columns of each model are called; one model alone needs no name.
        self.ends = {name: "" if len(names) == 1 else f" {name}" for name in names}

    def give(self, y: Any, answers: Mapping[str, tuple[Any, Any]], done: int) -> None:
        """Hand over the first `done` rows of a chunk: truths, and by model predictions and their probabilities."""
        if done <= 0:
            return
        columns: dict[str, Any] = {"row": np.arange(self.rows, self.rows + done), "truth": y[:done]}
        self.rows += done
        for name, (predicted, probabilities) in answers.items():
            columns[f"prediction{self.ends[name]}"] = _filled(predicted, done, self.role.answer)
            if self.role.answer is Answer.CLASS:
                columns[f"probability{self.ends[name]}"] = _filled(probabilities, done, Answer.NUMBER)
        self.sink(columns)


def _filled(values: Any, size: int, answer: Answer) -> Any:
    """Exactly so many values: rows at the end that were set aside have no answer."""
    if len(values) >= size:
        return values[:size]
    missing = size - len(values)
    if answer is not Answer.CLASS:
        return np.concatenate([np.asarray(values, dtype=np.float64), np.full(missing, math.nan)])
    filled = np.empty(size, dtype=object)
    filled[: len(values)] = values
    return filled


def decoded(found: tuple[Any, Any, Any], labels: list[Any], role: Role) -> tuple[Any, Any]:
    """What the engine kept, as labels or numbers, with probabilities."""
    classes, numbers, probabilities = found
    return (_frames.decode(classes, labels) if role.answer is Answer.CLASS else numbers), probabilities
