"""scikit-learn's estimators as our models. Imported by `compat.from_sklearn` only."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import sklearn.base
from sklearn.utils import get_tags

from millstream._echo import quoted, typed
from millstream.base import Classifier, Label, Model, Regressor, Transformer
from millstream.errors import InvalidType, InvalidValue
from millstream.roles import TRANSFORMER

__all__ = ["SklearnClassifier", "SklearnRegressor", "SklearnTransformer", "wrap"]

Self = TypeVar("Self", bound="_Wrapper")


def wrap(
    estimator: Any, classes: Sequence[Label] | None, features: Sequence[Any] | None, batch_size: int
) -> Model:
    """The model for a scikit-learn estimator."""
    title = type(estimator).__name__
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise InvalidType(f"compat.from_sklearn: takes an estimator of scikit-learn, got {quoted(estimator)}")
    if not hasattr(estimator, "partial_fit"):
        raise InvalidType(f"compat.from_sklearn: {title} has no partial_fit, so it cannot learn from a stream")
    if sklearn.base.is_classifier(estimator):
        return SklearnClassifier(estimator, classes, features, batch_size)
    if classes is not None:
        raise InvalidValue(f"compat.from_sklearn: classes are for classifiers, and {title} is not one")
    if sklearn.base.is_regressor(estimator):
        return SklearnRegressor(estimator, features, batch_size)
    if hasattr(estimator, "transform"):
        return SklearnTransformer(estimator, features, batch_size)
    raise InvalidType(f"compat.from_sklearn: {title} is not a classifier, regressor or transformer")


class _Wrapper(Model):
    """What the three kinds share: the columns, and the rows that wait for a batch."""

    estimator: Any
    features: list[Any] | None
    batch_size: int

    def _start(self, estimator: Any, features: Sequence[Any] | None, batch_size: int) -> None:
        if not isinstance(batch_size, int) or batch_size < 1:
            raise InvalidValue(
                f"compat.from_sklearn: batch_size must be an integer from 1, got {quoted(batch_size)}"
            )
        self.estimator = estimator
        self.features = None if features is None else list(features)
        self.batch_size = batch_size
        # The copy learns. Rows reach it without names, which it would warn about had it been fitted to a frame.
        self._learner = copy.deepcopy(estimator)
        names = self._learner.__dict__.pop("feature_names_in_", None)
        self._columns = self.features if names is None else list(names)
        self._fitted = hasattr(estimator, "n_features_in_")
        self._waiting: list[tuple[Any, Any, float]] = []
        self._takes_weights = "sample_weight" in inspect.signature(estimator.partial_fit).parameters
        self._takes_missing = bool(get_tags(estimator).input_tags.allow_nan)

    def clone(self: Self, **changes: Any) -> Self:
        """A new model that has learned nothing, with `changes` to the estimator's parameters."""
        parameters = {name: changes.pop(name, value) for name, value in self.parameters.items()}
        parameters["estimator"] = sklearn.base.clone(parameters["estimator"]).set_params(**changes)
        return type(self)(**parameters)

    def copy(self: Self) -> Self:
        """An independent copy that has learned the same."""
        return copy.deepcopy(self)

    def __repr__(self) -> str:
        return f"from_sklearn({self.estimator!r})"

    def _row(self, x: Mapping[Any, Any], columns: list[Any]) -> Any:
        """An example as a row of numbers."""
        if not isinstance(x, Mapping):
            raise InvalidType(f"{self!r}: an example must be a dict of features, got {typed(x)}")
        if not x.keys() <= set(columns):
            strange = next(name for name in x if name not in columns)
            raise InvalidValue(
                f"{self!r}: since the first example the features are {', '.join(map(repr, columns))}; "
                f"got {quoted(strange)}"
            )
        row = np.empty((1, len(columns)))
        for place, name in enumerate(columns):
            value = x.get(name)
            try:
                row[0, place] = np.nan if value is None else value
            except OverflowError:
                raise InvalidValue(
                    f"{self!r}: feature {quoted(name)} must fit in a float, got {typed(value)}"
                ) from None
            except (TypeError, ValueError):
                raise InvalidType(
                    f"{self!r}: feature {quoted(name)} must be a number, got {quoted(value)}; "
                    "put an encoder in front"
                ) from None
            if not self._takes_missing and row[0, place] != row[0, place]:
                raise InvalidValue(f"{self!r}: feature {quoted(name)} is missing; put an imputer in front")
            if np.isinf(row[0, place]):
                raise InvalidValue(f"{self!r}: feature {quoted(name)} must be finite or missing, got {value}")
        return row

    def _known_row(self, x: Mapping[Any, Any]) -> Any:
        """The row to predict from, or None where nothing was learned yet."""
        return self._row(x, self._columns) if self._fitted and self._columns is not None else None

    def _learn(self, x: Mapping[Any, Any], y: Any, w: float) -> None:
        if not 0.0 <= w < float("inf"):
            raise InvalidValue(f"{self!r}: the weight must be finite and not negative, got {w}")
        if w != 1.0 and w != 0.0 and not self._takes_weights:
            raise InvalidValue(f"{self!r}: this estimator takes no sample weights, got {w}")
        columns = list(x) if self._columns is None else self._columns
        row = self._row(x, columns)
        if w == 0.0:
            return
        if not columns:
            raise InvalidValue(f"{self!r}: the first example must have features, got none")
        waiting = [*self._waiting, (row, y, w)]
        if len(waiting) >= self.batch_size:
            self._partial_fit(waiting)
            self._fitted, waiting = True, []
        self._columns, self._waiting = columns, waiting

    def _partial_fit(self, waiting: list[tuple[Any, Any, float]]) -> None:
        rows = np.concatenate([row for row, _, _ in waiting])
        targets = None if self.role is TRANSFORMER else np.array([y for _, y, _ in waiting])
        arguments: dict[str, Any] = {}
        if any(w != 1.0 for _, _, w in waiting):
            arguments["sample_weight"] = np.array([w for _, _, w in waiting])
        self._learner.partial_fit(rows, targets, **self._first_arguments(), **arguments)

    def _first_arguments(self) -> dict[str, Any]:
        return {}


