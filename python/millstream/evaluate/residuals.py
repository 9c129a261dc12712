"""Numbers that a regressor predicted, beside what came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from millstream.evaluate.frames import frame, number, table

__all__ = ["Residuals"]


@dataclass(frozen=True)
class Residuals:
    """Up to 2,000 predictions, evenly spread over the stream: the same in every run.

    Examples
    --------
    >>> from millstream import evaluate, linear_model
    >>> rows = [({"x": float(i % 10)}, 2.0 * (i % 10) + 1) for i in range(1000)]
    >>> result = evaluate.prequential(linear_model.LinearRegression(), rows)
    >>> len(result.residuals.truth), round(float(result.residuals.quantile(0.5)), 3)
    (1000, -0.001)
    """

    #: Which rows of the stream these are.
    row: Any
    truth: Any
    predicted: Any

    @classmethod
    def of(cls, sample: Any) -> Residuals:
        """From a matrix of row, truth and prediction."""
        return cls(sample[:, 0].astype(np.int64), sample[:, 1].copy(), sample[:, 2].copy())

    @property
    def error(self) -> Any:
        """Prediction minus truth: positive where too much was predicted."""
        with np.errstate(over="ignore"):
            return self.predicted - self.truth

    def quantile(self, share: Any) -> Any:
        """Quantiles of the error."""
        return np.quantile(self.error, share)

    def to_frame(self, kind: str | None = None) -> Any:
        """The sample, one row for each prediction."""
        return frame({"row": self.row, "truth": self.truth, "predicted": self.predicted}, kind)

    def __repr__(self) -> str:
        shares = (0.05, 0.25, 0.5, 0.75, 0.95)
        values = [number(float(value)) for value in self.quantile(shares)]
        names = [f"{share:.0%}" for share in shares]
        head = table(["quantile", *names], [["prediction - truth", *values]])
        return f"{head}\nof a sample of {len(self.row):,} rows"
