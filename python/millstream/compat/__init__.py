"""Conversion of models from and to River and scikit-learn, of Vowpal Wabbit's options, and PyTorch modules.

River, scikit-learn or PyTorch is needed only to call what concerns it.

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
from typing import TYPE_CHECKING, Any

from millstream._echo import quoted
from millstream._other_names import unknown_name
from millstream.base import Label, Model
from millstream.compat import torch
from millstream.compat.vw_line import Translation, translate
from millstream.errors import InvalidType
from millstream.roles import CLASSIFIER, REGRESSOR, TRANSFORMER, one_of

#: Roles that River and scikit-learn have too.
_ROLES = (CLASSIFIER, REGRESSOR, TRANSFORMER)

__all__ = [
    "convert_river_to_sklearn",
    "convert_sklearn_to_river",
    "from_river",
    "from_sklearn",
    "from_vw",
    "to_river",
    "to_sklearn",
    "torch",
]


def to_river(model: Model) -> Any:
    """Convert a millstream model to a River estimator, for River's pipelines, ensembles and evaluation.

    The estimator trains the given model, which is `estimator.model`. Its mini-batch methods are exactly equivalent
    to the methods for one example, row by row. Parameters of the model have their own names in River's `clone` and
    `expand_param_grid`: `estimator.clone({"l2": 0.1})`, and for a pipeline `estimator.clone({"LogisticRegression":
    {"l2": 0.1}})`.

    A binary classifier returns probabilities for both classes from the beginning, 0.5 each before it has learned,
    as in River; `predict_one` returns None until then, and River's evaluation skips such predictions.

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
    """Convert a River classifier, regressor, transformer or pipeline to a millstream model.

    It can be combined with other models by `|`, and supports the `*_many` methods, evaluation, copies and pickle;
    it runs at River's speed. Sample weights are supported if the River model takes them.

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
    """Convert a millstream model to a scikit-learn estimator: fit, partial_fit, predict, predict_proba, score,
    transform.

    `fit` restarts and learns the rows once, in their order; `partial_fit` continues. The given model does not
    change: the trained one is `estimator.model_`. Frames may have nominal columns and missing values. Parameters
    are set by paths, for a pipeline through the names of its steps in lower case: `GridSearchCV(to_sklearn(scaler
    | logistic), {"model__logisticregression__l2": [0.0, 0.1]})`.

    A binary classifier is wrapped in `multiclass.OneVsRest` if there are more classes. In `partial_fit`, `classes`
    is optional; without it, classes are added as they occur.

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
    """Convert a scikit-learn classifier, regressor or transformer with `partial_fit` to a millstream model.

    The given estimator, which may be fitted already, does not change; a copy of it continues to learn.

    Parameters
    ----------
    estimator
        The estimator.
    classes
        All classes: scikit-learn requires them before a classifier learns.
    features
        Column names; by default those of the first learned example, in its order. Later examples must have the
        same features, because scikit-learn models do not grow.
    batch_size
        Number of rows collected for one call of `partial_fit`, for estimators that need several. Waiting rows do
        not affect predictions. With 1, each row is learned immediately.

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


def from_vw(line: str, show: bool = True) -> Translation:
    """A reader and a model for a line of Vowpal Wabbit's options, and the Python that makes them.

    It prints the Python, after a sentence on each option that has no exact counterpart. The result unpacks to the
    reader and the model, and has both with `code` and `notes` as attributes. The reader is a stream if the line
    has a file (`-d`), else a function that makes one of a path. An option that VW does not have is an error.

    Parameters
    ----------
    line
        The options, with or without `vw` in front.
    show
        Whether to print the Python.

    Examples
    --------
    >>> import io
    >>> from millstream import compat, evaluate
    >>> reader, model = compat.from_vw("-q ui -b 20 --loss_function logistic --quiet")
    # --quiet: nothing is printed.
    from millstream import evaluate, linear_model, stream
    <BLANKLINE>
    reader = stream.read_vw("train.vw", bits=20, interactions=["ui"])
    model = linear_model.LogisticRegression(optimizer="adaptive", intercept=False)
    result = evaluate.prequential(model, reader)
    >>> ann, bob = "1 |user ann |item red\\n-1 |user ann |item blue\\n", "-1 |user bob |item red\\n"
    >>> text = ann + bob + "1 |user bob |item blue\\n"
    >>> result = evaluate.prequential(model, reader(io.StringIO(text * 50)))
    >>> result["Accuracy"] > 0.9
    True
    """
    translation = translate(line)
    if show:
        print(translation)  # noqa: T201
    return translation


def _need(library: str, function: str) -> None:
    try:
        importlib.import_module(library)
    except ImportError:
        package = "scikit-learn" if library == "sklearn" else library
        raise ImportError(f"compat.{function} needs {package}: pip install {package}") from None


def _check_ours(model: Any, function: str) -> None:
    if not isinstance(model, Model) or getattr(model, "role", None) not in _ROLES:
        raise InvalidType(f"compat.{function}: model must be {one_of(_ROLES)} of millstream, got {quoted(model)}")


def convert_river_to_sklearn(estimator: Any) -> Any:
    """River's name for `to_sklearn`; models of River are converted too."""
    return to_sklearn(from_river(estimator) if type(estimator).__module__.startswith("river.") else estimator)


def convert_sklearn_to_river(estimator: Any, classes: Sequence[Label] | None = None) -> Model:
    """River's name for `from_sklearn`, which returns a model of millstream."""
    return from_sklearn(estimator, classes)


if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
