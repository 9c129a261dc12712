"""What an evaluation found: of one model, and of several side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np

from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue
from millstream.evaluate.calibration import Calibration
from millstream.evaluate.frames import amount, frame, number, table
from millstream.evaluate.headings import headings, score
from millstream.evaluate.residuals import Residuals
from millstream.evaluate.weights import Weights, weights_of
from millstream.metrics.positive import missing_positive, positive_class, with_positive

__all__ = ["Confusion", "Result", "Results"]


@dataclass(frozen=True)
class Confusion:
    """How often each class (rows) was predicted as each (columns), by weight."""

    labels: list[Any]
    matrix: Any

    def __getitem__(self, pair: tuple[Any, Any]) -> float:
        truth, predicted = pair
        return float(self.matrix[self.labels.index(truth), self.labels.index(predicted)])

    def to_frame(self, kind: str | None = None) -> Any:
        """The matrix with a column for each predicted class."""
        columns = {"truth": list(self.labels)}
        columns |= {f"predicted {label}": self.matrix[:, place] for place, label in enumerate(self.labels)}
        return frame(columns, kind)

    def __repr__(self) -> str:
        head = ["truth \\ predicted", *(str(label) for label in self.labels)]
        rows = [
            [str(label), *(f"{cell:,.6g}" for cell in self.matrix[place])]
            for place, label in enumerate(self.labels)
        ]
        return table(head, rows)


@dataclass
class Result:
    """What `prequential` found of one model.

    `metrics` holds the metrics as objects and `values` their numbers, both by name; `result["Accuracy"]` is a
    short way. `curve` is by column: `row` (labels that had come), each metric over the whole stream, `rolling_…`
    each over the window, `seconds`, `memory` of the model in bytes, and `waiting`, how many rows had been
    predicted whose labels had not come.
    """

    model: Any
    name: str
    metrics: dict[str, Any]
    values: dict[str, float]
    bigger_is_better: dict[str, bool]
    curve: dict[str, Any]
    #: None for a regressor, and for more than 1,000 classes.
    confusion: Confusion | None
    #: None unless a metric asks for probabilities (LogLoss, ROCAUC, …).
    calibration: Calibration | None
    #: None for a classifier.
    residuals: Residuals | None
    #: Rows at which the detector, or a `drift.Monitor` beside the model, found drift (not: falling errors).
    drifts: list[int]
    #: Rows of the stream.
    rows: int
    #: Rows that were scored.
    scored: int
    #: Rows that were learned, those of the warm-up included.
    learned: int
    #: Rows of the warm-up, which are not scored.
    warmup: int
    #: Rows that the model could say nothing about, because it had learned nothing yet; not scored.
    unanswered: int
    #: Rows that the model refused and that were set aside.
    skipped: int
    #: The first rows that were set aside, with the reasons.
    refusals: list[tuple[int, str]]
    #: Seconds that the model took to predict, be scored and learn; those of reading the stream are not among them.
    seconds: float
    #: Bytes that the model holds at the end.
    memory: int
    settings: dict[str, Any] = field(default_factory=dict)
    #: Whether the run was broken off before the stream had ended.
    interrupted: bool = False
    #: Rows whose labels had not come when the run was broken off; they were not learned.
    waiting: int = 0
    #: Seconds of the whole run by the clock on the wall: reading, and the other models in it, included.
    elapsed: float = 0.0
    #: Lines or rows that the reader of the stream set aside in the last pass; they are not among `rows`.
    unread: int = 0
    #: Why, of the first of them.
    unread_reasons: list[str] = field(default_factory=list)
    #: The name of the target, if it has one.
    target: str | None = None

    @property
    def positive(self) -> dict[str, Any]:
        """The positive class of each metric that has one, by the name of the metric."""
        found = {name: positive_class(metric) for name, metric in self.metrics.items()}
        return {name: positive for name, positive in found.items() if positive is not None}

    @property
    def titles(self) -> dict[str, str]:
        """Each metric with its positive class, such as "F1 (late=True)", by the name of the metric."""
        positive = self.positive
        return {name: with_positive(name, positive.get(name), self.target) for name in self.metrics}

    @property
    def warnings(self) -> list[str]:
        """What makes a metric meaningless: a `pos_val` that never occurred."""
        found = (missing_positive(name, metric) for name, metric in self.metrics.items())
        return [line for line in found if line is not None]

    @property
    def scores(self) -> dict[str, tuple[float, float]]:
        """Each metric over the whole stream and over the window, by name; NaN where nothing was scored."""
        if not self.scored:
            return dict.fromkeys(self.values, (math.nan, math.nan))
        recent = {name: self.curve[f"rolling_{name}"] for name in self.values}
        return {
            name: (value, float(recent[name][-1]) if len(recent[name]) else math.nan)
            for name, value in self.values.items()
        }

    @property
    def throughput(self) -> float:
        """Rows per second of the model alone, by `seconds`."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0

    @property
    def metric(self) -> Any:
        """The first metric, as an object."""
        return next(iter(self.metrics.values()))

    @property
    def drawn(self) -> slice:
        """The points of the curve that are worth drawing: those after the first row that was scored."""
        return slice(int(np.searchsorted(self.curve["row"], self.warmup + self.unanswered, side="right")), None)

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def to_frame(self, kind: str | None = None) -> Any:
        """The curve as a frame of "pandas", "polars" or "pyarrow"; by default the first that is installed."""
        return frame(self.curve, kind)

    @property
    def weights(self) -> Weights | None:
        """What the model has learned of its features by now: weights or importances; None if it cannot tell."""
        return weights_of(self.model)

    def plot(self, metric: str | None = None, ax: Any = None, *, kind: str = "metric") -> Any:
        """Draw with matplotlib; returns the axes.

        `kind` is "metric" (rolling, whole stream, drift marks), "confusion", "calibration", "residuals",
        "weights", "waiting", "speed" or "memory".
        """
        from millstream.evaluate.plot import plot

        return plot({self.name: self}, metric, ax, kind)

    def save_plot(self, path: str | PathLike[str], metric: str | None = None, *, kind: str = "metric") -> None:
        """Draw as `plot` does, into a file: .png, .svg or .pdf."""
        from millstream.evaluate.plot import save

        save({self.name: self}, path, metric, kind)

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        command: str | Sequence[str] | None = None,
        title: str | None = None,
    ) -> str:
        """A page of its own: curves, confusion matrix, calibration, weights, speed, how to get it again.

        Written to `path` if given. `command` is told on the page as that which made it.
        """
        from millstream.evaluate.report import page, write

        return write(page({self.name: self}, command, title), path)

    def _repr_html_(self) -> str:
        from millstream.evaluate.report import fragment

        return fragment({self.name: self})

    def __repr__(self) -> str:
        lines = [f"{self.name}: {self.scored:,} rows scored"]
        notes = [("warm-up", self.warmup), ("unanswered", self.unanswered), ("set aside", self.skipped)]
        notes.append(("could not be read", self.unread))
        lines[0] += "".join(f", {count:,} {what}" for what, count in notes if count)
        titles = self.titles
        rows = [[titles[name], number(whole), number(recent)] for name, (whole, recent) in self.scores.items()]
        lines.append(table(["", "whole stream", f"last {self.settings.get('window', 0):,}"], rows))
        lines.append(f"{self.throughput:,.0f} rows/s, {self.seconds:.3g} s, model {amount(self.memory)}")
        if self.drifts:
            shown = ", ".join(f"{row:,}" for row in self.drifts[:8]) + (", …" if len(self.drifts) > 8 else "")
            lines.append(f"drift at {shown}")
        return "\n".join([*lines, *self.warnings])


