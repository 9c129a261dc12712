"""Bayes with features taken as independent given the class."""

from __future__ import annotations

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Classifier

__all__ = ["GaussianNB"]


class GaussianNB(Native, Classifier):
    """Naive Bayes with a normal density for each number and smoothed counts of nominal values.

    Choose it as a first model of any stream: it has nothing to tune, needs no scaling, learns from few
    examples, takes numbers, text and missing values as they come, and is fast. It is at its best where
    features are nearly independent within a class; where they repeat each other its probabilities are too
    sure.

    A number has the mean and variance of its class, a nominal value the frequency
    `(count + alpha) / (total + alpha * distinct values)`. Missing values, and nominal values that were never
    learned, are left out. New classes and new features may come at any time.

    A feature that was constant within a class has density 1 at its value and is impossible elsewhere; so is
    a number in a class that never showed one. A class with an impossible value has probability 0 as long as
    another class has none. If all have some, the classes with the fewest compete by the other features.

    Parameters
    ----------
    alpha
        What is added to the count of each nominal value.
    ddof
        Variances are divided by `n - ddof`: 0 as in River and scikit-learn, 1 as in MOA.

    Notes
    -----
    River adds 1e-9 to each density, which bounds how much one feature can say; scikit-learn adds a share of
    the largest variance to all variances. Here nothing is added: a far value counts as its density says, in
    logarithms that do not underflow.

    The zeros of sparse rows count as zeros. From 513 columns on they are not written out: an example costs what
    its class has ever shown, some 10,000s of steps for a text. For long streams of hashed words choose
    `linear_model.LogisticRegression`, where an example costs what it holds.

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
