"""Streaming random patches: members with some of the features and some of the examples, that renew themselves."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Any

from millstream._part import unlearned_copy
from millstream.base import Features, Label
from millstream.drift.base import checked_detector
from millstream.drift.mean_change import ADWIN
from millstream.ensemble.own import (
    ClassEnsemble,
    Ensemble,
    Member,
    NumberEnsemble,
    compiled,
    poisson,
    wrong,
)
from millstream.tree import HoeffdingTreeClassifier, HoeffdingTreeRegressor

__all__ = ["SRPClassifier", "SRPRegressor"]

_CLASSIFIER = HoeffdingTreeClassifier(grace_period=50, delta=0.01)
_REGRESSOR = HoeffdingTreeRegressor(grace_period=50, delta=0.01)
_ALIASES = {"lam": "poisson_rate", "n_estimators": "n_models", "random_state": "seed", "n_jobs": "n_threads"}


def _is_worse(detector: Any) -> bool:
    """Whether errors grew: to have become better is no reason to begin anew."""
    return bool(detector.drift_detected and getattr(detector, "direction", None) != "down")


@dataclass
class _Patch(Member):
    """A member with its features, and a learner in the background if one has begun."""

    features: list[Any] = field(default_factory=list)
    #: How many features there were to choose from.
    known: int = 0
    draws: random.Random = field(default_factory=random.Random)
    warning: Any = None
    back: _Patch | None = None
    drifts: int = 0
    warnings: int = 0
    #: Count, mean and sum of squared deviations of the errors.
    spread: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])


class _Patches(Ensemble):
    """What classifiers and regressors share."""

    subspace_size: float
    training_method: str
    drift_detector: Any
    warning_detector: Any
    disable_detector: str
    disable_weighted_vote: bool

    def _ready(self) -> None:
        for name in ("drift_detector", "warning_detector"):
            if getattr(self, name) is not None:
                setattr(self, name, checked_detector(self.name, name, getattr(self, name)))
        self._begin(self.seed, self._copies(self.model, self.n_models))
        for place, member in enumerate(self._state.members):
            self._state.members[place] = _Patch(
                member.model, member.random, draws=random.Random(f"{self.seed} {place} features")
            )
            self._watch(self._state.members[place])
        self._state.memory["features"] = {}

    def _watch(self, member: _Patch) -> None:
        """Give a member new detectors."""

        def detector(given: Any, delta: float) -> Any:
            return unlearned_copy(given) if given is not None else ADWIN(delta=delta, restart=False)

        off = self.disable_detector
        member.detector = None if off == "drift" else detector(self.drift_detector, 1e-5)
        member.warning = detector(self.warning_detector, 1e-4) if off == "off" else None
        member.spread = [0.0, 0.0, 0.0]

    def _grow(self, member: _Patch) -> None:
        """Choose among features that are new to a member."""
        features = list(self._state.memory["features"])
        share, count = self.subspace_size, len(features)
        due = min(max(round(count * share), 2), count) if share <= 1 else min(int(share), count)
        new = features[member.known :]
        due = min(max(due - len(member.features), 0), len(new))
        member.features += [new[at] for at in sorted(member.draws.sample(range(len(new)), due))]
        member.known = count

    def _cut(self, member: _Patch, x: Features) -> Features:
        if self.training_method == "resampling":
            return x
        return {name: x[name] for name in member.features if name in x}

    def _judge(self, member: _Patch, place: int, x: Features, y: Any) -> float | None:
        """How wrong a member's learner is."""
        raise NotImplementedError

    def _place(self, member: _Patch, error: float) -> float:
        """What detectors are told of an error."""
        return error

    def _step(self, x: Features, y: Any, w: float) -> None:
        known = self._state.memory["features"]
        known.update(dict.fromkeys(x))
        for place, member in enumerate(self._state.members):
            unit = member.random.random()
            times = 1.0 if self.training_method == "subspaces" else poisson(self.poisson_rate, unit)
            told = None
            for side in (member, member.back):
                if side is None:
                    continue
                if side.known < len(known):
                    self._grow(side)
                error = self._judge(side, place, x, y)
                if error is not None:
                    side.hear(error, w)
                self._teach_side(side, place, x, y, w, times)
                if side is member and error is not None:
                    told = self._place(member, error)
            if told is not None:
                self._detect(member, told)

    def _teach_side(self, side: _Patch, place: int, x: Features, y: Any, w: float, times: float) -> None:
        # The member's place in the list is for messages; a learner in the background is taught by its own object.
        members, kept = self._state.members, self._state.members[place]
        members[place] = side
        try:
            self._teach(place, self._cut(side, x), y, w, times)
        finally:
            members[place] = kept

    def _detect(self, member: _Patch, told: float) -> None:
        warned = False
        if member.warning is not None:
            member.warning.update(told)
            warned = _is_worse(member.warning)
        changed = False
        if member.detector is not None:
            member.detector.update(told)
            changed = _is_worse(member.detector)
        if warned and not changed:
            member.warnings += 1
            member.back = self._fresh(member)
            member.warning = unlearned_copy(self.warning_detector or member.warning)
        if changed:
            member.drifts += 1
            new = member.back or self._fresh(member)
            member.model, member.features, member.known = new.model, new.features, new.known
            member.weight, member.error, member.back = new.weight, new.error, None
            self._watch(member)

    def _fresh(self, member: _Patch) -> _Patch:
        side = _Patch(unlearned_copy(self.model), member.random, draws=member.draws)
        self._grow(side)
        return side

    def _report(self, member: Any) -> dict[str, Any]:
        return {
            "weight": member.weight,
            "error": member.error,
            "features": list(member.features),
            "background": member.back is not None,
            "warnings": member.warnings,
            "drifts": member.drifts,
        }


