"""Explorers: how a policy with context turns predicted rewards into probabilities of actions.

`bandit.Contextual(explore=…)` takes one of them, or its name in lower case, such as "squarecb". `probabilities`
shows what an explorer does with given predictions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from millstream import _core
from millstream._other_names import unknown_name
from millstream._part import Config, forwarded

__all__ = ["Bag", "Cover", "EpsilonGreedy", "Explorer", "Greedy", "RegCB", "Softmax", "SquareCB"]


class Explorer(Config):
    """Base class of explorers."""

    def probabilities(self, rewards: Iterable[float], t: float = 1.0) -> NDArray[np.float64]:
        """The probabilities of actions with these predicted rewards after `t` learned rounds.

        Explorers that compare several models, or need confidence bounds, give those of the greedy choice.
        """
        numbers = np.ascontiguousarray(list(rewards), dtype=np.float64)
        return _core.explored(json.dumps(self.describe()), numbers, float(t))


class Greedy(Explorer):
    """Take the action with the highest predicted reward; actions with equal predictions are equally likely.

    Choose it where other sources of variation explore enough. It may never find out about an action that looked
    bad at first.

    Examples
    --------
    >>> from millstream.bandit import explore
    >>> explore.Greedy().probabilities([0.2, 0.9, 0.9]).tolist()
    [0.0, 0.5, 0.5]
    """

    name = "bandit.explore.Greedy"

    @forwarded
    def __init__(self) -> None: ...


class EpsilonGreedy(Explorer):
    """Take a random action with probability `epsilon`, otherwise the best one.

    Choose it for logs that are evaluated later: each action keeps a probability of at least `epsilon` / K.

    Parameters
    ----------
    epsilon
        Probability of a uniformly random action.

    Examples
    --------
    >>> from millstream.bandit import explore
    >>> explore.EpsilonGreedy(0.2).probabilities([0.2, 0.9]).tolist()
    [0.1, 0.9]
    """

    name = "bandit.explore.EpsilonGreedy"

    @forwarded
    def __init__(self, epsilon: float = 0.05) -> None: ...


class Softmax(Explorer):
    """Probabilities proportional to exp(`sharpness` × predicted reward).

    Parameters
    ----------
    sharpness
        Factor of the predicted rewards in the exponent; 0 is uniform. VW calls it lambda.

    Examples
    --------
    >>> from millstream.bandit import explore
    >>> explore.Softmax(10.0).probabilities([0.2, 0.3]).round(4).tolist()
    [0.2689, 0.7311]
    """

    name = "bandit.explore.Softmax"

    @forwarded
    def __init__(self, sharpness: float = 10.0) -> None: ...


class SquareCB(Explorer):
    """Inverse gap weighting: the probability of an action falls with its distance to the best.

    With K actions, predicted rewards f and γ = `gamma_scale` × t^`gamma_exponent` after t rounds, an action that
    is not best has the probability 1 / (K + γ (f_best − f)); the best one gets the rest. Choose it where rewards
    must be explored by any regressor, with a guarantee that depends on its squared error alone.

    Parameters
    ----------
    gamma_scale
        Greediness: factor of the gaps after one round. It suits rewards whose range is about 1.
    gamma_exponent
        Power of the number of rounds by which the greediness grows.

    Examples
    --------
    >>> from millstream.bandit import explore
    >>> explore.SquareCB().probabilities([0.9, 1.0, 0.5], t=4).round(4).tolist()
    [0.2, 0.7231, 0.0769]

    References
    ----------
    Foster, D. and Rakhlin, A. (2020). Beyond UCB: optimal and efficient contextual bandits with regression
    oracles.
    """

    name = "bandit.explore.SquareCB"

    @forwarded
    def __init__(self, gamma_scale: float = 10.0, gamma_exponent: float = 0.5) -> None: ...


class RegCB(Explorer):
    """Confidence bounds of the regressor: the highest upper bound, or every action that may be best.

    The bounds are those of all weights whose squared error is at most Δ = `mellowness` × ln(K t) × range² above
    the least. With exact least squares they are f ± √(Δ v), where v = xᵀ A⁻¹ x is the variance of the prediction;
    `bandit.Contextual` uses them by default. Any other native regressor learns a trial round of each action, with
    a reward beyond the range, which is taken back. If it moves the prediction by the fraction s of the way to that
    reward, v is s / (1 − s): the same number for least squares. The trials make a decision several times as
    expensive, and need a copy of the model. Declare `reward_range`: bounds then stay within it.

    Parameters
    ----------
    mellowness
        Width of the confidence bounds.
    optimistic
        Whether to take the action with the highest upper bound; otherwise all actions whose upper bound is above
        every lower bound are equally likely.

    Examples
    --------
    >>> from millstream import bandit
    >>> policy = bandit.Contextual(explore=bandit.explore.RegCB(optimistic=False))
    >>> policy.probabilities_one({"hour": 9}, ["a", "b"])
    {'a': 0.5, 'b': 0.5}

    References
    ----------
    Foster, D., Agarwal, A., Dudík, M., Luo, H. and Schapire, R. (2018). Practical contextual bandits with
    regression oracles.
    """

    name = "bandit.explore.RegCB"

    @forwarded
    def __init__(self, mellowness: float = 0.01, optimistic: bool = True) -> None: ...


class Bag(Explorer):
    """Votes of several models, each of which learns a resample of the stream.

    Each model learns a round as often as a draw from the Poisson distribution with mean 1 says; the probability of
    an action is the fraction of models that predict the highest reward for it.

    Parameters
    ----------
    n_models
        Number of models.
    greedify
        Whether the first model learns every round once.

    Examples
    --------
    >>> from millstream import bandit, linear_model
    >>> model = linear_model.LinearRegression(optimizer="adaptive")
    >>> policy = bandit.Contextual(model, explore=bandit.explore.Bag(4), seed=1)
    >>> policy.probabilities_one({"hour": 9}, ["a", "b"])
    {'a': 0.5, 'b': 0.5}

    References
    ----------
    Eckles, D. and Kaptein, M. (2014). Thompson sampling with the online bootstrap.
    """

    name = "bandit.explore.Bag"

    @forwarded
    def __init__(self, n_models: int = 5, greedify: bool = False) -> None: ...


class Cover(Explorer):
    """A small set of good policies that differ: each is rewarded for what the ones before it leave out.

    Parameters
    ----------
    n_policies
        Number of policies.
    psi
        Reward of differing.
    epsilon
        Scale of the least probability of an action: `epsilon` × min(1 / K, 1 / √(t K)).

    Examples
    --------
    >>> from millstream import bandit, linear_model
    >>> model = linear_model.LinearRegression(optimizer="adaptive")
    >>> policy = bandit.Contextual(model, explore=bandit.explore.Cover(3))
    >>> policy.probabilities_one({"hour": 9}, ["a", "b"])
    {'a': 0.5, 'b': 0.5}

    References
    ----------
    Agarwal, A. et al. (2014). Taming the monster: a fast and simple algorithm for contextual bandits, section 4.

    Bietti, A., Agarwal, A. and Langford, J. (2021). A contextual bandit bake-off, algorithm 5.
    """

    name = "bandit.explore.Cover"

    @forwarded
    def __init__(self, n_policies: int = 5, psi: float = 1.0, epsilon: float = 0.05) -> None: ...


if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
