"""The table of README.md, in which all libraries learn the same rows: `python -m benchmarks.front` writes it.

Each library predicts a row, then learns it. Its rate is computed from the CPU time of its fastest round; the
libraries take turns in each round.
"""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import forests, ours, peers, streams, trees, workloads
from benchmarks.goals import table
from benchmarks.measure import Outcome, Side
from benchmarks.report import rate
from millstream import naive_bayes, tree

__all__ = ["comparisons", "write"]

README = Path(__file__).parent.parent / "README.md"
MARKS = ("<!-- results -->\n", "<!-- end of results -->\n")

#: Columns: a matrix in one call, and one dict per call from a Python loop.
MATRIX, DICTS, RIVER, SKLEARN = "millstream, matrix", "millstream, dicts", "River, dicts", "scikit-learn, rows"


@dataclass
class Same:
    """One model in several libraries, on the same rows."""

    title: str
    sides: dict[str, Side]

    @property
    def rows(self) -> int:
        """Number of rows, the same for all."""
        (rows,) = {side.rows for side in self.sides.values()}
        return rows


class _Scaled:
    """scikit-learn's scaler and a classifier; its pipelines do not learn row by row."""

    def __init__(self, model: Any) -> None:
        from sklearn.preprocessing import StandardScaler

        self.scaler, self.model = StandardScaler(), model

    def predict(self, X: Any) -> Any:
        """The predicted classes of scaled rows."""
        return self.model.predict(self.scaler.transform(X))

    def partial_fit(self, X: Any, y: Any, classes: Any) -> None:
        """Learn the scale, then the scaled rows."""
        self.model.partial_fit(self.scaler.partial_fit(X).transform(X), y, classes=classes)


def _sklearn(build: Callable[[], Any], X: Any, y: Any) -> Side:
    """scikit-learn row by row: `predict`, then `partial_fit`."""
    classes = sorted(set(y.tolist()))

    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            hits, learned = 0, False
            # The variance of one row is 0.
            warnings.simplefilter("ignore", RuntimeWarning)
            for row, target in zip(X, y, strict=True):
                one = row.reshape(1, -1)
                # It cannot predict before it has learned.
                hits += learned and bool(model.predict(one)[0] == target)
                model.partial_fit(one, [target], classes=classes)
                learned = True
            return Outcome(hits / len(y))

        return run

    return Side(SKLEARN, len(y), prepare)


def _same(title: str, mine: Any, theirs: Any, X: Any, y: Any, sklearn: Any = None) -> Same:
    rows, targets = streams.as_dicts(X), y.tolist()
    sides = {
        MATRIX: ours.step_many(mine, X, y),
        DICTS: ours.dict_loop(mine, rows, targets),
        RIVER: peers.river(theirs, rows, targets),
    }
    if sklearn is not None:
        sides[SKLEARN] = _sklearn(sklearn, X, y)
    return Same(title, sides)


def comparisons() -> list[Same]:
    """The rows of the table. The streams are as short as the slowest library requires."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.naive_bayes import GaussianNB

    X, y = streams.linear(10_000, 10)
    of_trees, classes = streams.random_rbf(10_000, 10)

    def sgd() -> Any:
        return _Scaled(SGDClassifier(loss="log_loss", penalty=None, learning_rate="constant", eta0=0.01))

    few = 2_000
    return [
        _same("logistic regression", workloads.scaled_logistic, workloads.river_scaled_logistic, X, y, sgd),
        _same(
            "Gaussian naive Bayes",
            naive_bayes.GaussianNB,
            workloads.river_naive_bayes,
            of_trees,
            classes,
            GaussianNB,
        ),
        _same("Hoeffding tree", tree.HoeffdingTreeClassifier, trees.river_tree, of_trees, classes),
        _same(
            "adaptive random forest, 10 trees",
            forests.arf(10, 1),
            forests.river_arf(10),
            of_trees[:few],
            classes[:few],
        ),
    ]


def _measured(same: Same, turns: int) -> dict[str, str]:
    seconds: dict[str, float] = {}
    outcomes: dict[str, Outcome] = {}
    for _ in range(turns):
        for name, side in same.sides.items():
            run = side.prepare()
            gc.collect()
            start = time.process_time()
            outcomes[name] = run()
            seconds[name] = min(time.process_time() - start, seconds.get(name, float("inf")))
    return {name: f"{rate(same.rows / seconds[name])} ({outcomes[name].quality:.3f})" for name in same.sides}


def page(found: Sequence[tuple[Same, dict[str, str]]]) -> str:
    """The table in Markdown."""
    head = ["model", "rows", MATRIX, DICTS, RIVER, SKLEARN]
    return table(head, [[same.title, f"{same.rows:,}", *(cells.get(name, "–") for name in head[2:])]
                        for same, cells in found])  # fmt: skip


def write(turns: int = 3) -> None:
    """Measure, and write the table to README.md."""
    made = page([(same, _measured(same, turns)) for same in comparisons()])
    before, _, rest = README.read_text().partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    README.write_text(f"{before}{MARKS[0]}\n{made}\n\n{MARKS[1]}{after}")
    print(made)


if __name__ == "__main__":
    write()
