"""Bagging with detectors of change: the worst member is replaced when a member's errors grow."""

from __future__ import annotations

import random
from typing import Any

from millstream._part import unlearned_copy
from millstream.base import Features, Label
from millstream.ensemble.own import ClassEnsemble, Member, compiled, poisson, wrong

__all__ = ["ADWINBagging", "ADWINBaggingClassifier", "LeveragingBagging", "LeveragingBaggingClassifier"]

_ALIASES = {
    "classifier": "model",
    "n_estimators": "n_models",
    "random_state": "seed",
    "n_jobs": "n_threads",
    "w": "poisson_rate",
    "adwin_delta": "delta",
}


class _Watched(ClassEnsemble):
    """Members whose errors are watched."""

    delta: float

    def _ready(self) -> None:
        from millstream.drift import ADWIN

        self._begin(self.seed, self._copies(self.model, self.n_models), ADWIN(delta=self.delta, restart=False))

    def _times(self, member: Member, error: float | None) -> float:
        """How often a member learns an example at which it made this error."""
        return poisson(self.poisson_rate, member.random.random())

    def _step(self, x: Features, y: Any, w: float) -> None:
        changed = False
        for place, member in enumerate(self._state.members):
            error = self._error(place, x, y)
            self._teach(place, x, self._target(place, y), w, self._times(member, error))
            if error is None:
                continue
            member.hear(error, w)
            before = member.detector.estimation
            member.detector.update(error)
            changed |= member.detector.drift_detected and member.detector.estimation > before
        if changed:
            worst = max(self._state.members, key=lambda member: member.detector.estimation)
            worst.model = unlearned_copy(self.model)
            worst.detector = worst.detector.clone()
            worst.weight = worst.error = 0.0
            worst.replaced += 1

    def _error(self, place: int, x: Features, y: Any) -> float | None:
        return wrong(self._votes(place, x), y)

    def _target(self, _place: int, y: Any) -> Any:
        return y

    @property
    def n_detected_changes(self) -> int:
        """How often a member was replaced."""
        return sum(member["replaced"] for member in self._numbers()["members"])


@compiled
class ADWINBagging(_Watched):
    """Online bagging whose worst member is replaced when a member's errors grow.

    `Bagging` for a world that changes: the errors of each member go to an ADWIN, and when one of them finds that
    an error has grown, the member whose estimated error is the largest begins anew. `LeveragingBagging`
    resamples more, which is mostly better, and costs more.

    Parameters
    ----------
    model
        The classifier that each member is: a native one or a pipeline of them, or one of your own in Python.
    n_models
        The number of members.
    poisson_rate
        How often a member learns an example on average.
    delta
        The chance of a false alarm of a member's ADWIN.
    seed
        Of the random numbers; each member has its own.
    n_threads
        Threads that share the members, None for one on each core. The result is the same.

    Notes
    -----
    River's class of this name tells its detectors 1 for a right answer and looks for the largest estimate: it
    replaces the best member when the members improve. Here, as in the paper, they are told errors.

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
        delta: float = 0.002,
        seed: int = 1,
        n_threads: int | None = 1,
    ) -> None:
        self._make(
            model=model, n_models=n_models, poisson_rate=poisson_rate, delta=delta, seed=seed, n_threads=n_threads
        )


@compiled
class LeveragingBagging(_Watched):
    """Online bagging with more resampling, whose worst member is replaced when a member's errors grow.

    Choose it over `Bagging` where the world changes, and where accuracy matters more than time: each member
    learns each example k times, where k is drawn from the Poisson distribution of mean 6, so that members differ
    more. The errors of each member go to an ADWIN, and when one of them finds that an error has grown, the
    member whose estimated error is the largest begins anew.

    Members are spread over `n_threads` threads when rows come many at a time. A member that is replaced goes
    through the rows after that again, so that results are bit for bit those of one row at a time.

    Parameters
    ----------
    model
        The classifier that each member is: a native one or a pipeline of them, or one of your own in Python.
    n_models
        The number of members.
    poisson_rate
        How often a member learns an example on average; only `bagging_method="bag"` looks at it.
    delta
        The chance of a false alarm of a member's ADWIN.
    bagging_method
        How often a member learns an example: "bag", as the Poisson distribution says; "me", once if it is wrong,
        else with probability e / (1 - e) where e is its estimated error; "half", once for one in two examples;
        "wt", once more than the Poisson distribution of mean 1 says; "subag", once unless that says 0.
    output_codes
        Whether each member tells apart two random halves of the classes. Members differ more, and a learner of two
        classes can learn many.
    seed
        Of the random numbers; each member has its own.
    n_threads
        Threads that share the members, None for one on each core. The result is the same.

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
        delta: float = 0.002,
        bagging_method: str = "bag",
        output_codes: bool = False,
        seed: int = 1,
        n_threads: int | None = 1,
    ) -> None:
        self._make(
            model=model,
            n_models=n_models,
            poisson_rate=poisson_rate,
            delta=delta,
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

    def _bit(self, place: int, label: Label) -> bool:
        """The half of a class: of each two in the order of arrival, one is random and the other the opposite."""
        codes = self._state.memory.setdefault("codes", {})
        number = codes.setdefault(label, len(codes))
        random_bit = random.Random(f"{self.seed} {place} {number // 2}").random() < 0.5
        return random_bit != bool(number % 2)

    def _target(self, place: int, y: Any) -> Any:
        return self._bit(place, y) if self.output_codes else y

    def _error(self, place: int, x: Features, y: Any) -> float | None:
        if not self.output_codes:
            return super()._error(place, x, y)
        return wrong(super()._votes(place, x), self._bit(place, y))

    def _votes(self, place: int, x: Features) -> dict[Label, float]:
        votes = super()._votes(place, x)
        if not self.output_codes:
            return votes
        return {label: votes.get(self._bit(place, label), 0.0) for label in self._state.classes}


#: As River calls them.
ADWINBaggingClassifier = ADWINBagging
LeveragingBaggingClassifier = LeveragingBagging
