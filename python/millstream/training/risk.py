"""The empirical risk of a model: its mean loss over finite data."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from millstream import _core, _frames
from millstream.errors import InvalidType
from millstream.evaluate.inputs import chosen_metrics
from millstream.roles import REGRESSOR, role_named, role_of
from millstream.stream.chunk import Chunk, as_list
from millstream.training.data import Data

__all__ = ["Risk", "table_of"]


class Risk:
    """The risk that is measured after each pass."""

    def __init__(self, model: Any, metric: Any) -> None:
        #: The role of a foreign model follows from its methods.
        self.role = role_named(str(role_of(model)))
        self.metric: Any = None
        #: Name of the number; for a model's own loss it is known after the first evaluation.
        self.name = "loss"
        self.bigger_is_better = False
        if metric is not None:
            chosen = chosen_metrics(metric, self.role)
            if len(chosen) != 1:
                raise InvalidType(f"train: metric must be one metric, got {len(chosen)}: {', '.join(chosen)}")
            self.name, self.metric = next(iter(chosen.items()))
            self.bigger_is_better = bool(getattr(self.metric, "bigger_is_better", True))
        self.own = metric is None and isinstance(model, _core.Model)

    def better(self, risk: float, best: float, by: float = 0.0) -> bool:
        """Whether a risk is better than the best so far by more than `by`."""
        return risk > best + by if self.bigger_is_better else risk < best - by

    @property
    def worst(self) -> float:
        """The worst possible risk."""
        return -np.inf if self.bigger_is_better else np.inf

    def of(self, model: Any, data: Data, look: Callable[[], None]) -> float:
        """The risk of the current model; `look` is called between chunks of examples."""
        if self.metric is not None:
            return self._measured(model, data, look)
        if self.own:
            found = self._own(model, data, look)
            if found is not None:
                return found
            self.own = False
        self.name = "squared error" if self.role is REGRESSOR else "error rate"
        return self._plain(model, data, look)

    def _own(self, model: Any, data: Data, look: Callable[[], None]) -> float | None:
        """The mean of the model's own loss; None if it has none."""
        total = weight = 0.0
        for chunk in data.chunks("cyclic", _NO_ORDER):
            found = model._risk(table_of(chunk.X), _frames.targets(chunk.y), _frames.weights(chunk.w))
            if found is None:
                return None
            total, weight = total + found[0], weight + found[1]
            look()
        return total / weight if weight else float("nan")

    def _plain(self, model: Any, data: Data, look: Callable[[], None]) -> float:
        total = weight = 0.0
        for chunk in data.chunks("cyclic", _NO_ORDER):
            y, predicted, w = _answers(model, chunk, False)
            if self.role is REGRESSOR:
                losses = (np.asarray(y, dtype=np.float64) - np.asarray(predicted, dtype=np.float64)) ** 2
            else:
                losses = np.array([float(a != b) for a, b in zip(as_list(y), as_list(predicted), strict=True)])
            total, weight = total + float(losses @ w), weight + float(w.sum())
            look()
        return total / weight if weight else float("nan")

    def _measured(self, model: Any, data: Data, look: Callable[[], None]) -> float:
        metric = copy.deepcopy(self.metric)
        native = isinstance(metric, _core.Metric)
        probabilities = metric._wants_probabilities() if native else not getattr(metric, "requires_labels", True)
        for chunk in data.chunks("cyclic", _NO_ORDER):
            y, predicted, w = _answers(model, chunk, probabilities)
            if native and isinstance(predicted, np.ndarray) and predicted.ndim == 2:
                metric.update_many(y, predicted, w, classes=model.classes)
            elif native:
                metric.update_many(y, predicted, w)
            else:
                for truth, said in zip(as_list(y), as_list(predicted), strict=True):
                    metric.update(truth, said)
            look()
        return float(metric.get())


#: For data in its own order, which draws nothing.
_NO_ORDER = np.random.default_rng(0)


def _answers(model: Any, chunk: Chunk, probabilities: bool) -> tuple[Any, Any, Any]:
    w = np.ones(len(chunk)) if chunk.w is None else np.asarray(_frames.weights(chunk.w))
    if isinstance(model, _core.Model) and not isinstance(chunk.X, list):
        many: Any = model
        return chunk.y, many.predict_proba_many(chunk.X) if probabilities else many.predict_many(chunk.X), w
    dicts = _frames.dicts(chunk.X)
    predicted = [model.predict_proba_one(x) if probabilities else model.predict_one(x) for x in dicts]
    return as_list(chunk.y), predicted, w


def table_of(X: Any) -> tuple[Any, ...]:
    """Rows as a table for the core; absent keys of a dict are missing values."""
    parts = _frames.take_apart(X)
    if parts[0] != "dicts":
        return parts
    rows = [_frames.plain_dict(row) for row in parts[1]]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = [
        (_frames._name(name), *_frames._object_column(name, [row.get(name) for row in rows])) for name in names
    ]
    return ("columns", columns, len(rows))
