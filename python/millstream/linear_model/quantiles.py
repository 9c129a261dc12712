"""Several quantiles of a target, which do not cross."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from millstream._answers import number_of
from millstream._echo import quoted
from millstream._examples import check_example
from millstream.base import Features, Regressor
from millstream.compose.reduction import Reduction
from millstream.errors import InvalidType, InvalidValue
from millstream.linear_model.gradient import LinearRegression
from millstream.losses import Quantile
from millstream.optim import Optimizer
from millstream.verbs import PredictsIntervals

__all__ = ["QuantileRegression"]

_WHO = "linear_model.QuantileRegression"


class QuantileRegression(Reduction, PredictsIntervals, Regressor):
    """Linear regression of several quantiles, whose predictions never cross.

    Choose it for prediction intervals that may be asymmetric and of a width that depends on the features. Each
    quantile has a `LinearRegression` with the loss `losses.Quantile`. Lines of different slope cross somewhere, so
    predictions are sorted: rearranged quantiles are never farther from the true ones than the original ones.

    `predict_one` returns the quantile nearest to 0.5, `predict_quantiles_one` all of them, and
    `predict_interval_one` the two quantiles that exclude the same probability on either side. They are
    interpolated between the given quantiles; beyond them, the outermost are used.

    Parameters
    ----------
    quantiles
        Quantiles to predict: increasing numbers in (0, 1).
    optimizer
        Optimiser of the weights: one of `optim`, or its name.
    l2
        L2 penalty: shrinks weights towards 0.
    l1
        L1 penalty: shrinks weights to exactly 0.
    intercept
        Whether to fit an intercept for each quantile.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import linear_model
    >>> random = np.random.default_rng(1)
    >>> X = random.uniform(1.0, 3.0, size=(20_000, 1))
    >>> y = X[:, 0] * random.uniform(size=20_000)
    >>> model = linear_model.QuantileRegression([0.1, 0.5, 0.9])
    >>> model.learn_many(X, y)
    0
    >>> {q: round(y, 1) for q, y in model.predict_quantiles_one({0: 2.0}).items()}
    {0.1: 0.2, 0.5: 1.0, 0.9: 1.8}
    >>> tuple(round(end, 1) for end in model.predict_interval_one({0: 2.0}, coverage=0.8))
    (0.2, 1.8)

    References
    ----------
    Koenker, R. and Bassett, G. (1978). Regression quantiles.
    Chernozhukov, V., Fernández-Val, I. and Galichon, A. (2010). Quantile and probability curves without crossing,
    proposition 4.
    """

    def __init__(
        self,
        quantiles: Iterable[float] = (0.05, 0.5, 0.95),
        optimizer: Optimizer | str = "adaptive",
        l2: float = 0.0,
        l1: float = 0.0,
        intercept: bool = True,
    ) -> None:
        self.quantiles = _checked(quantiles)
        self.optimizer, self.l2, self.l1, self.intercept = optimizer, l2, l1, intercept
        #: The regressor of each quantile, in their order.
        self.members = [
            LinearRegression(optimizer, Quantile(q), l2=l2, l1=l1, intercept=intercept) for q in self.quantiles
        ]
        self._start()

    @property
    def learned(self) -> int:
        """Number of learned examples."""
        return self.members[0].learned

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example."""
        check_example(_WHO, self.role, y, w)
        self._teach((member, x, y, w) for member in self.members)

    def learn_many(self, X: Any, y: Any = None, w: Any = None, *, on_error: str = "raise") -> int:
        """Learn rows one after the other, exactly as `learn_one` would; returns the number of skipped rows."""
        return self._teach_many(list(self.members), X, y, w, on_error)

    def predict_quantiles_one(self, x: Features) -> dict[float, float]:
        """The prediction of each quantile, in increasing order."""
        values = sorted(number_of(member, x) for member in self.members)
        return dict(zip(self.quantiles, values, strict=True))

    def predict_quantiles_many(self, X: Any) -> Any:
        """Predictions of rows: a column for each quantile, in increasing order."""
        if not hasattr(X, "__len__"):
            X = list(X)
        columns = [np.asarray(member.predict_many(X), dtype=np.float64) for member in self.members]
        return np.sort(np.stack(columns, axis=1), axis=1)

    def predict_one(self, x: Features) -> float:
        """The quantile nearest to 0.5; of two that are equally near, the lower one."""
        return list(self.predict_quantiles_one(x).values())[self._middle]

    def predict_many(self, X: Any) -> Any:
        """The quantile nearest to 0.5 of each row."""
        return self.predict_quantiles_many(X)[:, self._middle]

    @property
    def _middle(self) -> int:
        return min(range(len(self.quantiles)), key=lambda index: abs(self.quantiles[index] - 0.5))

    def predict_interval_one(self, x: Features, coverage: float = 0.9) -> tuple[float, float]:
        """Two numbers between which the target lies with probability `coverage`."""
        low, high = self._ends(np.array([list(self.predict_quantiles_one(x).values())]), coverage)[0].tolist()
        return low, high

    def predict_interval_many(self, X: Any, coverage: float = 0.9) -> Any:
        """Intervals of rows, exactly as `predict_interval_one` would: columns of lower and of upper ends."""
        return self._ends(self.predict_quantiles_many(X), coverage)

    def _ends(self, values: Any, coverage: Any) -> Any:
        number = isinstance(coverage, (int, float, np.number)) and not isinstance(coverage, bool)
        if not (number and 0.0 < coverage < 1.0):
            raise InvalidValue(f"{_WHO}: coverage must be in (0, 1), got {quoted(coverage)}")
        ends = [0.5 - 0.5 * float(coverage), 0.5 + 0.5 * float(coverage)]
        return np.array([np.interp(ends, self.quantiles, row) for row in values]).reshape(-1, 2)


def _checked(quantiles: Any) -> tuple[float, ...]:
    if isinstance(quantiles, (str, bytes)) or not isinstance(quantiles, Iterable):
        raise InvalidType(f"{_WHO}: quantiles must be a list of numbers, got {quoted(quantiles)}")
    try:
        found = tuple(float(q) for q in quantiles)
    except (TypeError, ValueError):
        raise InvalidType(f"{_WHO}: quantiles must be a list of numbers, got {quoted(quantiles)}") from None
    inside = all(math.isfinite(q) and 0.0 < q < 1.0 for q in found)
    if not (found and inside and all(a < b for a, b in pairwise(found))):
        raise InvalidValue(f"{_WHO}: quantiles must be increasing numbers in (0, 1), got {quoted(quantiles)}")
    return found
