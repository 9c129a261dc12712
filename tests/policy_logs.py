"""Logs of bandits with known values, for tests of off-policy evaluation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]


class Log(NamedTuple):
    actions: npt.NDArray[np.int64]
    rewards: Numbers
    #: Of the action taken.
    probabilities: Numbers
    #: Of all actions under the target policy.
    target: Numbers
    #: The predictions of a reward model for all actions.
    model: Numbers
    #: The expected rewards.
    expected: Numbers

    def of_taken(self, table: Numbers) -> Numbers:
        return table[np.arange(len(self.actions)), self.actions]

    def columns(self) -> tuple[Any, ...]:
        """The arguments of `update_many`."""
        chances = self.of_taken(self.target)
        values = (self.target * self.model).sum(1)
        return self.rewards, self.probabilities, chances, self.of_taken(self.model), values

    @property
    def value(self) -> float:
        return float((self.target * self.expected).sum(1).mean())


def make_log(seed: int, n: int = 10_000, k: int = 10) -> Log:
    """Logistic rewards of five features, a policy that prefers good actions, a target that does so more."""
    random = np.random.default_rng(seed)
    contexts = random.normal(size=(n, 5))
    rewards = 1.0 / (1.0 + np.exp(-(contexts @ random.normal(size=(5, k)) * 0.5 + random.normal(size=k) * 0.5)))
    logging = np.exp(rewards)
    logging /= logging.sum(1, keepdims=True)
    actions = (logging.cumsum(1) < random.random((n, 1))).sum(1)
    target = np.exp(5.0 * rewards)
    target /= target.sum(1, keepdims=True)
    model = np.clip(0.8 * rewards + 0.05 + 0.05 * random.normal(size=(n, k)), 0.0, 1.0)
    rows = np.arange(n)
    reward = (random.random(n) < rewards[rows, actions]).astype(float)
    return Log(actions, reward, logging[rows, actions], target, model, rewards)


class Pool:
    """Contexts from which many logs are drawn, so that the value of the target is the same for all."""

    def __init__(self, seed: int, size: int = 20_000, k: int = 10) -> None:
        random = np.random.default_rng(seed)
        self.expected = 1.0 / (1.0 + np.exp(-random.normal(size=(size, k))))
        self.target = np.exp(5.0 * self.expected)
        self.target /= self.target.sum(1, keepdims=True)
        self.model = 0.6 * self.expected + 0.2
        self.value = float((self.target * self.expected).sum(1).mean())
        self.k = k

    def draw(self, seed: int, n: int = 10_000) -> Log:
        """A log of a uniform policy."""
        random = np.random.default_rng(seed)
        rows = random.integers(0, len(self.expected), n)
        actions = random.integers(0, self.k, n)
        expected = self.expected[rows]
        rewards = (random.random(n) < expected[np.arange(n), actions]).astype(float)
        return Log(actions, rewards, np.full(n, 1 / self.k), self.target[rows], self.model[rows], expected)
