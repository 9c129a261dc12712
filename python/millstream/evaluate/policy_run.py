"""Evaluation of policies on a log of rounds, in one pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from millstream._answers import number_of
from millstream._echo import quoted, typed
from millstream.base import Model
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.evaluate.policy_results import PolicyDifference, PolicyResult, PolicyResults
from millstream.policy_evaluation import DR, IPS, SNIPS, Difference, PolicyEstimator
from millstream.roles import REGRESSOR, role_of

__all__ = ["policies"]

_WHO = "evaluate.policies"
#: The name of the policy that wrote the log.
LOGGED = "logged"
#: Up to this round, curves have a point for every round; later points are about 3 % apart.
_EVERY = 16
_APART = 32
#: Probabilities of all actions may differ from 1 by this much, for those computed in single precision.
_ROUNDING = 1e-5
#: Of more policies, only differences from the logged one are computed.
_MOST_PAIRED = 12


def policies(
    log: Iterable[Any],
    policies: Mapping[str, Any],
    *,
    estimator: PolicyEstimator | None = None,
    reward_model: Model | None = None,
    reward_range: tuple[float, float] = (0.0, 1.0),
    coverage: float = 0.95,
    learn: bool = True,
) -> PolicyResults:
    """Estimate what each of some policies would earn, from the log of another one.

    All policies see each round once, before its reward is learned: first each policy gives its probabilities, then
    the round is counted, then each policy learns it. Values of policies that learn are therefore means over the
    time in which they learned. Differences have intervals of their own.

    Parameters
    ----------
    log
        Rounds: objects with `shared`, `actions`, `action`, `probability` and `reward`, such as `rounds.Round`,
        dicts with these keys, or batches of them. Rounds without an action or a reward are skipped and counted.
    policies
        Policies by name. A policy has `probabilities_one(x, actions)` and, if it learns, `learn_one(x=, actions=,
        action=, reward=, probability=)`; or it is a function of x and actions that returns an action, or a dict of
        probabilities. Policies learn in place.
    estimator
        An unlearned estimator of `policy_evaluation`, copied for each policy. By default `SNIPS`, or `DR` with a
        reward model.
    reward_model
        An unlearned regressor of the reward, for estimators that need one. If actions are labels, each gets a
        copy, which learns from the shared features; if actions have features, one regressor learns from both, with
        names such as `action price`. It predicts a round before it learns it.
    reward_range
        Lowest and highest possible reward, if no estimator is given.
    coverage
        Probability that an interval contains the value, at all rounds at once.
    learn
        Whether the policies learn the log.

    Examples
    --------
    >>> import random
    >>> from millstream import evaluate
    >>> draw = random.Random(1)
    >>> log = []
    >>> for _ in range(3000):
    ...     x, action = {"young": draw.random() < 0.5}, draw.choice(["red", "blue"])
    ...     chance = 0.6 if (action == "red") == x["young"] else 0.2
    ...     log.append({"shared": x, "actions": ["red", "blue"], "action": action, "probability": 0.5,
    ...                 "reward": draw.random() < chance})
    >>> results = evaluate.policies(
    ...     log, {"by age": lambda x, actions: "red" if x["young"] else "blue", "red": lambda x, actions: "red"}
    ... )
    >>> round(results["by age"].value, 2), results.best.name
    (0.62, 'by age')
    >>> results.difference("by age", "red").better
    'by age'
    """
    judges = _judged(policies)
    prototype = _estimator(estimator, reward_model, reward_range)
    if not 0.0 < coverage < 1.0:
        raise InvalidValue(f"{_WHO}: coverage must be in (0, 1), got {quoted(coverage)}")
    if isinstance(log, (str, bytes)) or not isinstance(log, Iterable):
        raise InvalidType(f"{_WHO}: log must be an iterable of rounds, got {typed(log)}")
    run = _Run(judges, prototype, _model(reward_model, prototype), coverage, learn)
    for index, seen in enumerate(_rounds(log)):
        try:
            run.step(seen)
        except MillstreamError as error:
            error.args = (f"round {index}: {error}",)
            raise
    return run.results()


class Seen(NamedTuple):
    """A round of a log: its features, its actions by label, and what happened."""

    x: Any
    #: As the log has them, for the policies.
    actions: Any
    #: The features of each action by label; None where actions are labels only.
    features: dict[Hashable, Any]
    action: Any
    probability: Any
    reward: Any


def _judged(given: Any) -> dict[str, _Judged]:
    if not isinstance(given, Mapping) or not given:
        raise InvalidType(f"{_WHO}: policies must be a dict of policies by name, got {typed(given)}")
    if LOGGED in given:
        raise InvalidValue(
            f"{_WHO}: the name {LOGGED!r} is that of the policy that wrote the log; choose another one"
        )
    for name in given:
        if not isinstance(name, str):
            raise InvalidType(f"{_WHO}: the name of a policy must be a string, got {typed(name)}")
    return {name: _Judged(name, policy) for name, policy in given.items()}


def _estimator(given: Any, reward_model: Any, reward_range: Any) -> PolicyEstimator:
    if given is None:
        return (SNIPS if reward_model is None else DR)(reward_range=reward_range)
    if not isinstance(given, PolicyEstimator) or isinstance(given, Difference):
        raise InvalidType(
            f"{_WHO}: estimator must be an estimator such as policy_evaluation.SNIPS(), got {typed(given)}"
        )
    return given.clone()


def _model(given: Any, prototype: PolicyEstimator) -> Model | None:
    needs = type(prototype).__name__ in ("DM", "DR", "SNDR", "SwitchDR", "DRos")
    if given is None:
        if needs:
            raise InvalidType(f"{_WHO}: {type(prototype).__name__} needs a reward_model, such as a regressor")
        return None
    if isinstance(given, type) or not isinstance(given, Model) or role_of(given) is not REGRESSOR:
        raise InvalidType(f"{_WHO}: reward_model must be a regressor, got {typed(given)}")
    return given


def _rounds(log: Any) -> Iterator[Seen]:
    """The rounds of a log, or of its batches."""
    for entry in log:
        if isinstance(entry, Mapping):
            yield _seen(entry.get)
        elif (hasattr(entry, "shared") and hasattr(entry, "reward") and not hasattr(entry, "__len__")) or (
            isinstance(entry, tuple) and hasattr(entry, "_fields")
        ):
            yield _seen(lambda name, entry=entry: getattr(entry, name, None))  # type: ignore[misc]
        elif isinstance(entry, Iterable) and not isinstance(entry, (str, bytes)):
            yield from _rounds(entry)
        else:
            raise InvalidType(
                f"{_WHO}: a round must have shared, actions, action, probability and reward, got {typed(entry)}"
            )


def _seen(of: Callable[[str], Any]) -> Seen:
    actions = of("actions")
    if isinstance(actions, Mapping):
        features: dict[Hashable, Any] = dict(actions)
    elif actions is not None and len(actions) and (isinstance(actions[0], Mapping) or np.ndim(actions[0]) == 1):
        features = dict(enumerate(actions))
    else:
        features = dict.fromkeys(() if actions is None else actions)
    return Seen(of("shared"), actions, features, of("action"), of("probability"), of("reward"))


class _Judged:
    """A policy under evaluation."""

    def __init__(self, name: str, policy: Any) -> None:
        self.name, self.policy = name, policy
        self.is_function = callable(policy) and not hasattr(policy, "probabilities_one")
        if not self.is_function and not callable(getattr(policy, "probabilities_one", None)):
            raise InvalidType(
                f"{_WHO}: policy {quoted(name)} must have probabilities_one(x, actions) or be a function, "
                f"got {typed(policy)}"
            )
        self.uses_context = bool(getattr(policy, "uses_context", True))
        self.learns = callable(getattr(policy, "learn_one", None))

    def probabilities(self, seen: Seen) -> dict[Hashable, float]:
        if self.is_function:
            answer = self.policy(seen.x, seen.actions)
            found = answer if isinstance(answer, Mapping) else {answer: 1.0}
        elif self.uses_context:
            found = self.policy.probabilities_one(seen.x, seen.actions)
        else:
            found = self.policy.probabilities_one(list(seen.features))
        unknown = next((action for action in found if action not in seen.features), None)
        if unknown is not None:
            raise InvalidValue(
                f"{_WHO}: policy {quoted(self.name)} took {quoted(unknown)}, which is not an action"
            )
        total = math.fsum(found.values())
        if not (abs(total - 1.0) <= _ROUNDING and min(found.values()) >= 0.0):
            raise InvalidValue(
                f"{_WHO}: probabilities of policy {quoted(self.name)} must be >= 0 with sum 1, got sum {total}"
            )
        return dict(found)

    def learn(self, seen: Seen) -> None:
        known = {"action": seen.action, "reward": float(seen.reward), "probability": float(seen.probability)}
        if self.uses_context:
            self.policy.learn_one(x=seen.x, actions=seen.actions, **known)
        else:
            self.policy.learn_one(**known)


class _RewardModel:
    """A regressor for each action, or one for the features of all."""

    def __init__(self, model: Model, low: float, high: float) -> None:
        self.model, self.low, self.high = model, low, high
        self.members: dict[Hashable, Model] = {}

    def predict(self, seen: Seen) -> dict[Hashable, float]:
        found = {}
        for action, features in seen.features.items():
            member = self.members.get(None if features is not None else action)
            # Before the first reward of an action, nothing is known of it.
            number = self.low if member is None else float(number_of(member, _both(seen.x, features)))
            found[action] = min(max(number, self.low), self.high)
        return found

    def learn(self, seen: Seen) -> None:
        features = seen.features[seen.action]
        key = None if features is not None else seen.action
        member = self.members.get(key)
        if member is None:
            member = self.members[key] = self.model.clone()
        member.learn_one(_both(seen.x, features), float(seen.reward))  # type: ignore[attr-defined]


def _both(x: Any, features: Any) -> dict[Any, Any]:
    """The features of the round and those of an action."""
    return {**_named(x), **{f"action {name}": value for name, value in _named(features).items()}}


def _named(features: Any) -> Mapping[Any, Any]:
    """Features by name; those of a vector have their place as name."""
    if features is None:
        return {}
    return features if isinstance(features, Mapping) else dict(enumerate(np.asarray(features).tolist()))


class _Run:
    """One pass over a log. Numbers of rounds wait in columns until a point of the curves is due."""

    def __init__(
        self,
        judged: dict[str, _Judged],
        prototype: PolicyEstimator,
        model: Model | None,
        coverage: float,
        learn: bool,
    ) -> None:
        self.judged, self.coverage, self.learn = judged, coverage, learn
        low, high = prototype.reward_range
        max_weight = getattr(prototype, "max_weight", None)
        self.model = None if model is None else _RewardModel(model, low, high)
        self.names = [*judged, LOGGED]
        self.estimators = {name: prototype.clone() for name in judged}
        # The mean reward.
        self.estimators[LOGGED] = IPS(reward_range=prototype.reward_range)
        paired = len(judged) <= _MOST_PAIRED
        self.differences = {
            (a, b): Difference(max_weight=max_weight, reward_range=prototype.reward_range)
            for i, a in enumerate(self.names)
            for b in (self.names[i + 1 :] if paired else [LOGGED])
            if a != b
        }
        self.curves: dict[Any, list[tuple[float, float, float]]] = {
            key: [] for key in (*self.names, *self.differences)
        }
        self.points: list[int] = []
        self.rounds = self.skipped = 0
        self.due = 1
        self._start()

    def _start(self) -> None:
        self.reward: list[float] = []
        self.probability: list[float] = []
        self.prediction: list[float] = []
        self.target: dict[str, list[float]] = {name: [] for name in self.names}
        self.value: dict[str, list[float]] = {name: [] for name in self.names}

    def step(self, seen: Seen) -> None:
        if seen.action is None or seen.reward is None or not seen.features:
            self.skipped += 1
            return
        if seen.action not in seen.features:
            raise InvalidValue(f"{_WHO}: the action taken, {quoted(seen.action)}, is not among the actions")
        reward, probability = self._checked(seen)
        predicted = {} if self.model is None else self.model.predict(seen)
        found = {name: judged.probabilities(seen) for name, judged in self.judged.items()}
        for name, chances in found.items():
            self.target[name].append(float(chances.get(seen.action, 0.0)))
            if predicted:
                self.value[name].append(sum(chance * predicted[action] for action, chance in chances.items()))
        self.target[LOGGED].append(probability)
        if predicted:
            self.prediction.append(predicted[seen.action])
            self.value[LOGGED].append(predicted[seen.action])
        self.reward.append(reward)
        self.probability.append(probability)
        self.rounds += 1
        if self.learn:
            for judged in self.judged.values():
                if judged.learns:
                    judged.learn(seen)
        if self.model is not None:
            self.model.learn(seen)
        if self.rounds >= self.due:
            self._mark()

    def _checked(self, seen: Seen) -> tuple[float, float]:
        """Reward and probability, before any policy learns the round."""
        numbers = []
        for what, value in (("reward", seen.reward), ("probability", seen.probability)):
            if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
                raise InvalidType(f"{_WHO}: the {what} must be a number, got {typed(value)}")
            numbers.append(float(value))
        reward, probability = numbers
        low, high = self.estimators[LOGGED].reward_range
        if not low <= reward <= high:
            raise InvalidValue(f"{_WHO}: reward must be in reward_range ({low:g}, {high:g}), got {reward}")
        if not 0.0 < probability <= 1.0:
            raise InvalidValue(f"{_WHO}: probability must be in (0, 1], got {probability}")
        return reward, probability

    def _mark(self) -> None:
        """Add the waiting rounds, and a point to each curve."""
        prediction = self.prediction or None
        for name, estimator in self.estimators.items():
            value = self.value[name] or None
            estimator.update_many(self.reward, self.probability, self.target[name], prediction, value)
            self.curves[name].append((estimator.value, *estimator.interval(coverage=self.coverage)))
        for (a, b), difference in self.differences.items():
            difference.update_many(
                self.reward,
                self.probability,
                self.target[a],
                self.target[b],
                prediction,
                self.value[a] or None,
                self.value[b] or None,
            )
            self.curves[a, b].append((difference.value, *difference.interval(coverage=self.coverage)))
        self.points.append(self.rounds)
        self.due = self.rounds + (1 if self.rounds < _EVERY else max(1, self.rounds // _APART))
        self._start()

    def results(self) -> PolicyResults:
        if not self.rounds:
            raise InvalidValue(f"{_WHO}: the log has no round with an action and a reward")
        if self.reward:
            self._mark()
        results = {
            name: PolicyResult(
                name,
                self.judged[name].policy if name in self.judged else None,
                estimator,
                self.coverage,
                self.points,
                self.curves[name],
            )
            for name, estimator in self.estimators.items()
        }
        differences = {
            pair: PolicyDifference(*pair, difference, self.coverage, self.points, self.curves[pair])
            for pair, difference in self.differences.items()
        }
        return PolicyResults(results, differences, self.rounds, self.skipped)
