"""Combinations of different learners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.base import Features, Label
from millstream.ensemble.python_members import ClassEnsemble, Ensemble, NumberEnsemble, compiled, unnamed, wrong

__all__ = ["Voting", "VotingClassifier", "VotingRegressor", "WeightedMajority"]


class _Heterogeneous(Ensemble):
    """Members of different kinds."""

    models: Any
    weights: Sequence[float] | None

    def _ready(self) -> None:
        chosen = list(self.__dict__.pop("models"))
        for model in chosen:
            self._check(model, "each of models")
        self._begin(0, chosen)

    @property
    def parameters(self) -> dict[str, Any]:
        others = {name: value for name, value in self.__dict__.items() if not name.startswith("_")}
        return {"models": list(self), **others}

    def _weights(self) -> list[float]:
        return [1.0] * len(self) if self.weights is None else list(self.weights)


def _majority_vote(votes: dict[Label, float]) -> dict[Label, float]:
    """One vote for the class with most votes."""
    return {max(votes, key=votes.__getitem__): 1.0} if any(votes.values()) else {}


@compiled
class Voting(_Heterogeneous, ClassEnsemble):
    """Voting of different classifiers.

    Choose it to combine several models without learning which of them is good; `WeightedMajority` and `Stacking`
    learn that. Native members are distributed over threads.

    Parameters
    ----------
    models
        Classifiers: native ones, pipelines, or your own classes in Python.
    use_probabilities
        Average predicted probabilities instead of counting votes for the most probable class.
    weights
        Weight of each model; None for equal weights.
    n_threads
        Number of threads, None for one per core. The result does not depend on it.

    Examples
    --------
    >>> from millstream import baseline, ensemble, naive_bayes
    >>> model = ensemble.Voting([naive_bayes.GaussianNB(), baseline.Prior()], weights=[3, 1])
    >>> for x, y in [(1.0, "low"), (9.0, "high"), (2.0, "low")] * 10:
    ...     model.learn_one({"x": x}, y)
    >>> {label: round(p, 3) for label, p in model.predict_proba_one({"x": 1.5}).items()}
    {'low': 0.917, 'high': 0.083}

    References
    ----------
    Kittler, J., Hatef, M., Duin, R. P. W. and Matas, J. (1998). On combining classifiers.
    """

    name = "ensemble.Voting"
    aliases = {"estimators": "models", "n_jobs": "n_threads"}

    use_probabilities: bool

    def __init__(
        self,
        models: Sequence[Any],
        use_probabilities: bool = True,
        weights: Sequence[float] | None = None,
        n_threads: int | None = 1,
    ) -> None:
        self._make(
            models=unnamed(models), use_probabilities=use_probabilities, weights=weights, n_threads=n_threads
        )

    def _step(self, x: Features, y: Any, w: float) -> None:
        for index, member in enumerate(self._state.members):
            error = wrong(self._votes(index, x), y)
            if error is not None:
                member.record_error(error, w)
            self._teach(index, x, y, w)

    def _votes(self, index: int, x: Features) -> dict[Label, float]:
        votes = super()._votes(index, x)
        return votes if self.use_probabilities else _majority_vote(votes)

    def _trust(self) -> list[float]:
        return self._weights()


@compiled
class VotingRegressor(_Heterogeneous, NumberEnsemble):
    """The average of different regressors.

    Parameters
    ----------
    models
        Regressors: native ones, pipelines, or your own classes in Python.
    weights
        Weight of each model in the mean; None for equal weights.
    aggregation
        How the predictions of the models are combined: "mean" or "median".
    n_threads
        Number of threads, None for one per core. The result does not depend on it.

    Examples
    --------
    >>> from millstream import baseline, ensemble, linear_model
    >>> model = ensemble.VotingRegressor([linear_model.RLS(), baseline.TargetMean()])
    >>> for x in (1.0, 2.0, 3.0) * 10:
    ...     model.learn_one({"x": x}, 2.0 * x)
    >>> round(model.predict_one({"x": 4.0}), 2)
    5.92

    References
    ----------
    Kittler, J., Hatef, M., Duin, R. P. W. and Matas, J. (1998). On combining classifiers.
    """

    name = "ensemble.VotingRegressor"
    aliases = {"estimators": "models", "n_jobs": "n_threads"}

    def __init__(
        self,
        models: Sequence[Any],
        weights: Sequence[float] | None = None,
        aggregation: str = "mean",
        n_threads: int | None = 1,
    ) -> None:
        self._make(models=unnamed(models), weights=weights, aggregation=aggregation, n_threads=n_threads)

    def _step(self, x: Features, y: Any, w: float) -> None:
        for index, member in enumerate(self._state.members):
            member.record_error(abs(self._number(index, x) - y), w)
            self._teach(index, x, y, w)

    def _trust(self) -> list[float]:
        return self._weights()


@compiled
class WeightedMajority(_Heterogeneous, ClassEnsemble):
    """Voting of different classifiers, whose weights decrease with each mistake.

    Choose it if one of several models is good and it is unknown which: the number of mistakes is at most a
    constant times that of the best model, plus a constant times the logarithm of the number of models. Each model
    votes for one class, and its weight is multiplied by `mistake_factor` at each of its mistakes. With
    `forgetting` below 1, old mistakes fade, and a model that improves regains its weight.

    Parameters
    ----------
    models
        Classifiers: native ones, pipelines, or your own classes in Python.
    mistake_factor
        Factor that multiplies the weight of a model at each mistake. With 0, the models with the fewest mistakes
        decide.
    forgetting
        Factor that multiplies the number of mistakes at each example.
    n_threads
        Number of threads, None for one per core. The result does not depend on it.

    Examples
    --------
    >>> from millstream import baseline, ensemble, naive_bayes
    >>> model = ensemble.WeightedMajority([naive_bayes.GaussianNB(), baseline.Prior(), baseline.NoChange()])
    >>> for x, y in [(1.0, "low"), (9.0, "high"), (2.0, "low")] * 10:
    ...     model.learn_one({"x": x}, y)
    >>> model.predict_one({"x": 9.0})
    'high'
    >>> [member["trust"] for member in model.inspect()["members"]]
    [2.0, 11.0, 21.0]

    References
    ----------
    Littlestone, N. and Warmuth, M. K. (1994). The weighted majority algorithm.
    """

    name = "ensemble.WeightedMajority"
    aliases = {"estimators": "models", "n_jobs": "n_threads"}

    mistake_factor: float
    forgetting: float

    def __init__(
        self,
        models: Sequence[Any],
        mistake_factor: float = 0.5,
        forgetting: float = 1.0,
        n_threads: int | None = 1,
    ) -> None:
        self._make(
            models=unnamed(models), mistake_factor=mistake_factor, forgetting=forgetting, n_threads=n_threads
        )

    def _step(self, x: Features, y: Any, w: float) -> None:
        mistakes = self._state.memory.setdefault("mistakes", [0.0] * len(self))
        for index, member in enumerate(self._state.members):
            error = wrong(self._votes(index, x), y)
            if error is not None:
                member.record_error(error, w)
            mistakes[index] = mistakes[index] * self.forgetting + (1.0 if error is None else error) * w
            self._teach(index, x, y, w)

    def _votes(self, index: int, x: Features) -> dict[Label, float]:
        return _majority_vote(super()._votes(index, x))

    def _trust(self) -> list[float]:
        mistakes = self._state.memory.get("mistakes", [0.0] * len(self))
        return [self.mistake_factor ** (count - min(mistakes)) for count in mistakes]


#: The name in River and scikit-learn.
VotingClassifier = Voting
