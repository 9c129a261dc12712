"""Stacking: a learner of the predictions of other learners."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from millstream._answers import number_of, probabilities_of
from millstream._native import Native
from millstream._python_loop import teach
from millstream.base import Features, Label, Model
from millstream.ensemble.python_members import ClassEnsemble, NumberEnsemble, compiled, unnamed, wrong
from millstream.ensemble.voting import _Heterogeneous
from millstream.errors import MillstreamError
from millstream.registry import build

__all__ = ["Stacking", "StackingClassifier", "StackingRegressor"]

_Prediction = TypeVar("_Prediction")


class _Stack(_Heterogeneous):
    """The methods that stacks of classifiers and of regressors share."""

    include_features: bool
    weights = None

    def _ready(self) -> None:
        meta = self.__dict__["meta_model"]
        if isinstance(meta, (str, dict)):
            meta = build({"name": meta} if isinstance(meta, str) else meta)
        self._check(meta, "meta_model")
        self.__dict__["meta_model"] = meta
        super()._ready()
        self._state.memory["meta"] = copy.deepcopy(meta)

    @property
    def meta_model(self) -> Any:
        """The meta model in its current state; a native one as a copy."""
        return self._member(len(self)) if isinstance(self, Native) else self._meta

    @property
    def _meta(self) -> Any:
        return self._state.memory["meta"]

    def _predictions(self, x: Features) -> dict[Any, Any]:
        """The predictions of the models for an example, and its features if they are included."""
        predictions: dict[Any, Any] = dict(x) if self.include_features else {}
        for index in range(len(self)):
            predictions.update(self._prediction(index, x))
        return predictions

    def _meta_prediction(self, predict: Callable[..., _Prediction], x: Features) -> _Prediction:
        """The prediction of the meta model; an error names it."""
        predictions = self._predictions(x)
        try:
            return predict(self._meta, predictions)
        except MillstreamError as error:
            raise error.by(f"{self.name}: meta_model") from None

    def _prediction(self, index: int, x: Features) -> dict[str, float]:
        raise NotImplementedError

    def _record(self, index: int, x: Features, y: Any, w: float) -> None:
        raise NotImplementedError

    def _step(self, x: Features, y: Any, w: float) -> None:
        predictions = self._predictions(x)
        for index in range(len(self)):
            self._record(index, x, y, w)
            self._teach(index, x, y, w)
        teach(self._meta, predictions, y, w)


@compiled
class Stacking(_Stack, ClassEnsemble):
    """Stacking: a classifier of the predictions of other classifiers.

    Choose it if models are good at different examples: the meta model receives the probabilities that each of them
    predicts before it learns the example, and optionally the features.

    Parameters
    ----------
    models
        Classifiers: native ones, pipelines, or your own classes in Python.
    meta_model
        Classifier that combines the predictions of the models.
    include_features
        Pass the features to the meta model, too, as River does by default. A linear one then needs scaled
        features.
    n_threads
        Number of threads, None for one per core. The result does not depend on it.

    Examples
    --------
    >>> from millstream import baseline, ensemble, linear_model, naive_bayes
    >>> models = [naive_bayes.GaussianNB(), linear_model.Perceptron(), baseline.Prior()]
    >>> model = ensemble.Stacking(models, linear_model.LogisticRegression())
    >>> for x, y in [(1.0, "low"), (9.0, "high"), (2.0, "low")] * 50:
    ...     model.learn_one({"x": x}, y)
    >>> model.predict_one({"x": 9.0})
    'high'

    References
    ----------
    Wolpert, D. H. (1992). Stacked generalization.
    """

    name = "ensemble.Stacking"
    aliases = {
        "estimators": "models",
        "meta_classifier": "meta_model",
        "final_estimator": "meta_model",
        "n_jobs": "n_threads",
    }

    def __init__(
        self,
        models: Sequence[Any],
        meta_model: Model | str = "linear_model.SoftmaxRegression",
        include_features: bool = False,
        n_threads: int | None = 1,
    ) -> None:
        self._make(
            models=unnamed(models), meta_model=meta_model, include_features=include_features, n_threads=n_threads
        )

    def _prediction(self, index: int, x: Features) -> dict[str, float]:
        return {f"model {index} class {label}": vote for label, vote in self._votes(index, x).items()}

    def _record(self, index: int, x: Features, y: Any, w: float) -> None:
        error = wrong(self._votes(index, x), y)
        if error is not None:
            self._state.members[index].record_error(error, w)

    def predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example."""
        return self._meta_prediction(probabilities_of, x)


@compiled
class StackingRegressor(_Stack, NumberEnsemble):
    """Stacking: a regressor on the predictions of other regressors.

    Parameters
    ----------
    models
        Regressors: native ones, pipelines, or your own classes in Python.
    meta_model
        Regressor that combines the predictions of the models.
    include_features
        Pass the features to the meta model, too, as River does by default. A linear one then needs scaled
        features.
    n_threads
        Number of threads, None for one per core. The result does not depend on it.

    Examples
    --------
    >>> from millstream import baseline, ensemble, linear_model
    >>> model = ensemble.StackingRegressor([linear_model.RLS(), baseline.TargetMean()], linear_model.RLS())
    >>> for x in (1.0, 2.0, 3.0) * 20:
    ...     model.learn_one({"x": x}, 2.0 * x + 1.0)
    >>> round(model.predict_one({"x": 4.0}), 2)
    9.01

    References
    ----------
    Wolpert, D. H. (1992). Stacked generalization.
    """

    name = "ensemble.StackingRegressor"
    aliases = {
        "estimators": "models",
        "meta_regressor": "meta_model",
        "final_estimator": "meta_model",
        "n_jobs": "n_threads",
    }

    def __init__(
        self,
        models: Sequence[Any],
        meta_model: Model | str = "linear_model.LinearRegression",
        include_features: bool = False,
        n_threads: int | None = 1,
    ) -> None:
        self._make(
            models=unnamed(models), meta_model=meta_model, include_features=include_features, n_threads=n_threads
        )

    def _prediction(self, index: int, x: Features) -> dict[str, float]:
        return {f"model {index}": self._number(index, x)}

    def _record(self, index: int, x: Features, y: Any, w: float) -> None:
        self._state.members[index].record_error(abs(self._number(index, x) - y), w)

    def predict_one(self, x: Features) -> float:
        """Predict one example with the meta model."""
        return self._meta_prediction(number_of, x)


#: The name in River and scikit-learn.
StackingClassifier = Stacking
