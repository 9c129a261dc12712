"""Regressors that learn from the error of an example, without a loss to choose."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.base import Regressor
from millstream.linear_model.planes import OnePlane

__all__ = ["LMS", "RLS", "AROWRegressor", "LeastSquares", "PARegressor"]


class RLS(OnePlane, Regressor):
    """Recursive least squares: after each example exactly the ridge regression on all examples so far.

    Choose it where features number in the tens or hundreds: it needs no learning rate and no scaling, and learns
    from each example all that there is to learn, at a cost that grows with the square of the number of features
    and nominal values. With `forgetting` below 1 it follows a target that drifts. Its covariance is kept in
    factors that stay positive definite on collinear and badly scaled features.

    `merge` is exact with `forgetting=1`: two halves of a stream, learned apart and merged, give the weights of the
    whole, to rounding.

    Parameters
    ----------
    l2
        Pull of weights towards 0; the inverse of their variance before anything is learned.
    forgetting
        How much of an example's weight is left one example later. 0.99 remembers about 100 examples. Variances
        stay within a million times those of the beginning, so that a constant input does not wind it up.
    intercept
        Whether there is a constant term; it is the weight of a feature that is always 1, and `l2` holds it too.

    Examples
    --------
    >>> from millstream import linear_model
    >>> model = linear_model.RLS(l2=0.001)
    >>> for x in (1.0, 2.0, 3.0):
    ...     model.learn_one({"x": x}, 2.0 * x + 1.0)
    >>> round(model.predict_one({"x": 4.0}), 3)
    9.0
    >>> {name: round(weight, 2) for name, weight in model.weights.items()}
    {'x': 2.0}

    Another part of the stream, learned elsewhere, is folded in; it may have features of its own.

    >>> other = linear_model.RLS(l2=0.001)
    >>> for x, z in ((4.0, 1.0), (5.0, 0.0), (6.0, 1.0)):
    ...     other.learn_one({"z": z, "x": x}, 2.0 * x + 1.0 + 10.0 * z)
    >>> model.merge(other)
    >>> round(model.predict_one({"x": 4.0, "z": 1.0}), 1), model.learned
    (19.0, 6)

    References
    ----------
    Plackett, R. L. (1950). Some theorems in least squares. Biometrika 37.
    Bierman, G. J. (1976). Measurement updating using the U-D factorization. Automatica 12.
    """

    name = "linear_model.RLS"

    @forwarded
    def __init__(self, l2: float = 1.0, forgetting: float = 1.0, intercept: bool = True) -> None: ...


class LeastSquares(OnePlane, Regressor):
    """Least squares from sums of products, solved when a prediction is asked for.

    Choose it where much is learned and little predicted, or where parts of a stream are learned in several
    places and merged: an example costs a third of what it costs `RLS`, and `merge` is exact, for it adds up
    sums. The first prediction after learning solves for the weights, at a cost that grows with the cube of the
    number of features; where each example is predicted before it is learned, `RLS` gives the same with `l2`
    above 0 for less. `RLS` also keeps more digits where features are nearly collinear: sums of squares have half
    of them.

    Sums are about the mean, so that a large constant in a feature does no harm. Features that are combinations
    of others (to a millionth of their spread) do none either: without `l2` they share the weight, each in units
    of its own spread, which is the smallest of all solutions. A feature that has not varied has the weight 0.

    Parameters
    ----------
    l2
        Pull of weights towards 0, as in `RLS`. With 0 it is ordinary least squares.
    intercept
        Whether there is a constant term; it is the weight of a feature that is always 1, and `l2` holds it too.

    Examples
    --------
    >>> from millstream import linear_model
    >>> model = linear_model.LeastSquares()
    >>> for x in (1.0, 2.0, 3.0):
    ...     model.learn_one({"x": x}, 2.0 * x + 1.0)
    >>> round(model.predict_one({"x": 4.0}), 3)
    9.0

    The same feature twice: each has half of the weight, in its own units.

    >>> model = linear_model.LeastSquares()
    >>> for x in (1.0, 2.0, 3.0):
    ...     model.learn_one({"metres": x, "millimetres": 1000.0 * x}, 2.0 * x + 1.0)
    >>> {name: round(weight, 6) for name, weight in model.weights.items()}
    {'metres': 1.0, 'millimetres': 0.001}

    References
    ----------
    Welford, B. P. (1962). Note on a method for calculating corrected sums of squares and products. Technometrics
    4. Chan, T. F., Golub, G. H. and LeVeque, R. J. (1983). Algorithms for computing the sample variance. The
    American Statistician 37.
    """

    name = "linear_model.LeastSquares"

    @forwarded
    def __init__(self, l2: float = 0.0, intercept: bool = True) -> None: ...


class LMS(OnePlane, Regressor):
    """Least mean squares: a step along each example, in proportion to its error.

    The simplest adaptive filter, and the cheapest. Without `normalized` the learning rate must suit the scale of
    the features: it diverges where it is above 2 divided by the squared length of examples. A sample weight
    multiplies the step.

    Parameters
    ----------
    learning_rate
        The size of a step; below 2 if `normalized`.
    normalized
        Whether the step is divided by the squared length of the example (NLMS): then the scale of features as a
        whole does not matter.
    intercept
        Whether there is a constant term; it is the weight of a feature that is always 1.

    Examples
    --------
    >>> from millstream import linear_model
    >>> model = linear_model.LMS(learning_rate=1.0, normalized=True)
    >>> for x in (1.0, 2.0, 3.0) * 20:
    ...     model.learn_one({"x": x}, 2.0 * x + 1.0)
    >>> round(model.predict_one({"x": 4.0}), 1)
    9.0

    References
    ----------
    Widrow, B. and Hoff, M. E. (1960). Adaptive switching circuits. IRE WESCON.
    Nagumo, J. and Noda, A. (1967). A learning method for system identification. IEEE Transactions on Automatic
    Control 12.
    """

    name = "linear_model.LMS"

    @forwarded
    def __init__(self, learning_rate: float = 0.01, normalized: bool = False, intercept: bool = True) -> None: ...


class PARegressor(OnePlane, Regressor):
    """Passive-aggressive regression: the smallest change that brings the error down to `eps`.

    Choose it for a target that drifts, with little noise: its steps do not shrink with time. Parameters are those
    of River. A sample weight multiplies `C`.

    Parameters
    ----------
    C
        How much an example may move the weights.
    mode
        0 for PA, which always goes all the way; 1 for PA-I, whose steps are held to `C`; 2 for PA-II, whose steps
        are softened.
    eps
        Errors up to this are none.
    intercept
        Whether there is a constant term; it is the weight of a feature that is always 1.

    Examples
    --------
    >>> from millstream import linear_model
    >>> model = linear_model.PARegressor(eps=0.01)
    >>> for x in (1.0, 2.0, 3.0) * 20:
    ...     model.learn_one({"x": x}, 2.0 * x + 1.0)
    >>> round(model.predict_one({"x": 4.0}), 1)
    9.0

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y. (2006). Online passive-aggressive
    algorithms. Journal of Machine Learning Research 7.
    """

    name = "linear_model.PARegressor"
    aliases = {"learn_intercept": "intercept"}

    @forwarded
    def __init__(self, C: float = 1.0, mode: int = 1, eps: float = 0.1, intercept: bool = True) -> None: ...


class AROWRegressor(OnePlane, Regressor):
    """Adaptive regularisation of weights for numbers: each feature has a learning rate of its own.

    Choose it for sparse rows of very many features, where `RLS` would need too much memory; with `full=True` it is
    recursive least squares with l2 = r.

    Parameters
    ----------
    r
        How noisy examples are taken to be: the larger, the smaller the steps. A sample weight divides it.
    full
        Whether the covariance is a full matrix, for up to a few thousand features and nominal values, or a
        diagonal, which costs no more than the features that an example has.
    intercept
        Whether there is a constant term; it is the weight of a feature that is always 1.

    Examples
    --------
    >>> from millstream import linear_model
    >>> model = linear_model.AROWRegressor(r=0.01)
    >>> for x in (1.0, 2.0, 3.0) * 20:
    ...     model.learn_one({"x": x}, 2.0 * x + 1.0)
    >>> round(model.predict_one({"x": 4.0}), 1)
    8.6

    References
    ----------
    Vaits, N. and Crammer, K. (2011). Re-adapting the regularization of weights for non-stationary regression. ALT.
    """

    name = "linear_model.AROWRegressor"

    @forwarded
    def __init__(self, r: float = 1.0, full: bool = False, intercept: bool = True) -> None: ...
