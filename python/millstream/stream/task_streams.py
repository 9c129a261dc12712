"""Streams of tasks: classes, domains or tasks that come one after the other, from any data set."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from millstream import _frames
from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue
from millstream.stream.base import ROWS, Stream
from millstream.stream.chunk import Chunk, as_list, take

__all__ = ["KINDS", "Task", "Tasks", "tasks"]

KINDS = ("class", "domain", "task")


@dataclass(frozen=True)
class Task:
    """One task: its name, its classes, its training rows in their order, and its test rows."""

    name: str
    classes: tuple[Any, ...]
    train: Chunk
    test: Chunk


class Tasks(Stream):
    """Training rows whose tasks come one after the other, with test rows for each task; `tasks` makes it.

    It is a stream of the training rows, and a sequence of tasks. `ends` has the number of training rows up to the
    end of each task; with a gradual border, up to its middle. `task_of` has the task of each training row.
    """

    def __init__(self, kind: str, found: Sequence[Task], border: int, seed: int) -> None:
        self.kind, self.border, self.seed = kind, border, seed
        self._tasks = tuple(found)
        sizes = [len(task.train) for task in found]
        self.ends: list[int] = np.cumsum(sizes).tolist()
        # Every row moves by at most half of the border, so that tasks mix around it and nowhere else.
        position = np.arange(self.ends[-1], dtype=np.float64)
        moved = position + np.random.default_rng([seed, 1]).uniform(-border / 2, border / 2, len(position))
        order = np.argsort(moved, kind="stable")
        self.task_of: Any = np.repeat(np.arange(len(sizes)), sizes)[order]
        rows = joined([task.train.X for task in found])
        labels = [label for task in found for label in as_list(task.train.y)]
        self.train = Chunk(rows, _column(labels)).take(order)

    def __len__(self) -> int:
        return len(self._tasks)

    def __getitem__(self, index: int) -> Task:
        return self._tasks[index]

    @property
    def names(self) -> list[str]:
        """The names of the tasks."""
        return [task.name for task in self._tasks]

    @property
    def n_samples(self) -> int:
        """Number of training rows."""
        return self.ends[-1]

    def chunks(self) -> Iterator[Chunk]:
        """The training rows in order."""
        for start in range(0, len(self.train), ROWS):
            yield self.train.cut(start, min(start + ROWS, len(self.train)))

    def __repr__(self) -> str:
        border = f", border={self.border}" if self.border else ""
        return f"Tasks({self.kind!r}, {len(self)} tasks, {self.n_samples:,} rows{border})"


def tasks(
    data: Any,
    kind: str = "class",
    *,
    n_tasks: int = 5,
    groups: Sequence[Sequence[Any]] | None = None,
    domain: str | Sequence[Any] | None = None,
    holdout: float = 0.2,
    border: int = 0,
    seed: int = 0,
) -> Tasks:
    """Divide data into tasks that come one after the other.

    Parameters
    ----------
    data
        A stream or data set, `(X, y)` with a matrix, a frame or dicts, or examples `(x, y)`. It is kept in memory.
    kind
        "class": each task has classes of its own, and the model must tell all of them apart. "domain": all tasks
        have the same classes, with other features. "task": as "class", but each row has a feature `task` with the
        number of its task, and `evaluate.continual` compares only the classes of the task.
    n_tasks
        Number of tasks, unless `groups` or `domain` say it.
    groups
        For "class" and "task": the classes of each task. By default the sorted classes are divided evenly.
    domain
        For "domain": the name of the feature, or a value for each row, that says which domain a row belongs to;
        domains come in the order in which they first occur, and the feature stays. None permutes the features by a
        random permutation for each task but the first, as in permuted MNIST.
    holdout
        Fraction of the rows of each task that are its test rows, drawn at random.
    border
        0 for sharp borders. Otherwise the number of rows around each border within which the rows of both tasks
        mix: the next task's become more frequent from row to row.
    seed
        Random seed of the division, the order within a task, the permutations and the mixture.

    Examples
    --------
    >>> from millstream import datasets, stream
    >>> stream.tasks(datasets.Digits(), n_tasks=5)
    Tasks('class', 5 tasks, 1,437 rows)
    >>> tasks = stream.tasks(datasets.Digits(), groups=[[0, 1, 2], [7, 8, 9]], border=100)
    >>> tasks.names, tasks.ends
    (['0, 1, 2', '7, 8, 9'], [430, 856])
    >>> len(stream.tasks(datasets.Iris(), "domain", n_tasks=3)[0].classes)
    3
    """
    _check(kind, n_tasks, holdout, border, seed, groups, domain)
    X, y = _whole(data)
    random = np.random.default_rng([seed, 0])
    if kind == "domain":
        parts = _domains(X, y, domain, n_tasks, random)
    else:
        parts = _classes(X, y, groups, n_tasks, with_task=kind == "task")
    found = []
    for name, rows, indices in parts:
        shuffled = random.permutation(len(indices))
        held = max(1, round(holdout * len(indices)))
        if held >= len(indices):
            raise InvalidValue(
                f"stream.tasks: task {name!r} has only {len(indices)} rows, which cannot be divided"
            )
        labels = [y[index] for index in indices.tolist()]
        whole = Chunk(rows, _column(labels))
        train, test = whole.take(shuffled[held:]), whole.take(shuffled[:held])
        found.append(Task(name, tuple(_sorted(set(labels))), train, test))
    return Tasks(kind, found, border, seed)


def joined(parts: Sequence[Any]) -> Any:
    """Rows of several parts in the same form."""
    first = parts[0]
    if isinstance(first, list):
        return [row for part in parts for row in part]
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    import pyarrow

    return pyarrow.concat_tables(parts)


def _whole(data: Any) -> tuple[Any, list[Any]]:
    """All rows as a matrix, an Arrow table or dicts, and all labels."""
    if isinstance(data, Stream):
        if data.endless:
            raise InvalidValue(f"stream.tasks: data must end, got {data!r}; use .take(n)")
        chunks = list(data.chunks())
        if not chunks or chunks[0].y is None:
            raise InvalidValue(f"stream.tasks: data must have rows with a target, got {data!r}")
        labels = [label for chunk in chunks for label in as_list(chunk.y)]
        forms = [_form(chunk.X) for chunk in chunks]
        if len({_shape(form) for form in forms}) > 1:
            forms = [list(_frames.dicts(form)) for form in forms]
        return joined(forms), labels
    if isinstance(data, tuple) and len(data) == 2:
        return _form(data[0]), as_list(data[1])
    if isinstance(data, (str, bytes, Mapping, np.ndarray)) or not isinstance(data, Iterable):
        raise InvalidType(
            f"stream.tasks: data must be (X, y), a stream, or examples (x, y), got {type(data).__name__}"
        )
    examples = [(dict(x), y) for x, y in data]
    if not examples:
        raise InvalidValue("stream.tasks: data must have rows, got none")
    return [x for x, _ in examples], [y for _, y in examples]


def _form(X: Any) -> Any:
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub":
        return X
    if _frames._library(X) == "pyarrow" and hasattr(X, "column_names"):
        return X
    if _frames._library(X) == "polars":
        return X.to_arrow()
    return [dict(row) for row in _frames.dicts(X)]


def _shape(X: Any) -> Any:
    """What parts must have in common to be joined."""
    if isinstance(X, list):
        return list
    return X.shape[1] if isinstance(X, np.ndarray) else X.schema


def _column(labels: list[Any]) -> Any:
    """Labels as an array if they are of one simple type, so that they keep it."""
    kinds = {type(label) for label in labels}
    return np.array(labels) if kinds in ({int}, {bool}) else labels


def _sorted(labels: Iterable[Any]) -> list[Any]:
    labels = list(labels)
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, str(label)))


def _classes(
    X: Any, y: list[Any], groups: Sequence[Sequence[Any]] | None, n_tasks: int, *, with_task: bool
) -> list[tuple[str, Any, Any]]:
    known = _sorted(set(y))
    if groups is None:
        if n_tasks > len(known):
            raise InvalidValue(
                f"stream.tasks: n_tasks must be at most the number of classes, {len(known)}, got {n_tasks}"
            )
        cuts = [round(len(known) * task / n_tasks) for task in range(n_tasks + 1)]
        groups = [known[low:high] for low, high in itertools.pairwise(cuts)]
    given = [label for group in groups for label in group]
    if not all(groups) or len(given) != len(set(given)):
        raise InvalidValue("stream.tasks: groups must have each class once, and none may be empty")
    unknown = [label for label in given if label not in set(known)]
    if unknown:
        raise InvalidValue(f"stream.tasks: groups must be classes of the data, got {quoted(unknown[0])}")
    parts = []
    for number, group in enumerate(groups):
        chosen = set(group)
        indices = np.flatnonzero(np.array([label in chosen for label in y]))
        rows = take(X, indices)
        parts.append((", ".join(map(str, group)), _with_task(rows, number) if with_task else rows, indices))
    return parts


def _with_task(X: Any, number: int) -> Any:
    if isinstance(X, list):
        return [{**x, "task": number} for x in X]
    if isinstance(X, np.ndarray):
        return np.column_stack([X, np.full(len(X), float(number))])
    import pyarrow

    return X.append_column("task", pyarrow.array(np.full(X.num_rows, float(number))))


def _domains(
    X: Any, y: list[Any], domain: str | Sequence[Any] | None, n_tasks: int, random: np.random.Generator
) -> list[tuple[str, Any, Any]]:
    if domain is None:
        indices = random.permutation(len(y))
        parts = np.array_split(indices, n_tasks)
        if len(parts[-1]) < 2:
            raise InvalidValue(f"stream.tasks: n_tasks must leave rows for each task, got {n_tasks}")
        return [
            (f"permutation {task}" if task else "as given", _permuted(take(X, part), random, task), part)
            for task, part in enumerate(parts)
        ]
    values = _values_of(X, domain) if isinstance(domain, str) else list(domain)
    if len(values) != len(y):
        raise InvalidValue(f"stream.tasks: domain must have a value for each of {len(y)} rows, got {len(values)}")
    found: dict[Any, list[int]] = {}
    for index, value in enumerate(values):
        found.setdefault(value, []).append(index)
    if len(found) > len(y) // 2:
        raise InvalidValue(f"stream.tasks: domain must have few values, got {len(found)} for {len(y)} rows")
    return [(str(value), take(X, np.array(rows)), np.array(rows)) for value, rows in found.items()]


def _values_of(X: Any, name: str) -> list[Any]:
    try:
        if isinstance(X, list):
            return [x[name] for x in X]
        if not isinstance(X, np.ndarray):
            return as_list(X.column(name))
    except KeyError:
        pass
    raise InvalidValue(f"stream.tasks: domain must be the name of a feature of each row, got {quoted(name)}")


def _permuted(X: Any, random: np.random.Generator, task: int) -> Any:
    if isinstance(X, np.ndarray):
        return X if task == 0 else X[:, random.permutation(X.shape[1])]
    names = list(X[0]) if isinstance(X, list) else X.column_names
    order = random.permutation(len(names)) if task else np.arange(len(names))
    moved = [names[place] for place in order]
    if isinstance(X, list):
        return [{name: x[other] for name, other in zip(names, moved, strict=True) if other in x} for x in X]
    return X.select(moved).rename_columns(names)


def _check(kind: Any, n_tasks: Any, holdout: Any, border: Any, seed: Any, groups: Any, domain: Any) -> None:
    if kind not in KINDS:
        raise InvalidValue(f"stream.tasks: kind must be one of {', '.join(KINDS)}, got {quoted(kind)}")
    for name, value, least in (("n_tasks", n_tasks, 1), ("border", border, 0), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise InvalidValue(f"stream.tasks: {name} must be an integer >= {least}, got {quoted(value)}")
    number = isinstance(holdout, (int, float, np.number)) and not isinstance(holdout, bool)
    if not (number and 0 < holdout < 1):
        raise InvalidValue(f"stream.tasks: holdout must be a fraction in (0, 1), got {quoted(holdout)}")
    if kind == "domain" and groups is not None:
        raise InvalidValue('stream.tasks: groups are for kind="class" and kind="task"; kind="domain" has domain')
    if kind != "domain" and domain is not None:
        raise InvalidValue('stream.tasks: domain is for kind="domain"')
    if isinstance(groups, (str, bytes)) or (groups is not None and not isinstance(groups, Iterable)):
        raise InvalidType(f"stream.tasks: groups must be a list of lists of classes, got {quoted(groups)}")
