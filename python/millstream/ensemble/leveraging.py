"""Bagging with drift detection: the worst member is replaced when the errors of a member grow."""

from __future__ import annotations

import random
from typing import Any

from millstream._part import unlearned_copy
from millstream.base import Features, Label
from millstream.ensemble.python_members import ClassEnsemble, Member, compiled, poisson, wrong

__all__ = ["ADWINBagging", "ADWINBaggingClassifier", "LeveragingBagging", "LeveragingBaggingClassifier"]

_ALIASES = {
    "classifier": "model",
    "n_estimators": "n_models",
    "random_state": "seed",
    "n_jobs": "n_threads",
    "w": "poisson_rate",
    "adwin_delta": "significance",
}


class _Monitored(ClassEnsemble):
    """Members whose errors are monitored."""

    significance: float

    def _ready(self) -> None:
        from millstream.drift import ADWIN

        self._begin(
            self.seed,
            self._copies(self.model, self.n_models),
            ADWIN(significance=self.significance, restart=False),
        )

    def _times(self, member: Member, error: float | None) -> float:
        """The number of times a member learns an example on which it made this error."""
        return poisson(self.poisson_rate, member.random.random())

    def _step(self, x: Features, y: Any, w: float) -> None:
        changed = False
        for index, member in enumerate(self._state.members):
            error = self._error(index, x, y)
            self._teach(index, x, self._target(index, y), w, self._times(member, error))
            if error is None:
                continue
            member.record_error(error, w)
            before = member.detector.estimation
            member.detector.update(error)
            changed |= member.detector.drift_detected and member.detector.estimation > before
        if changed:
            worst = max(self._state.members, key=lambda member: member.detector.estimation)
            worst.model = unlearned_copy(self.model)
            worst.detector = worst.detector.clone()
            worst.weight = worst.error = 0.0
            worst.replaced += 1

    def _error(self, index: int, x: Features, y: Any) -> float | None:
        return wrong(self._votes(index, x), y)

    def _target(self, _place: int, y: Any) -> Any:
        return y

    @property
    def n_detected_changes(self) -> int:
        """Number of replaced members."""
        return sum(member["replaced"] for member in self._numbers()["members"])


@compiled
class ADWINBagging(_Monitored):
    """Online bagging that replaces its worst member when the errors of a member grow.

    `Bagging` under drift: an ADWIN monitors the errors of each member. When one of them detects an increase, the
    member with the largest estimated error restarts. `LeveragingBagging` resamples more, which is mostly more
    accurate, and costs more.

    Parameters
    ----------
    model
        Classifier to copy for each member: a native one, a native pipeline, or your own class in Python.
    n_models
        Number of models in the ensemble.
    poisson_rate
        Mean number of times a model learns each example.
    significance
        Significance level of the ADWIN of each member.
    seed
        Seed of the random numbers. Each model has its own generator.
    n_threads
        Number of threads, None for one per core. The result does not depend on it.

    Notes
    -----
    River's class of this name passes 1 to its detectors for a correct prediction and looks for the largest
    estimate: it replaces the best member when the members improve. Here, as in the paper, they receive errors.

    Examples
    --------
    >>> from millstream import ensemble, evaluate, naive_bayes, synth
    >>> model = ensemble.ADWINBagging(naive_bayes.GaussianNB(), n_models=5)
    >>> stream = synth.Drift(synth.SEA(seed=1), synth.SEA(seed=1, variant=3), position=2000, width=1).take(4000)
    >>> round(evaluate.prequential(model, stream, "Accuracy")["Accuracy"], 3)
    0.911

    References
    ----------
    Bifet, A., Holmes, G., Pfahringer, B., Kirkby, R. and Gavaldà, R. (2009). New ensemble methods for evolving
    data streams.
    """

    name = "ensemble.ADWINBagging"
    aliases = _ALIASES

    def __init__(
        self,
        model: Any = "tree.HoeffdingTreeClassifier",
        n_models: int = 10,
        poisson_rate: float = 1.0,
        significance: float = 0.002,
        seed: int = 1,
        n_threads: int | None = 1,
    ) -> None:
        self._make(
            model=model,
            n_models=n_models,
            poisson_rate=poisson_rate,
            significance=significance,
            seed=seed,
            n_threads=n_threads,
        )


