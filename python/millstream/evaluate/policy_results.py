"""Results of `evaluate.policies`: values with intervals, differences, and whether the log can be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from millstream._echo import quoted
from millstream._files import write_figure
from millstream.errors import InvalidValue
from millstream.evaluate.frames import frame, table
from millstream.evaluate.plot import COLOURS
from millstream.policy_evaluation import PolicyEstimator, WeightCheck
from millstream.policy_evaluation.base import IntervalKind

__all__ = ["PolicyDifference", "PolicyResult", "PolicyResults"]

_SUFFIXES = (".png", ".svg", ".pdf")
PLOTS = ("value", "difference")


@dataclass(repr=False)
class _Estimated:
    """An estimate and its curve over the rounds."""

    estimator: PolicyEstimator = field(init=False)
    coverage: float = field(init=False)
    #: The rounds at which the curves have points.
    rounds: npt.NDArray[np.int64] = field(init=False)
    #: The estimate at these rounds.
    values: npt.NDArray[np.float64] = field(init=False)
    #: Its interval at these rounds.
    low: npt.NDArray[np.float64] = field(init=False)
    high: npt.NDArray[np.float64] = field(init=False)

    def _start(self, estimator: PolicyEstimator, coverage: float, points: list[int], curve: list[Any]) -> None:
        self.estimator, self.coverage = estimator, coverage
        self.rounds = np.array(points, dtype=np.int64)
        self.values, self.low, self.high = np.array(curve, dtype=np.float64).T

    @property
    def value(self) -> float:
        """The estimate."""
        return self.estimator.value

    def interval(self, kind: IntervalKind = "sequence", coverage: float | None = None) -> tuple[float, float]:
        """The interval of the estimate, of any kind of `policy_evaluation`."""
        return self.estimator.interval(kind, self.coverage if coverage is None else coverage)


class PolicyResult(_Estimated):
    """The value of one policy."""

    def __init__(
        self,
        name: str,
        policy: Any,
        estimator: PolicyEstimator,
        coverage: float,
        points: list[int],
        curve: list[Any],
    ) -> None:
        self.name, self.policy = name, policy
        self._start(estimator, coverage, points, curve)

    @property
    def weights(self) -> WeightCheck:
        """Effective sample size, largest weight, and the interval of the mean weight."""
        return self.estimator.check_weights(self.coverage)

    def __repr__(self) -> str:
        low, high = self.interval()
        text = f"{self.name}: {self.value:.4g}, between {low:.4g} and {high:.4g}"
        return text if self.weights.warning is None else f"{text}; {self.weights.warning}"


class PolicyDifference(_Estimated):
    """How much more the first of two policies earns than the second."""

    def __init__(
        self,
        first: str,
        second: str,
        estimator: PolicyEstimator,
        coverage: float,
        points: list[int],
        curve: list[Any],
    ) -> None:
        self.first, self.second = first, second
        self._start(estimator, coverage, points, curve)

    @property
    def better(self) -> str | None:
        """The name of the better policy; None while the interval contains 0."""
        return self.first if self.low[-1] > 0.0 else self.second if self.high[-1] < 0.0 else None

    @property
    def since(self) -> int | None:
        """The round from which on the interval has excluded 0; None while it contains 0."""
        if self.better is None:
            return None
        excluded = self.low > 0.0 if self.better == self.first else self.high < 0.0
        contained = np.flatnonzero(~excluded)
        return int(self.rounds[contained[-1] + 1 if len(contained) else 0])

    def __repr__(self) -> str:
        low, high = self.interval()
        if self.better is None:
            found = f"difference {self.value:+.4f} in [{low:+.4f}, {high:+.4f}]"
            return f"{self.first} and {self.second} cannot be told apart: {found}"
        first, second, sign = self.first, self.second, 1.0
        if self.better == self.second:
            first, second, sign, low, high = second, first, -1.0, -high, -low
        return (
            f"{first} is better than {second} since round {self.since:,}: "
            f"difference {sign * self.value:+.4f} in [{low:+.4f}, {high:+.4f}]"
        )


class PolicyResults(Mapping[str, PolicyResult]):
    """Results of `evaluate.policies` by name; `"logged"` is the policy that wrote the log."""

    def __init__(
        self,
        results: dict[str, PolicyResult],
        differences: dict[tuple[str, str], PolicyDifference],
        rounds: int,
        skipped: int,
    ) -> None:
        self._results, self._differences = results, differences
        #: The number of rounds.
        self.rounds = rounds
        #: The number of rounds without an action or a reward.
        self.skipped = skipped

    def __getitem__(self, name: str) -> PolicyResult:
        return self._results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def ranked(self) -> list[PolicyResult]:
        """The results, highest value first."""
        return sorted(
            self._results.values(), key=lambda result: -result.value if result.value == result.value else 1e308
        )

    @property
    def best(self) -> PolicyResult:
        """The result with the highest value; whether it is better is a question for `difference`."""
        return self.ranked()[0]

    def difference(self, first: str, second: str = "logged") -> PolicyDifference:
        """How much more a policy earns than another one, with a confidence sequence of its own."""
        if (first, second) in self._differences:
            return self._differences[first, second]
        turned = self._differences.get((second, first))
        if turned is None:
            for name in (first, second):
                if name not in self._results:
                    raise InvalidValue(f"policy must be one of {', '.join(self._results)}, got {quoted(name)}")
            raise InvalidValue(f"the difference of {quoted(first)} and {quoted(second)} was not computed")
        return _Turned(turned)

    @property
    def differences(self) -> list[PolicyDifference]:
        """The differences of all pairs of policies."""
        return list(self._differences.values())

    @property
    def warnings(self) -> list[str]:
        """What is wrong with the log, a sentence for each policy that shows it."""
        found = ((result.name, result.weights.warning) for result in self._results.values())
        return [f"{name}: {warning}" for name, warning in found if warning]

    def to_frame(self, kind: str | None = None) -> Any:
        """The table as a frame of "pandas", "polars" or "pyarrow", highest value first."""
        ranked = self.ranked()
        ends, checks = [result.interval() for result in ranked], [result.weights for result in ranked]
        return frame(
            {
                "policy": [result.name for result in ranked],
                "value": [result.value for result in ranked],
                "low": [low for low, _ in ends],
                "high": [high for _, high in ends],
                "effective_sample_size": [check.effective_sample_size for check in checks],
                "largest_weight": [check.largest for check in checks],
                "mean_weight": [check.mean for check in checks],
                "mean_weight_low": [check.interval[0] for check in checks],
                "mean_weight_high": [check.interval[1] for check in checks],
            },
            kind,
        )

    def plot(self, kind: str = "value", ax: Any = None, *, against: str = "logged") -> Any:
        """Plot with matplotlib, with bands; returns the axes.

        Parameters
        ----------
        kind
            `"value"`: the value of each policy by round. `"difference"`: the difference of each policy from
            `against`.
        ax
            Axes to draw into; by default those of a new figure.
        against
            Name of a policy.
        """
        try:
            import matplotlib.pyplot as pyplot
        except ImportError:
            raise ImportError("plot() needs matplotlib: pip install matplotlib") from None
        self._check_plot(kind, against)
        if ax is None:
            _, ax = pyplot.subplots(figsize=(8.0, 4.0), layout="constrained")
        self._draw(kind, ax, against)
        return ax

    def save_plot(self, path: str | PathLike[str], kind: str = "value", *, against: str = "logged") -> None:
        """Save the plot to a file: .png, .svg or .pdf."""
        if Path(path).suffix.lower() not in _SUFFIXES:
            raise InvalidValue(f"a plot must be saved as {', '.join(_SUFFIXES)}, got {str(path)!r}")
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError("save_plot() needs matplotlib: pip install matplotlib") from None
        self._check_plot(kind, against)
        figure = Figure(figsize=(8.0, 4.0), layout="constrained")
        self._draw(kind, figure.subplots(), against)
        write_figure(path, figure, dpi=160)

    def _check_plot(self, kind: str, against: str) -> None:
        if kind not in PLOTS:
            raise InvalidValue(f"kind must be one of {', '.join(PLOTS)}, got {quoted(kind)}")
        if against not in self._results:
            raise InvalidValue(f"against must be one of {', '.join(self._results)}, got {quoted(against)}")

    def _draw(self, kind: str, ax: Any, against: str) -> None:
        percent = f"{100 * next(iter(self._results.values())).coverage:g} %"
        curves: list[tuple[str, _Estimated]]
        if kind == "value":
            curves = [(result.name, result) for result in self.ranked()]
            ax.set_ylabel("mean reward")
            ax.set_title(f"value, with {percent} confidence sequences", loc="left", fontsize=11)
        else:
            names = [result.name for result in self.ranked() if result.name != against]
            curves = [(name, self.difference(name, against)) for name in names]
            ax.axhline(0.0, color="#7F7F7F", linewidth=1.0, linestyle="--")
            ax.set_ylabel(f"reward above {against}")
            ax.set_title(
                f"difference from {against}, with {percent} confidence sequences", loc="left", fontsize=11
            )
        colours = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(self._results)}
        # Early intervals span the whole range, and would leave little room for the others.
        ends = [end for _, curve in curves for end in _settled(curve)]
        for name, curve in curves:
            ax.plot(curve.rounds, curve.values, color=colours[name], linewidth=1.6, label=name)
            ax.fill_between(curve.rounds, curve.low, curve.high, color=colours[name], alpha=0.15, linewidth=0.0)
            if isinstance(curve, PolicyDifference) and curve.since is not None:
                ax.axvline(curve.since, color=colours[name], linewidth=1.0, linestyle=":")
        margin = 0.05 * (max(ends) - min(ends)) or 0.05
        ax.set_ylim(min(ends) - margin, max(ends) + margin)
        ax.set_xscale("log" if self.rounds > 1000 else "linear")
        # Before, curves jump from end to end.
        ax.set_xlim(max(1, self.rounds // 100), self.rounds)
        ax.set_xlabel("round")
        ax.legend(frameon=False, loc="best", fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        head = ["policy", "value", "interval", "effective size", "largest weight", "mean weight"]
        rows = []
        for result in self.ranked():
            (low, high), check = result.interval(), result.weights
            mean = f"{check.mean:.3f} in [{check.interval[0]:.3f}, {check.interval[1]:.3f}]"
            rows.append(
                [
                    result.name,
                    f"{result.value:.4f}",
                    f"[{low:.4f}, {high:.4f}]",
                    f"{check.effective_sample_size:,.0f}",
                    f"{check.largest:.3g}",
                    mean if check.passed else f"{mean} !",
                ]
            )
        return head, rows

    def _head(self) -> str:
        first = next(iter(self._results.values()))
        kind, percent = type(first.estimator).__name__, f"{100 * first.coverage:g} %"
        text = f"{self.rounds:,} rounds, {kind}, {percent} confidence sequences"
        return text + (
            f"; {self.skipped:,} rounds without an action or a reward were skipped" if self.skipped else ""
        )

    def _sentences(self) -> list[str]:
        return [f"WARNING: {warning}" for warning in self.warnings] + [repr(found) for found in self.differences]

    def __repr__(self) -> str:
        return "\n".join([self._head(), table(*self._rows()), *self._sentences()])

    def _repr_html_(self) -> str:
        head, rows = self._rows()
        lines = ["".join(f"<th>{escape(cell)}</th>" for cell in head)]
        lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        said = "".join(f"<li>{escape(sentence)}</li>" for sentence in self._sentences())
        return f"<p>{escape(self._head())}</p><table>{body}</table><ul>{said}</ul>"


class _Turned(PolicyDifference):
    """The same difference, seen from the other policy."""

    def __init__(self, other: PolicyDifference) -> None:
        self.first, self.second, self.coverage = other.second, other.first, other.coverage
        self.estimator, self.rounds = other.estimator, other.rounds
        self.values, self.low, self.high = -other.values, -other.high, -other.low

    @property
    def value(self) -> float:
        """The estimate."""
        return -self.estimator.value

    def interval(self, kind: IntervalKind = "sequence", coverage: float | None = None) -> tuple[float, float]:
        """The interval of the estimate, of any kind of `policy_evaluation`."""
        low, high = super().interval(kind, coverage)
        return -high, -low


def _settled(curve: _Estimated) -> list[float]:
    """The ends of the interval after a tenth of the rounds, and the estimate then."""
    late = curve.rounds >= 0.1 * curve.rounds[-1]
    return [float(curve.low[late].min()), float(curve.high[late].max())]
