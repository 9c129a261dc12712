"""Linear regression with prediction intervals."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.base import Regressor
from millstream.linear_model.weights import SingleVector
from millstream.verbs import PredictsIntervals

__all__ = ["BayesianLinearRegression"]


class BayesianLinearRegression(SingleVector, PredictsIntervals, Regressor):
    """Bayesian linear regression: prediction intervals at the cost of recursive least squares.

    Choose it where the uncertainty of a prediction matters. Its predictions are those of `RLS` with `l2 =
    prior_precision / noise_precision`. `predict_interval_one(x, coverage=0.9)` and `predict_interval_many` return
    the lower and upper bound of an interval that contains the target with that probability. The interval includes
    the noise of the target and the uncertainty of the weights: it is wider for an example unlike those learned.

    The noise is estimated unless `noise_precision` is given. Intervals then fit targets of any scale, and are wide
    while few examples have been learned (before the first they contain all numbers). River's model of this name
    has `beta=1.0` and no intercept; `noise_precision=1.0, intercept=False` gives the same predictions. Its
    `predict_one(x, with_dist=True)` is an interval here, and its `smoothing` is `forgetting` with examples of
    weight 1 - `forgetting`. `merge` is exact without forgetting.

    Parameters
    ----------
    prior_precision
        Precision (inverse variance) of the prior on the weights; relative to the noise precision if that is
        estimated. River's and Bishop's alpha.
    noise_precision
        Precision (inverse variance) of the noise; None to estimate it. River's and Bishop's beta.
    forgetting
        Forgetting factor: weight of an example relative to the next one. Below 1, intervals are based on recent
        examples.
    intercept
        Whether to fit an intercept: the weight of a feature that is always 1.

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

    Far from all learned examples the interval is wider.

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
        prior_precision: float = 1.0,
        noise_precision: float | None = None,
        forgetting: float = 1.0,
        intercept: bool = True,
    ) -> None: ...

    @property
    def noise(self) -> float | None:
        """Estimated variance of the noise; None before the first example."""
        return self._numbers()["noise"]  # type: ignore[no-any-return]
