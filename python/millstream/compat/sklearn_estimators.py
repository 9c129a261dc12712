"""millstream models as scikit-learn estimators. Imported only by `compat.to_sklearn`: scikit-learn is optional."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, check_is_fitted, column_or_1d

from millstream import _frames, multiclass, roles
from millstream._echo import quoted
from millstream._sparse import Sparse
from millstream.base import Classifier, Model
from millstream.compat.sklearn_base import Estimator
from millstream.compose import Pipeline
from millstream.errors import InvalidValue

__all__ = ["MillstreamClassifier", "MillstreamRegressor", "MillstreamTransformer", "wrap"]


def wrap(model: Model) -> Any:
    """The scikit-learn estimator for a model."""
    kinds = {
        roles.CLASSIFIER: MillstreamClassifier,
        roles.REGRESSOR: MillstreamRegressor,
        roles.TRANSFORMER: MillstreamTransformer,
    }
    return kinds[roles.role_named(model.role)](model)


class MillstreamClassifier(ClassifierMixin, Estimator):  # type: ignore[misc]
    """A classifier of millstream, for scikit-learn.

    Parameters
    ----------
    model
        The model.

    Attributes
    ----------
    model_
        The trained model.
    classes_
        The classes, sorted.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = _is_baseline(self.model)
        return tags

    def fit(self, X: Any, y: Any, **fit_params: Any) -> MillstreamClassifier:
        """Learn the rows once, in their order, from the beginning."""
        rows, labels = self._examples(X, y, reset=True)
        self._fixed = False
        self.classes_ = np.unique(labels)
        self.model_ = _for_classes(self._fresh(), len(self.classes_))
        return self._learn(rows, labels, fit_params)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, **fit_params: Any) -> MillstreamClassifier:
        """Continue to learn. `classes`, if given at the first call, are all classes."""
        first = not hasattr(self, "model_")
        rows, labels = self._examples(X, y, reset=first)
        if first:
            self._fixed = classes is not None
            self.classes_ = np.unique(labels if classes is None else np.asarray(classes))
            self.model_ = _for_classes(self._fresh(), len(self.classes_))
        elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise InvalidValue(
                f"classes={quoted(classes)} is not the same as on last call to partial_fit, "
                f"was: {quoted(self.classes_)}"
            )
        strange = np.setdiff1d(labels, self.classes_)
        if len(strange) and self._fixed:
            raise InvalidValue(
                f"y has the class {quoted(strange[0])}, which is not among the classes {self.classes_.tolist()}"
            )
        learned = self._learn(rows, labels, fit_params)
        if len(strange):
            self.classes_ = np.union1d(self.classes_, strange)
        return learned

    def _examples(self, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
        if y is None:
            raise InvalidValue(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        rows = self._rows(X, reset)
        labels = column_or_1d(y, warn=True)
        if labels.dtype.kind == "f":
            assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        check_consistent_length(rows, labels)
        return rows, labels

    def _learn(self, rows: Any, labels: Any, fit_params: dict[str, Any]) -> MillstreamClassifier:
        self.model_.learn_many(rows, labels.tolist(), self._weights(fit_params, rows))
        return self

    def predict(self, X: Any) -> Any:
        """The most probable class of each row; the first among equals, as in scikit-learn."""
        check_is_fitted(self)
        if _has_probabilities(self.model):
            return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        labels = self.model_.predict_many(self._rows(X, reset=False)).tolist()
        # An untrained model predicts None, which is replaced by the first class.
        place = {None: 0, **self._places()}
        return self.classes_[[place[label] for label in labels]]

    @available_if(lambda self: _has_probabilities(self.model))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, in the order of `classes_`."""
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        place = self._places()
        answers = np.zeros((rows.shape[0], len(place)))
        known, probabilities = _probabilities(self.model_, rows)
        answers[:, [place[label] for label in known]] = probabilities
        return np.where(answers.sum(axis=1, keepdims=True) > 0.0, answers, 1.0 / len(place))

    @available_if(lambda self: _has_probabilities(self.model))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """The logarithm of each probability."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @available_if(lambda self: _max_classes(self.model) == 2 and len(getattr(self, "classes_", ())) <= 2)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """The signed distance to the boundary of a learner of two classes, positive for the second class."""
        check_is_fitted(self)
        scores = np.array([self.model_.score_one(x) for x in _frames.dicts(self._rows(X, reset=False))])
        labels = self.model_._labels()
        positive = labels[1] if len(labels) > 1 else None
        return scores if positive is None or self._places()[positive] == len(self.classes_) - 1 else -scores

    def _places(self) -> dict[Any, int]:
        return {label: place for place, label in enumerate(self.classes_.tolist())}


def _last(model: Any) -> Any:
    return model.steps[-1] if isinstance(model, Pipeline) else model


def _is_baseline(model: Any) -> bool:
    return str(getattr(_last(model), "name", "")).startswith("baseline.")


def _max_classes(model: Any) -> int | None:
    return getattr(_last(model), "max_classes", None)


def _has_probabilities(model: Any) -> bool:
    return getattr(type(_last(model)), "predict_proba_one", None) is not Classifier.predict_proba_one


def _probabilities(model: Any, rows: Any) -> tuple[list[Any], Any]:
    """The classes that the model knows, and a matrix of their probabilities."""
    if hasattr(model, "_predict_many"):
        known = [(code, label) for code, label in enumerate(model._labels()) if label is not None]
        matrix = model._predict_many(_frames.take_apart(rows), True)
        return [label for _, label in known], matrix[:, [code for code, _ in known]]
    answers = [model.predict_proba_one(x) for x in _frames.dicts(rows)]
    classes = list(dict.fromkeys(label for answer in answers for label in answer))
    return classes, _frames.pack_probabilities(answers)


def _for_classes(model: Any, n_classes: int) -> Any:
    """Wrap a binary classifier if there are more classes."""
    most = _max_classes(model)
    if most is None or n_classes <= most:
        return model
    many = multiclass.OneVsRest(_last(model))
    return Pipeline([*model.steps[:-1], many]) if isinstance(model, Pipeline) else many


class MillstreamRegressor(RegressorMixin, Estimator):  # type: ignore[misc]
    """A regressor of millstream, for scikit-learn.

    Parameters
    ----------
    model
        The model.

    Attributes
    ----------
    model_
        The trained model.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = _is_baseline(self.model)
        return tags

    def fit(self, X: Any, y: Any, **fit_params: Any) -> MillstreamRegressor:
        """Learn the rows once, in their order, from the beginning."""
        rows, targets = self._examples(X, y, reset=True)
        self.model_ = self._fresh()
        self.model_.learn_many(rows, targets, self._weights(fit_params, rows))
        return self

    def partial_fit(self, X: Any, y: Any, **fit_params: Any) -> MillstreamRegressor:
        """Continue to learn."""
        first = not hasattr(self, "model_")
        rows, targets = self._examples(X, y, reset=first)
        if first:
            self.model_ = self._fresh()
        self.model_.learn_many(rows, targets, self._weights(fit_params, rows))
        return self

    def _examples(self, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
        if y is None:
            raise InvalidValue(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        rows = self._rows(X, reset)
        targets = column_or_1d(y, dtype=np.float64, warn=True)
        assert_all_finite(targets, input_name="y")
        check_consistent_length(rows, targets)
        return rows, targets

    def predict(self, X: Any) -> Any:
        """The prediction for each row."""
        check_is_fitted(self)
        return np.asarray(self.model_.predict_many(self._rows(X, reset=False)), dtype=np.float64)


class MillstreamTransformer(TransformerMixin, Estimator):  # type: ignore[misc]
    """A transformer of millstream, for scikit-learn.

    Parameters
    ----------
    model
        The model.

    Attributes
    ----------
    model_
        The trained model.
    """

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> MillstreamTransformer:
        """Learn the rows once, in their order, from the beginning."""
        rows = self._rows(X, reset=True)
        self.model_ = self._fresh()
        return self._learn(rows, fit_params)

    def partial_fit(self, X: Any, y: Any = None, **fit_params: Any) -> MillstreamTransformer:
        """Continue to learn."""
        first = not hasattr(self, "model_")
        rows = self._rows(X, reset=first)
        if first:
            self.model_ = self._fresh()
        return self._learn(rows, fit_params)

    def _learn(self, rows: Any, fit_params: dict[str, Any]) -> MillstreamTransformer:
        self.model_.learn_many(rows, None, self._weights(fit_params, rows))
        self._names = _names_out(self.model_, rows[:1])
        return self

    def transform(self, X: Any) -> Any:
        """The transformed rows, as a matrix; sparse if the transformer omits zeros."""
        check_is_fitted(self)
        rows = self.model_.transform_many(self._rows(X, reset=False))
        if isinstance(rows, list):
            return np.array([[x.get(name, np.nan) for name in self._names] for x in rows])
        if isinstance(rows, np.ndarray):
            return rows
        if isinstance(rows, Sparse):
            return csr_matrix((rows.values, rows.indices, rows.starts), shape=(len(rows), rows.width))
        return np.column_stack([np.asarray(rows[name]) for name in rows.columns])

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the columns that `transform` gives."""
        check_is_fitted(self)
        if hasattr(self, "feature_names_in_"):
            if input_features is not None and not np.array_equal(self.feature_names_in_, input_features):
                raise InvalidValue("input_features is not equal to feature_names_in_")
            return np.array([str(name) for name in self._names], dtype=object)
        given = (
            input_features if input_features is not None else [f"x{place}" for place in range(self.n_features_in_)]
        )
        if len(given) != self.n_features_in_:
            raise InvalidValue(
                "input_features should have length equal to number of features seen in fit, "
                f"{self.n_features_in_}, got {len(given)}"
            )
        names = [given[name] if isinstance(name, int) and name < len(given) else str(name) for name in self._names]
        return np.array(names, dtype=object)


def _names_out(model: Any, row: Any) -> list[Any]:
    if hasattr(model, "_transform_many"):
        transformed = model._transform_many(_frames.take_apart(row))
        # Sparse rows have numbered columns.
        return list(range(transformed[3]) if len(transformed) == 4 else transformed[0])
    return [name for x in _frames.dicts(row) for name in model.transform_one(x)]