class SklearnClassifier(_Wrapper, Classifier):
    """A classifier of scikit-learn."""

    def __init__(
        self,
        estimator: Any,
        classes: Sequence[Label] | None = None,
        features: Sequence[Any] | None = None,
        batch_size: int = 1,
    ) -> None:
        self._start(estimator, features, batch_size)
        self.classes = classes if classes is None else list(classes)

    def _first_arguments(self) -> dict[str, Any]:
        return {} if self._fitted else {"classes": np.unique(np.array(self.classes))}

    def learn_one(self, x: Mapping[Any, Any], y: Any = None, w: float = 1.0) -> None:
        known = self.classes if self.classes is not None else getattr(self._learner, "classes_", None)
        if known is None:
            raise InvalidValue(
                f"{self!r}: scikit-learn needs all classes before it learns: from_sklearn(…, classes=[…])"
            )
        if y not in known:
            raise InvalidValue(
                f"{self!r}: the classes are {', '.join(repr(label) for label in known)}, got {quoted(y)}"
            )
        self._learn(x, y, w)

    def predict_one(self, x: Mapping[Any, Any]) -> Label | None:
        row = self._known_row(x)
        return None if row is None else self._learner.predict(row).tolist()[0]

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Label, float]:
        if not hasattr(self._learner, "predict_proba"):
            raise NotImplementedError(f"{self!r}: this estimator has no probabilities")
        row = self._known_row(x)
        if row is None:
            return {}
        return dict(
            zip(self._learner.classes_.tolist(), self._learner.predict_proba(row)[0].tolist(), strict=True)
        )


class SklearnRegressor(_Wrapper, Regressor):
    """A regressor of scikit-learn."""

    def __init__(self, estimator: Any, features: Sequence[Any] | None = None, batch_size: int = 1) -> None:
        self._start(estimator, features, batch_size)

    def learn_one(self, x: Mapping[Any, Any], y: Any = None, w: float = 1.0) -> None:
        if not isinstance(y, (int, float, np.number)) or not np.isfinite(y):
            raise InvalidValue(f"{self!r}: the target must be a finite number, got {quoted(y)}")
        self._learn(x, float(y), w)

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        row = self._known_row(x)
        return 0.0 if row is None else float(self._learner.predict(row)[0])


class SklearnTransformer(_Wrapper, Transformer):
    """A transformer of scikit-learn. Before it has learned, its output has no features."""

    def __init__(self, estimator: Any, features: Sequence[Any] | None = None, batch_size: int = 1) -> None:
        self._start(estimator, features, batch_size)

    def learn_one(self, x: Mapping[Any, Any], y: Any = None, w: float = 1.0) -> None:
        self._learn(x, None, w)

    def transform_one(self, x: Mapping[Any, Any]) -> dict[Any, Any]:
        row = self._known_row(x)
        if row is None:
            return {}
        values = self._learner.transform(row)
        values = values.toarray()[0] if hasattr(values, "toarray") else np.asarray(values)[0]
        return dict(zip(self._names_out(len(values)), values.tolist(), strict=True))

    def _names_out(self, width: int) -> Sequence[Any]:
        if isinstance(self._learner, sklearn.base.OneToOneFeatureMixin) and self._columns is not None:
            return self._columns
        if hasattr(self._learner, "get_feature_names_out"):
            return self._learner.get_feature_names_out().tolist()  # type: ignore[no-any-return]
        return range(width)
