"""Results of an evaluation, of one model and of several."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from millstream._echo import plain, quoted
from millstream.errors import InvalidType, InvalidValue
from millstream.evaluate.beyond_limits import beyond_limits
from millstream.evaluate.calibration import Calibration
from millstream.evaluate.clusters import Clusters
from millstream.evaluate.constants import base_rates, constant_scores, percent, rare_class, target_line
from millstream.evaluate.differences import Differences, differences, verdict
from millstream.evaluate.frames import amount, frame, number, table
from millstream.evaluate.headings import headings, score
from millstream.evaluate.residuals import Residuals
from millstream.evaluate.stream_sample import StreamSample
from millstream.evaluate.weights import Weights, weights_of
from millstream.metrics.positive import LONGEST_LABEL, missing_positive, positive_class, with_positive

__all__ = ["Confusion", "Result", "Results"]

#: Metrics that a rare class does not flatter.
_FOR_RARE = (
    "metrics.PRAUC",
    "metrics.ROCAUC",
    "metrics.F1",
    "metrics.FBeta",
    "metrics.Precision",
    "metrics.Recall",
)


@dataclass(frozen=True)
class Confusion:
    """Confusion matrix: weight of rows by true class (rows) and predicted class (columns)."""

    labels: list[Any]
    matrix: Any

    def __getitem__(self, pair: tuple[Any, Any]) -> float:
        truth, predicted = pair
        return float(self.matrix[self.labels.index(truth), self.labels.index(predicted)])

    def to_frame(self, kind: str | None = None) -> Any:
        """The matrix as a frame with a column per predicted class."""
        columns = {"truth": list(self.labels)}
        columns |= {f"predicted {label}": self.matrix[:, place] for place, label in enumerate(self.labels)}
        return frame(columns, kind)

    def __repr__(self) -> str:
        names = [plain(label, LONGEST_LABEL) for label in self.labels]
        head = ["truth \\ predicted", *names]
        rows = [[name, *(f"{cell:,.6g}" for cell in self.matrix[place])] for place, name in enumerate(names)]
        return table(head, rows)


@dataclass
class Result:
    """Result of `prequential` for one model.

    `metrics` holds the metrics as objects and `values` their numbers, both by name; `result["Accuracy"]` is short
    for `result.values["Accuracy"]`. The columns of `curve` are `row` (number of labels that had arrived), each
    metric over all rows, `rolling_…` each over the window, `seconds`, `memory` of the model in bytes, and
    `waiting`, the number of predicted rows whose labels had not arrived. The memory of a model in Python is
    counted at a few points, and between them it is that of the last count.
    """

    model: Any
    name: str
    metrics: dict[str, Any]
    values: dict[str, float]
    bigger_is_better: dict[str, bool]
    curve: dict[str, Any]
    #: None for a regressor, and for more than 1,000 classes.
    confusion: Confusion | None
    #: None unless a metric uses probabilities (LogLoss, ROCAUC, …).
    calibration: Calibration | None
    #: None for a classifier.
    residuals: Residuals | None
    #: Rows at which the detector, or a `drift.Monitor` beside the model, detected drift. Decreasing errors do not
    #: count.
    drifts: list[int]
    #: Number of rows of the stream.
    rows: int
    #: Number of scored rows.
    scored: int
    #: Number of learned rows, including the warm-up.
    learned: int
    #: Number of warm-up rows, which are not scored.
    warmup: int
    #: Number of rows without a prediction, because the model had learned nothing yet; they are not scored.
    unanswered: int
    #: Number of skipped rows, which the model could not predict or learn.
    skipped: int
    #: The first skipped rows, with the reasons.
    refusals: list[tuple[int, str]]
    #: Seconds that the model took to predict, be scored and learn, without reading the stream.
    seconds: float
    #: Memory of the model at the end, in bytes.
    memory: int
    settings: dict[str, Any] = field(default_factory=dict)
    #: Whether the run was stopped before the end of the stream.
    interrupted: bool = False
    #: None unless the model is a clusterer.
    clusters: Clusters | None = None
    #: Number of rows whose labels had not arrived when the run was stopped; they were not learned.
    waiting: int = 0
    #: Seconds of wall-clock time of the whole run, including reading and the other models.
    elapsed: float = 0.0
    #: Number of lines or rows that could not be read in the last pass; `rows` does not include them.
    unread: int = 0
    #: Reasons for the first of them.
    unread_reasons: list[str] = field(default_factory=list)
    #: The name of the target, if it has one.
    target: str | None = None
    #: Whether the rows had weights.
    weighted: bool = False
    #: The profile of the stream, if it has one, as on the command line.
    profile: Any = None
    #: Times, targets and features of some rows of the stream.
    sample: StreamSample | None = None
    #: Further warnings for the report, such as those that the command line printed.
    notes: list[str] = field(default_factory=list)

    @property
    def positive(self) -> dict[str, Any]:
        """The positive class of each metric that has one, by metric name."""
        found = {name: positive_class(metric) for name, metric in self.metrics.items()}
        return {name: positive for name, positive in found.items() if positive is not None}

    @property
    def titles(self) -> dict[str, str]:
        """Each metric with its positive class, such as "F1 (positive=True)", by metric name."""
        positive = self.positive
        return {name: with_positive(name, positive.get(name)) for name in self.metrics}

    @property
    def warnings(self) -> list[str]:
        """Warnings about uninformative metrics (rare classes, several passes) and limits of the model."""
        found = [missing_positive(name, metric) for name, metric in self.metrics.items()]
        rare = rare_class(self)
        if rare is not None and not any(
            getattr(each, "name", None) in _FOR_RARE for each in self.metrics.values()
        ):
            shown = f"only {percent(rare[1])} of the rows are {plain(rare[0], LONGEST_LABEL)}"
            found.append(f"{shown}, so a constant guess has a high accuracy; see the metrics PRAUC and ROCAUC")
        passes = self.settings.get("passes", 1)
        if passes > 1:
            found.append(f"{passes} passes: after the first pass, the scored rows were learned before")
        found += beyond_limits(self.model)
        return [line for line in found if line is not None]

    @property
    def base_rates(self) -> dict[Any, float]:
        """The fraction of the scored rows by class, most frequent first; empty for regressors."""
        return base_rates(self)

    # A report reads it in each chart and table, and it scores up to 20 constants for each metric.
    @cached_property
    def constant(self) -> dict[str, float]:
        """The score of the best constant prediction in hindsight, by metric name.

        For classifiers it is the best single class, or the frequencies of the classes as probabilities. For
        regressors it is computed from the sample in `residuals`. Metrics for which it is not defined are absent.
        """
        return constant_scores(self)

    @property
    def scores(self) -> dict[str, tuple[float, float]]:
        """Each metric over all rows and over the window, by name; NaN where nothing was scored."""
        if not self.scored:
            return dict.fromkeys(self.values, (math.nan, math.nan))
        recent = {name: self.curve[f"rolling_{name}"] for name in self.values}
        return {
            name: (value, float(recent[name][-1]) if len(recent[name]) else math.nan)
            for name, value in self.values.items()
        }

    @property
    def throughput(self) -> float:
        """Rows per second of the model alone, based on `seconds`."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0

    @property
    def metric(self) -> Any:
        """The first metric, as an object."""
        return next(iter(self.metrics.values()))

    @property
    def drawn(self) -> slice:
        """The points of the curve to draw: those after the first scored row."""
        return slice(int(np.searchsorted(self.curve["row"], self.warmup + self.unanswered, side="right")), None)

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def to_frame(self, kind: str | None = None) -> Any:
        """The curve as a frame of "pandas", "polars" or "pyarrow"; by default of the first that is installed.

        If metrics have a positive class, the last column `positive` names it. If it differs between metrics, the
        column names it for each: "F1=yes, Recall=no". A pandas frame also has it in `attrs["positive"]`, by metric
        name.
        """
        columns = dict(self.curve)
        positive = self.positive
        if positive:
            columns["positive"] = [_common(positive)] * len(self.curve["row"])
        return _with_attributes(frame(columns, kind), {"positive": positive} if positive else {})

    @property
    def weights(self) -> Weights | None:
        """Weights or importances of the features in the current model; None if it has none."""
        return weights_of(self.model)

    def plot(self, metric: str | None = None, ax: Any = None, *, kind: str = "metric") -> Any:
        """Plot with matplotlib; returns the axes.

        `kind` is "metric" (rolling, all rows, drifts), "confusion", "calibration", "residuals", "weights",
        "waiting", "speed" or "memory".
        """
        from millstream.evaluate.plot import plot

        return plot({self.name: self}, metric, ax, kind)

    def save_plot(self, path: str | PathLike[str], metric: str | None = None, *, kind: str = "metric") -> None:
        """Save the plot to a file: .png, .svg or .pdf."""
        from millstream.evaluate.plot import save

        save({self.name: self}, path, metric, kind)

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        command: str | Sequence[str] | None = None,
        title: str | None = None,
    ) -> str:
        """A self-contained HTML report: curves, confusion matrix, calibration, weights, speed, call.

        It is written to `path` if given. `command` is shown in the report as the command that created it.
        """
        from millstream.evaluate.report import page, write

        return write(page({self.name: self}, command, title), path)

    def _repr_html_(self) -> str:
        from millstream.evaluate.report import summary

        return summary({self.name: self})

    def report(self) -> Any:
        """The whole report in a notebook, which otherwise shows a summary; `to_html` writes it to a file."""
        from millstream.evaluate.report import Report, fragment

        return Report(fragment({self.name: self}))

    def __repr__(self) -> str:
        lines = [f"{self.name}: {self.scored:,} {'row' if self.scored == 1 else 'rows'} scored"]
        notes = [("warm-up", self.warmup), ("without a prediction", self.unanswered)]
        notes += [("skipped", self.skipped), ("could not be read", self.unread)]
        lines[0] += "".join(f", {count:,} {what}" for what, count in notes if count)
        titles, constant = self.titles, self.constant
        rows = [
            [titles[name], number(whole), number(recent), number(constant.get(name, math.nan))]
            for name, (whole, recent) in self.scores.items()
        ]
        head = ["", "all rows", f"last {self.settings.get('window', 0):,}", "best constant"]
        lines.append(table(head if constant else head[:3], rows if constant else [row[:3] for row in rows]))
        if line := target_line(self):
            lines.append(line)
        lines.append(f"{self.throughput:,.0f} rows/s, {self.seconds:.3g} s, model {amount(self.memory)}")
        if self.drifts:
            shown = ", ".join(f"{row:,}" for row in self.drifts[:8]) + (", …" if len(self.drifts) > 8 else "")
            lines.append(f"drift at {shown}")
        return "\n".join([*lines, *self.warnings])


