"""Rounds of decisions: shared features, a ragged list of actions, the action taken, its probability, the reward.

`Round` is one of them; `Rounds` is a batch as columns, made from dicts, NumPy matrices or a long frame. A *log* is
any iterable of either, such as `stream.read_dsjson(path)`.
"""

from __future__ import annotations

from millstream.rounds.batch import Rounds, as_rounds
from millstream.rounds.ragged import Ragged
from millstream.rounds.round import Round

__all__ = ["Ragged", "Round", "Rounds", "as_rounds"]
