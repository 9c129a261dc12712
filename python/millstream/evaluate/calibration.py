"""Whether what was given 70 % came true in 70 % of the cases."""

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
    """A reliability diagram as numbers: predicted probability beside how often it came true, bin by bin.

    Of two classes it is about the probability of the positive one, of more about that of the class that was
    predicted. Bins without rows have NaN for `predicted` and `observed`.

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

    #: Edges of the bins, one more than there are bins.
    edges: Any
    #: Rows in each bin.
    counts: Any
    #: The weight of these rows.
    weights: Any
    #: The mean probability that was predicted in each bin.
    predicted: Any
    #: The share of each bin, by weight, for which it came true.
    observed: Any
    #: The class whose probability this is; None if it is that of the predicted class, or if it never came.
    positive: Any
    #: Whether this is the probability of the class that was predicted, because there are more than two.
    of_predicted: bool
    #: The sums of the narrow bins, for `with_bins`.
    _sums: Any

    @classmethod
    def of(cls, of_positive: bool, positive: Any, sums: Any, bins: int = 10) -> Calibration:
        """From the sums of many narrow bins: rows, weight, weight times probability, weight that came true."""
        narrow = len(sums)
        if not isinstance(bins, int) or bins < 1 or narrow % bins:
            raise InvalidValue(f"bins must be a whole number that divides {narrow}, got {quoted(bins)}")
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
        """The same with another number of bins, which must divide 100."""
        return self.of(not self.of_predicted, self.positive, self._sums, bins)

    @property
    def ece(self) -> float:
        """The expected calibration error: the mean distance of predicted and observed, by the weight of bins."""
        distance = np.abs(self.predicted - self.observed)
        return float(np.nansum(self.weights * distance) / self.weights.sum())

    def to_frame(self, kind: str | None = None) -> Any:
        """A row for each bin: `low`, `high`, `count`, `predicted`, `observed`."""
        columns = {"low": self.edges[:-1], "high": self.edges[1:], "count": self.counts}
        return frame(columns | {"predicted": self.predicted, "observed": self.observed}, kind)

    @property
    def about(self) -> str:
        """Whose probability it is, in words."""
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
