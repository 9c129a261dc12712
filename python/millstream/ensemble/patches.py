"""Streaming random patches: classifiers on random features and examples, replaced when their errors grow."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Any

from millstream._part import unlearned_copy
from millstream.base import Features, Label
from millstream.drift.base import checked_detector
from millstream.drift.mean_change import ADWIN
from millstream.ensemble.python_members import (
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
    """Whether errors grew: a decrease does not trigger."""
    return bool(detector.drift_detected and getattr(detector, "direction", None) != "down")


@dataclass
class _Patch(Member):
    """A member with its features, and its background learner if there is one."""

    features: list[Any] = field(default_factory=list)
    #: Number of features that were available.
    known: int = 0
    draws: random.Random = field(default_factory=random.Random)
    warning: Any = None
    back: _Patch | None = None
    drifts: int = 0
    warnings: int = 0
    #: Count, mean and sum of squared deviations of the errors.
    spread: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])


class _Patches(Ensemble):
    """The methods that the classifier and the regressor share."""

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
        for index, member in enumerate(self._state.members):
            self._state.members[index] = _Patch(
                member.model, member.random, draws=random.Random(f"{self.seed} {index} features")
            )
            self._reset_detectors(self._state.members[index])
        self._state.memory["features"] = {}

    def _reset_detectors(self, member: _Patch) -> None:
        """Give a member new detectors."""

        def detector(given: Any, significance: float) -> Any:
            return unlearned_copy(given) if given is not None else ADWIN(significance=significance, restart=False)

        off = self.disable_detector
        member.detector = None if off == "drift" else detector(self.drift_detector, 1e-5)
        member.warning = detector(self.warning_detector, 1e-4) if off == "off" else None
        member.spread = [0.0, 0.0, 0.0]

    def _grow(self, member: _Patch) -> None:
        """Draw from features that are new to a member."""
        features = list(self._state.memory["features"])
        size, count = self.subspace_size, len(features)
        due = min(max(round(count * size), 2), count) if size <= 1 else min(int(size), count)
        new = features[member.known :]
        due = min(max(due - len(member.features), 0), len(new))
        member.features += [new[at] for at in sorted(member.draws.sample(range(len(new)), due))]
        member.known = count

    def _cut(self, member: _Patch, x: Features) -> Features:
        if self.training_method == "resampling":
            return x
        return {name: x[name] for name in member.features if name in x}

    def _error_of(self, member: _Patch, index: int, x: Features, y: Any) -> float | None:
        """The error of a member's learner."""
        raise NotImplementedError

    def _position(self, member: _Patch, error: float) -> float:
        """The input of the detectors for an error."""
        return error

    def _step(self, x: Features, y: Any, w: float) -> None:
        known = self._state.memory["features"]
        known.update(dict.fromkeys(x))
        for index, member in enumerate(self._state.members):
            unit = member.random.random()
            times = 1.0 if self.training_method == "subspaces" else poisson(self.poisson_rate, unit)
            value = None
            for side in (member, member.back):
                if side is None:
                    continue
                if side.known < len(known):
                    self._grow(side)
                error = self._error_of(side, index, x, y)
                if error is not None:
                    side.record_error(error, w)
                self._teach_side(side, index, x, y, w, times)
                if side is member and error is not None:
                    value = self._position(member, error)
            if value is not None:
                self._detect(member, value)

    def _teach_side(self, side: _Patch, index: int, x: Features, y: Any, w: float, times: float) -> None:
        # The index of the member is for messages; a background learner is taught through its own object.
        members, kept = self._state.members, self._state.members[index]
        members[index] = side
        try:
            self._teach(index, self._cut(side, x), y, w, times)
        finally:
            members[index] = kept

    def _detect(self, member: _Patch, value: float) -> None:
        warned = False
        if member.warning is not None:
            member.warning.update(value)
            warned = _is_worse(member.warning)
        changed = False
        if member.detector is not None:
            member.detector.update(value)
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
            self._reset_detectors(member)

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
    """Streaming random patches: classifiers on random features and examples, replaced when their errors grow.

    Choose it if accuracy matters more than time, under drift: with trees it is among the most accurate ensembles,
    and unlike a forest it accepts any learner. Each member uses a random subset of the features and learns each
    example k times, k from the Poisson distribution of mean 6. Two detectors monitor its errors: a warning starts
    a background learner with other features, and a drift replaces the member by it. Votes are weighted by the
    accuracy of each member since it started.

    Parameters
    ----------
    model
        Classifier to copy for each member: a native one, a native pipeline, or your own class in Python. By
        default `tree.HoeffdingTreeClassifier` with a grace period of 50 and a delta of 0.01.
    n_models
        Number of models in the ensemble.
    subspace_size
        Number of features of each member: a fraction (at least two features) up to 1, or a number above 1. When
        new features appear, subsets grow.
    training_method
        How members differ: by features and example weights ("patches"), by example weights only ("resampling"), or
        by features only ("subspaces").
    poisson_rate
        Mean number of times a model learns each example.
    drift_detector
        Drift detector that triggers the replacement of a member; None for `drift.ADWIN` with a significance of
        0.00001.
    warning_detector
        Drift detector that starts a background learner; None for `drift.ADWIN` with a significance of 0.0001.
    disable_detector
        "off" to use both detectors, "drift" to use none, "warning" to train no background learners.
    disable_weighted_vote
        Weight all members equally instead of by their accuracy.
    seed
        Seed of the random numbers. Each model has its own generator.
    n_threads
        Number of threads, None for one per core. The result does not depend on it.

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

    def _error_of(self, member: _Patch, index: int, x: Features, y: Any) -> float | None:
        return wrong(self._votes_of(member.model, index, self._cut(member, x)), y)

    def _votes(self, index: int, x: Features) -> dict[Label, float]:
        member = self._state.members[index]
        return self._votes_of(member.model, index, self._cut(member, x))

    def _trust(self) -> list[float]:
        if self.disable_weighted_vote:
            return [1.0] * len(self)
        return [1.0 - member.error if member.weight else 0.0 for member in self._state.members]


@compiled
class SRPRegressor(_Patches, NumberEnsemble):
    """Streaming random patches: regressors on random features and examples, replaced when their errors grow.

    `SRPClassifier` for regression. The detectors receive the position of an error among the previous ones, so the
    unit of the target does not matter. Predictions are weighted by the inverse of the mean absolute error of each
    member since it started.

    Parameters
    ----------
    model
        Regressor to copy for each member: a native one, a native pipeline, or your own class in Python. By
        default `tree.HoeffdingTreeRegressor` with a grace period of 50 and a delta of 0.01.
    n_models
        Number of models in the ensemble.
    subspace_size
        Number of features of each member: a fraction (at least two features) up to 1, or a number above 1.
    training_method
        How members differ: by features and example weights ("patches"), by example weights only ("resampling"), or
        by features only ("subspaces").
    poisson_rate
        Mean number of times a model learns each example.
    drift_detector
        Drift detector that triggers the replacement of a member; None for `drift.ADWIN` with a significance of
        0.00001.
    warning_detector
        Drift detector that starts a background learner; None for `drift.ADWIN` with a significance of 0.0001.
    disable_detector
        "off" to use both detectors, "drift" to use none, "warning" to train no background learners.
    disable_weighted_vote
        Weight all members equally instead of by their errors.
    aggregation
        How the predictions of the models are combined: "mean" or "median".
    seed
        Seed of the random numbers. Each model has its own generator.
    n_threads
        Number of threads, None for one per core. The result does not depend on it.

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

    def _error_of(self, member: _Patch, index: int, x: Features, y: Any) -> float | None:
        return abs(self._number_of(member.model, index, self._cut(member, x)) - float(y))

    def _position(self, member: _Patch, error: float) -> float:
        spread = member.spread
        spread[0] += 1.0
        off = error - spread[1]
        spread[1] += off / spread[0]
        spread[2] += off * (error - spread[1])
        deviation = math.sqrt(spread[2] / spread[0])
        return min(max(0.5 + (error - spread[1]) / (6.0 * deviation), 0.0), 1.0) if deviation > 0 else 0.5

    def _number(self, index: int, x: Features) -> float:
        return super()._number(index, self._cut(self._state.members[index], x))

    def _trust(self) -> list[float]:
        if self.disable_weighted_vote:
            return [1.0] * len(self)
        return [1.0 / max(member.error, 1e-300) if member.weight else 0.0 for member in self._state.members]
