"""millstream models as River estimators. Imported by `compat.to_river` only: River stays optional."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from river import base

from millstream import _frames, linear_model, preprocessing, roles
from millstream._echo import quoted
from millstream.base import Model
from millstream.compat.parameters import changed

__all__ = ["MillstreamClassifier", "MillstreamRegressor", "MillstreamTransformer", "wrap"]


def wrap(model: Model) -> Any:
    """The River estimator for a model."""
    kinds = {
        roles.CLASSIFIER: MillstreamClassifier,
        roles.REGRESSOR: MillstreamRegressor,
        roles.TRANSFORMER: MillstreamTransformer,
    }
    return kinds[roles.role_named(model.role)](model)


class _Wrapper:
    """The base class of the wrappers. It precedes River's class, whose parameters it provides."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def clone(self, new_params: Mapping[str, Any] | None = None, include_attributes: bool = False) -> Any:
        """An untrained estimator, with other parameters of the model if given."""
        changes = dict(new_params or {})
        model = changes.pop("model", self.model)
        if changes:
            return type(self)(changed(model, changes))
        return type(self)(model.copy() if include_attributes else model.clone())

    def mutate(self, new_attrs: Mapping[str, Any]) -> None:
        """Refused: the parameters of a model are fixed."""
        for name in new_attrs:
            raise ValueError(
                f"{quoted(name)} is not a mutable attribute of {self}; clone with new parameters instead"
            )

    def __str__(self) -> str:
        return str(self.model)

    @property
    def _raw_memory_usage(self) -> int:
        return int(self.model.memory)


class MillstreamClassifier(_Wrapper, base.MiniBatchClassifier):
    """A classifier of millstream, for River.

    Parameters
    ----------
    model
        The model.
    """

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"model": preprocessing.StandardScaler() | linear_model.LogisticRegression()}

    @property
    def _multiclass(self) -> bool:
        return _max_classes(self.model) != 2

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        self.model.learn_one(x, y, w)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        return self.model.predict_one(x)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        probabilities: dict[Any, float] = self.model.predict_proba_one(x)
        if len(probabilities) < 2 and not self._multiclass:
            return _both(probabilities)
        return probabilities

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        self.model.learn_many(X, y, w)

    def predict_many(self, X: Any) -> Any:
        return _column(self.model.predict_many(X), X)

    def predict_proba_many(self, X: Any) -> Any:
        known = self.model.predict_proba_many(X)
        if hasattr(known, "columns") and (len(known.columns) > 1 or self._multiclass):
            return known
        answers = [self.predict_proba_one(x) for x in _frames.dicts(X)]
        classes = list(dict.fromkeys(label for answer in answers for label in answer))
        rows = [{label: answer.get(label, 0.0) for label in classes} for answer in answers]
        return _frames.from_dicts(rows, like=X)


class MillstreamRegressor(_Wrapper, base.MiniBatchRegressor):
    """A regressor of millstream, for River.

    Parameters
    ----------
    model
        The model.
    """

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"model": preprocessing.StandardScaler() | linear_model.LinearRegression()}

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        self.model.learn_one(x, y, w)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        return self.model.predict_one(x)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        self.model.learn_many(X, y, w)

    def predict_many(self, X: Any) -> Any:
        return _column(self.model.predict_many(X), X)


class MillstreamTransformer(_Wrapper, base.MiniBatchTransformer):
    """A transformer of millstream, for River.

    Parameters
    ----------
    model
        The model.
    """

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"model": preprocessing.StandardScaler()}

    def learn_one(self, x: dict[Any, Any]) -> None:
        self.model.learn_one(x)

    def transform_one(self, x: dict[Any, Any]) -> dict[Any, Any]:
        return self.model.transform_one(x)  # type: ignore[no-any-return]

    def learn_many(self, X: Any) -> None:
        self.model.learn_many(X)

    def transform_many(self, X: Any) -> Any:
        return self.model.transform_many(X)


def _max_classes(model: Any) -> int | None:
    while hasattr(model, "steps") and not hasattr(model, "max_classes"):
        model = model.steps[-1]
    return getattr(model, "max_classes", None)


def _both(probabilities: dict[Any, float]) -> dict[Any, float]:
    """Both classes of a binary classifier that has seen one or none, True and False until they are known."""
    if not probabilities:
        return {False: 0.5, True: 0.5}
    if set(probabilities) <= {False, True}:
        return {False: probabilities.get(False, 0.0), True: probabilities.get(True, 0.0)}
    return probabilities


def _library(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


def _column(answers: Any, like: Any) -> Any:
    """Predictions as a column of the library of the rows."""
    library = _library(like)
    if library == "pandas":
        import pandas

        return pandas.Series(answers, index=like.index)
    if library == "polars":
        import polars

        return polars.Series(np.asarray(answers).tolist())
    return answers