@compiled
class SRPClassifier(_Patches, ClassEnsemble):
    """Streaming random patches: members with some of the features and some of the examples, that renew themselves.

    Choose it where accuracy matters more than time, in a world that changes: with trees it is among the best,
    and unlike a forest it takes any learner. Each member is given a random subset of the features and learns
    each example k times, k from the Poisson distribution of mean 6. Its errors go to two detectors: at a warning
    a learner with other features begins in the background, at a change it takes the member's place. Votes weigh
    the accuracy of each member since it began.

    Parameters
    ----------
    model
        The classifier that each member is: a native one or a pipeline of them, or one of your own in Python. By
        default `tree.HoeffdingTreeClassifier` with a grace period of 50 and a delta of 0.01.
    n_models
        The number of members.
    subspace_size
        The features of a member: up to 1 a share of them (at least two), above 1 their number. Where features come
        later, subsets grow.
    training_method
        "patches" for subsets of features and examples, "resampling" for examples alone, "subspaces" for features
        alone.
    poisson_rate
        How often a member learns an example on average.
    drift_detector
        Finds when a member is replaced; None for `drift.ADWIN` with a delta of 0.00001.
    warning_detector
        Finds when a learner begins in the background; None for `drift.ADWIN` with a delta of 0.0001.
    disable_detector
        "off" for both detectors, "drift" for neither, "warning" for no learners in the background.
    disable_weighted_vote
        Whether all votes weigh the same, however well a member has done.
    seed
        Of the random numbers; each member has its own.
    n_threads
        Threads that share the members, None for one on each core. The result is the same.

    Examples
    --------
    >>> from millstream import ensemble, evaluate, naive_bayes, synth
    >>> model = ensemble.SRPClassifier(naive_bayes.GaussianNB(), n_models=5, n_threads=2)
    >>> stream = synth.Drift(synth.SEA(seed=1), synth.SEA(seed=1, variant=3), position=2000, width=1).take(4000)
    >>> round(evaluate.prequential(model, stream, "Accuracy")["Accuracy"], 3)
    0.898
    >>> model.inspect()["members"][0]["features"]
    ['0', '2']

    References
    ----------
    Gomes, H. M., Read, J. and Bifet, A. (2019). Streaming random patches for evolving data stream classification.
    """

    name = "ensemble.SRPClassifier"
    aliases = {"classifier": "model", **_ALIASES}

    def __init__(
        self,
        model: Any = _CLASSIFIER,
        n_models: int = 10,
        subspace_size: float = 0.6,
        training_method: str = "patches",
        poisson_rate: float = 6.0,
        drift_detector: Any = None,
        warning_detector: Any = None,
        disable_detector: str = "off",
        disable_weighted_vote: bool = False,
        seed: int = 1,
        n_threads: int | None = 1,
    ) -> None:
        self._make(
            model=model,
            n_models=n_models,
            subspace_size=subspace_size,
            training_method=training_method,
            poisson_rate=poisson_rate,
            drift_detector=drift_detector,
            warning_detector=warning_detector,
            disable_detector=disable_detector,
            disable_weighted_vote=disable_weighted_vote,
            seed=seed,
            n_threads=n_threads,
        )

    def _judge(self, member: _Patch, place: int, x: Features, y: Any) -> float | None:
        return wrong(self._votes_of(member.model, place, self._cut(member, x)), y)

    def _votes(self, place: int, x: Features) -> dict[Label, float]:
        member = self._state.members[place]
        return self._votes_of(member.model, place, self._cut(member, x))

    def _trust(self) -> list[float]:
        if self.disable_weighted_vote:
            return [1.0] * len(self)
        return [1.0 - member.error if member.weight else 0.0 for member in self._state.members]


