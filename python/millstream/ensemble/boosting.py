"""Boosting: examples that a member misclassifies weigh more for the next."""

from __future__ import annotations

import math
from typing import Any

from millstream.base import Features
from millstream.ensemble.python_members import ClassEnsemble, compiled, poisson, wrong

__all__ = ["AdaBoost", "AdaBoostClassifier"]

#: The largest mean of a draw, and the smallest error of a member, as in the compiled form.
_LARGEST_MEAN, _LEAST = 100.0, 1e-10


@compiled
class AdaBoost(ClassEnsemble):
    """Online boosting: examples that a member misclassifies weigh more for the next.

    Choose it to combine many weak learners, such as small trees or naive Bayes, if labels are clean: later members
    focus on the examples that earlier ones misclassify, and mislabelled examples are always among these. Each
    member learns an example k times, where k is drawn from a Poisson distribution; its mean is 1 for the first
    member, then grows after a mistake and shrinks after a correct prediction. Votes have the weight log((1 - e) /
    e) for an error rate e, and 0 for e above one half.

    Members form a chain, so threads work in stages: a member is some rows behind the previous one. The result is
    the same as with one thread.

    Parameters
    ----------
    model
        Classifier to copy for each member: a native one, a native pipeline, or your own class in Python.
    n_models
        Number of models in the ensemble.
    seed
        Seed of the random numbers. Each model has its own generator.
    n_threads
        Number of threads, None for one per core.

    Examples
    --------
    >>> from millstream import ensemble, evaluate, naive_bayes, synth
    >>> model = ensemble.AdaBoost(naive_bayes.GaussianNB(), n_models=5)
    >>> round(evaluate.prequential(model, synth.RandomRBF(seed=3).take(2000), "Accuracy")["Accuracy"], 3)
    0.729

    References
    ----------
    Oza, N. C. and Russell, S. (2001). Online bagging and boosting.
    """

    name = "ensemble.AdaBoost"
    aliases = {"classifier": "model", "n_estimators": "n_models", "random_state": "seed", "n_jobs": "n_threads"}

    def __init__(
        self,
        model: Any = "tree.HoeffdingTreeClassifier",
        n_models: int = 10,
        seed: int = 1,
        n_threads: int | None = 1,
    ) -> None:
        self._make(model=model, n_models=n_models, seed=seed, n_threads=n_threads)

    def _ready(self) -> None:
        self._begin(self.seed, self._copies(self.model, self.n_models))
        self._state.memory["sums"] = [[0.0, 0.0] for _ in range(self.n_models)]

    def _step(self, x: Features, y: Any, w: float) -> None:
        passed = 1.0
        for index, member in enumerate(self._state.members):
            error = wrong(self._votes(index, x), y)
            if error is not None:
                member.record_error(error, w)
            self._teach(index, x, y, w, poisson(min(passed, _LARGEST_MEAN), member.random.random()))
            right = wrong(self._votes(index, x), y) == 0.0
            sums = self._state.memory["sums"][index]
            sums[right] += passed * w
            passed = min(passed * sum(sums) / (2.0 * sums[right]), 1e15)

    def _trust(self) -> list[float]:
        trust = []
        for wrongs, rights in self._state.memory["sums"]:
            error = max(wrongs / (wrongs + rights), _LEAST) if wrongs + rights else 0.5
            trust.append(math.log((1.0 - error) / error) if error < 0.5 else 0.0)
        return trust


#: The name in River and scikit-learn.
AdaBoostClassifier = AdaBoost
