"""Stacking: a learner of what other learners say."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from millstream._answers import number_of, probabilities_of
from millstream._native import Native
from millstream._python_loop import teach
from millstream.base import Features, Label, Model
from millstream.ensemble.own import ClassEnsemble, NumberEnsemble, compiled, unnamed, wrong
from millstream.ensemble.voting import _Several
from millstream.errors import MillstreamError
from millstream.registry import build

__all__ = ["Stacking", "StackingClassifier", "StackingRegressor"]

_Answer = TypeVar("_Answer")


class _Stack(_Several):
    """What stacks of classifiers and of regressors share."""

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
        """The last learner, as it is now; a native one as a copy that has learned the same."""
        return self._member(len(self)) if isinstance(self, Native) else self._meta

    @property
    def _meta(self) -> Any:
        return self._state.memory["meta"]

    def _said(self, x: Features) -> dict[Any, Any]:
        """What the models say of an example, and its features if they are included."""
        said: dict[Any, Any] = dict(x) if self.include_features else {}
        for place in range(len(self)):
            said.update(self._word(place, x))
        return said

    def _last(self, answer: Callable[..., _Answer], x: Features) -> _Answer:
        """What the last learner answers; if it raises, the error says so."""
        said = self._said(x)
        try:
            return answer(self._meta, said)
        except MillstreamError as error:
            raise error.by(f"{self.name}: meta_model") from None

    def _word(self, place: int, x: Features) -> dict[str, float]:
        raise NotImplementedError

    def _note(self, place: int, x: Features, y: Any, w: float) -> None:
        raise NotImplementedError

    def _step(self, x: Features, y: Any, w: float) -> None:
        said = self._said(x)
        for place in range(len(self)):
            self._note(place, x, y, w)
            self._teach(place, x, y, w)
        teach(self._meta, said, y, w)


@compiled
class Stacking(_Stack, ClassEnsemble):
    """A classifier of what other classifiers say.

    Choose it where models are good at different parts of the examples: the last learner is given the probabilities
    that each of them gives, before they learn the example, and the features if that is wanted.

    Parameters
    ----------
    models
        The classifiers: native ones and pipelines, or your own in Python.
    meta_model
        The classifier that is given what the models say.
    include_features
        Whether it is given the features too, as in River by default. A linear one then wants them scaled.
    n_threads
        Threads that share the models, None for one on each core. The result is the same.

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

    def _word(self, place: int, x: Features) -> dict[str, float]:
        return {f"model {place} class {label}": vote for label, vote in self._votes(place, x).items()}

    def _note(self, place: int, x: Features, y: Any, w: float) -> None:
        error = wrong(self._votes(place, x), y)
        if error is not None:
            self._state.members[place].hear(error, w)

    def predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example."""
        return self._last(probabilities_of, x)


@compiled
class StackingRegressor(_Stack, NumberEnsemble):
    """A regressor of what other regressors say.

    Parameters
    ----------
    models
        The regressors: native ones and pipelines, or your own in Python.
    meta_model
        The regressor that is given what the models say.
    include_features
        Whether it is given the features too, as in River by default. A linear one then wants them scaled.
    n_threads
        Threads that share the models, None for one on each core. The result is the same.

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

    def _word(self, place: int, x: Features) -> dict[str, float]:
        return {f"model {place}": self._number(place, x)}

    def _note(self, place: int, x: Features, y: Any, w: float) -> None:
        self._state.members[place].hear(abs(self._number(place, x) - y), w)

    def predict_one(self, x: Features) -> float:
        """What the last learner makes of what the models say."""
        return self._last(number_of, x)


#: As River and scikit-learn call it.
StackingClassifier = Stacking
