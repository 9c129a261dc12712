"""Results of games: the regret and the rewards of policies by round and seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from millstream._echo import quoted
from millstream._files import write_figure
from millstream.errors import InvalidValue
from millstream.evaluate.frames import frame, table
from millstream.evaluate.plot import COLOURS

__all__ = ["Games", "Plays"]

_SUFFIXES = (".png", ".svg", ".pdf")
_KINDS = ("regret", "reward")


@dataclass
class Plays:
    """The games of one policy, a row for each seed."""

    name: str
    #: The rounds at which the sums are known.
    rounds: Any
    seeds: list[int]
    #: The sum of the regret so far, by seed and round.
    regrets: Any
    #: The sum of the rewards so far, by seed and round.
    rewards: Any
    #: Seconds that all games took.
    seconds: float

    @property
    def regret(self) -> Any:
        """The regret of whole games, by seed."""
        return self.regrets[:, -1]

    @property
    def reward(self) -> Any:
        """The sum of rewards of whole games, by seed."""
        return self.rewards[:, -1]

    def __repr__(self) -> str:
        return Games({self.name: self}).summary()


class Games(Mapping[str, Plays]):
    """The games of several policies by name; the one with the least regret is printed first."""

    def __init__(self, plays: dict[str, Plays]) -> None:
        self._plays = plays

    def __getitem__(self, name: str) -> Plays:
        return self._plays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plays)

    def __len__(self) -> int:
        return len(self._plays)

    def ranked(self) -> list[Plays]:
        """The policies, that with the least mean regret first."""
        return sorted(self._plays.values(), key=lambda plays: float(plays.regret.mean()))

    @property
    def best(self) -> Plays:
        """The policy with the least mean regret."""
        return self.ranked()[0]

    def table(self) -> Any:
        """A row per policy: mean regret, its standard deviation over seeds, its extremes, and mean reward."""
        return frame(self._rows(), None)

    def _rows(self) -> dict[str, Any]:
        ranked = self.ranked()
        return {
            "policy": [plays.name for plays in ranked],
            "regret": [float(plays.regret.mean()) for plays in ranked],
            "spread": [float(plays.regret.std(ddof=1)) if len(plays.seeds) > 1 else 0.0 for plays in ranked],
            "lowest": [float(plays.regret.min()) for plays in ranked],
            "highest": [float(plays.regret.max()) for plays in ranked],
            "reward": [float(plays.reward.mean()) for plays in ranked],
        }

    def to_frame(self, kind: str | None = None) -> Any:
        """A frame of "pandas", "polars" or "pyarrow" with a row per policy, seed and point of its curve."""
        columns: dict[str, list[Any]] = {"policy": [], "seed": [], "round": [], "regret": [], "reward": []}
        for plays in self._plays.values():
            for seed, regrets, rewards in zip(plays.seeds, plays.regrets, plays.rewards, strict=True):
                n = len(plays.rounds)
                columns["policy"] += [plays.name] * n
                columns["seed"] += [seed] * n
                columns["round"] += plays.rounds.tolist()
                columns["regret"] += regrets.tolist()
                columns["reward"] += rewards.tolist()
        return frame({name: np.array(values) for name, values in columns.items()}, kind)

    def plot(self, kind: str = "regret", ax: Any = None) -> Any:
        """Plot the mean "regret" or "reward" by round, in a band of 80 % of the seeds; returns the axes."""
        _check(kind)
        try:
            import matplotlib.pyplot as pyplot
        except ImportError:
            raise ImportError("plot() needs matplotlib: pip install matplotlib") from None
        if ax is None:
            _, ax = pyplot.subplots(figsize=(8.0, 4.0), layout="constrained")
        self._draw(kind, ax)
        return ax

    def save_plot(self, path: str | PathLike[str], kind: str = "regret") -> None:
        """Save the plot to a file: .png, .svg or .pdf."""
        _check(kind)
        if Path(path).suffix.lower() not in _SUFFIXES:
            raise InvalidValue(f"a plot must be saved as {', '.join(_SUFFIXES)}, got {str(path)!r}")
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError("save_plot() needs matplotlib: pip install matplotlib") from None
        figure = Figure(figsize=(8.0, 4.0), layout="constrained")
        self._draw(kind, figure.subplots())
        write_figure(path, figure, dpi=160)

    def _draw(self, kind: str, ax: Any) -> None:
        for place, plays in enumerate(self.ranked()):
            curves = plays.regrets if kind == "regret" else plays.rewards
            colour = COLOURS[place % len(COLOURS)]
            mean = curves.mean(axis=0)
            ax.plot(plays.rounds, mean, color=colour, linewidth=1.6, label=f"{plays.name}  {_short(mean[-1])}")
            if len(plays.seeds) > 1:
                low, high = np.quantile(curves, [0.1, 0.9], axis=0)
                ax.fill_between(plays.rounds, low, high, color=colour, alpha=0.15, linewidth=0)
        first = next(iter(self._plays.values()))
        n = len(first.seeds)
        spread = f", mean and 80 % of {n} seeds" if n > 1 else ""
        ax.set_title(
            f"{'regret' if kind == 'regret' else 'sum of rewards'} by round{spread}", loc="left", fontsize=11
        )
        ax.set_xlabel("round")
        ax.set_ylabel("regret" if kind == "regret" else "sum of rewards")
        ax.set_xlim(0, int(first.rounds[-1]))
        ax.grid(axis="y", color="#00000018", linewidth=0.8)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=9)

    def summary(self) -> str:
        """A text table with a row per policy."""
        rows = self._rows()
        first = next(iter(self._plays.values()))
        head = f"{int(first.rounds[-1]):,} rounds, {len(first.seeds)} seed{'s' * (len(first.seeds) != 1)}"
        columns = [name for name in rows if name != "policy"]
        body = [
            [rows["policy"][row], *(_short(rows[name][row]) for name in columns)]
            for row in range(len(rows["policy"]))
        ]
        return f"{head}\n{table(['', *columns], body)}"

    def __repr__(self) -> str:
        return self.summary()


def _short(value: float) -> str:
    """A sum: no more digits than its spread is worth."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _check(kind: str) -> None:
    if kind not in _KINDS:
        raise InvalidValue(f"kind must be one of {', '.join(_KINDS)}, got {quoted(kind)}")
