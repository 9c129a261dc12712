"""Calibration of predicted probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from millstream._echo import quoted
from millstream.errors import InvalidValue
from millstream.evaluate.frames import frame, number, table

__all__ = ["Calibration"]


@dataclass(frozen=True)
class Calibration:
    """Reliability diagram as numbers: mean predicted probability and observed frequency by bin.

    With two classes it is that of the positive class, with more that of the predicted class. Bins without rows
    have NaN for `predicted` and `observed`.

    Examples
    --------
    >>> from millstream import evaluate, linear_model, preprocessing
    >>> rows = [({"x": float(i % 10)}, i % 10 > i % 3 + 3) for i in range(1000)]
    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> result = evaluate.prequential(model, rows, "LogLoss")
    >>> result.calibration.positive, int(result.calibration.counts.sum()), round(result.calibration.ece, 3)
    (True, 999, 0.219)

    References
    ----------
    Guo, C., Pleiss, G., Sun, Y. and Weinberger, K. Q. (2017). On calibration of modern neural networks. ICML.
    """

    #: Edges of the bins.
    edges: Any
    #: Rows in each bin.
    counts: Any
    #: Weight of these rows.
    weights: Any
    #: Mean predicted probability of each bin.
    predicted: Any
    #: Observed frequency of the class in each bin, by weight.
    observed: Any
    #: The class that the probabilities belong to; None if it is the predicted class, or never occurred.
    positive: Any
    #: Whether the probabilities are those of the predicted class, because there are more than two classes.
    of_predicted: bool
    #: Sums of the narrow bins, for `with_bins`.
    _sums: Any

    @classmethod
    def of(cls, of_positive: bool, positive: Any, sums: Any, bins: int = 10) -> Calibration:
        """Create it from sums of narrow bins: rows, weight, weight times probability, weight of the class."""
        narrow = len(sums)
        if not isinstance(bins, int) or bins < 1 or narrow % bins:
            raise InvalidValue(f"bins must be an integer that divides {narrow}, got {quoted(bins)}")
        rows, weights, predicted, observed = sums.reshape(bins, -1, 4).sum(axis=1).T
        with np.errstate(invalid="ignore", divide="ignore"):
            return cls(
                edges=np.linspace(0.0, 1.0, bins + 1),
                counts=rows.astype(np.int64),
                weights=weights,
                predicted=predicted / weights,
                observed=observed / weights,
                positive=positive,
                of_predicted=not of_positive,
                _sums=sums,
            )

    def with_bins(self, bins: int) -> Calibration:
        """The calibration with another number of bins, which must divide 100."""
        return self.of(not self.of_predicted, self.positive, self._sums, bins)

    @property
    def ece(self) -> float:
        """Expected calibration error: mean distance between predicted and observed, weighted by bin."""
        distance = np.abs(self.predicted - self.observed)
        return float(np.nansum(self.weights * distance) / self.weights.sum())

    def to_frame(self, kind: str | None = None) -> Any:
        """A frame with a row per bin: `low`, `high`, `count`, `predicted`, `observed`."""
        columns = {"low": self.edges[:-1], "high": self.edges[1:], "count": self.counts}
        return frame(columns | {"predicted": self.predicted, "observed": self.observed}, kind)

    @property
    def about(self) -> str:
        """Which probability it is, in words."""
        if self.of_predicted:
            return "probability of the predicted class"
        if self.positive is None:
            return "probability of the positive class"
        return f"probability of {self.positive!r:.40}, the positive class"

    def __repr__(self) -> str:
        rows = [
            [f"{low:.2f} to {high:.2f}", f"{count:,}", number(predicted), number(observed)]
            for low, high, count, predicted, observed in zip(
                self.edges[:-1], self.edges[1:], self.counts, self.predicted, self.observed, strict=True
            )
        ]
        head = table(["probability", "rows", "predicted", "observed"], rows)
        return f"{self.about}; expected calibration error {number(self.ece)}\n{head}"
