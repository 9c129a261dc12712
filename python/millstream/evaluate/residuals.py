"""A sample of the predictions of a regressor, with the truths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from millstream.evaluate.frames import frame, number, table

__all__ = ["Residuals"]


@dataclass(frozen=True)
class Residuals:
    """A sample of up to 2,000 predictions, evenly spread over the stream and identical in every run.

    Examples
    --------
    >>> from millstream import evaluate, linear_model
    >>> rows = [({"x": float(i % 10)}, 2.0 * (i % 10) + 1) for i in range(1000)]
    >>> result = evaluate.prequential(linear_model.LinearRegression(), rows)
    >>> len(result.residuals.truth), round(float(result.residuals.quantile(0.5)), 3)
    (1000, -0.001)
    """

    #: Rows of the stream.
    row: Any
    truth: Any
    predicted: Any

    @classmethod
    def of(cls, sample: Any) -> Residuals:
        """Create the sample from a matrix with the columns row, truth and prediction."""
        return cls(sample[:, 0].astype(np.int64), sample[:, 1].copy(), sample[:, 2].copy())

    @property
    def error(self) -> Any:
        """Prediction minus truth."""
        with np.errstate(over="ignore"):
            return self.predicted - self.truth

    def quantile(self, q: Any) -> Any:
        """Quantiles of the error."""
        return np.quantile(self.error, q)

    def to_frame(self, kind: str | None = None) -> Any:
        """The sample as a frame with one row per prediction."""
        return frame({"row": self.row, "truth": self.truth, "predicted": self.predicted}, kind)

    def __repr__(self) -> str:
        levels = (0.05, 0.25, 0.5, 0.75, 0.95)
        values = [number(float(value)) for value in self.quantile(levels)]
        names = [f"{level:.0%}" for level in levels]
        head = table(["quantile", *names], [["prediction - truth", *values]])
        return f"{head}\nof a sample of {len(self.row):,} rows"