@compiled
class SRPRegressor(_Patches, NumberEnsemble):
    """Streaming random patches of regressors, averaged.

    `SRPClassifier` for numbers. Detectors are told where an error lies among those before, whatever the unit of
    the target; a number weighs one over the mean absolute error of its member since it began.

    Parameters
    ----------
    model
        The regressor that each member is: a native one or a pipeline of them, or one of your own in Python. By
        default `tree.HoeffdingTreeRegressor` with a grace period of 50 and a delta of 0.01.
    n_models
        The number of members.
    subspace_size
        The features of a member: up to 1 a share of them (at least two), above 1 their number.
    training_method
        "patches" for subsets of features and examples, "resampling" for examples alone, "subspaces" for features
        alone.
    poisson_rate
        How often a member learns an example on average.
    drift_detector
        Finds when a member is replaced; None for `drift.ADWIN` with a delta of 0.00001.
    warning_detector
        Finds when a learner begins in the background; None for `drift.ADWIN` with a delta of 0.0001.
    disable_detector
        "off" for both detectors, "drift" for neither, "warning" for no learners in the background.
    disable_weighted_vote
        Whether all numbers weigh the same, however well a member has done.
    aggregation
        What the numbers of members become: "mean" or "median".
    seed
        Of the random numbers; each member has its own.
    n_threads
        Threads that share the members, None for one on each core. The result is the same.

    Examples
    --------
    >>> from millstream import ensemble, evaluate, linear_model, synth
    >>> model = ensemble.SRPRegressor(linear_model.RLS(), n_models=5, subspace_size=0.8)
    >>> round(evaluate.prequential(model, synth.Friedman(seed=1).take(2000), "R2")["R2"], 2)
    0.68

    References
    ----------
    Gomes, H. M., Montiel, J., Mastelini, S. M., Pfahringer, B. and Bifet, A. (2020). On ensemble techniques for
    data stream regression.
    """

    name = "ensemble.SRPRegressor"
    aliases = {"regressor": "model", "aggregation_method": "aggregation", **_ALIASES}

    def __init__(
        self,
        model: Any = _REGRESSOR,
        n_models: int = 10,
        subspace_size: float = 0.6,
        training_method: str = "patches",
        poisson_rate: float = 6.0,
        drift_detector: Any = None,
        warning_detector: Any = None,
        disable_detector: str = "off",
        disable_weighted_vote: bool = False,
        aggregation: str = "mean",
        seed: int = 1,
        n_threads: int | None = 1,
    ) -> None:
        self._make(
            model=model,
            n_models=n_models,
            subspace_size=subspace_size,
            training_method=training_method,
            poisson_rate=poisson_rate,
            drift_detector=drift_detector,
            warning_detector=warning_detector,
            disable_detector=disable_detector,
            disable_weighted_vote=disable_weighted_vote,
            aggregation=aggregation,
            seed=seed,
            n_threads=n_threads,
        )

    def _judge(self, member: _Patch, place: int, x: Features, y: Any) -> float | None:
        return abs(self._number_of(member.model, place, self._cut(member, x)) - float(y))

    def _place(self, member: _Patch, error: float) -> float:
        spread = member.spread
        spread[0] += 1.0
        off = error - spread[1]
        spread[1] += off / spread[0]
        spread[2] += off * (error - spread[1])
        deviation = math.sqrt(spread[2] / spread[0])
        return min(max(0.5 + (error - spread[1]) / (6.0 * deviation), 0.0), 1.0) if deviation > 0 else 0.5

    def _number(self, place: int, x: Features) -> float:
        return super()._number(place, self._cut(self._state.members[place], x))

    def _trust(self) -> list[float]:
        if self.disable_weighted_vote:
            return [1.0] * len(self)
        return [1.0 / max(member.error, 1e-300) if member.weight else 0.0 for member in self._state.members]
