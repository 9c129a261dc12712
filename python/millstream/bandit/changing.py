"""Policies for rewards that change over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from millstream._part import forwarded
from millstream.bandit.native import NativePolicy

if TYPE_CHECKING:
    from millstream.drift import DriftDetector

__all__ = ["DiscountedUCB", "Restart", "SlidingWindowUCB"]


class DiscountedUCB(NativePolicy):
    """Upper confidence bounds of rewards that count less with age.

    For rewards that drift slowly. Time is counted in rewards.

    Parameters
    ----------
    forgetting
        Factor by which each reward reduces the weights of earlier ones: about 1 / (1 - forgetting) rewards count.
    exploration
        Factor of the squared width of the bounds; above 0.5 in the theory.
    reward_range
        Smallest and largest possible reward; others are refused.
    actions
        Actions to choose from. Others can be given in each call, and None leaves it to the calls.
    max_actions
        Largest number of actions kept; to admit one more, the one offered least recently is forgotten.
    max_pending
        Number of decisions kept for their rewards; older ones without a reward are dropped and counted.
    seed
        Seed of the draws.

    Examples
    --------
    >>> from millstream import bandit
    >>> policy = bandit.DiscountedUCB(forgetting=0.5, exploration=0.0, actions=["red", "green"])
    >>> policy.learn_many(actions=["red", "green", "red"], rewards=[1, 0.5, 0])
    0
    >>> policy.inspect()["means"]
    [0.2, 0.5]


    References
    ----------
    Garivier, A. and Moulines, E. (2011). On upper-confidence bound policies for switching bandit problems. ALT.
    """

    name = "bandit.DiscountedUCB"

    @forwarded
    def __init__(
        self,
        forgetting: float = 0.999,
        exploration: float = 0.6,
        reward_range: Sequence[float] = (0, 1),
        actions: Sequence[bool | int | str] | None = None,
        max_actions: int = 10_000,
        max_pending: int = 100_000,
        seed: int = 0,
    ) -> None: ...


class SlidingWindowUCB(NativePolicy):
    """Upper confidence bounds of the last rewards.

    For occasional abrupt changes. An action without rewards in the window is tried again.

    Parameters
    ----------
    window_size
        Number of last rewards that count.
    exploration
        Factor of the squared width of the bounds; above 0.5 in the theory.
    reward_range
        Smallest and largest possible reward; others are refused.
    actions
        Actions to choose from. Others can be given in each call, and None leaves it to the calls.
    max_actions
        Largest number of actions kept; to admit one more, the one offered least recently is forgotten.
    max_pending
        Number of decisions kept for their rewards; older ones without a reward are dropped and counted.
    seed
        Seed of the draws.

    Examples
    --------
    >>> from millstream import bandit
    >>> policy = bandit.SlidingWindowUCB(window_size=2, actions=["red", "green"])
    >>> policy.learn_many(actions=["red", "green", "green"], rewards=[1, 0, 0])
    0
    >>> policy.decide_one().action
    'red'


    References
    ----------
    Garivier, A. and Moulines, E. (2011). On upper-confidence bound policies for switching bandit problems. ALT.
    """

    name = "bandit.SlidingWindowUCB"

    @forwarded
    def __init__(
        self,
        window_size: int = 1000,
        exploration: float = 0.6,
        reward_range: Sequence[float] = (0, 1),
        actions: Sequence[bool | int | str] | None = None,
        max_actions: int = 10_000,
        max_pending: int = 100_000,
        seed: int = 0,
    ) -> None: ...


class Restart(NativePolicy):
    """A policy that restarts when a drift detector signals a change of rewards.

    Each action has a copy of the detector, which receives its rewards, scaled to [0, 1] if the policy has a
    `reward_range`. Between changes the policy has the regret of the inner one. The settings
    `actions`, `max_actions`, `max_pending` and `seed` are those given here, not those of the inner policy.

    Parameters
    ----------
    policy
        Policy to restart.
    detector
        Drift detector of `drift`; `drift.ADWIN()` by default.
    restart
        What is forgotten after a change: "all" actions, or the "action" whose rewards have changed.
    exploration
        Share of uniform draws, which find changes of actions that the policy does not take.
    actions
        Actions to choose from. Others can be given in each call, and None leaves it to the calls.
    max_actions
        Largest number of actions kept; to admit one more, the one offered least recently is forgotten.
    max_pending
        Number of decisions kept for their rewards; older ones without a reward are dropped and counted.
    seed
        Seed of the draws.

    Examples
    --------
    >>> from millstream import bandit, drift
    >>> policy = bandit.Restart(bandit.Thompson(), drift.PageHinkley(threshold=10.0), actions=["red", "green"])
    >>> policy.learn_many(actions=["red"] * 300, rewards=[1.0] * 100 + [0.0] * 200)
    0
    >>> policy.inspect()["restarts"]
    1


    References
    ----------
    Besson, L., Kaufmann, E., Maillard, O.-A. and Seznec, J. (2022). Efficient change-point detection for
    tackling piecewise-stationary bandits. Journal of Machine Learning Research 23. Liu, F., Lee, J. and Shroff,
    N. (2018). A change-detection based framework for piecewise-stationary multi-armed bandit problem. AAAI.
    """

    name = "bandit.Restart"

    @forwarded
    def __init__(
        self,
        policy: NativePolicy,
        detector: DriftDetector | str = "drift.ADWIN",
        restart: Literal["all", "action"] = "all",
        exploration: float = 0.05,
        actions: Sequence[bool | int | str] | None = None,
        max_actions: int = 10_000,
        max_pending: int = 100_000,
        seed: int = 0,
    ) -> None: ...
