"""Bagging: members that learn each example a random number of times."""

from __future__ import annotations

from typing import Any

from millstream.base import Features
from millstream.ensemble.python_members import ClassEnsemble, NumberEnsemble, compiled, poisson, wrong

__all__ = ["Bagging", "BaggingClassifier", "BaggingRegressor"]


@compiled
class Bagging(ClassEnsemble):
    """Online bagging: classifiers that learn each example a random number of times, and vote.

    Choose it to stabilise an unstable learner (a tree, a linear model with large steps), at a multiple of its
    cost. Each member learns each example k times, where k is drawn from the Poisson distribution of mean 1, which
    approximates drawing with replacement. Under drift, choose `LeveragingBagging` or `ADWINBagging`.

    In batches, native members are distributed over `n_threads` threads. The result is bit-identical to learning
    the examples one by one, whatever the number of threads. `len(model)` is the number of members, `model[3]` is
    one of them; `inspect()` reports the performance of each.

    Parameters
    ----------
    model
        Classifier to copy for each member: a native one, a native pipeline, or your own class in Python.
        If its `learn_one` takes no weight `w`, it is called k times, otherwise once with k times the weight.
    n_models
        Number of models in the ensemble.
    poisson_rate
        Mean number of times a model learns each example.
    seed
        Seed of the random numbers. Each model has its own generator.
    n_threads
        Number of threads, None for one per core.

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
        for index, member in enumerate(self._state.members):
            error = wrong(self._votes(index, x), y)
            if error is not None:
                member.record_error(error, w)
            self._teach(index, x, y, w, poisson(self.poisson_rate, member.random.random()))


#: The name in River and scikit-learn.
BaggingClassifier = Bagging


@compiled
class BaggingRegressor(NumberEnsemble):
    """Online bagging: the average of regressors that learn each example a random number of times.

    `Bagging` for regression. The mean of the members is more stable than a single one; `aggregation="median"` is
    robust to a few bad members.

    Parameters
    ----------
    model
        Regressor to copy for each member: a native one, a native pipeline, or your own class in Python.
    n_models
        Number of models in the ensemble.
    poisson_rate
        Mean number of times a model learns each example.
    aggregation
        How the predictions of the models are combined: "mean" or "median".
    seed
        Seed of the random numbers. Each model has its own generator.
    n_threads
        Number of threads, None for one per core.

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
        for index, member in enumerate(self._state.members):
            member.record_error(abs(self._number(index, x) - y), w)
            self._teach(index, x, y, w, poisson(self.poisson_rate, member.random.random()))