class Results(Mapping[str, Result]):
    """What `prequential` found of several models, by name; printed best first."""

    def __init__(self, results: dict[str, Result]) -> None:
        self._results = results

    def __getitem__(self, name: str) -> Result:
        return self._results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def ranked(self, metric: str | None = None) -> list[Result]:
        """The results, best first by a metric (the first one by default)."""
        results = list(self._results.values())
        if not results:
            return []
        metric = metric or next(iter(results[0].values))
        if metric not in results[0].values:
            raise InvalidValue(f"metric must be one of {', '.join(results[0].values)}, got {quoted(metric)}")
        sign = -1.0 if results[0].bigger_is_better[metric] else 1.0

        def place(result: Result) -> float:
            value, _ = result.scores[metric]
            return sign * value if value == value else float("inf")

        return sorted(results, key=place)

    @property
    def best(self) -> Result:
        """The best by the first metric."""
        return self.ranked()[0]

    def to_frame(self, kind: str | None = None) -> Any:
        """The curves of all models below each other, with a column `model`."""
        if not self._results:
            raise InvalidType("there is no model in these results")
        results = list(self._results.values())
        names = np.concatenate([np.repeat(result.name, len(result.curve["row"])) for result in results])
        columns = {"model": names.tolist()}
        columns |= {key: np.concatenate([result.curve[key] for result in results]) for key in results[0].curve}
        return frame(columns, kind)

    def plot(self, metric: str | None = None, ax: Any = None, *, kind: str = "metric") -> Any:
        """Draw all models with matplotlib; `kind` as of a single result. Returns the axes."""
        from millstream.evaluate.plot import plot

        return plot(self._results, metric, ax, kind)

    def save_plot(self, path: str | PathLike[str], metric: str | None = None, *, kind: str = "metric") -> None:
        """Draw as `plot` does, into a file: .png, .svg or .pdf."""
        from millstream.evaluate.plot import save

        save(self._results, path, metric, kind)

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        command: str | Sequence[str] | None = None,
        title: str | None = None,
    ) -> str:
        """A page that needs nothing else: ranking, curves together, each model folded. Written to `path` if given.

        `command` is told on the page as that which made it.
        """
        from millstream.evaluate.report import page, write

        return write(page(self._results, command, title), path)

    def _repr_html_(self) -> str:
        from millstream.evaluate.report import fragment

        return fragment(self._results)

    def __repr__(self) -> str:
        ranked = self.ranked()
        if not ranked:
            return "no models"
        heads = headings(ranked)
        head = ["", *heads.values(), "rows/s", "memory"]
        rows = [
            [
                result.name,
                *(score(result, name, whole, heads) for name, (whole, _) in result.scores.items()),
                f"{result.throughput:,.0f}",
                amount(result.memory),
            ]
            for result in ranked
        ]
        return "\n".join([table(head, rows), *ranked[0].warnings])
