"""Bandits."""

from millstream.bandit import explore as explore
from millstream.bandit.contextual import Contextual
from millstream.bandit.decisions import Decision, Decisions
from millstream.bandit.experts import Experts
from millstream.bandit.linear import LinThompson, LinUCB

__all__ = ["Contextual", "Decision", "Decisions", "Experts", "LinThompson", "LinUCB", "explore"]