@compiled
class LeveragingBagging(_Monitored):
    """Online bagging with more resampling, which replaces its worst member when the errors of a member grow.

    Choose it over `Bagging` under drift, and if accuracy matters more than time: each member learns each example k
    times, where k is drawn from the Poisson distribution of mean 6, so that members differ more. An ADWIN monitors
    the errors of each member. When one of them detects an increase, the member with the largest estimated error
    restarts.

    In batches, members are distributed over `n_threads` threads. A replaced member processes the later rows again,
    so that results are bit-identical to those of one row at a time.

    Parameters
    ----------
    model
        Classifier to copy for each member: a native one, a native pipeline, or your own class in Python.
    n_models
        Number of models in the ensemble.
    poisson_rate
        Mean number of times a member learns each example; used only with `bagging_method="bag"`.
    significance
        Significance level of the ADWIN of each member.
    bagging_method
        How the number of times a member learns an example is drawn: "bag", from the Poisson distribution; "me",
        once if the member is wrong, otherwise with probability e / (1 - e) where e is its estimated error; "half",
        once with probability 1/2; "wt", one more than a draw from the Poisson distribution of mean 1; "subag",
        once unless that draw is 0.
    output_codes
        Train each member on two random halves of the classes. Members differ more, and a binary classifier can
        learn many classes.
    seed
        Seed of the random numbers. Each model has its own generator.
    n_threads
        Number of threads, None for one per core. The result does not depend on it.

    Examples
    --------
    >>> from millstream import ensemble, evaluate, naive_bayes, synth
    >>> model = ensemble.LeveragingBagging(naive_bayes.GaussianNB(), n_models=5, n_threads=2)
    >>> stream = synth.Drift(synth.SEA(seed=1), synth.SEA(seed=1, variant=3), position=2000, width=1).take(4000)
    >>> round(evaluate.prequential(model, stream, "Accuracy")["Accuracy"], 3)
    0.912
    >>> model.n_detected_changes
    4

    References
    ----------
    Bifet, A., Holmes, G. and Pfahringer, B. (2010). Leveraging bagging for evolving data streams.
    """

    name = "ensemble.LeveragingBagging"
    aliases = _ALIASES

    bagging_method: str
    output_codes: bool

    def __init__(
        self,
        model: Any = "tree.HoeffdingTreeClassifier",
        n_models: int = 10,
        poisson_rate: float = 6.0,
        significance: float = 0.002,
        bagging_method: str = "bag",
        output_codes: bool = False,
        seed: int = 1,
        n_threads: int | None = 1,
    ) -> None:
        self._make(
            model=model,
            n_models=n_models,
            poisson_rate=poisson_rate,
            significance=significance,
            bagging_method=bagging_method,
            output_codes=output_codes,
            seed=seed,
            n_threads=n_threads,
        )

    def _times(self, member: Member, error: float | None) -> float:
        unit = member.random.random()
        if self.bagging_method == "me":
            estimate = member.detector.estimation
            return float(error != 0.0 or unit * (1.0 - estimate) < estimate)
        if self.bagging_method == "half":
            return float(unit < 0.5)
        if self.bagging_method == "bag":
            return poisson(self.poisson_rate, unit)
        once = poisson(1.0, unit)
        return 1.0 + once if self.bagging_method == "wt" else min(once, 1.0)

    def _bit(self, index: int, label: Label) -> bool:
        """The half of a class: of each two in the order of appearance, one is random and the other the
        opposite."""
        codes = self._state.memory.setdefault("codes", {})
        number = codes.setdefault(label, len(codes))
        random_bit = random.Random(f"{self.seed} {index} {number // 2}").random() < 0.5
        return random_bit != bool(number % 2)

    def _target(self, index: int, y: Any) -> Any:
        return self._bit(index, y) if self.output_codes else y

    def _error(self, index: int, x: Features, y: Any) -> float | None:
        if not self.output_codes:
            return super()._error(index, x, y)
        return wrong(super()._votes(index, x), self._bit(index, y))

    def _votes(self, index: int, x: Features) -> dict[Label, float]:
        votes = super()._votes(index, x)
        if not self.output_codes:
            return votes
        return {label: votes.get(self._bit(index, label), 0.0) for label in self._state.classes}


#: The names in River.
ADWINBaggingClassifier = ADWINBagging
LeveragingBaggingClassifier = LeveragingBagging
