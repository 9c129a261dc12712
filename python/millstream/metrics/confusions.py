"""Label metrics that are formulas of a confusion matrix, in Python.

They keep the weight of each pair of true and predicted class, so an update costs a dict access and a value a pass
over the matrix. `evaluate.prequential` computes them in a Python loop; the compiled metrics of `metrics.labels`
are faster.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, Self

from millstream._echo import quoted
from millstream.errors import InvalidValue

__all__ = [
    "MCC",
    "RMSLE",
    "GeometricMean",
    "Jaccard",
    "MacroJaccard",
    "MicroJaccard",
    "MultiFBeta",
    "MutualInfo",
    "PythonMetric",
    "WeightedJaccard",
]


class PythonMetric:
    """The base class of metrics in Python: `update`, `get`, copies and a representation."""

    role = "metric"
    bigger_is_better = True
    _format = ".2%"

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Score one prediction."""
        raise NotImplementedError

    def get(self) -> float:
        """The value."""
        raise NotImplementedError

    def clone(self) -> Self:
        """A metric with the same parameters that has scored nothing."""
        raise NotImplementedError

    def _check_weight(self, w: float) -> None:
        if not (math.isfinite(w) and w >= 0.0):
            raise InvalidValue(f"metrics.{type(self).__name__}: w must be finite and at least 0, got {quoted(w)}")

    def copy(self) -> Self:
        """An independent copy."""
        return copy.deepcopy(self)

    def is_better_than(self, other: Any) -> bool:
        """Whether its value is better than that of another metric of the same kind."""
        return bool(self.get() > other.get() if self.bigger_is_better else self.get() < other.get())

    def __gt__(self, other: Any) -> bool:
        return self.is_better_than(other)

    def __add__(self, other: Any) -> Any:
        from millstream.metrics.together import Metrics

        return Metrics([self, other])

    def __repr__(self) -> str:
        text = format(self.get(), self._format)
        text = text.rstrip("0").rstrip(".") if "." in text and not text.endswith("%") else text
        return f"{type(self).__name__}: {text}"


