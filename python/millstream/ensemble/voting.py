"""Different learners that answer together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.base import Features, Label
from millstream.ensemble.own import ClassEnsemble, Ensemble, NumberEnsemble, compiled, unnamed, wrong

__all__ = ["Voting", "VotingClassifier", "VotingRegressor", "WeightedMajority"]


class _Several(Ensemble):
    """Members that are each of its own kind."""

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


def _hard(votes: dict[Label, float]) -> dict[Label, float]:
    """All for the class with most votes."""
    return {max(votes, key=votes.__getitem__): 1.0} if any(votes.values()) else {}


@compiled
class Voting(_Several, ClassEnsemble):
    """Different classifiers that vote.

    Choose it to have several models answer together without learning which of them is good; `WeightedMajority` and
    `Stacking` learn that. Members of native learners are spread over threads.

    Parameters
    ----------
    models
        The classifiers: native ones and pipelines, or your own in Python.
    use_probabilities
        Whether a vote is divided by probabilities, or all for the most probable class.
    weights
        What the vote of each model weighs; None if all weigh the same.
    n_threads
        Threads that share the models, None for one on each core. The result is the same.

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
        for place, member in enumerate(self._state.members):
            error = wrong(self._votes(place, x), y)
            if error is not None:
                member.hear(error, w)
            self._teach(place, x, y, w)

    def _votes(self, place: int, x: Features) -> dict[Label, float]:
        votes = super()._votes(place, x)
        return votes if self.use_probabilities else _hard(votes)

    def _trust(self) -> list[float]:
        return self._weights()


@compiled
class VotingRegressor(_Several, NumberEnsemble):
    """Different regressors, averaged.

    Parameters
    ----------
    models
        The regressors: native ones and pipelines, or your own in Python.
    weights
        What the number of each model weighs in a mean; None if all weigh the same.
    aggregation
        What the numbers of models become: "mean" or "median".
    n_threads
        Threads that share the models, None for one on each core. The result is the same.

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
        for place, member in enumerate(self._state.members):
            member.hear(abs(self._number(place, x) - y), w)
            self._teach(place, x, y, w)

    def _trust(self) -> list[float]:
        return self._weights()


@compiled
class WeightedMajority(_Several, ClassEnsemble):
    """Different classifiers whose votes weigh less with each mistake.

    Choose it where one of several models is good and it is not known which: the number of its mistakes is never
    more than a constant times those of the best model, plus a constant times the logarithm of the number of
    models. Each model votes for one class, and its weight is multiplied by `beta` at each of its mistakes. With
    `forgetting` below 1, old mistakes fade, and a model that has become good is heard again.

    Parameters
    ----------
    models
        The classifiers: native ones and pipelines, or your own in Python.
    beta
        What the weight of a model is multiplied by at each mistake; 0 leaves the word to those with the fewest.
    forgetting
        What the number of mistakes is multiplied by at each example.
    n_threads
        Threads that share the models, None for one on each core. The result is the same.

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

    beta: float
    forgetting: float

    def __init__(
        self,
        models: Sequence[Any],
        beta: float = 0.5,
        forgetting: float = 1.0,
        n_threads: int | None = 1,
    ) -> None:
        self._make(models=unnamed(models), beta=beta, forgetting=forgetting, n_threads=n_threads)

    def _step(self, x: Features, y: Any, w: float) -> None:
        mistakes = self._state.memory.setdefault("mistakes", [0.0] * len(self))
        for place, member in enumerate(self._state.members):
            error = wrong(self._votes(place, x), y)
            if error is not None:
                member.hear(error, w)
            mistakes[place] = mistakes[place] * self.forgetting + (1.0 if error is None else error) * w
            self._teach(place, x, y, w)

    def _votes(self, place: int, x: Features) -> dict[Label, float]:
        return _hard(super()._votes(place, x))

    def _trust(self) -> list[float]:
        mistakes = self._state.memory.get("mistakes", [0.0] * len(self))
        return [self.beta ** (count - min(mistakes)) for count in mistakes]


#: As River and scikit-learn call it.
VotingClassifier = Voting
