"""A sequential test of whether a challenger is better than the champion, valid after every label.

Each label for which one of the two had the smaller loss is a win or a defeat of the challenger; ties are not
counted. If the challenger is no better, a win has probability p <= 1/2. For any q > 1/2, the product of 2q for
each win and 2(1 - q) for each defeat is then a nonnegative supermartingale that starts at 1, and so is the
average over a grid of q. By Ville's inequality, the probability that it ever reaches 1/significance is at most
the significance level, however often it is evaluated.

J. Ville, "Étude critique de la notion de collectif", 1939; A. Ramdas et al., "Game-theoretic statistics and safe
anytime-valid inference", Statistical Science 38(4), 2023.
"""

from __future__ import annotations

import math
from typing import Any

from millstream import roles
from millstream.roles import Role

__all__ = ["log_evidence", "loss"]

#: Alternatives: the probability that the challenger wins a label on which the two differ.
_GRID = (0.51, 0.52, 0.54, 0.57, 0.6, 0.65, 0.7, 0.8, 0.9)
_LOGS = tuple((math.log(2 * q), math.log(2 * (1 - q))) for q in _GRID)


def log_evidence(wins: int, defeats: int) -> float:
    """The logarithm of the evidence that the challenger is better; significant from log(1/significance) on.

    >>> from millstream.serve.promotion import log_evidence
    >>> log_evidence(0, 0)
    0.0
    >>> bool(log_evidence(60, 30) > 3.0 > log_evidence(30, 30))
    True
    """
    terms = [wins * win + defeats * defeat for win, defeat in _LOGS]
    largest = max(terms)
    return largest + math.log(sum(math.exp(term - largest) for term in terms) / len(terms))


def loss(role: Role, predicted: Any, y: Any) -> float | None:
    """The loss of one prediction; None if there was none or if the role has no loss per label."""
    if predicted is None:
        return None
    if role is roles.CLASSIFIER:
        return float(predicted != y)
    if role is roles.FORECASTER:
        predicted = predicted[0] if predicted else None
    elif role is not roles.REGRESSOR:
        return None
    try:
        return abs(float(predicted) - float(y))
    except (TypeError, ValueError, OverflowError):
        # A learner written in Python may have predicted anything.
        return None
