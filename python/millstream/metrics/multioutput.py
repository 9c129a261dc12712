"""Metrics of models with several outputs: truths and predictions are dicts from an output to its value.

They are updated in Python, one row at a time, with River's names. An output without a prediction counts as a
missing prediction.

    metric = metrics.multioutput.MacroAverage(metrics.F1())
    metric.update({"rain": True, "wind": False}, {"rain": True, "wind": True})
"""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Mapping
from typing import Any, Self

from millstream._echo import quoted
from millstream.errors import InvalidType
from millstream.metrics.confusions import PythonMetric
from millstream.metrics.labels import ConfusionMatrix

__all__ = [
    "ExactMatch",
    "MacroAverage",
    "MicroAverage",
    "MultiLabelConfusionMatrix",
    "MultiOutputMetric",
    "PerOutput",
    "SampleAverage",
]


class MultiOutputMetric(PythonMetric):
    """The base class of metrics of several outputs."""

    def works_with(self, model: Any) -> bool:
        """Whether a model predicts several outputs, as some of River's do."""
        return bool(getattr(model, "_multitarget", False) or getattr(model, "_multilabel", False)) or any(
            "MultiLabel" in base.__name__ or "MultiTarget" in base.__name__ for base in type(model).__mro__
        )

    def _outputs(self, y_true: Any, y_pred: Any, w: float) -> list[tuple[Any, Any, Any]]:
        """Name, truth and prediction of each output."""
        self._check_weight(w)
        for what, value in (("y_true", y_true), ("y_pred", y_pred)):
            if not isinstance(value, Mapping) and not (what == "y_pred" and value is None):
                who = f"metrics.multioutput.{type(self).__name__}"
                raise InvalidType(f"{who}: {what} must be a dict of outputs, got {quoted(value)}")
        predicted = {} if y_pred is None else y_pred
        return [(name, truth, predicted.get(name)) for name, truth in y_true.items()]

    @staticmethod
    def _checked(outputs: list[tuple[Any, Any, Any]], fresh: Any, w: float) -> list[tuple[Any, Any, Any]]:
        """The outputs, after a new metric has scored them: if one cannot be scored, none is."""
        for _, truth, predicted in outputs:
            fresh.update(truth, predicted, w)
        return outputs


class _Wrapper(MultiOutputMetric):
    def __init__(self, metric: Any) -> None:
        if not hasattr(metric, "update") or not hasattr(metric, "clone"):
            raise InvalidType(
                f"metrics.multioutput.{type(self).__name__}: metric must be a metric, got {quoted(metric)}"
            )
        self.metric = metric

    @property
    def bigger_is_better(self) -> bool:  # type: ignore[override]
        """Whether a larger value is better."""
        return bool(self.metric.bigger_is_better)

    def clone(self) -> Self:
        """A metric with the same parameters that has scored nothing."""
        return type(self)(self.metric.clone())

    def __repr__(self) -> str:
        inner = self.metric.copy() if hasattr(self.metric, "copy") else self.metric
        shown = format(self.get(), getattr(inner, "_format", ",.6f"))
        shown = shown.rstrip("0").rstrip(".") if "." in shown and not shown.endswith("%") else shown
        return f"{type(self).__name__}({type(self.metric).__name__}): {shown}"


class MicroAverage(_Wrapper):
    """One metric that scores all outputs.

    Parameters
    ----------
    metric
        A metric of labels or of numbers.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.multioutput.MicroAverage(metrics.MAE())
    >>> metric.update({"a": 1.0, "b": 10.0}, {"a": 2.0, "b": 13.0})
    >>> metric
    MicroAverage(MAE): 2
    """

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Score one prediction."""
        for _, truth, predicted in self._checked(self._outputs(y_true, y_pred, w), self.metric.clone(), w):
            self.metric.update(truth, predicted, w)

    def get(self) -> float:
        """The value."""
        return float(self.metric.get())


class _EachOutput(_Wrapper):
    """A copy of a metric for each output."""

    def __init__(self, metric: Any) -> None:
        super().__init__(metric)
        #: The metric of each output, by name.
        self.metrics: dict[Any, Any] = {}

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Score one prediction."""
        for name, truth, predicted in self._checked(self._outputs(y_true, y_pred, w), self.metric.clone(), w):
            if name not in self.metrics:
                self.metrics[name] = self.metric.clone()
            self.metrics[name].update(truth, predicted, w)


