"""Results of a rolling-origin evaluation: the errors of forecasters by step of the horizon."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from millstream._echo import quoted
from millstream._files import write_figure
from millstream.errors import InvalidValue
from millstream.evaluate.frames import frame, number, table
from millstream.evaluate.plot import COLOURS

__all__ = ["ForecastResult", "ForecastResults"]

_SUFFIXES = (".png", ".svg", ".pdf")


@dataclass
class ForecastResult:
    """Result of `evaluate.forecast` for one model.

    `result["MAE"]` is an array that starts with the error one step ahead. `metrics` holds the metrics as objects:
    for each name a list with one metric per step of the horizon.
    """

    model: Any
    name: str
    horizon: int
    grace_period: int
    step: int
    metrics: dict[str, list[Any]]
    #: Number of scored forecasts at each step of the horizon.
    counts: Any = field(default=None)
    #: Number of forecast origins.
    origins: int = 0
    #: Number of learned values.
    learned: int = 0
    #: Number of time steps with a missing value.
    missing: int = 0
    #: Seconds that the model took to forecast and learn.
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.counts is None:
            self.counts = np.zeros(self.horizon, dtype=np.int64)

    @property
    def values(self) -> dict[str, Any]:
        """Each metric by step of the horizon; NaN where nothing was scored."""
        return {
            name: np.array(
                [metric.get() if count else np.nan for metric, count in zip(steps, self.counts, strict=True)]
            )
            for name, steps in self.metrics.items()
        }

    @property
    def bigger_is_better(self) -> dict[str, bool]:
        """Whether a larger value of a metric is better, by name."""
        return {name: bool(getattr(steps[0], "bigger_is_better", False)) for name, steps in self.metrics.items()}

    def __getitem__(self, name: str) -> Any:
        return self.values[self._metric(name)]

    def mean(self, name: str | None = None) -> float:
        """The mean of a metric (the first by default) over the steps of the horizon."""
        values = self.values[self._metric(name)]
        scored = values[self.counts > 0]
        return float(scored.mean()) if len(scored) else float("nan")

    def _metric(self, name: str | None) -> str:
        if name is None:
            return next(iter(self.metrics))
        if name not in self.metrics:
            raise InvalidValue(f"metric must be one of {', '.join(self.metrics)}, got {quoted(name)}")
        return name

    def to_frame(self, kind: str | None = None) -> Any:
        """A frame of "pandas", "polars" or "pyarrow" with a row per step of the horizon."""
        return frame(self._columns(), kind)

    def _columns(self) -> dict[str, Any]:
        return {"horizon": np.arange(1, self.horizon + 1), "count": self.counts, **self.values}

    def plot(self, metric: str | None = None, ax: Any = None) -> Any:
        """Plot a metric by step of the horizon with matplotlib; returns the axes."""
        return _plot({self.name: self}, self._metric(metric), ax)

    def save_plot(self, path: str | PathLike[str], metric: str | None = None) -> None:
        """Save the plot to a file: .png, .svg or .pdf."""
        _save({self.name: self}, path, self._metric(metric))

    def __repr__(self) -> str:
        head = f"{self.name}: {_counted(self.origins, 'origin')}, {_counted(self.horizon, 'step')} ahead"
        if self.missing:
            head += f", {_counted(self.missing, 'missing value')}"
        if not self.origins:
            needed = self.grace_period + self.horizon
            return f"{head}; the first forecast needs {needed:,} values, the series has {self.learned:,}"
        values = self.values
        rows = [
            [f"+{ahead + 1}", f"{self.counts[ahead]:,}", *(number(steps[ahead]) for steps in values.values())]
            for ahead in range(self.horizon)
        ]
        rows.append(["mean", "", *(number(self.mean(name)) for name in values)])
        return f"{head}\n{table(['', 'count', *values], rows)}"


class ForecastResults(Mapping[str, ForecastResult]):
    """Results of `evaluate.forecast` for several models, by name; the best is printed first."""

    def __init__(self, results: dict[str, ForecastResult]) -> None:
        self._results = results

    def __getitem__(self, name: str) -> ForecastResult:
        return self._results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def ranked(self, metric: str | None = None) -> list[ForecastResult]:
        """The results, best first by the mean of a metric (the first one by default) over the horizon."""
        results = list(self._results.values())
        name = results[0]._metric(metric)
        sign = -1.0 if results[0].bigger_is_better[name] else 1.0

        def place(result: ForecastResult) -> float:
            value = result.mean(name)
            return sign * value if value == value else float("inf")

        return sorted(results, key=place)

    @property
    def best(self) -> ForecastResult:
        """The best by the first metric."""
        return self.ranked()[0]

    def to_frame(self, kind: str | None = None) -> Any:
        """The results of all models as one frame, with a column `model`."""
        parts = [result._columns() for result in self._results.values()]
        names = [name for name, part in zip(self._results, parts, strict=True) for _ in part["horizon"]]
        columns = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
        return frame({"model": names, **columns}, kind)

    def plot(self, metric: str | None = None, ax: Any = None) -> Any:
        """Plot a metric of all models by step of the horizon with matplotlib; returns the axes."""
        return _plot(self._results, next(iter(self._results.values()))._metric(metric), ax)

    def save_plot(self, path: str | PathLike[str], metric: str | None = None) -> None:
        """Save the plot to a file: .png, .svg or .pdf."""
        _save(self._results, path, next(iter(self._results.values()))._metric(metric))

    def __repr__(self) -> str:
        ranked = self.ranked()
        first = ranked[0]
        head = f"{_counted(first.origins, 'origin')}, mean over {_counted(first.horizon, 'step')} ahead"
        rows = [[result.name, *(number(result.mean(name)) for name in first.metrics)] for result in ranked]
        return f"{head}\n{table(['', *first.metrics], rows)}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _plot(results: Mapping[str, ForecastResult], metric: str, ax: Any) -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install matplotlib") from None
    if ax is None:
        _, ax = pyplot.subplots(figsize=(8.0, 4.0), layout="constrained")
    _draw(results, metric, ax)
    return ax


def _save(results: Mapping[str, ForecastResult], path: str | PathLike[str], metric: str) -> None:
    if Path(path).suffix.lower() not in _SUFFIXES:
        raise InvalidValue(f"a plot must be saved as {', '.join(_SUFFIXES)}, got {str(path)!r}")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("save_plot() needs matplotlib: pip install matplotlib") from None
    figure = Figure(figsize=(8.0, 4.0), layout="constrained")
    _draw(results, metric, figure.subplots())
    write_figure(path, figure, dpi=160)


def _draw(results: Mapping[str, ForecastResult], metric: str, ax: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    for place, (name, result) in enumerate(results.items()):
        ahead = np.arange(1, result.horizon + 1)
        label = f"{name}  {number(result.mean(metric))}"
        colour = COLOURS[place % len(COLOURS)]
        ax.plot(ahead, result[metric], color=colour, linewidth=1.6, marker="o", markersize=3, label=label)
    ax.set_title("rolling-origin forecasts", loc="left", fontsize=11)
    ax.set_xlabel("steps ahead")
    ax.set_ylabel(metric)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(axis="y", color="#00000018", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9)
