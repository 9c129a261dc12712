"""Shortest paths through a town whose delays are known only in the evening.

A route is chosen every morning, and the delay of every street is known every evening. There are far too many
routes to keep a weight for each. Follow the perturbed leader needs only the shortest path for the delays so far
plus random numbers, which takes one pass over the graph. The lesson is the purpose of the random numbers: on
ordinary days the plain leader is as good, but it fails every day in a town where each street that was fast
yesterday is slow today.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

from millstream import oco


class Routes(oco.Set):
    """Routes from the north-west corner of a grid to the south-east, as 0 or 1 for each street."""

    def __init__(self, size: int) -> None:
        self.size = size
        #: Streets to the east come first, row by row, then streets to the south.
        self.east = size * (size + 1)
        diameter = math.sqrt(4 * size)
        super().__init__(minimise_linear=self.shortest, diameter=diameter, dimension=2 * self.east)

    def diameter_in(self, norm: float) -> float:
        """Two routes differ in at most 4 · size streets."""
        return {1.0: 4.0 * self.size, 2.0: self.diameter}.get(norm, 1.0)

    @property
    def count(self) -> int:
        """The number of routes."""
        return math.comb(2 * self.size, self.size)

    def shortest(self, delays: np.ndarray) -> np.ndarray:
        """The fastest route, by dynamic programming over the crossings."""
        size = self.size
        east = delays[: self.east].reshape(size + 1, size)
        south = delays[self.east :].reshape(size, size + 1)
        time = np.full((size + 1, size + 1), np.inf)
        time[0, 0] = 0.0
        from_west = np.zeros((size + 1, size + 1), dtype=bool)
        for row in range(size + 1):
            for column in range(size + 1):
                if row:
                    time[row, column] = time[row - 1, column] + south[row - 1, column]
                if column and time[row, column - 1] + east[row, column - 1] < time[row, column]:
                    time[row, column] = time[row, column - 1] + east[row, column - 1]
                    from_west[row, column] = True
        route = np.zeros(len(delays))
        row = column = size
        while row or column:
            if from_west[row, column]:
                column -= 1
                route[row * size + column] = 1.0
            else:
                row -= 1
                route[self.east + row * (size + 1) + column] = 1.0
        return route


def ordinary(routes: Routes, days: int, seed: int = 2) -> np.ndarray:
    """Random delays, with a mean for each street."""
    rng = np.random.default_rng(seed)
    return rng.exponential(rng.uniform(0.5, 1.5, routes.dimension), size=(days, routes.dimension))


def adversarial(routes: Routes, days: int) -> np.ndarray:
    """Delays that alternate between the first street to the east and the first street to the south."""
    delays = np.full((days, routes.dimension), 0.1)
    first_east, first_south = 0, routes.east
    delays[0::2, first_east], delays[1::2, first_south] = 1.0, 1.0
    delays[0, first_east] = 0.6
    return delays


def main() -> None:
    """Compare the learners in both towns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000, help="number of days")
    parser.add_argument("--out", type=Path, help="folder for plots")
    given = parser.parse_args()
    days = min(given.rows, 1000)
    routes = Routes(5)
    print(f"A town of {routes.dimension} streets and {routes.count:,} routes; {days:,} days.\n")
    for name, delays in (("ordinary", ordinary(routes, days)), ("adversarial", adversarial(routes, days))):
        learners: dict[str, oco.Learner] = {
            "leader": oco.FollowTheLeader(routes),
            "perturbed": oco.FollowThePerturbedLeader(routes, learning_rate=lambda t: 1.0 / math.sqrt(t), seed=1),
            "perturbed, worst case": oco.FollowThePerturbedLeader(routes, seed=1),
        }
        reports = oco.play(learners, delays)
        best = next(iter(reports.values())).best
        print(f"{name} town: the best fixed route takes {best.loss / days:.3f} hours per day")
        for label, report in reports.items():
            bound = "no bound" if report.bound is None else f"at most {report.bound.value:,.0f} in expectation"
            print(f"  {label:<22} {report.loss / days:.3f}   regret {report.regret:8.1f}, {bound}")
        print()
        if given.out is not None:
            given.out.mkdir(parents=True, exist_ok=True)
            reports.save_plot(given.out / f"shortest_path_{name}.png")
    print("The bound covers the worst case, with a large perturbation; on ordinary days a smaller one is better.")


if __name__ == "__main__":
    main()