class _OfConfusion(PythonMetric):
    """A formula of the weights of pairs of true and predicted classes."""

    def __init__(self) -> None:
        self._pairs: Counter[tuple[Any, Any]] = Counter()
        self._rows: Counter[Any] = Counter()
        self._columns: Counter[Any] = Counter()

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Score one prediction: a label, or a dict of probabilities, of which the most probable label counts."""
        if isinstance(y_pred, Mapping):
            y_pred = max(y_pred, key=y_pred.__getitem__) if y_pred else None
        self._check_weight(w)
        if w == 0.0:
            return
        self._pairs[y_true, y_pred] += w  # type: ignore[assignment]
        self._rows[y_true] += w  # type: ignore[assignment]
        self._columns[y_pred] += w  # type: ignore[assignment]

    def clone(self) -> Self:
        """A metric with the same parameters that has scored nothing."""
        other = copy.deepcopy(self)
        for counts in (other._pairs, other._rows, other._columns):
            counts.clear()
        return other

    @property
    def _classes(self) -> list[Any]:
        return list(dict.fromkeys([*self._rows, *self._columns]))

    def _hits(self, label: Any) -> tuple[float, float, float]:
        """True positives, false positives and false negatives of a class."""
        hits = float(self._pairs.get((label, label), 0.0))
        return hits, self._columns.get(label, 0.0) - hits, self._rows.get(label, 0.0) - hits

    def _overlap(self, label: Any) -> float:
        return _ratio(self._hits(label)[0], sum(self._hits(label)))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


class MCC(_OfConfusion):
    """Matthews correlation coefficient: the correlation of the true with the predicted class, from -1 to 1.

    Choose it for two classes of very different size, because it needs all four cells of the confusion matrix to be
    good.

    Parameters
    ----------
    pos_val
        The positive class.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.MCC()
    >>> for y_true, y_pred in zip([True, True, False, False], [True, False, False, False]):
    ...     metric.update(y_true, y_pred)
    >>> metric
    MCC: 0.57735

    References
    ----------
    Matthews, B. W. (1975). Comparison of the predicted and observed secondary structure of T4 phage lysozyme.
    Biochimica et Biophysica Acta 405.
    """

    _format = ".6f"

    def __init__(self, pos_val: Any = True) -> None:
        super().__init__()
        self.pos_val = pos_val

    def get(self) -> float:
        """The value; 0 while a class is absent from truths or predictions."""
        hits, alarms, misses = self._hits(self.pos_val)
        rest = sum(self._rows.values()) - hits - alarms - misses
        scale = (hits + alarms) * (hits + misses) * (rest + alarms) * (rest + misses)
        return (hits * rest - alarms * misses) / math.sqrt(scale) if scale > 0.0 else 0.0


class Jaccard(_OfConfusion):
    """Jaccard index: the fraction of true positives among all rows that are positive or predicted positive.

    Parameters
    ----------
    pos_val
        The positive class.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.Jaccard()
    >>> for y_true, y_pred in zip([True, True, False], [True, False, True]):
    ...     metric.update(y_true, y_pred)
    >>> metric
    Jaccard: 33.33%
    """

    def __init__(self, pos_val: Any = True) -> None:
        super().__init__()
        self.pos_val = pos_val

    def get(self) -> float:
        """The value."""
        return self._overlap(self.pos_val)


class MacroJaccard(_OfConfusion):
    """The mean of the Jaccard indices of all classes.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.MacroJaccard()
    >>> for y_true, y_pred in zip([0, 1, 1], [0, 0, 1]):
    ...     metric.update(y_true, y_pred)
    >>> metric
    MacroJaccard: 50.00%
    """

    def get(self) -> float:
        """The value."""
        return _ratio(sum(map(self._overlap, self._classes)), len(self._classes))


class MicroJaccard(_OfConfusion):
    """The Jaccard index of all classes together: right predictions over right ones and twice the wrong ones.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.MicroJaccard()
    >>> for y_true, y_pred in zip([0, 1, 1], [0, 0, 1]):
    ...     metric.update(y_true, y_pred)
    >>> metric
    MicroJaccard: 50.00%
    """

    def get(self) -> float:
        """The value."""
        found = [self._hits(label) for label in self._classes]
        return _ratio(sum(hits for hits, _, _ in found), sum(map(sum, found)))


class WeightedJaccard(_OfConfusion):
    """The mean of the Jaccard indices of all classes, weighted by their number of rows.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.WeightedJaccard()
    >>> for y_true, y_pred in zip([0, 1, 1], [0, 0, 1]):
    ...     metric.update(y_true, y_pred)
    >>> metric
    WeightedJaccard: 50.00%
    """

    def get(self) -> float:
        """The value."""
        total = sum(self._rows.values())
        return _ratio(sum(count * self._overlap(label) for label, count in self._rows.items()), total)


class GeometricMean(_OfConfusion):
    """The geometric mean of the recalls of all classes: 0 if the recall of one class is 0.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.GeometricMean()
    >>> for y_true, y_pred in zip([0, 1, 1], [0, 0, 1]):
    ...     metric.update(y_true, y_pred)
    >>> metric
    GeometricMean: 70.71%

    References
    ----------
    Kubat, M. and Matwin, S. (1997). Addressing the curse of imbalanced training sets. ICML.
    """

    def get(self) -> float:
        """The value."""
        recalls = [self._hits(label)[0] / count for label, count in self._rows.items() if count > 0]
        if not recalls or min(recalls) <= 0.0:
            return 0.0
        return math.exp(sum(map(math.log, recalls)) / len(recalls))


class MultiFBeta(_OfConfusion):
    """The weighted mean of the F-beta scores of all classes, each with its own beta.

    Parameters
    ----------
    betas
        Beta by class: how much more recall counts than precision.
    weights
        Weight by class; 1 for classes that are not listed.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.MultiFBeta({0: 1.0, 1: 2.0})
    >>> for y_true, y_pred in zip([0, 1, 1], [0, 0, 1]):
    ...     metric.update(y_true, y_pred)
    >>> metric
    MultiFBeta: 61.11%
    """

    def __init__(self, betas: Mapping[Any, float], weights: Mapping[Any, float] | None = None) -> None:
        super().__init__()
        self.betas, self.weights = dict(betas), dict(weights or {})

    def get(self) -> float:
        """The value."""
        total = scale = 0.0
        for label in self._classes:
            if label not in self.betas:
                raise InvalidValue(f"metrics.MultiFBeta: betas must name each class, {quoted(label)} is missing")
            square = self.betas[label] ** 2
            hits, alarms, misses = self._hits(label)
            weight = self.weights.get(label, 1.0)
            # (1 + b²) p r / (b² p + r), in counts.
            total += weight * _ratio((1.0 + square) * hits, (1.0 + square) * hits + square * misses + alarms)
            scale += weight
        return _ratio(total, scale)


class MutualInfo(_OfConfusion):
    """The mutual information of clusters and classes in nats; `NormalizedMutualInfo` is between 0 and 1.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.MutualInfo()
    >>> for y_true, y_pred in zip([1, 1, 2, 2], [5, 5, 7, 7]):
    ...     metric.update(y_true, y_pred)
    >>> metric
    MutualInfo: 0.693147
    """

    _format = ".6f"

    def get(self) -> float:
        """The value."""
        total = float(sum(self._rows.values()))
        found = 0.0
        for (truth, cluster), count in self._pairs.items():
            if count > 0:
                found += count / total * math.log(count * total / (self._rows[truth] * self._columns[cluster]))
        return max(found, 0.0)


class RMSLE(PythonMetric):
    """The root of the mean squared difference of logarithms: log(1 + prediction) - log(1 + truth).

    Choose it for amounts over several orders of magnitude, where the ratio counts. Both numbers must be above -1.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.RMSLE()
    >>> for y_true, y_pred in zip([9.0, 99.0], [99.0, 99.0]):
    ...     metric.update(y_true, y_pred)
    >>> metric
    RMSLE: 1.628174
    """

    bigger_is_better = False
    _format = ".6f"

    def __init__(self) -> None:
        self._weight = self._squares = 0.0

    def update(self, y_true: float, y_pred: float, w: float = 1.0) -> None:
        """Score one prediction."""
        self._check_weight(w)
        if not (-1.0 < y_true < math.inf and -1.0 < y_pred < math.inf):
            given = f"{quoted(y_true)} and {quoted(y_pred)}"
            raise InvalidValue(f"metrics.RMSLE: truth and prediction must be finite and above -1, got {given}")
        self._squares += w * (math.log1p(y_pred) - math.log1p(y_true)) ** 2
        self._weight += w

    def clone(self) -> Self:
        """A metric that has scored nothing."""
        return type(self)()

    def get(self) -> float:
        """The value."""
        return math.sqrt(_ratio(self._squares, self._weight))
