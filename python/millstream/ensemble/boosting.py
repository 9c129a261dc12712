"""Boosting: what a member gets wrong counts more for the next."""

from __future__ import annotations

import math
from typing import Any

from millstream.base import Features
from millstream.ensemble.own import ClassEnsemble, compiled, poisson, wrong

__all__ = ["AdaBoost", "AdaBoostClassifier"]

#: The largest mean of a draw, and the least error of a member, as in the compiled form.
_LARGEST_MEAN, _LEAST = 100.0, 1e-10


@compiled
class AdaBoost(ClassEnsemble):
    """Online boosting: examples that a member gets wrong count more for the next.

    Choose it to make many weak learners, small trees or naive Bayes, into a strong one, where labels are clean:
    members come to be about the examples that the others get wrong, and mislabelled ones are always among these.
    Each member learns an example k times, where k is from a Poisson distribution whose mean is 1 for the first
    member, and then grows where a member is wrong and shrinks where it is right. Votes weigh log((1 - e) / e)
    for a share of errors e, and nothing where e is above one half.

    Members are a chain, so threads work in stages: a member is some rows behind the one before it. The result is
    the same as with one thread.

    Parameters
    ----------
    model
        The classifier that each member is: a native one or a pipeline of them, or one of your own in Python.
    n_models
        The number of members.
    seed
        Of the random numbers; each member has its own.
    n_threads
        Threads that share the members, None for one on each core.

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
        for place, member in enumerate(self._state.members):
            error = wrong(self._votes(place, x), y)
            if error is not None:
                member.hear(error, w)
            self._teach(place, x, y, w, poisson(min(passed, _LARGEST_MEAN), member.random.random()))
            right = wrong(self._votes(place, x), y) == 0.0
            sums = self._state.memory["sums"][place]
            sums[right] += passed * w
            passed = min(passed * sum(sums) / (2.0 * sums[right]), 1e15)

    def _trust(self) -> list[float]:
        trust = []
        for wrongs, rights in self._state.memory["sums"]:
            error = max(wrongs / (wrongs + rights), _LEAST) if wrongs + rights else 0.5
            trust.append(math.log((1.0 - error) / error) if error < 0.5 else 0.0)
        return trust


#: As River and scikit-learn call it.
AdaBoostClassifier = AdaBoost
