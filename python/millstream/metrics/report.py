"""Precision, recall and F1 of every class as a table."""

from __future__ import annotations

from typing import Any, Self

from millstream.metrics.confusions import PythonMetric
from millstream.metrics.labels import ConfusionMatrix

__all__ = ["ClassificationReport"]


class ClassificationReport(PythonMetric):
    """Precision, recall, F1 and support of each class, and their averages, as a table. Its value is the accuracy.

    The macro average is the mean over the classes, the weighted average weighs them by their support, and the
    micro average counts all outcomes together, which is the accuracy.

    Parameters
    ----------
    decimals
        Number of decimals of percentages.
    cm
        A confusion matrix to share with other metrics; None for one of its own. A shared matrix counts each update
        of each of its metrics.

    Examples
    --------
    >>> from millstream import metrics
    >>> report = metrics.ClassificationReport()
    >>> for truth, predicted in zip(["ant", "bee", "bee", "bee"], ["ant", "bee", "bee", "ant"]):
    ...     report.update(truth, predicted)
    >>> print(report)
               Precision    Recall        F1   Support
    <BLANKLINE>
         ant      50.00%   100.00%    66.67%         1
         bee     100.00%    66.67%    80.00%         3
    <BLANKLINE>
       Macro      75.00%    83.33%    73.33%
       Micro      75.00%    75.00%    75.00%
    Weighted      87.50%    75.00%    76.67%
    <BLANKLINE>
                   75.00% accuracy
    """

    def __init__(self, decimals: int = 2, cm: ConfusionMatrix | None = None) -> None:
        self.decimals = decimals
        #: The confusion matrix.
        self.cm = ConfusionMatrix() if cm is None else cm

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Score one prediction."""
        self.cm.update(y_true, y_pred, w)

    def get(self) -> float:
        """The accuracy."""
        return float(self.cm.get())

    def clone(self) -> Self:
        """A report that has scored nothing."""
        return type(self)(self.decimals)

    def rows(self) -> dict[Any, tuple[float, float, float, float]]:
        """Precision, recall, F1 and support of each class, in sorted order."""
        found = {}
        for label in sorted(self.cm.classes, key=lambda label: (isinstance(label, str), label)):
            hits, support = self.cm.true_positives(label), self.cm.support(label)
            predicted = hits + self.cm.false_positives(label)
            precision = hits / predicted if predicted else 0.0
            recall = hits / support if support else 0.0
            f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
            found[label] = (precision, recall, f1, support)
        return found

    def __repr__(self) -> str:
        rows = self.rows()
        total = sum(row[3] for row in rows.values())
        lines = [["", "Precision", "Recall", "F1", "Support"], []]
        lines += [self._line(str(label), row[:3], row[3]) for label, row in rows.items()]
        columns = [[row[place] for row in rows.values()] for place in range(3)]
        macro = [sum(column) / len(column) if column else 0.0 for column in columns]
        weights = [row[3] / total if total else 0.0 for row in rows.values()]
        weighted = [sum(map(lambda value, w: value * w, column, weights)) for column in columns]
        lines += [
            [],
            self._line("Macro", macro),
            self._line("Micro", [self.get()] * 3),
            self._line("Weighted", weighted),
        ]
        first = max(len(line[0]) for line in lines if line)
        wide = max(9, *(len(cell) for line in lines for cell in line[1:]))
        shown = [
            "   ".join([line[0].rjust(first), *(cell.rjust(wide) for cell in line[1:])]) if line else ""
            for line in lines
        ]
        accuracy = f"{self._percent(self.get())} accuracy"
        return "\n".join([*(line.rstrip() for line in shown), "", accuracy.center(len(shown[0])).rstrip()])

    def _line(self, name: str, values: Any, support: float | None = None) -> list[str]:
        return [name, *map(self._percent, values), "" if support is None else f"{support:g}"]

    def _percent(self, value: float) -> str:
        return f"{value:.{self.decimals}%}"
