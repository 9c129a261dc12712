"""Metrics of class labels."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from millstream._echo import plain
from millstream._part import forwarded
from millstream.base import Label
from millstream.metrics.base import Metric
from millstream.metrics.positive import LONGEST_LABEL

__all__ = [
    "F1",
    "Accuracy",
    "BalancedAccuracy",
    "CohenKappa",
    "ConfusionMatrix",
    "FBeta",
    "KappaM",
    "KappaTemporal",
    "Precision",
    "Recall",
]


class Accuracy(Metric):
    """Fraction of correct predictions. Suitable for balanced classes.

    A prediction of None counts as wrong.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.Accuracy()
    >>> metric.update_many(["a", "b", "b"], ["a", "b", "a"])
    >>> metric
    Accuracy: 66.67%
    """

    name = "metrics.Accuracy"

    @forwarded
    def __init__(self) -> None: ...


class BalancedAccuracy(Metric):
    """Mean recall of the classes that occurred as truth: accuracy with equal weights of the classes.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.BalancedAccuracy()
    >>> metric.update_many([1, 0, 0, 0], [1, 0, 0, 1])
    >>> metric
    BalancedAccuracy: 83.33%

    References
    ----------
    Brodersen, K. H. et al. (2010). The balanced accuracy and its posterior distribution.
    """

    name = "metrics.BalancedAccuracy"

    @forwarded
    def __init__(self) -> None: ...


class Precision(Metric):
    """Fraction of positive predictions that are correct. Suitable if false positives are costly.

    Parameters
    ----------
    pos_val
        The positive class. None selects True, 1 of the labels 0 and 1 or −1 and 1, or else the rarest class.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.Precision()
    >>> metric.update_many([True, False, True], [True, True, True])
    >>> metric
    Precision (positive=True): 66.67%
    """

    name = "metrics.Precision"

    @forwarded
    def __init__(self, pos_val: Label | None = None) -> None: ...


class Recall(Metric):
    """Fraction of positives that are predicted as positive. Suitable if false negatives are costly.

    Parameters
    ----------
    pos_val
        The positive class. None selects True, 1 of the labels 0 and 1 or −1 and 1, or else the rarest class.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.Recall(pos_val="spam")
    >>> metric.update_many(["spam", "spam", "ham"], ["spam", "ham", "ham"])
    >>> metric
    Recall (positive=spam): 50.00%
    """

    name = "metrics.Recall"

    @forwarded
    def __init__(self, pos_val: Label | None = None) -> None: ...


class FBeta(Metric):
    """Weighted harmonic mean of precision and recall, in which recall has `beta` times the importance.

    Parameters
    ----------
    beta
        Weight of recall relative to precision.
    pos_val
        The positive class. None selects True, 1 of the labels 0 and 1 or −1 and 1, or else the rarest class.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.FBeta(beta=2.0)
    >>> metric.update_many([True, False, True, True], [True, True, False, True])
    >>> metric
    FBeta (positive=True): 66.67%

    References
    ----------
    van Rijsbergen, C. J. (1979). Information retrieval.
    """

    name = "metrics.FBeta"

    @forwarded
    def __init__(self, beta: float, pos_val: Label | None = None) -> None: ...


class F1(Metric):
    """Harmonic mean of precision and recall. Suitable for a rare positive class.

    Parameters
    ----------
    pos_val
        The positive class. None selects True, 1 of the labels 0 and 1 or −1 and 1, or else the rarest class.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.F1()
    >>> metric.update_many([True, False, True, True], [True, True, False, True])
    >>> metric
    F1 (positive=True): 66.67%
    """

    name = "metrics.F1"

    @forwarded
    def __init__(self, pos_val: Label | None = None) -> None: ...


class CohenKappa(Metric):
    """Cohen's kappa: accuracy relative to chance agreement with the same class frequencies; 0 is no better.

    Also known as `metrics.Kappa`.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.CohenKappa()
    >>> metric.update_many(["cat", "ant", "cat", "cat", "ant", "bird"], ["ant", "ant", "cat", "cat", "ant", "cat"])
    >>> metric
    CohenKappa: 42.86%

    References
    ----------
    Cohen, J. (1960). A coefficient of agreement for nominal scales.
    """

    name = "metrics.CohenKappa"

    @forwarded
    def __init__(self) -> None: ...


class KappaM(Metric):
    """Accuracy relative to always predicting the majority class; 0 is no better, below 0 is worse.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.KappaM()
    >>> metric.update_many([1, 1, 1, 0], [1, 1, 1, 1])
    >>> metric
    KappaM: 0.00%

    References
    ----------
    Bifet, A. et al. (2015). Efficient online evaluation of big data stream classifiers.
    """

    name = "metrics.KappaM"

    @forwarded
    def __init__(self) -> None: ...


class KappaTemporal(Metric):
    """Accuracy relative to predicting the previous label (persistence); 0 is no better, below 0 is worse.

    Suitable if labels come in runs, because persistence is then a strong baseline. Persistence counts as wrong at
    the first label. Also known as `metrics.KappaT`.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.KappaTemporal()
    >>> metric.update_many([0, 0, 1, 1], [0, 0, 1, 0])
    >>> metric
    KappaTemporal: 50.00%

    References
    ----------
    Žliobaitė, I. et al. (2015). Evaluation methods and decision theory for classification of streaming data
    with temporal dependence.
    """

    name = "metrics.KappaTemporal"

    @forwarded
    def __init__(self) -> None: ...


class ConfusionMatrix(Metric):
    """Confusion matrix: weight of outcomes by true and predicted class. Its value (`get`) is the accuracy.

    `matrix[truth][prediction]` is a sum of weights; the key None is that of missing predictions.

    Examples
    --------
    >>> from millstream import metrics
    >>> matrix = metrics.ConfusionMatrix()
    >>> matrix.update_many(["cat", "ant", "cat", "cat", "ant", "bird"], ["ant", "ant", "cat", "cat", "ant", "cat"])
    >>> matrix
          ant  bird  cat
     ant    2     0    0
    bird    0     0    1
     cat    1     0    2
    >>> matrix["bird"]["cat"]
    1.0
    """

    name = "metrics.ConfusionMatrix"

    @forwarded
    def __init__(self) -> None: ...

    def _sums(self) -> tuple[list[Any], dict[str, Any]]:
        return self._labels(), json.loads(self._inspect())

    @property
    def classes(self) -> list[Label]:
        """The labels that occurred as truth or prediction, in order of appearance."""
        labels, sums = self._sums()
        return [
            label
            for code, label in enumerate(labels[: len(sums["truth"])])
            if label is not None and (sums["truth"][code] or sums["predicted"][code])
        ]

    @property
    def total_weight(self) -> float:
        """The sum of all weights."""
        return float(self._sums()[1]["total"])

    @property
    def data(self) -> dict[Label, dict[Label | None, float]]:
        """The matrix as dicts: truth, then prediction."""
        labels, sums = self._sums()
        rows: dict[Label, dict[Label | None, float]] = {}
        for truth, predicted, weight in sums["cells"]:
            rows.setdefault(labels[truth], {})[None if predicted is None else labels[predicted]] = weight
        return rows

    def __getitem__(self, truth: Label) -> dict[Label | None, float]:
        row: dict[Label | None, float] = dict.fromkeys(self.classes, 0.0)
        row.update(self.data.get(truth, {}))
        return row

    def to_numpy(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Rows by truth, columns by prediction, in the order of `classes`."""
        data, classes = self.data, self.classes
        cells = [[data.get(truth, {}).get(predicted, 0.0) for predicted in classes] for truth in classes]
        return np.array(cells, dtype=np.float64).reshape(len(classes), len(classes))

    def _margin(self, kind: str, label: Label) -> float:
        labels, sums = self._sums()
        return float(sums[kind][labels.index(label)]) if label in labels[: len(sums[kind])] else 0.0

    def support(self, label: Label) -> float:
        """Weight of outcomes with truth `label`."""
        return self._margin("truth", label)

    def true_positives(self, label: Label) -> float:
        """Weight of outcomes with truth and prediction `label`."""
        return self._margin("correct", label)

    def false_positives(self, label: Label) -> float:
        """Weight of outcomes with prediction `label` and another truth."""
        return self._margin("predicted", label) - self._margin("correct", label)

    def false_negatives(self, label: Label) -> float:
        """Weight of outcomes with truth `label` and another prediction."""
        return self._margin("truth", label) - self._margin("correct", label)

    def true_negatives(self, label: Label) -> float:
        """Weight of outcomes with neither truth nor prediction `label`."""
        return self.total_weight - self._margin("truth", label) - self.false_positives(label)

    def __repr__(self) -> str:
        classes = sorted(self.classes, key=lambda label: (isinstance(label, str), label))
        if not classes:
            return "ConfusionMatrix: empty"
        data = self.data
        names = [plain(label, LONGEST_LABEL) for label in classes]
        table = [["", *names]]
        for truth, name in zip(classes, names, strict=True):
            row = data.get(truth, {})
            table.append([name, *(f"{row.get(predicted, 0.0):,.10g}" for predicted in classes)])
        widths = [max(len(line[place]) for line in table) for place in range(len(table[0]))]
        lines = [[cell.rjust(width) for cell, width in zip(line, widths, strict=True)] for line in table]
        return "\n".join("  ".join(line) for line in lines)