class MacroAverage(_EachOutput):
    """The mean of a metric over the outputs.

    Parameters
    ----------
    metric
        A metric of labels or of numbers.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.multioutput.MacroAverage(metrics.Accuracy())
    >>> metric.update({"rain": True, "wind": False}, {"rain": True, "wind": True})
    >>> metric
    MacroAverage(Accuracy): 50.00%
    """

    def get(self) -> float:
        """The value; 0 before the first outcome."""
        return statistics.mean(float(each.get()) for each in self.metrics.values()) if self.metrics else 0.0


class PerOutput(_EachOutput):
    """A metric for each output.

    Parameters
    ----------
    metric
        A metric of labels or of numbers.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.multioutput.PerOutput(metrics.MAE())
    >>> metric.update({"a": 1.0, "b": 10.0}, {"a": 2.0, "b": 13.0})
    >>> metric
    a - MAE: 1
    b - MAE: 3
    """

    def get(self) -> Any:
        """The metrics by output."""
        return dict(self.metrics)

    def __repr__(self) -> str:
        return "\n".join(f"{name} - {metric}" for name, metric in self.metrics.items())


class SampleAverage(_Wrapper):
    """The mean over rows of a metric that scores the outputs of one row.

    Parameters
    ----------
    metric
        A metric of labels or of numbers.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.multioutput.SampleAverage(metrics.Accuracy())
    >>> metric.update({"rain": True, "wind": False}, {"rain": True, "wind": True})
    >>> metric.update({"rain": True, "wind": False}, {"rain": True, "wind": False})
    >>> metric
    SampleAverage(Accuracy): 75.00%
    """

    def __init__(self, metric: Any) -> None:
        super().__init__(metric)
        self._sum = self._weight = 0.0

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Score one prediction."""
        row = self.metric.clone()
        for _, truth, predicted in self._outputs(y_true, y_pred, w):
            row.update(truth, predicted)
        self._sum += w * float(row.get())
        self._weight += w

    def get(self) -> float:
        """The value; 0 before the first outcome."""
        return self._sum / self._weight if self._weight else 0.0


class ExactMatch(MultiOutputMetric):
    """Fraction of rows whose outputs are all predicted correctly.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.multioutput.ExactMatch()
    >>> metric.update({"rain": True, "wind": False}, {"rain": True, "wind": True})
    >>> metric.update({"rain": True, "wind": False}, {"rain": True, "wind": False})
    >>> metric
    ExactMatch: 50.00%
    """

    def __init__(self) -> None:
        self._hits = self._weight = 0.0

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Score one prediction."""
        outputs = self._outputs(y_true, y_pred, w)
        self._hits += w * all(_label(predicted) == truth for _, truth, predicted in outputs)
        self._weight += w

    def get(self) -> float:
        """The value; 0 before the first outcome."""
        return self._hits / self._weight if self._weight else 0.0

    def clone(self) -> Self:
        """A metric that has scored nothing."""
        return type(self)()


class MultiLabelConfusionMatrix(MultiOutputMetric):
    """A confusion matrix for each output. Its value is the mean of their accuracies.

    Examples
    --------
    >>> from millstream import metrics
    >>> matrix = metrics.multioutput.MultiLabelConfusionMatrix()
    >>> matrix.update({"rain": True, "wind": False}, {"rain": True, "wind": True})
    >>> matrix.data["wind"][False][True]
    1.0
    """

    def __init__(self) -> None:
        #: The confusion matrix of each output, by name.
        self.data: dict[Any, ConfusionMatrix] = {}

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Count one prediction."""
        for name, truth, predicted in self._checked(self._outputs(y_true, y_pred, w), ConfusionMatrix(), w):
            if name not in self.data:
                self.data[name] = ConfusionMatrix()
            self.data[name].update(truth, predicted, w)

    def get(self) -> float:
        """The mean accuracy of the outputs; 0 before the first outcome."""
        return statistics.mean(each.get() for each in self.data.values()) if self.data else 0.0

    def clone(self) -> Self:
        """A matrix that has counted nothing."""
        return type(self)()

    def __repr__(self) -> str:
        return "\n\n".join(f"{name}\n{textwrap.indent(repr(each), '    ')}" for name, each in self.data.items())


def _label(predicted: Any) -> Any:
    """A label, or the most probable of a dict of probabilities."""
    if isinstance(predicted, Mapping):
        return max(predicted, key=predicted.__getitem__) if predicted else None
    return predicted
