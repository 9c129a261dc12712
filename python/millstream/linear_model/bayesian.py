"""Linear regression that says how sure it is."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.base import Regressor
from millstream.linear_model.planes import OnePlane
from millstream.verbs import PredictsIntervals

__all__ = ["BayesianLinearRegression"]


class BayesianLinearRegression(OnePlane, PredictsIntervals, Regressor):
    """Bayesian linear regression: predictions with intervals, at the cost of recursive least squares.

    Choose it where it matters how far off a prediction may be. What it predicts is what `RLS` with `l2 = alpha /
    beta` predicts; `predict_interval_one(x, coverage=0.9)` and `predict_interval_many` give two numbers between
    which the target lies with that probability. They take in the noise of the target and what is not yet known
    of the weights: an example unlike those learned has a wider interval.

    The noise is learned unless `beta` says what it is: intervals then fit targets of any scale, and are wide as
    long as few examples have come (before the first they hold all numbers). River's model of this name has
    `beta=1.0` and no constant term, and gives the same with `beta=1.0, intercept=False`; its `predict_one(x,
    with_dist=True)` is an interval here, and its `smoothing` is `forgetting` with examples of weight 1 -
    `forgetting`. `merge` is exact without forgetting.

    Parameters
    ----------
    alpha
        The precision of weights before anything is learned, the inverse of their variance; in units of the noise
        where that is learned.
    beta
        The precision of the noise, the inverse of its variance; learned if it is None.
    forgetting
        How much of an example's weight is left one example later; intervals then rest on the examples that are
        remembered.
    intercept
        Whether there is a constant term; it is the weight of a feature that is always 1.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import linear_model
    >>> random = np.random.default_rng(1)
    >>> X = random.normal(size=(1000, 3))
    >>> y = X @ [1.0, 2.0, 3.0] + 50.0 + 0.5 * random.normal(size=1000)
    >>> model = linear_model.BayesianLinearRegression()
    >>> model.learn_many(X, y)
    0
    >>> lower, upper = model.predict_interval_one({0: 0.0, 1: 0.0, 2: 1.0})
    >>> round(lower, 2), round(upper, 2)
    (52.06, 53.76)
    >>> round(model.noise, 2)
    0.27

    Far from all that was learned it is less sure.

    >>> lower, upper = model.predict_interval_one({0: 0.0, 1: 0.0, 2: 100.0})
    >>> round(upper - lower, 1)
    5.6

    References
    ----------
    Bishop, C. M. (2006). Pattern Recognition and Machine Learning, section 3.3.
    MacKay, D. J. C. (1992). Bayesian interpolation. Neural Computation 4.
    """

    name = "linear_model.BayesianLinearRegression"

    @forwarded
    def __init__(
        self,
        alpha: float = 1.0,
        beta: float | None = None,
        forgetting: float = 1.0,
        intercept: bool = True,
    ) -> None: ...

    @property
    def noise(self) -> float | None:
        """The variance of the noise, as far as it is known; None before the first example."""
        return self._numbers()["noise"]  # type: ignore[no-any-return]
