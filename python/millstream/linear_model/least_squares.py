"""Regressors that learn from the residual of an example."""

from __future__ import annotations

from typing import Any

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Classifier, Label, Regressor
from millstream.linear_model.weights import SingleVector

__all__ = ["LMS", "RLS", "AROWRegressor", "LeastSquares", "PARegressor", "RidgeClassifier"]


class RLS(SingleVector, Regressor):
    """Recursive least squares: exact ridge regression on all examples so far.

    Choose it for tens or hundreds of features: it needs no learning rate and no scaling and is exact after each
    example, at a cost that grows with the square of the number of features and nominal values. With `forgetting`
    below 1 it adapts to drift. The covariance is stored as a factorisation that stays positive definite with
    collinear and badly scaled features.

    `merge` is exact with `forgetting=1`: two halves of a stream, learned separately and merged, give the weights
    of the whole stream, up to rounding.

    Parameters
    ----------
    l2
        L2 penalty: the inverse of the prior variance of the weights.
    forgetting
        Forgetting factor: weight of an example relative to the next one. 0.99 remembers about 100 examples.
        Variances stay within a million times their initial values, so that a constant input causes no wind-up.
    intercept
        Whether to fit an intercept: the weight of a feature that is always 1, which `l2` penalises too.

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

    A model of another part of the stream is merged; it may have other features.

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


class RidgeClassifier(Native, Classifier):
    """Ridge regression on class indicators: exact after each example; new classes may appear at any time.

    Choose it for embeddings and other features in the tens or hundreds, where each correction should count at
    once: it needs no learning rate and no scaling. A step costs the square of the number of features, whatever the
    number of classes; a prediction costs the number of features times the number of classes. This suits
    streams in which every row is predicted before it is learned, where `continual.StreamingLDA` factorises a
    matrix for each row. The score of a class is that of ridge regression on the target 1 for its rows and 0 for
    all others.

    The probabilities are the scores, kept above 0.001 and divided by their sum. They are not calibrated.

    Parameters
    ----------
    l2
        L2 penalty: the inverse of the prior variance of the weights.
    forgetting
        Forgetting factor: weight of an example relative to the next one. 0.99 remembers about 100 examples.
    intercept
        Whether to fit an intercept: the weight of a feature that is always 1, which `l2` penalises too.

    Examples
    --------
    >>> from millstream import datasets, linear_model
    >>> rows = list(datasets.Digits())
    >>> model = linear_model.RidgeClassifier()
    >>> correct = sum(model.step_one(x, y) == y for x, y in rows)
    >>> round(correct / len(rows), 2)
    0.9

    References
    ----------
    Hastie, T., Tibshirani, R. and Friedman, J. (2009). The elements of statistical learning. Section 4.2.
    """

    name = "linear_model.RidgeClassifier"

    @forwarded
    def __init__(self, l2: float = 1.0, forgetting: float = 1.0, intercept: bool = True) -> None: ...

    @property
    def class_counts(self) -> dict[Label, float]:
        """Sum of the weights of each class."""
        return dict(self._by_class(self._numbers()["counts"]))

    @property
    def weights(self) -> dict[Label, dict[str, Any]]:
        """The weight of each feature (of a nominal one, of each of its values), by class."""
        return {label: found["weights"] for label, found in self._by_class(self.inspect()["classes"])}

    @property
    def bias(self) -> dict[Label, float]:
        """The intercept of each class."""
        return {label: found["intercept"] for label, found in self._by_class(self.inspect()["classes"])}

    def _by_class(self, found: list[Any]) -> list[tuple[Label, Any]]:
        counts = self._numbers()["counts"]
        labels = self._labels()[: len(found)]
        return [(label, found[code]) for code, label in enumerate(labels) if label is not None and counts[code]]


class LeastSquares(SingleVector, Regressor):
    """Least squares: accumulates sums of products and solves for the weights when predicting.

    Choose it where predictions are rare, or where parts of a stream are learned separately and merged: an example
    costs a third of what it costs `RLS`, and `merge` is exact because it adds sums. The first prediction after
    learning solves for the weights, at a cost that grows with the cube of the number of features: about 0.6 ms for
    200 features, 4 ms for 400 and 13 ms for 600. Where each example is predicted before it is learned, or where
    one thread predicts while another learns, `RLS` with `l2` above 0 gives the same result at lower cost. `RLS`
    is also more accurate for nearly collinear features, since sums of squares keep only half of the digits.

    Sums are centred, so a large constant offset of a feature loses no precision. Features that are linear
    combinations of others (up to a millionth of their spread) are supported: without `l2` the solution has minimum
    norm in units of each feature's spread. A constant feature has weight 0.

    Parameters
    ----------
    l2
        L2 penalty, as in `RLS`; 0 gives ordinary least squares.
    intercept
        Whether to fit an intercept: the weight of a feature that is always 1, which `l2` penalises too.

    Examples
    --------
    >>> from millstream import linear_model
    >>> model = linear_model.LeastSquares()
    >>> for x in (1.0, 2.0, 3.0):
    ...     model.learn_one({"x": x}, 2.0 * x + 1.0)
    >>> round(model.predict_one({"x": 4.0}), 3)
    9.0

    A duplicated feature: each copy has half of the weight, in its own units.

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


class LMS(SingleVector, Regressor):
    """Least mean squares: a step along each example, proportional to its error.

    The simplest and cheapest adaptive filter. Without `normalized` the learning rate must suit the scale of the
    features: the filter diverges if it exceeds 2 divided by the squared length of the examples. A sample weight
    multiplies the step.

    Parameters
    ----------
    learning_rate
        Learning rate; below 2 if `normalized`.
    normalized
        Whether to divide the step by the squared length of the example (NLMS), which makes the learner independent
        of the common scale of the features.
    intercept
        Whether to fit an intercept: the weight of a feature that is always 1.

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


class PARegressor(SingleVector, Regressor):
    """Passive-aggressive regression: the smallest change that reduces the error to `epsilon`.

    Choose it for a drifting target with little noise: its steps do not shrink with time. Parameters are those of
    River, whose `eps` is `epsilon` here. A sample weight multiplies `C`.

    Parameters
    ----------
    C
        Aggressiveness: the maximum step per example.
    mode
        Variant: 0 for PA with unbounded steps, 1 for PA-I with steps up to `C`, 2 for PA-II with softened steps.
    epsilon
        Errors up to this are ignored.
    intercept
        Whether to fit an intercept: the weight of a feature that is always 1.

    Examples
    --------
    >>> from millstream import linear_model
    >>> model = linear_model.PARegressor(epsilon=0.01)
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
    def __init__(self, C: float = 1.0, mode: int = 1, epsilon: float = 0.1, intercept: bool = True) -> None: ...


class AROWRegressor(SingleVector, Regressor):
    """Adaptive regularisation of weights for regression: one adaptive learning rate per feature.

    Choose it for sparse rows with very many features, for which `RLS` would need too much memory. With `full=True`
    it is recursive least squares with l2 = r.

    Parameters
    ----------
    r
        Noise level of the examples; larger values give smaller steps. A sample weight divides it.
    full
        Whether to keep the full covariance matrix, for up to a few thousand features and nominal values, instead
        of its diagonal, which costs no more than the features present in an example.
    intercept
        Whether to fit an intercept: the weight of a feature that is always 1.

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
