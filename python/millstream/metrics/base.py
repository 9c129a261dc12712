"""Base class of all metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from millstream import _core, _frames
from millstream._measures import Measure
from millstream.errors import InvalidType, InvalidValue
from millstream.metrics.positive import with_positive
from millstream.roles import ANOMALY_DETECTOR, CLASSIFIER, REGRESSOR, role_of

__all__ = ["Metric"]


class Metric(_core.Metric, Measure):
    """A score of predictions. `update` and `get` are those of the compiled class."""

    role = "metric"
    #: Format of the value.
    _format = ".2%"

    def update_many(
        self, y_true: Any, y_pred: Any, w: Any = None, *, classes: Sequence[Any] | None = None
    ) -> None:
        """Score many predictions, with the same result as `update` one by one; an error changes nothing.

        `y_pred` is a column of labels, numbers or probabilities, a list of dicts of probabilities, or a
        matrix of probabilities: a data frame with a column per class, or an array with `classes`.
        """
        weights = _frames.weights(w)
        y_true = _column("y_true", y_true)
        if not isinstance(y_pred, np.ndarray) and hasattr(y_pred, "columns"):
            classes = list(y_pred.columns) if classes is None else classes
            y_pred = y_pred.to_numpy()
        if getattr(y_pred, "ndim", 1) == 2 and classes is None:
            raise InvalidValue(f"{self.name}: a matrix of probabilities needs classes, the labels of its columns")
        if classes is not None:
            matrix = np.asarray(y_pred, dtype=np.float64)
            if matrix.ndim != 2:
                raise InvalidValue(f"{self.name}: classes need a matrix of probabilities")
            return self._update_many(y_true, matrix, weights, list(classes))
        if not isinstance(y_pred, np.ndarray) and any(isinstance(item, Mapping) for item in y_pred):
            return self._update_dicts(y_true, y_pred, weights)
        return self._update_many(y_true, _column("y_pred", y_pred), weights, None)

    def _update_dicts(self, y_true: Any, y_pred: Any, w: Any) -> None:
        truths, predictions = list(y_true), list(y_pred)
        ws = [1.0] * len(truths) if w is None else w.tolist()
        if not len(truths) == len(predictions) == len(ws):
            raise InvalidValue(f"{self.name}: y_true, y_pred and w must have the same length")
        before = self.copy()
        for row, outcome in enumerate(zip(truths, predictions, ws, strict=True)):
            try:
                self.update(*outcome)
            except Exception as error:
                self._load(before)
                error.add_note(f"at row {row}")
                raise

    def is_better_than(self, other: Any) -> bool:
        """Whether its value is better than that of another metric of the same kind."""
        return bool(self.get() > other.get() if self.bigger_is_better else self.get() < other.get())

    def __gt__(self, other: Any) -> bool:
        return self.is_better_than(other)

    @property
    def requires_labels(self) -> bool:
        """Whether it scores labels or numbers, not probabilities; River's name."""
        return not self._wants_probabilities()

    def works_with(self, model: Any) -> bool:
        """Whether it scores what a model predicts; River's name."""
        role = role_of(model)
        if self._takes_numbers():
            return role is REGRESSOR
        return role is CLASSIFIER or (role is ANOMALY_DETECTOR and not self.requires_labels)

    def __add__(self, other: Any) -> Any:
        from millstream.metrics.together import Metrics

        return Metrics([self, other])

    def _shown(self) -> str:
        text = format(self.get(), self._format)
        return text.rstrip("0").rstrip(".") if "." in text and not text.endswith("%") else text

    def _title(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        title = with_positive(self._title(), self.positive_class, not self._lacks_positive())
        return f"{title}: {self._shown()}"


def _column(what: str, values: Any) -> Any:
    if values is None or isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise InvalidType(f"{what} must be a column of values, got {type(values).__name__}")
    return _frames.targets(values)
