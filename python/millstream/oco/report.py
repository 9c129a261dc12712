"""The report of a game: regret against the best decision in hindsight, and the bound of the theorem."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from millstream.errors import InvalidValue
from millstream.evaluate.frames import frame, number, table
from millstream.oco.hindsight import best_sequence
from millstream.oco.learner import OPERATIONS, Bound, Learner, Terms
from millstream.oco.losses import Linear, Loss, Losses
from millstream.oco.minorant import radius_around
from millstream.oco.polytopes import Simplex
from millstream.oco.rounding import gamma
from millstream.oco.sets import Set
from millstream.oco.solver import Minimum, minimum
from millstream.oco.total import Total
from millstream.oco.vectors import Array

__all__ = ["Report", "Reports"]

#: Number of curve points with a best decision if each requires a solver.
_SOLVED_POINTS = 24


@dataclass
class Report:
    """Loss, regret and bound of a game, at its end and over time.

    The columns of `curve` are `round`, `loss` (of the learner so far), `best` (loss of the best decision for these
    rounds), `regret` (their difference), and `bound`, which is NaN if no theorem applies.
    """

    #: The name of the learner.
    name: str
    learner: Learner
    #: The number of rounds.
    rounds: int
    #: The total loss of the learner.
    loss: float
    #: The best decision in hindsight, with its certificate.
    best: Minimum
    #: Loss minus that of the best decision; at most `regret + best.gap` for any decision.
    regret: float
    #: The bound of the theorem, with its constants; None if none applies.
    bound: Bound | None
    #: Columns by name.
    curve: dict[str, Array]
    #: The loss of each round.
    costs: Array
    #: The decision of each round, if they were stored.
    decisions: Array | None
    #: The number of switches allowed to the comparator.
    switches: int = 0
    #: The expert that the best sequence follows in each round, if switches were allowed.
    path: Array | None = None

    @property
    def average_regret(self) -> float:
        """Regret per round, which goes to 0 if regret grows more slowly than the number of rounds."""
        return self.regret / self.rounds

    @property
    def holds(self) -> bool | None:
        """Whether regret is within the bound; None if no theorem applies."""
        return None if self.bound is None else self.regret <= self.bound.value

    def summary(self) -> str:
        """A table of rounds, loss, best decision, regret and bound."""
        rows = [["rounds", f"{self.rounds:,}", ""], ["loss", number(self.loss), ""]]
        rival = "best fixed decision" if not self.switches else f"best sequence with {self.switches} switches"
        # A gap below the printed digits is omitted.
        seen = self.best.gap > 1e-7 * max(abs(self.loss), abs(self.best.loss))
        found = f"{self.best.method}, gap {number(self.best.gap)}" if seen else self.best.method
        rows.append([rival, number(self.best.loss), found])
        rows.append(["regret", number(self.regret), f"{number(self.average_regret)} per round"])
        if self.bound is None:
            rows.append(["bound", "–", "no theorem applies"])
        else:
            rows.append(["bound", number(self.bound.value), self.bound.theorem])
            constants = ", ".join(f"{letter} = {value:.4g}" for letter, value in self.bound.constants.items())
            rows.append(["", "", f"{self.bound.formula}; {constants}"])
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        lines = [f"{row[0].ljust(widths[0])}  {row[1].rjust(widths[1])}  {row[2]}".rstrip() for row in rows]
        return "\n".join([self.name, *lines])

    def to_frame(self, kind: str | None = None) -> Any:
        """The curve as a frame of "pandas", "polars" or "pyarrow"; by default the first that is installed."""
        return frame(self.curve, kind)

    def plot(self, kind: str = "regret", ax: Any = None) -> Any:
        """Plot with matplotlib; returns the axes.

        `kind` is "regret" (with the bound), "average" (both per round, on logarithmic scales), "loss" (with that
        of the best decision), or "decisions" if they were stored.
        """
        from millstream.oco.plots import plot

        return plot({self.name: self}, kind, ax)

    def save_plot(self, path: str | PathLike[str], kind: str = "regret") -> None:
        """Save the plot to a file: .png, .svg or .pdf."""
        from millstream.oco.plots import save

        save({self.name: self}, path, kind)

    def _repr_html_(self) -> str:
        from millstream.oco.plots import fragment

        return fragment({self.name: self})

    def __repr__(self) -> str:
        return self.summary()


class Reports(Mapping[str, Report]):
    """The reports of several learners by name, ordered by loss when printed."""

    def __init__(self, reports: dict[str, Report]) -> None:
        self._reports = reports

    def __getitem__(self, name: str) -> Report:
        return self._reports[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._reports)

    def __len__(self) -> int:
        return len(self._reports)

    def ranked(self) -> list[Report]:
        """The reports ordered by loss, smallest first."""
        return sorted(self._reports.values(), key=lambda report: report.loss)

    def to_frame(self, kind: str | None = None) -> Any:
        """The concatenated curves of all learners, with a column `learner`."""
        reports = list(self._reports.values())
        columns: dict[str, Any] = {
            "learner": [name for name, report in self._reports.items() for _ in report.curve["round"]]
        }
        columns |= {key: np.concatenate([report.curve[key] for report in reports]) for key in reports[0].curve}
        return frame(columns, kind)

    def plot(self, kind: str = "regret", ax: Any = None) -> Any:
        """Plot all learners with matplotlib; `kind` as for a single report. Returns the axes."""
        from millstream.oco.plots import plot

        return plot(self._reports, kind, ax)

    def save_plot(self, path: str | PathLike[str], kind: str = "regret") -> None:
        """Save the plot to a file: .png, .svg or .pdf."""
        from millstream.oco.plots import save

        save(self._reports, path, kind)

    def _repr_html_(self) -> str:
        from millstream.oco.plots import fragment

        return fragment(self._reports)

    def summary(self) -> str:
        """A table with a row per learner."""
        rows = [
            [
                report.name,
                number(report.loss),
                number(report.regret),
                "–" if report.bound is None else number(report.bound.value),
                number(report.average_regret),
            ]
            for report in self.ranked()
        ]
        return table(["", "loss", "regret", "bound", "regret per round"], rows)

    def __repr__(self) -> str:
        return self.summary()


def make_report(
    learner: Learner,
    history: Sequence[Losses | Loss],
    costs: Array,
    decisions: Array | None,
    marks: list[tuple[int, Terms]],
    comparator: Set,
    switches: int,
    tolerance: float,
    shared: dict[str, Any],
) -> Report:
    """The report of a game; `shared` keeps the best decisions for other learners that played the same losses."""
    spent = np.cumsum(costs)
    path = None
    marked_rounds = [number for number, _ in marks]
    if switches:
        path, hindsight = _with_switches(history, marked_rounds, comparator, switches, shared)
    else:
        hindsight = _shared(history, marked_rounds, comparator, tolerance, shared)
    minima = hindsight.minima
    bounds = _bounds(learner, costs, marks, hindsight, switches)
    chosen = sorted(bounds)
    best = np.array([minima[after].loss for after in chosen])
    loss = spent[np.array(chosen) - 1]
    chosen_bounds = [bounds[after] for after in chosen]
    curve = {
        "round": np.array(chosen, dtype=np.int64),
        "loss": loss,
        "best": best,
        "regret": loss - best,
        "bound": np.array([math.nan if bound is None else bound.value for bound in chosen_bounds]),
    }
    last = minima[marked_rounds[-1]]
    return Report(
        repr(learner),
        learner,
        len(costs),
        float(spent[-1]),
        last,
        float(spent[-1]) - last.loss,
        chosen_bounds[-1],
        curve,
        costs,
        decisions,
        switches,
        path,
    )


@dataclass
class _Hindsight:
    """The comparators: best decisions by round, and the rounding error of sums of losses."""

    comparator: Set
    minima: dict[int, Minimum]
    rounding: dict[int, float]
    #: Whether all losses are linear, so that `rounding` covers the sum of the costs for any decisions.
    linear: bool = True


def _bounds(
    learner: Learner, costs: Array, marks: list[tuple[int, Terms]], hindsight: _Hindsight, switches: int
) -> dict[int, Bound | None]:
    """The bound at each mark that has a best decision, including the rounding error of the regret."""
    engine, minima = learner._ready(), hindsight.minima
    sizes = np.zeros(len(costs)) if hindsight.linear else np.cumsum(np.abs(costs))
    bounds: dict[int, Bound | None] = {}
    for after, terms in marks:
        if after not in minima:
            continue
        best = minima[after]
        # A learner that has observed other losses before has no bound for this game.
        found = None
        if learner.rounds == len(costs):
            found = engine.bound(terms, _known(best.decision), best.loss, switches)
        if found is not None:
            size = float(sizes[after - 1]) + (abs(best.loss) if math.isfinite(best.loss) else 0.0)
            found = found.rounded_up(after + hindsight.comparator.known + OPERATIONS, size)
            found = replace(found, value=found.value + hindsight.rounding[after])
        bounds[after] = found
    return bounds


def _known(decision: Array) -> Array | None:
    return decision if np.isfinite(decision).all() else None


def _shared(
    history: Sequence[Losses | Loss],
    marked_rounds: list[int],
    comparator: Set,
    tolerance: float,
    shared: dict[str, Any],
) -> _Hindsight:
    """The best decisions, computed once for all learners with the same comparator."""
    known: list[_Hindsight] = shared.setdefault(f"after {marked_rounds[-1]}", [])
    for hindsight in known:
        if hindsight.comparator.same_as(comparator):
            return hindsight
    known.append(_fixed(history, marked_rounds, comparator, tolerance))
    return known[-1]


def _fixed(
    history: Sequence[Losses | Loss], marked_rounds: list[int], comparator: Set, tolerance: float
) -> _Hindsight:
    """The best decision at each mark; at fewer of them if a solver is needed."""
    total = Total(comparator.known, keep=True)
    found = _Hindsight(comparator, {}, {}, all(_kind(losses) is Linear for losses in history))
    wanted, start, played = set(marked_rounds), None, 0
    if not found.linear:
        logarithmic = np.unique(np.geomspace(1, len(marked_rounds), _SOLVED_POINTS).round().astype(int) - 1)
        uniform = np.searchsorted(marked_rounds, np.linspace(0, marked_rounds[-1], _SOLVED_POINTS))
        wanted = {marked_rounds[index] for index in logarithmic} | {
            marked_rounds[min(index, len(marked_rounds) - 1)] for index in uniform
        }
    begin = comparator.start()
    for losses in history:
        if isinstance(losses, Losses):
            total.add_many(losses)
            played += len(losses)
        else:
            total.add(losses)
            played += 1
        if played in wanted:
            best = found.minima[played] = minimum(total, comparator, tolerance, start)
            start = _known(best.decision)
            near = begin if start is None else start
            reach = (
                comparator.reach_from(begin) if comparator.bounded else np.full(len(begin), radius_around(near))
            )
            # Rounding of the sum of the learner's losses, and of that of the best decision.
            found.rounding[played] = total.rounding(np.abs(begin) + reach) + total.rounding(near)
    return found


def _kind(losses: Losses | Loss) -> type[Any]:
    return losses.kind if isinstance(losses, Losses) else type(losses)


def _with_switches(
    history: Sequence[Losses | Loss],
    marked_rounds: list[int],
    comparator: Set,
    switches: int,
    shared: dict[str, Any],
) -> tuple[Array, _Hindsight]:
    if not isinstance(comparator, Simplex) or not all(_kind(losses) is Linear for losses in history):
        raise InvalidValue("oco.play: switches require linear losses on the simplex")
    key = f"{switches} switches {marked_rounds[-1]}"
    if key not in shared:
        rows = np.concatenate(
            [losses.rows if isinstance(losses, Losses) else losses.z[None] for losses in history]  # type: ignore[attr-defined]
        )
        shared[key] = *best_sequence(rows, switches), np.cumsum(np.abs(rows).max(axis=1))
    path, prefix, sizes = shared[key]
    corner = np.zeros(comparator.known)
    corner[path[-1]] = 1.0
    rounding = {after: gamma(after + comparator.known) * float(sizes[after - 1]) for after in marked_rounds}
    method = "dynamic programming"
    minima = {after: Minimum(corner, float(prefix[after - 1]), rounding[after], method) for after in marked_rounds}
    return path, _Hindsight(comparator, minima, {after: 2.0 * lost for after, lost in rounding.items()})
