"""Online convex optimisation: learners for the repeated game of decisions and losses, with measured regret.

In each round the learner chooses a decision from a convex set, then observes the convex loss of the round and pays
it. Regret is the total loss minus that of the best fixed decision in hindsight. A learner is good if its regret
grows more slowly than the number of rounds, whatever the losses. Every report computes the best decision with a
certificate, and gives the bound of the theorem next to the regret.

Examples
--------
>>> import numpy as np
>>> from millstream import oco
>>> losses = np.random.default_rng(0).uniform(size=(2000, 5)) - [0, 0, 0, 0, 0.1]
>>> report = oco.play(oco.Hedge(5), losses)
>>> print(f"paid {report.loss:.1f}, the best expert {report.best.loss:.1f}")
paid 835.8, the best expert 829.4
>>> print(f"regret {report.regret:.1f} of at most {report.bound.value:.1f}")
regret 6.5 of at most 39.7
"""

from __future__ import annotations

from millstream.oco.adaptive import AdaGrad
from millstream.oco.bounded import Ball, Box
from millstream.oco.descent import (
    ExponentiatedGradient,
    MirrorDescent,
    OnlineGradientDescent,
    OnlineSubgradientDescent,
)
from millstream.oco.experts import Hedge, WeightedMajority
from millstream.oco.fixed_share import FixedShare
from millstream.oco.game import Game, play
from millstream.oco.geometries import Entropic, PNorm
from millstream.oco.hindsight import best_decision, best_sequence
from millstream.oco.leader import FTRL, FollowTheLeader
from millstream.oco.learner import Bound, Learner
from millstream.oco.losses import Linear, Loss, Losses, SquaredDistance
from millstream.oco.margins import Absolute, Hinge, Log, Logistic, Squared
from millstream.oco.models import Model
from millstream.oco.newton import OnlineNewtonStep
from millstream.oco.perturbed import FollowThePerturbedLeader
from millstream.oco.polytopes import L1Ball, Simplex
from millstream.oco.regularisers import Quadratic, Regulariser
from millstream.oco.report import Report, Reports
from millstream.oco.sets import Set, WholeSpace
from millstream.oco.solver import Minimum

__all__ = [
    "FTRL",
    "Absolute",
    "AdaGrad",
    "Ball",
    "Bound",
    "Box",
    "Entropic",
    "ExponentiatedGradient",
    "FixedShare",
    "FollowTheLeader",
    "FollowThePerturbedLeader",
    "Game",
    "Hedge",
    "Hinge",
    "L1Ball",
    "Learner",
    "Linear",
    "Log",
    "Logistic",
    "Loss",
    "Losses",
    "Minimum",
    "MirrorDescent",
    "Model",
    "OnlineGradientDescent",
    "OnlineNewtonStep",
    "OnlineSubgradientDescent",
    "PNorm",
    "Quadratic",
    "Regulariser",
    "Report",
    "Reports",
    "Set",
    "Simplex",
    "Squared",
    "SquaredDistance",
    "WeightedMajority",
    "WholeSpace",
    "best_decision",
    "best_sequence",
    "play",
]
