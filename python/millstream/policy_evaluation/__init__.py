"""Off-policy evaluation: estimates what a policy would earn from a log of another policy's decisions.

    dr = policy_evaluation.DR()
    dr.update(reward, probability, target_probability, prediction=0.4, target_value=0.5)
    dr.value, dr.interval()

For each round, a log has the reward of the action taken and the probability with which it was chosen. An
estimator receives both, together with the probability of that action under the *target policy*, the one to
evaluate. Estimators are running statistics: they learn one round at a time, can be merged and saved, and store no
rounds for any of the three kinds of intervals. `evaluate.policies` applies them to policies and a log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.policy_evaluation.base import PolicyEstimator, WeightCheck
from millstream.policy_evaluation.estimators import DM, DR, IPS, SNDR, SNIPS, Difference, DRos, Replay, SwitchDR

__all__ = [
    "DM",
    "DR",
    "IPS",
    "SNDR",
    "SNIPS",
    "DRos",
    "Difference",
    "PolicyEstimator",
    "Replay",
    "SwitchDR",
    "WeightCheck",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
