"""Our models for River and scikit-learn, and theirs for us.

River and scikit-learn are needed only by those who call a function of this module.

Examples
--------
>>> from millstream import compat, linear_model, preprocessing
>>> from river import datasets, evaluate, metrics
>>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
>>> evaluate.progressive_val_score(datasets.Phishing(), compat.to_river(model), metrics.Accuracy())
Accuracy: 89.35%
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from millstream._echo import quoted
from millstream.base import Label, Model
from millstream.errors import InvalidType
from millstream.roles import CLASSIFIER, REGRESSOR, TRANSFORMER, one_of

#: Roles that River and scikit-learn have too.
_ROLES = (CLASSIFIER, REGRESSOR, TRANSFORMER)

__all__ = ["from_river", "from_sklearn", "to_river", "to_sklearn"]


def to_river(model: Model) -> Any:
    """One of our models as a River estimator, for River's pipelines, ensembles and evaluation.

    The estimator learns in the model that is given; `estimator.model` is that model. Its mini-batch methods
    give exactly what the methods for one example give, row by row. Parameters of the model go by their names in
    River's `clone` and `expand_param_grid`: `estimator.clone({"l2": 0.1})`, and for a pipeline
    `estimator.clone({"LogisticRegression": {"l2": 0.1}})`.

    A learner of two classes answers `predict_proba_one` for both from the beginning, with 0.5 each where it knows
    nothing, as River's do; `predict_one` is None until something was learned, and River's evaluation passes over
    that.

    Examples
    --------
    >>> from millstream import compat, linear_model
    >>> from river import ensemble
    >>> model = compat.to_river(linear_model.LogisticRegression())
    >>> bagging = ensemble.BaggingClassifier(model, n_models=3, seed=1)
    >>> bagging.learn_one({"x": 1.0}, True)
    >>> bagging.predict_one({"x": 1.0})
    True
    """
    _need("river", "to_river")
    _check_ours(model, "to_river")
    return importlib.import_module("millstream.compat.river_estimators").wrap(model)


def from_river(model: Any) -> Model:
    """A River classifier, regressor, transformer or pipeline as one of our models.

    It composes with ours by `|`, and works in `*_many`, in evaluation, in copy and in pickle; it runs at River's
    speed. Sample weights are for those River models that take them.

    Examples
    --------
    >>> from millstream import compat
    >>> from river import naive_bayes
    >>> model = compat.from_river(naive_bayes.GaussianNB())
    >>> model.learn_many([{"x": 1.0}, {"x": 2.0}, {"x": 8.0}, {"x": 9.0}], ["low", "low", "high", "high"])
    0
    >>> model.predict_one({"x": 1.5})
    'low'
    """
    _need("river", "from_river")
    return importlib.import_module("millstream.compat.river_models").wrap(model)  # type: ignore[no-any-return]


def to_sklearn(model: Model) -> Any:
    """One of our models as a scikit-learn estimator: fit, partial_fit, predict, predict_proba, score, transform.

    `fit` starts afresh and learns the rows once, in their order; `partial_fit` goes on. The model that is given
    stays as it is: what was learned is in `estimator.model_`. Frames may hold nominal columns and missing values.
    Parameters are set by paths, for a pipeline through the names of its steps in lower case:
    `GridSearchCV(to_sklearn(scaler | logistic), {"model__logisticregression__l2": [0.0, 0.1]})`.

    A learner of two classes becomes `multiclass.OneVsRest` where there are more. In `partial_fit`, `classes` may
    be left out; the classes then grow as they come.

    Sample weights are given by keyword, `fit(X, y, sample_weight=w)`. For scikit-learn a weight of 2 means the
    row twice, wherever it stands, which no learner that takes rows in their order can keep; therefore the weights
    are not announced in the signature, and scikit-learn's ensembles repeat rows instead.

    Examples
    --------
    >>> from millstream import compat, linear_model, preprocessing
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> print(cross_val_score(compat.to_sklearn(model), X, y).mean().round(3))
    0.967
    """
    _need("sklearn", "to_sklearn")
    _check_ours(model, "to_sklearn")
    return importlib.import_module("millstream.compat.sklearn_estimators").wrap(model)


def from_sklearn(
    estimator: Any,
    classes: Sequence[Label] | None = None,
    features: Sequence[Any] | None = None,
    batch_size: int = 1,
) -> Model:
    """A scikit-learn classifier, regressor or transformer with `partial_fit` as one of our models.

    The estimator that is given stays as it is, and may be fitted already; a copy of it goes on learning.

    Parameters
    ----------
    estimator
        The estimator.
    classes
        All classes that will ever come: scikit-learn must know them before a classifier learns.
    features
        The names of the columns. By default those of the first example that is learned, in its order. Later
        examples must have the same features: scikit-learn's models do not grow.
    batch_size
        How many rows are collected for one call of `partial_fit`, for estimators that need several. Rows that wait
        are not part of predictions. With 1, each row is learned at once.

    Examples
    --------
    >>> from millstream import compat
    >>> from sklearn.linear_model import SGDRegressor
    >>> model = compat.from_sklearn(SGDRegressor(eta0=0.1))
    >>> model.learn_many([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] * 50, [1.0, 2.0, 3.0] * 50)
    0
    >>> round(model.predict_one({0: 1.0, 1: 1.0}), 1)
    2.7
    """
    _need("sklearn", "from_sklearn")
    models = importlib.import_module("millstream.compat.sklearn_models")
    return models.wrap(estimator, classes, features, batch_size)  # type: ignore[no-any-return]


def _need(library: str, function: str) -> None:
    try:
        importlib.import_module(library)
    except ImportError:
        package = "scikit-learn" if library == "sklearn" else library
        raise ImportError(f"compat.{function} needs {package}: pip install {package}") from None


def _check_ours(model: Any, function: str) -> None:
    if not isinstance(model, Model) or getattr(model, "role", None) not in _ROLES:
        raise InvalidType(f"compat.{function}: takes {one_of(_ROLES)} of millstream, got {quoted(model)}")