def _common(positive: dict[str, Any]) -> Any:
    """The positive class of all metrics that have one, or each of them if they differ."""
    classes = list(positive.values())
    if all(label == classes[0] and type(label) is type(classes[0]) for label in classes):
        return classes[0] if classes else None
    return ", ".join(f"{name}={label}" for name, label in positive.items())


def _with_attributes(made: Any, attributes: dict[str, Any]) -> Any:
    """A frame with attributes, if it can have any."""
    if attributes and hasattr(made, "attrs"):
        made.attrs.update(attributes)
    return made


class Results(Mapping[str, Result]):
    """Results of `prequential` for several models, by name; the best is printed first."""

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

    def differences(self, metric: str | None = None, level: float = 0.95) -> Differences | None:
        """Differences between the best model and each other model, with simultaneous intervals for all pairs.

        The losses of all models are compared in 20 blocks of consecutive rows (batch means), because rows near
        each other are not independent. None if the metric is not a mean over rows (Accuracy, Brier, LogLoss, MAE,
        MSE and RMSE are), the rows have weights, or the curve has fewer than 20 points of scored rows.

        Parameters
        ----------
        metric
            The metric; by default the first one.
        level
            Probability that all intervals contain the true differences.

        References
        ----------
        Conway, R. W. (1963). Some tactical problems in digital simulation. Management Science.
        """
        return differences(self, metric, level)

    def to_frame(self, kind: str | None = None) -> Any:
        """The curves of all models as one frame, with a column `model`.

        The positive class is named as in `Result.to_frame`; `attrs["positive"]` has it by model and metric name.
        """
        if not self._results:
            raise InvalidType("the results contain no model")
        results = list(self._results.values())
        names = np.concatenate([np.repeat(result.name, len(result.curve["row"])) for result in results])
        columns = {"model": names.tolist()}
        columns |= {key: np.concatenate([result.curve[key] for result in results]) for key in results[0].curve}
        positive = {result.name: result.positive for result in results}
        if not any(positive.values()):
            return frame(columns, kind)
        classes = [_common(result.positive) for result in results]
        if len({type(label) for label in classes}) > 1:
            # The column of a frame has one type.
            classes = [None if label is None else str(label) for label in classes]
        columns["positive"] = [
            label for label, result in zip(classes, results, strict=True) for _ in range(len(result.curve["row"]))
        ]
        return _with_attributes(frame(columns, kind), {"positive": positive})

    def plot(self, metric: str | None = None, ax: Any = None, *, kind: str = "metric") -> Any:
        """Plot all models with matplotlib; `kind` is that of `Result.plot`. Returns the axes."""
        from millstream.evaluate.plot import plot

        return plot(self._results, metric, ax, kind)

    def save_plot(self, path: str | PathLike[str], metric: str | None = None, *, kind: str = "metric") -> None:
        """Save the plot to a file: .png, .svg or .pdf."""
        from millstream.evaluate.plot import save

        save(self._results, path, metric, kind)

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        command: str | Sequence[str] | None = None,
        title: str | None = None,
    ) -> str:
        """A self-contained HTML report: ranking, common curves, and a collapsed section per model.

        It is written to `path` if given. `command` is shown in the report as the command that created it.
        """
        from millstream.evaluate.report import page, write

        return write(page(self._results, command, title), path)

    def _repr_html_(self) -> str:
        from millstream.evaluate.report import summary

        return summary(self._results)

    def report(self) -> Any:
        """The whole report in a notebook, which otherwise shows a summary; `to_html` writes it to a file."""
        from millstream.evaluate.report import Report, fragment

        return Report(fragment(self._results))

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
        constant = ranked[0].constant
        if constant:
            shown = [number(constant.get(name, math.nan)) for name in ranked[0].values]
            rows.append(["best constant", *shown, "", ""])
        told = verdict(self)
        lines = [table(head, rows), target_line(ranked[0]), told]
        return "\n".join([*filter(None, lines), *ranked[0].warnings])
