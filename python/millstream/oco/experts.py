"""Prediction with expert advice: Hedge and weighted majority."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from millstream.errors import InvalidValue
from millstream.oco.geometries import Entropic
from millstream.oco.lazy import Lazy, Rate, check_rate
from millstream.oco.learner import Bound, Engine, Learner, Terms, checked
from millstream.oco.losses import Loss
from millstream.oco.polytopes import Simplex
from millstream.oco.sets import Set
from millstream.oco.vectors import Array, length, number, shown

__all__ = ["Hedge", "WeightedMajority"]

_HEDGE = "Cesa-Bianchi and Lugosi (2006), theorem 2.2; Orabona (2019), lemma 7.1, for rates that adapt"


class Hedge(Learner):
    """Weights on experts, each proportional to exp(−η · its loss so far).

    The first choice for expert advice. Regret against the best expert is at most √(T ln N) for losses between 0
    and 1, and scales with their range otherwise: without a learning rate, it adapts to the range of the losses
    and to the number of rounds. `observe_many` learns a matrix of losses, a million rounds with ten experts in a
    second or two.

    Parameters
    ----------
    experts
        number of experts; by default the length of the first loss
    learning_rate
        η: a number, a function of the round (from 1), or None to adapt to the losses so far
    seed
        random seed of `draw`

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import oco
    >>> losses = np.random.default_rng(1).random((1000, 10)) * np.linspace(0.5, 1.0, 10)
    >>> report = oco.play(oco.Hedge(10), losses)
    >>> print(round(report.regret, 1), "of at most", round(report.bound.value, 1))
    6.0 of at most 33.9

    References
    ----------
    Freund, Y. and Schapire, R. E. (1997). A decision-theoretic generalization of on-line learning.
    Cesa-Bianchi, N. and Lugosi, G. (2006). Prediction, learning, and games, chapter 2.
    """

    def __init__(self, experts: int | None = None, learning_rate: Rate = None, seed: int = 0) -> None:
        self.experts = None if experts is None else length(self.name, "experts", experts)
        self.learning_rate = check_rate(self.name, learning_rate)
        self.seed = seed
        super().__init__(Simplex(self.experts))

    def _make(self, decisions: Set) -> Engine:
        return Lazy(self.name, Entropic().on(decisions), self.learning_rate, 1.0, _HEDGE)

    def reset(self) -> None:
        """Forget everything learned, and restart the random draws."""
        self._draws = np.random.default_rng(self.seed)
        super().reset()

    def draw(self) -> int:
        """Draw an expert with its weight as probability: the randomised prediction."""
        return int(self._draws.choice(len(weights := self.decide()), p=weights))

    def predict(self, advice: Sequence[float] | Array) -> float:
        """The weighted mean of the experts' predictions."""
        said = np.asarray(advice, dtype=np.float64)
        weights = self.decide()
        if said.shape != weights.shape:
            raise InvalidValue(f"{self.name}: advice must have shape {weights.shape}, got {said.shape}")
        return float(weights @ said)


