"""Evaluation on tasks that come one after the other: how much is learned, kept and forgotten."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from millstream._echo import quoted
from millstream._part import shown_part
from millstream._python_loop import teach, title_of
from millstream.continual.ending import end_task
from millstream.errors import InvalidType, InvalidValue
from millstream.evaluate.frames import frame, number, table
from millstream.roles import CLASSIFIER, role_of
from millstream.stream.chunk import Chunk, as_list
from millstream.stream.task_streams import Task, Tasks

__all__ = ["ContinualResult", "continual"]


def continual(model: Any, tasks: Tasks, *, evaluations: int = 1, end_tasks: bool = True) -> ContinualResult:
    """Train a classifier on tasks one after the other, and test it on all of them each time.

    The model learns the training rows of `tasks` in their order, once. At the end of each task, and at
    `evaluations` - 1 points before it, it predicts the test rows of all tasks. It is trained in place and
    continues from its current state.

    Parameters
    ----------
    model
        A classifier.
    tasks
        Tasks with training and test rows, made by `stream.tasks`.
    evaluations
        Number of points in each task at which the model is tested.
    end_tasks
        Whether to call `continual.end_task` at the end of each task, for methods that need to know it.

    Returns
    -------
    ContinualResult
        The accuracy matrix and what follows from it.

    Examples
    --------
    >>> from millstream import continual, datasets, evaluate, stream
    >>> tasks = stream.tasks(datasets.Digits(), n_tasks=5)
    >>> result = evaluate.continual(continual.NearestClassMean(), tasks)
    >>> result
    NearestClassMean: 5 tasks, 1,437 rows learned
    after task    0, 1    2, 3    4, 5    6, 7    8, 9
    1: 0, 1     1.0000  0.0000  0.0000  0.0000  0.0000
    2: 2, 3     0.9167  0.9306  0.0000  0.0000  0.0000
    3: 4, 5     0.9167  0.9167  0.9041  0.0000  0.0000
    4: 6, 7     0.9167  0.8889  0.8904  0.9722  0.0000
    5: 8, 9     0.8750  0.8889  0.8904  0.9722  0.8873
    <BLANKLINE>
                       mean of tasks   pooled
    final accuracy            0.9028   0.9028
    anytime accuracy          0.9312   0.9312
    forgetting                0.0451   0.0450
    backward transfer        -0.0451  -0.0450
    forward transfer          0.0000   0.0000

    References
    ----------
    Lopez-Paz, D. and Ranzato, M. (2017). Gradient episodic memory for continual learning. NeurIPS.
    Chaudhry, A., Dokania, P. K., Ajanthan, T. and Torr, P. H. S. (2018). Riemannian walk for incremental learning:
    understanding forgetting and intransigence. ECCV.
    """
    if isinstance(model, type) or role_of(model) is not CLASSIFIER:
        raise InvalidType(f"evaluate.continual: model must be a classifier, got {shown_part(model)}")
    if not isinstance(tasks, Tasks):
        raise InvalidType(
            f"evaluate.continual: tasks must be those of stream.tasks(data), got {type(tasks).__name__}"
        )
    if isinstance(evaluations, bool) or not isinstance(evaluations, int) or evaluations < 1:
        raise InvalidValue(f"evaluate.continual: evaluations must be an integer >= 1, got {quoted(evaluations)}")
    restricted = tasks.kind == "task"
    count = len(tasks)
    baseline = [_accuracy(model, task, restricted) for task in tasks_of(tasks)]
    matrix = np.zeros((count, count))
    rows, curve, seconds = [0], [baseline], 0.0
    start = 0
    for index, end in enumerate(tasks.ends):
        for stop in np.linspace(start, end, evaluations + 1).round().astype(int)[1:].tolist():
            begun = time.perf_counter()
            _learn(model, tasks.train.cut(start, stop))
            if stop == end and end_tasks:
                end_task(model)
            seconds += time.perf_counter() - begun
            start = stop
            curve.append([_accuracy(model, task, restricted) for task in tasks_of(tasks)])
            rows.append(stop)
        matrix[index] = curve[-1]
    sizes = [len(task.test) for task in tasks_of(tasks)]
    settings = {"kind": tasks.kind, "border": tasks.border, "evaluations": evaluations, "end_tasks": end_tasks}
    return ContinualResult(
        matrix,
        names=tasks.names,
        sizes=sizes,
        baseline=baseline,
        name=title_of(model).rpartition(".")[2],
        curve=(rows, curve),
        ends=tasks.ends,
        model=model,
        seconds=seconds,
        settings=settings,
    )


def tasks_of(tasks: Tasks) -> list[Task]:
    """The tasks as a list: iteration over `Tasks` yields examples."""
    return [tasks[index] for index in range(len(tasks))]


def _learn(model: Any, chunk: Chunk) -> None:
    if not len(chunk):
        return
    many = getattr(model, "learn_many", None)
    if callable(many):
        many(chunk.X, chunk.y)
        return
    for x, y in chunk.examples():
        teach(model, x, y, 1.0)


def _accuracy(model: Any, task: Task, restricted: bool) -> float:
    truths = as_list(task.test.y)
    if restricted:
        predicted = [_best(model.predict_proba_one(x), task.classes) for x, _ in task.test.examples()]
    elif callable(getattr(model, "predict_many", None)):
        predicted = as_list(model.predict_many(task.test.X))
    else:
        predicted = [model.predict_one(x) for x, _ in task.test.examples()]
    return float(sum(a == b for a, b in zip(predicted, truths, strict=True)) / len(truths))


def _best(probabilities: Any, classes: Sequence[Any]) -> Any:
    known = {label: probabilities[label] for label in classes if label in probabilities}
    return max(known, key=known.__getitem__) if known else None


class ContinualResult:
    """The accuracies R[i, j] on task j after task i, and what follows from them.

    With T tasks, sums over other tasks, and b[j] the accuracy on task j before anything was learned:

    - `final_accuracy`: mean of R[T, j].
    - `anytime_accuracy`: mean over all tests of the mean accuracy on the tasks so far.
    - `forgetting`: mean over j < T of max over i < T of R[i, j] - R[T, j] (Chaudhry and others, 2018).
    - `backward_transfer`: mean over j < T of R[T, j] - R[j, j] (Lopez-Paz and Ranzato, 2017).
    - `forward_transfer`: mean over j > 1 of R[j - 1, j] - b[j] (the same).
    - `backward_transfer_capymoa`: mean over all i > j of R[i, j] - R[j, j].
    - `forward_transfer_capymoa`: mean over all j > i of R[i, j], without a baseline.

    Each is a mean over tasks; `pooled` has the same with each task weighted by its number of test rows.

    Examples
    --------
    >>> from millstream import evaluate
    >>> result = evaluate.ContinualResult([[0.9, 0.1], [0.6, 0.8]], sizes=[100, 300])
    >>> round(result.final_accuracy, 2), round(result.forgetting, 2), round(result.pooled["final accuracy"], 2)
    (0.7, 0.3, 0.75)
    """

    def __init__(
        self,
        matrix: Any,
        *,
        names: Sequence[str] | None = None,
        sizes: Sequence[int] | None = None,
        baseline: Sequence[float] | None = None,
        name: str = "model",
        curve: tuple[Sequence[int], Sequence[Sequence[float]]] | None = None,
        ends: Sequence[int] | None = None,
        model: Any = None,
        seconds: float = 0.0,
        settings: dict[str, Any] | None = None,
    ) -> None:
        #: Accuracy on task j (column) after task i (row).
        self.matrix = np.array(matrix, dtype=np.float64)
        if self.matrix.ndim != 2 or self.matrix.shape[0] != self.matrix.shape[1] or not self.matrix.size:
            shape = self.matrix.shape
            raise InvalidValue(
                f"evaluate.ContinualResult: matrix must have a row and a column per task, got {shape}"
            )
        count = len(self.matrix)
        #: Names of the tasks, and numbers of their test rows.
        self.names = [str(task + 1) for task in range(count)] if names is None else list(names)
        self.sizes = np.ones(count) if sizes is None else np.array(sizes, dtype=np.float64)
        #: Accuracy on each task before anything was learned.
        self.baseline = np.zeros(count) if baseline is None else np.array(baseline, dtype=np.float64)
        for what, values in (("names", self.names), ("sizes", self.sizes), ("baseline", self.baseline)):
            if len(values) != count:
                raise InvalidValue(
                    f"evaluate.ContinualResult: {what} must have a value for each of {count} tasks, "
                    f"got {len(values)}"
                )
        self.name, self.model, self.seconds, self.settings = name, model, seconds, dict(settings or {})
        #: Number of rows learned up to the end of each task.
        self.ends = list(range(1, count + 1)) if ends is None else list(ends)
        points = ([0, *self.ends], [self.baseline, *self.matrix]) if curve is None else curve
        #: Rows learned at each test, the first before any, and the accuracy on each task at each test.
        self.rows, self.curve = np.array(points[0]), np.array(points[1], dtype=np.float64)

    def _metrics(self, sizes: Any) -> dict[str, float]:
        return {
            "final accuracy": float(np.average(self.matrix[-1], weights=sizes)),
            "anytime accuracy": self._anytime(sizes),
            "forgetting": self._over(
                self.matrix[:-1].max(axis=0, initial=0.0) - self.matrix[-1], sizes, slice(-1)
            ),
            "backward transfer": self._over(self.matrix[-1] - np.diag(self.matrix), sizes, slice(-1)),
            "forward transfer": self._forward(sizes),
        }

    @staticmethod
    def _over(values: Any, sizes: Any, tasks: slice) -> float:
        """The mean over some tasks; 0 if there is only one."""
        return float(np.average(values[tasks], weights=sizes[tasks])) if len(values) > 1 else 0.0

    def _anytime(self, sizes: Any) -> float:
        # The task that is learned when a test is made counts as seen.
        seen = np.searchsorted(self.ends, self.rows[1:], side="left") + 1
        means = [
            np.average(row[:task], weights=sizes[:task]) for row, task in zip(self.curve[1:], seen, strict=True)
        ]
        return float(np.mean(means))

    def _forward(self, sizes: Any) -> float:
        before = np.concatenate([[0.0], np.diag(self.matrix, 1)])
        return self._over(before - self.baseline, sizes, slice(1, None))

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics as means over tasks."""
        return self._metrics(np.ones(len(self.matrix)))

    @property
    def pooled(self) -> dict[str, float]:
        """The metrics with each task weighted by the number of its test rows."""
        return self._metrics(self.sizes)

    @property
    def final_accuracy(self) -> float:
        """Mean accuracy after the last task."""
        return self.metrics["final accuracy"]

    @property
    def anytime_accuracy(self) -> float:
        """Mean over all tests of the mean accuracy on the tasks so far."""
        return self.metrics["anytime accuracy"]

    @property
    def forgetting(self) -> float:
        """Mean over tasks but the last of the best accuracy before the last task minus the final one."""
        return self.metrics["forgetting"]

    @property
    def backward_transfer(self) -> float:
        """Mean over tasks but the last of the final accuracy minus that at the task's end (GEM)."""
        return self.metrics["backward transfer"]

    @property
    def forward_transfer(self) -> float:
        """Mean over tasks but the first of the accuracy just before the task minus that before anything (GEM)."""
        return self.metrics["forward transfer"]

    @property
    def backward_transfer_capymoa(self) -> float:
        """Mean over all pairs of a task and a later one, as CapyMOA defines it."""
        lower = np.tril_indices(len(self.matrix), -1)
        return float((self.matrix - np.diag(self.matrix))[lower].mean()) if lower[0].size else 0.0

    @property
    def forward_transfer_capymoa(self) -> float:
        """Mean accuracy on tasks that were not yet learned, as CapyMOA defines it."""
        upper = np.triu_indices(len(self.matrix), 1)
        return float(self.matrix[upper].mean()) if upper[0].size else 0.0

    @property
    def per_task(self) -> dict[str, Any]:
        """For each task: the accuracy at its end and at last, the best so far, and what was forgotten."""
        best = self.matrix.max(axis=0)
        return {
            "task": list(self.names),
            "rows": self.sizes,
            "learned": np.diag(self.matrix).copy(),
            "best": best,
            "final": self.matrix[-1].copy(),
            "forgotten": best - self.matrix[-1],
        }

    def to_frame(self, kind: str | None = None) -> Any:
        """`per_task` as a frame of "pandas", "polars" or "pyarrow"; by default of the first that is installed."""
        return frame(self.per_task, kind)

    def plot(self, kind: str = "tasks", ax: Any = None) -> Any:
        """Plot with matplotlib; returns the axes. `kind` is "tasks" (accuracy over rows) or "matrix"."""
        from millstream.evaluate.over_tasks_plot import plot

        return plot(self, kind, ax)

    def save_plot(self, path: str | PathLike[str], kind: str = "tasks") -> None:
        """Save the plot to a file: .png, .svg or .pdf."""
        from millstream.evaluate.over_tasks_plot import save

        save(self, path, kind)

    def __copy__(self) -> ContinualResult:
        return copy.deepcopy(self)

    def __repr__(self) -> str:
        rows = int(self.rows[-1])
        head = f"{self.name}: {len(self.matrix)} {'task' if len(self.matrix) == 1 else 'tasks'}"
        head += f", {rows:,} rows learned" if self.model is not None else ""
        lines = [
            [f"{index + 1}: {name}", *map(number, row)]
            for index, (name, row) in enumerate(zip(self.names, self.matrix.tolist(), strict=True))
        ]
        pooled = self.pooled
        metrics = [[name, number(value), number(pooled[name])] for name, value in self.metrics.items()]
        return "\n".join(
            [head, table(["after task", *self.names], lines), "", table(["", "mean of tasks", "pooled"], metrics)]
        )
