"""Predictions of a run, passed to a function chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from millstream import _frames
from millstream.roles import REGRESSOR, Answer, Role

__all__ = ["Predictions", "Sink"]

#: Receives the columns of consecutive rows.
Sink = Callable[[Mapping[str, Any]], None]


class Predictions:
    """Combines truths and predictions for a sink."""

    def __init__(self, sink: Sink, names: list[str], role: Role, labelled: bool = True) -> None:
        self.sink, self.role, self.labelled = sink, role, labelled
        self.rows = 0
        #: Suffix of the column names of each model; a single model needs none.
        self.ends = {name: "" if len(names) == 1 else f" {name}" for name in names}

    def give(self, y: Any, answers: Mapping[str, tuple[Any, Any]], done: int) -> None:
        """Pass on the first `done` rows of a chunk: truths, and by model predictions and their probabilities."""
        if done <= 0:
            return
        columns: dict[str, Any] = {"row": np.arange(self.rows, self.rows + done)}
        if self.labelled:
            columns["truth"] = y[:done]
        self.rows += done
        for name, (predicted, probabilities) in answers.items():
            columns[f"prediction{self.ends[name]}"] = _filled(predicted, done, self.role)
            if self.role.answer is Answer.CLASS:
                columns[f"probability{self.ends[name]}"] = _filled(probabilities, done, REGRESSOR)
        self.sink(columns)


def _filled(values: Any, size: int, role: Role) -> Any:
    """Exactly `size` values: skipped rows at the end have no prediction."""
    if len(values) >= size:
        return values[:size]
    missing = size - len(values)
    if role.answer is not Answer.CLASS:
        return np.concatenate(
            [np.asarray(values, dtype=role.dtype), np.full(missing, role.no_answer, dtype=role.dtype)]
        )
    filled = np.empty(size, dtype=object)
    filled[: len(values)] = values
    return filled


def decoded(found: tuple[Any, Any, Any], labels: list[Any], role: Role) -> tuple[Any, Any]:
    """Predictions of the engine as labels or numbers, with probabilities."""
    classes, numbers, probabilities = found
    return (_frames.decode(classes, labels) if role.answer is Answer.CLASS else numbers), probabilities
