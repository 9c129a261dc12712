"""Naive Bayes for numbers and nominal values."""

from __future__ import annotations

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Classifier

__all__ = ["GaussianNB"]


class GaussianNB(Native, Classifier):
    """Naive Bayes with Gaussian densities for numbers and smoothed frequencies for nominal values.

    A good first model for any stream: it needs no tuning and no scaling, learns from few examples, accepts
    numbers, strings and missing values, and is fast. It works best where features are nearly independent within a
    class; with redundant features its probabilities are overconfident.

    A number has the mean and variance of its class, a nominal value the frequency `(count + alpha) / (total +
    alpha * distinct values)`. Missing values and unknown nominal values are ignored. New classes and new features
    may appear at any time.

    A feature that is constant within a class has density 1 at its value and is impossible elsewhere. A number is
    also impossible in a class in which the feature was never a number. A class with an impossible value has
    probability 0 as long as another class has none. If every class has some, the classes with the fewest are
    compared by the other features.

    Parameters
    ----------
    alpha
        Additive smoothing: added to the count of each nominal value.
    ddof
        Delta degrees of freedom: variances are divided by `n - ddof`. 0 as in River and scikit-learn, 1 as in MOA.

    Notes
    -----
    River adds 1e-9 to each density, which bounds the influence of a single feature; scikit-learn adds a fraction
    of the largest variance to all variances. Here nothing is added: densities are used as they are, in logarithms
    that do not underflow.

    The zeros of sparse rows count as zeros. From 513 columns on they are not stored: the cost of an example is
    proportional to the number of columns that were ever nonzero in its class, tens of thousands for text. For long
    streams of hashed words use `linear_model.LogisticRegression`, whose cost depends only on the words of the
    example.

    Examples
    --------
    >>> from millstream import naive_bayes
    >>> model = naive_bayes.GaussianNB()
    >>> for height, sex in [(181.0, "m"), (175.0, "m"), (164.0, "f"), (171.0, "f"), (168.0, "f")]:
    ...     model.learn_one({"height": height}, sex)
    >>> model.predict_one({"height": 172.0})
    'f'
    >>> round(model.predict_proba_one({"height": 172.0})["f"], 4)
    0.7873
    >>> model.inspect()["classes"][0]["features"]
    {'height': {'count': 2.0, 'mean': 178.0, 'variance': 9.0}}

    References
    ----------
    John, G. H. and Langley, P. (1995). Estimating continuous distributions in Bayesian classifiers.
    West, D. H. D. (1979). Updating mean and variance estimates: an improved method.
    """

    name = "naive_bayes.GaussianNB"

    @forwarded
    def __init__(self, alpha: float = 1.0, ddof: int = 0) -> None: ...