class _Majority(Engine):
    """Weights (1 − ε)^mistakes.

    Hazan (2016), lemma 1.4: for the randomised choice E[mistakes] ≤ (1 + ε) L* + ln N / ε; lemma 1.3: for the vote
    between two labels twice that.
    """

    def __init__(self, who: str, experts: int, epsilon: float | None) -> None:
        self.who, self.epsilon = who, epsilon
        self.mistakes, self.rounds = np.zeros(experts), 0

    def _rate(self) -> float:
        if self.epsilon is not None:
            return self.epsilon
        # Tuned to the loss of the best expert so far: ε = √(ln N / L*), at most ½.
        best = float(self.mistakes.min())
        return min(0.5, math.sqrt(math.log(max(len(self.mistakes), 2)) / max(best, 1.0)))

    def decision(self) -> Array:
        weights = np.exp(math.log1p(-self._rate()) * (self.mistakes - self.mistakes.min()))
        return np.asarray(weights / weights.sum())

    def learn(self, gradient: Array, w: Array, loss: Loss | None) -> None:
        if (gradient < 0).any() or (gradient > 1).any():
            raise InvalidValue(f"{self.who}: mistakes must be between 0 and 1, got {shown(gradient.tolist())}")
        mistakes = self.mistakes + gradient
        checked(self.who, mistakes)
        self.mistakes = mistakes
        self.rounds += 1

    def terms(self) -> Terms:
        return {"epsilon": self._rate(), "rounds": float(self.rounds)}

    def bound(self, terms: Terms, comparator: Array | None, best: float, switches: int) -> Bound | None:
        if self.epsilon is None or not 0 < self.epsilon <= 0.5:
            return None
        entropy = math.log(len(self.mistakes))
        value = self.epsilon * max(best, 0.0) + entropy / self.epsilon
        constants = {"ε": self.epsilon, "N": float(len(self.mistakes)), "L*": best}
        return Bound(
            "Hazan (2016), lemma 1.4; Littlestone and Warmuth (1994)", "ε L* + ln N / ε", value, constants
        )


class WeightedMajority(Learner):
    """Expert advice for labels: each mistake multiplies the weight of an expert by 1 − ε.

    Choose it if experts predict labels. `vote` returns the label with the largest total weight or, with
    `randomised`, the label of an expert drawn by weight, which halves the mistakes that an adversary can force.
    `observe` takes the mistakes of the experts (from 0 to 1), and returns the expected loss of the randomised
    choice.

    Parameters
    ----------
    experts
        number of experts
    epsilon
        fraction of its weight that an expert loses with a mistake, in (0, 1); None to adapt to the best expert
    randomised
        whether `vote` draws an expert
    seed
        random seed of the draws

    Examples
    --------
    >>> from millstream import oco
    >>> learner = oco.WeightedMajority(3, epsilon=0.5)
    >>> for truth, advice in [("rain", ["rain", "sun", "sun"]), ("rain", ["rain", "sun", "rain"])]:
    ...     said = learner.vote(advice)
    ...     cost = learner.observe([float(each != truth) for each in advice])
    >>> learner.vote(["sun", "rain", "rain"]), learner.decide().round(2).tolist()
    ('sun', [0.57, 0.14, 0.29])

    References
    ----------
    Littlestone, N. and Warmuth, M. K. (1994). The weighted majority algorithm.
    Hazan, E. (2016). Introduction to online convex optimization, section 1.3.
    """

    def __init__(
        self, experts: int, epsilon: float | None = None, randomised: bool = False, seed: int = 0
    ) -> None:
        self.experts = length(self.name, "experts", experts)
        self.epsilon = None if epsilon is None else number(self.name, "epsilon", epsilon)
        if self.epsilon is not None and not 0 < self.epsilon < 1:
            raise InvalidValue(f"{self.name}: epsilon must be in (0, 1), got {epsilon}")
        self.randomised, self.seed = bool(randomised), seed
        super().__init__(Simplex(self.experts))

    def _make(self, decisions: Set) -> Engine:
        return _Majority(self.name, decisions.known, self.epsilon)

    def reset(self) -> None:
        """Forget everything learned, and restart the random draws."""
        self._draws = np.random.default_rng(self.seed)
        super().reset()

    def vote(self, advice: Sequence[Any]) -> Any:
        """The label with the largest weight, the first one on a tie; or that of an expert drawn by weight."""
        weights = self.decide()
        if len(advice) != len(weights):
            raise InvalidValue(f"{self.name}: advice must be of {len(weights)} experts, got {len(advice)}")
        if self.randomised:
            return advice[int(self._draws.choice(len(weights), p=weights))]
        behind: dict[Any, float] = {}
        for label, weight in zip(advice, weights, strict=True):
            behind[label] = behind.get(label, 0.0) + float(weight)
        return max(behind, key=lambda label: behind[label])
