"""The score of the Numenta anomaly benchmark (Lavin and Ahmad, 2015, section II).

A row is flagged if its score is at least the threshold. In a window of rows l to r, a flagged row i has the value
of a detection, σ(-(r - i + 1)/(r - l + 1)) A_TP/σ(-1); only the best row of a window counts. After a
window, it has the value of a false positive, σ((i - r)/(r - l)) A_FP, and -A_FP before the first window or at a
distance of more than three widths. σ(y) = 2/(1 + e^(5 y)) - 1. A window without a flagged row costs A_FN. The
final score is linear: 0 for no flagged row, 100 for the first row of each window and no other. There is one
threshold for the whole corpus, by default the best one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from millstream.errors import InvalidValue
from millstream.evaluate.numenta.corpus import NABSeries

__all__ = ["ProfileScore", "score_profile"]

#: Above any score: no row is flagged.
NO_ROW = math.inf


@dataclass(frozen=True)
class ProfileScore:
    """The scores of a detector under one profile.

    `score` is the final score, `raw` the sum of the values, `detected` the number of windows with a flagged row,
    and `false_positives` the number of flagged rows outside windows.
    """

    score: float
    raw: float
    threshold: float
    detected: int
    false_positives: int


def _sigma(position: float) -> float:
    return -1.0 if position > 3.0 else 2.0 / (1.0 + math.exp(5.0 * position)) - 1.0


def _values(series: NABSeries, profile: tuple[float, float, float], first: int) -> tuple[Any, Any]:
    """The value of each row if it is flagged, and the number of its window from `first` on, or -1."""
    true_positive, false_positive, _ = profile
    values = np.full(len(series), -false_positive)
    numbers = np.full(len(series), -1)
    for number, (left, right) in enumerate(series.windows):
        width = right - left + 1
        for row in range(left, right + 1):
            values[row] = _sigma(-(right - row + 1) / width) * true_positive / _sigma(-1.0)
            numbers[row] = first + number
        end = series.windows[number + 1][0] if number + 1 < len(series.windows) else len(series)
        for row in range(right + 1, end):
            # A window of one row has no width to measure by.
            position = (row - right) / (width - 1) if width > 1 else math.inf
            values[row] = _sigma(position) * false_positive
    return values, numbers


def score_profile(
    corpus: Sequence[NABSeries],
    scores: Mapping[str, Any],
    profile: tuple[float, float, float],
    threshold: float | None = None,
) -> ProfileScore:
    """The score of a detector; at the best threshold, the highest of equal ones, if none is given."""
    parts = []
    count = 0
    for series in corpus:
        one = np.asarray(scores[series.name], dtype=np.float64)
        if len(one) != len(series):
            raise InvalidValue(f"evaluate.nab: {series.name} must have {len(series):,} scores, got {len(one):,}")
        values, numbers = _values(series, profile, count)
        count += len(series.windows)
        parts.append([part[series.probation :] for part in (one, values, numbers)])
    every, values, numbers = (np.concatenate(part) for part in zip(*parts, strict=True))
    windows = len(set(numbers[numbers >= 0].tolist()))
    order = np.argsort(-every, kind="stable")
    every, values, numbers = every[order], values[order], numbers[order]
    # What each row adds to the sum when it is flagged after all rows of higher scores.
    missed = profile[2]
    gains, hits = np.where(numbers < 0, values, 0.0), np.zeros(len(every), dtype=np.int64)
    best: dict[int, float] = {}
    for row in np.flatnonzero(numbers >= 0).tolist():
        number, value = int(numbers[row]), float(values[row])
        if number not in best:
            hits[row] = 1
        before = best.get(number, -missed)
        best[number] = max(before, value)
        gains[row] = best[number] - before
    sums = -missed * windows + np.concatenate([[0.0], np.cumsum(gains)])
    # A threshold is the score of the last row of those with equal scores, or none.
    ends = np.flatnonzero(np.append(every[1:] != every[:-1], True)) + 1
    ends = np.concatenate([[0], ends])
    if threshold is None:
        end = int(ends[np.argmax(sums[ends])])
        threshold = float(every[end - 1]) if end else NO_ROW
    else:
        end = int(np.searchsorted(-every, -threshold, side="right"))
    perfect, nothing = profile[0] * windows, -missed * windows
    final = 100.0 * (float(sums[end]) - nothing) / (perfect - nothing) if windows else math.nan
    false = int(np.sum(numbers[:end] < 0))
    return ProfileScore(final, float(sums[end]), threshold, int(hits[:end].sum()), false)
