"""Bagging: members that learn each example a random number of times."""

from __future__ import annotations

from typing import Any

from millstream.base import Features
from millstream.ensemble.own import ClassEnsemble, NumberEnsemble, compiled, poisson, wrong

__all__ = ["Bagging", "BaggingClassifier", "BaggingRegressor"]


@compiled
class Bagging(ClassEnsemble):
    """Online bagging: members that learn each example a random number of times, and vote.

    Choose it to make an unstable learner (a tree, a linear model with large steps) steadier, at as many times its
    cost. Each member learns each example k times, where k is drawn from the Poisson distribution of mean 1: what
    drawing with replacement does to a large data set. Where the world changes, choose `LeveragingBagging` or
    `ADWINBagging`.

    The members of native learners are spread over `n_threads` threads when rows come many at a time. The result is
    bit for bit that of learning them one by one, whatever the number of threads. `len(model)` is the number of
    members, `model[3]` is one of them; `inspect()` tells how each has done.

    Parameters
    ----------
    model
        The classifier that each member is: a native one or a pipeline of them, or one of your own in Python.
        Where its `learn_one` takes no weight `w`, it is called k times, else once with k times the weight.
    n_models
        The number of members.
    poisson_rate
        How often a member learns an example on average.
    seed
        Of the random numbers; each member has its own.
    n_threads
        Threads that share the members, None for one on each core.

    Examples
    --------
    >>> from millstream import ensemble, evaluate, naive_bayes, synth
    >>> model = ensemble.Bagging(naive_bayes.GaussianNB(), n_models=5, seed=7, n_threads=2)
    >>> round(evaluate.prequential(model, synth.RandomRBF(seed=3).take(2000), "Accuracy")["Accuracy"], 3)
    0.747
    >>> len(model), model[0]
    (5, GaussianNB())

    References
    ----------
    Oza, N. C. and Russell, S. (2001). Online bagging and boosting.
    """

    name = "ensemble.Bagging"
    aliases = {"classifier": "model", "n_estimators": "n_models", "random_state": "seed", "n_jobs": "n_threads"}

    def __init__(
        self,
        model: Any = "tree.HoeffdingTreeClassifier",
        n_models: int = 10,
        poisson_rate: float = 1.0,
        seed: int = 1,
        n_threads: int | None = 1,
    ) -> None:
        self._make(model=model, n_models=n_models, poisson_rate=poisson_rate, seed=seed, n_threads=n_threads)

    def _ready(self) -> None:
        self._begin(self.seed, self._copies(self.model, self.n_models))

    def _step(self, x: Features, y: Any, w: float) -> None:
        for place, member in enumerate(self._state.members):
            error = wrong(self._votes(place, x), y)
            if error is not None:
                member.hear(error, w)
            self._teach(place, x, y, w, poisson(self.poisson_rate, member.random.random()))


#: As River and scikit-learn call it.
BaggingClassifier = Bagging


@compiled
class BaggingRegressor(NumberEnsemble):
    """Online bagging: members that learn each example a random number of times, averaged.

    `Bagging` for numbers. The mean of the members is steadier than one of them; with `aggregation="median"` a few
    that have gone astray do not matter.

    Parameters
    ----------
    model
        The regressor that each member is: a native one or a pipeline of them, or one of your own in Python.
    n_models
        The number of members.
    poisson_rate
        How often a member learns an example on average.
    aggregation
        What the numbers of members become: "mean" or "median".
    seed
        Of the random numbers; each member has its own.
    n_threads
        Threads that share the members, None for one on each core.

    Examples
    --------
    >>> from millstream import ensemble, linear_model, preprocessing
    >>> line = preprocessing.StandardScaler() | linear_model.LinearRegression()
    >>> model = ensemble.BaggingRegressor(line, n_models=3)
    >>> for x in range(200):
    ...     model.learn_one({"x": x % 10}, 3.0 * (x % 10) + 1.0)
    >>> round(model.predict_one({"x": 5.0}), 1)
    15.5

    References
    ----------
    Oza, N. C. and Russell, S. (2001). Online bagging and boosting.
    """

    name = "ensemble.BaggingRegressor"
    aliases = {"regressor": "model", "n_estimators": "n_models", "random_state": "seed", "n_jobs": "n_threads"}

    def __init__(
        self,
        model: Any = "tree.HoeffdingTreeRegressor",
        n_models: int = 10,
        poisson_rate: float = 1.0,
        aggregation: str = "mean",
        seed: int = 1,
        n_threads: int | None = 1,
    ) -> None:
        self._make(
            model=model,
            n_models=n_models,
            poisson_rate=poisson_rate,
            aggregation=aggregation,
            seed=seed,
            n_threads=n_threads,
        )

    def _ready(self) -> None:
        self._begin(self.seed, self._copies(self.model, self.n_models))

    def _step(self, x: Features, y: Any, w: float) -> None:
        for place, member in enumerate(self._state.members):
            member.hear(abs(self._number(place, x) - y), w)
            self._teach(place, x, y, w, poisson(self.poisson_rate, member.random.random()))
