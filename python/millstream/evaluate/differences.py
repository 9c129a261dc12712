"""Differences between models in the same stream, with their uncertainty.

Rows of a stream are not independent, and models tend to fail on the same rows. The losses of two models are
therefore compared block by block. The curve has the mean loss at about 200 rows, so the sum of the losses
between two points is known without storing predictions. These sums form 20 blocks of consecutive rows, whose
differences are nearly independent (the method of batch means). The intervals are Student's t intervals with a
Bonferroni correction for all pairs of models, so they remain valid when the best model is selected afterwards:
of four equal models on a stream without correlation, one is reported as clearly ahead in 5 % of the cases. A
block bootstrap was tried: its intervals were too narrow with long blocks, or far too wide if the first rows had
large losses.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream.errors import InvalidValue
from millstream.evaluate.frames import frame, number, table

if TYPE_CHECKING:
    from millstream.evaluate.result import Result, Results

__all__ = ["Difference", "Differences", "differences", "verdict"]

#: Metrics that are means over rows. That of RMSE is the mean of squares.
_MEANS = ("metrics.Accuracy", "metrics.Brier", "metrics.LogLoss", "metrics.MAE", "metrics.MSE", "metrics.RMSE")

#: Number of blocks. More blocks would be shorter and less independent.
_BLOCKS = 20


@dataclass(frozen=True)
class Difference:
    """Difference between a model and the best one."""

    name: str
    #: The difference of the metrics, positive.
    value: float
    #: Half the width of the interval.
    margin: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes a difference of 0."""
        return self.value > self.margin

    def __str__(self) -> str:
        if 1e-3 <= self.margin < 1e5:
            return f"{self.value:.4f} ± {self.margin:.4f}"
        return f"{number(self.value)} ± {number(self.margin)}"


class Differences(Mapping[str, Difference]):
    """Differences between the best model and each other model; created by `Results.differences`."""

    def __init__(self, metric: str, best: str, level: float, found: dict[str, Difference]) -> None:
        #: The metric that was compared, and the name of the best model by it.
        self.metric, self.best = metric, best
        #: The probability that all intervals contain the true differences.
        self.level = level
        self._found = found

    def __getitem__(self, name: str) -> Difference:
        return self._found[name]

    def __iter__(self) -> Any:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    @property
    def unclear(self) -> list[str]:
        """The models that cannot be distinguished from the best one."""
        return [name for name, difference in self._found.items() if not difference.is_clear]

    def to_dict(self) -> dict[str, Any]:
        """The differences as plain data."""
        rows = {
            row.name: {"behind": row.value, "margin": row.margin, "is_clear": row.is_clear}
            for row in self._found.values()
        }
        return {"metric": self.metric, "best": self.best, "level": self.level, "models": rows}

    def to_frame(self, kind: str | None = None) -> Any:
        """One row per model, with the interval of its difference from the best one."""
        rows = list(self._found.values())
        columns = {
            "model": [row.name for row in rows],
            "behind": [row.value for row in rows],
            "low": [row.value - row.margin for row in rows],
            "high": [row.value + row.margin for row in rows],
            "is_clear": [row.is_clear for row in rows],
        }
        return frame(columns, kind)

    def __repr__(self) -> str:
        rows = [[row.name, str(row), "yes" if row.is_clear else "no"] for row in self._found.values()]
        return table([f"{self.metric} behind {self.best}", f"± at {self.level:.0%}", "clear"], rows)


def differences(results: Results, metric: str | None = None, level: float = 0.95) -> Differences | None:
    """The differences from the best model; None if they are not known."""
    if not 0 < level < 1:
        raise InvalidValue(f"differences: level must be between 0 and 1, got {level}")
    ranked = results.ranked(metric)
    if len(ranked) < 2:
        return None
    metric = metric or next(iter(ranked[0].values))
    losses = _block_losses(ranked, metric)
    if losses is None:
        return None
    margins = _margins(*losses, level)
    values = [result.values[metric] for result in ranked]
    found = {
        result.name: Difference(result.name, abs(values[place] - values[0]), float(margins[place]))
        for place, result in enumerate(ranked)
        if place
    }
    return Differences(metric, ranked[0].name, level, found)


def _block_losses(ranked: list[Result], metric: str) -> tuple[Any, Any, bool] | None:
    """The sum of the losses by block and model, the rows of each block, and whether the metric is a root."""
    first = ranked[0]
    name = getattr(first.metrics[metric], "name", "")
    if name not in _MEANS or any(result.weighted or not result.scored for result in ranked):
        return None
    grid = first.curve["row"]
    if any(not np.array_equal(result.curve["row"], grid) for result in ranked):
        return None
    # Rows without a prediction are the first ones, before anything was learned.
    skipped = [result.warmup + result.unanswered for result in ranked]
    # Blocks are of scored rows only: others would make the mean of the differences, and the intervals, too small.
    start = max(skipped)
    kept = grid > start
    if kept.sum() < _BLOCKS:
        return None
    squared = name == "metrics.RMSE"
    sums = []
    for result, before in zip(ranked, skipped, strict=True):
        values = result.curve[metric][kept]
        sums.append(np.diff((np.square(values) if squared else values) * (grid[kept] - before), prepend=0.0))
    made = np.column_stack(sums)
    return (made, np.diff(grid[kept], prepend=start), squared) if np.isfinite(made).all() else None


def _margins(sums: Any, rows: Any, root: bool, level: float) -> Any:
    """Half the width of the interval of each model's difference from the first one."""
    starts = np.linspace(0, len(rows), _BLOCKS, endpoint=False).astype(np.int64)
    sizes = np.add.reduceat(rows, starts)
    means = sums.sum(axis=0) / rows.sum()
    # The part of each block in the error of the mean; blocks may differ in size.
    parts = (np.add.reduceat(sums, starts) - means * sizes[:, None]) * (_BLOCKS / sizes.sum())
    if root:
        # The derivative of the root.
        parts = parts / np.where(means > 0, 2 * np.sqrt(np.maximum(means, 0.0)), 1.0)
    pairs = list(itertools.combinations(range(sums.shape[1]), 2))
    gaps = np.column_stack([parts[:, a] - parts[:, b] for a, b in pairs])
    errors = gaps.std(axis=0, ddof=1) / math.sqrt(_BLOCKS)
    factor = _student(1 - (1 - level) / (2 * len(pairs)), _BLOCKS - 1)
    margins = np.zeros(sums.shape[1])
    for (a, b), error in zip(pairs, errors.tolist(), strict=True):
        if a == 0:
            margins[b] = factor * error
    return margins


def _student(p: float, freedom: int) -> float:
    """The quantile of Student's t, by the expansion of Cornish and Fisher; its error is below 0.01 here."""
    z: float = NormalDist().inv_cdf(p)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160,
    )
    return z + sum((term / freedom**power for power, term in enumerate(terms, 1)), 0.0)


def verdict(results: Results) -> str:
    """Whether the best model is clearly ahead, in words; empty if unknown."""
    found = results.differences()
    if found is None:
        return ""
    how = f"{100 * found.level:g} % intervals of paired blocks of rows"
    if not found.unclear:
        return f"{found.best} is clearly ahead of all others ({how})"
    return f"not distinguishable from {found.best}: {', '.join(found.unclear)} ({how})"
