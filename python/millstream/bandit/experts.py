"""Exp4: a policy that learns which of several experts to follow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from millstream._echo import typed
from millstream._part import shown_part
from millstream.bandit.base import locked
from millstream.bandit.context_in_python import ContextInPython, labels_of
from millstream.errors import InvalidType, InvalidValue

__all__ = ["Experts"]


class Experts(ContextInPython):
    """Exp4: learn which of several experts to follow.

    An expert is a policy with context, or a function of context and actions that returns a dict from action to
    probability. The policy mixes the experts' probabilities by weights, with a part `gamma` that is uniform. After
    a reward, the weight of an expert is multiplied by exp(`learning_rate` × r q(a) / p(a)), where r is the reward
    as a fraction of `reward_range`, q(a) the expert's probability of the action taken, and p(a) the mixture's. Its
    regret to the best expert is bounded for any sequence of rewards. The experts themselves do not learn.

    Parameters
    ----------
    experts
        Policies with context, or functions of context and actions.
    learning_rate
        Rate at which weights change.
    gamma
        Part of the probability that is uniform over the actions.
    reward_range
        Lowest and highest reward; others are refused.
    max_pending
        Number of later decisions after which a decision without a reward is dropped and counted in `dropped`.
    seed
        Seed of the draws.

    Examples
    --------
    >>> from millstream import bandit
    >>> policy = bandit.Experts(
    ...     [lambda x, actions: {"a": 1.0, "b": 0.0}, lambda x, actions: {"a": 0.5, "b": 0.5}]
    ... )
    >>> policy.probabilities_one({}, ["a", "b"])
    {'a': 0.75, 'b': 0.25}
    >>> for _ in range(200):
    ...     decision = policy.decide_one({}, ["a", "b"])
    ...     policy.learn_one(decision.id, 1.0 if decision.action == "a" else 0.0)
    >>> policy.probabilities_one({}, ["a", "b"])["a"] > 0.95
    True

    References
    ----------
    Auer, P., Cesa-Bianchi, N., Freund, Y. and Schapire, R. (2002). The nonstochastic multiarmed bandit problem,
    figure 4.
    """

    def __init__(
        self,
        experts: Sequence[Any],
        learning_rate: float = 0.1,
        gamma: float = 0.0,
        reward_range: Sequence[float] = (0.0, 1.0),
        max_pending: int = 10_000,
        seed: int = 0,
    ) -> None:
        who = "bandit.Experts"
        if not isinstance(experts, Sequence) or isinstance(experts, str) or not experts:
            raise InvalidType(f"{who}: experts must be a list of policies or functions, got {typed(experts)}")
        for expert in experts:
            if isinstance(expert, type) or not (callable(expert) or hasattr(expert, "probabilities_one")):
                raise InvalidType(f"{who}: an expert must be a policy or a function, got {shown_part(expert)}")
        if not 0.0 < learning_rate < math.inf:
            raise InvalidValue(f"{who}: learning_rate must be finite and > 0, got {learning_rate}")
        if not 0.0 <= gamma <= 1.0:
            raise InvalidValue(f"{who}: gamma must be in [0, 1], got {gamma}")
        low, high = reward_range
        if not (math.isfinite(high - low) and low < high):
            raise InvalidValue(
                f"{who}: reward_range must be a lowest and a higher highest reward, got {reward_range}"
            )
        self.experts, self.learning_rate, self.gamma = list(experts), learning_rate, gamma
        self.reward_range, self.max_pending, self.seed = reward_range, max_pending, seed
        #: The logarithm of the weight of each expert; the largest is 0.
        self.log_weights = [0.0] * len(self.experts)
        self._start()

    @property
    def _who(self) -> str:
        return "bandit.Experts"

    @property
    def weights(self) -> list[float]:
        """The weight of each expert; they sum to 1."""
        raw = [math.exp(weight) for weight in self.log_weights]
        return [weight / sum(raw) for weight in raw]

    def _advice(self, x: Any, actions: Any, labels: list[Any]) -> list[list[float]]:
        found = []
        for expert in self.experts:
            ask = getattr(expert, "probabilities_one", expert)
            p = ask(x, actions)
            if not isinstance(p, Mapping) or set(p) != set(labels):
                raise InvalidValue(
                    f"{self._who}: an expert must give a probability to each action, got {typed(p)}"
                )
            numbers = [float(p[label]) for label in labels]
            if not (all(q >= 0.0 for q in numbers) and abs(math.fsum(numbers) - 1.0) < 1e-6):
                raise InvalidValue(
                    f"{self._who}: the probabilities of an expert must be >= 0 and sum to 1, got {numbers}"
                )
            found.append(numbers)
        return found

    def _mixture(self, advice: list[list[float]], count: int) -> list[float]:
        weights = self.weights
        mixed = [math.fsum(w * q[place] for w, q in zip(weights, advice, strict=True)) for place in range(count)]
        total = math.fsum(mixed)
        return [(1.0 - self.gamma) * p / total + self.gamma / count for p in mixed]

    @locked
    def probabilities_one(self, x: Any, actions: Any) -> dict[Any, float]:
        labels = labels_of(self._who, actions)
        mixed = self._mixture(self._advice(x, actions, labels), len(labels))
        return dict(zip(labels, mixed, strict=True))

    def _teach(self, x: Any, actions: Any, action: Any, reward: float, probability: float | None) -> None:
        labels = labels_of(self._who, actions)
        advice, place = self._advice(x, actions, labels), labels.index(action)
        p = self._mixture(advice, len(labels))[place] if probability is None else probability
        if p <= 0.0:
            raise InvalidValue(f"{self._who}: no expert takes the action {action!r}; pass its probability")
        low, high = self.reward_range
        share = self.learning_rate * (reward - low) / (high - low) / p
        moved = [weight + share * q[place] for weight, q in zip(self.log_weights, advice, strict=True)]
        most = max(moved)
        # Differences of more than 700 would be 0 as weights, and could never be made up for.
        self.log_weights = [max(weight - most, -700.0) for weight in moved]
