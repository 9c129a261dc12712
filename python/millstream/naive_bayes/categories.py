"""Naive Bayes for categories."""

from __future__ import annotations

from collections.abc import Sequence

from millstream._part import forwarded
from millstream.base import Label
from millstream.naive_bayes.base import Counting

__all__ = ["CategoricalNB"]


class CategoricalNB(Counting):
    """Naive Bayes for categories: nominal values, or integers from 0.

    Choose it where all features are categories. It learns from few rows and needs no encoder. For rows of
    numbers and nominal values use `GaussianNB`; for the words of documents, `MultinomialNB`.

    The probability of a category in a class is `(count + alpha) / (total + alpha * categories)`, where `total`
    is the count of all categories of the feature in the class. The categories of a nominal feature are its
    values so far; those of numbers are the integers from 0 to the largest one so far, and a number belongs to
    the category of its integer part. A category that was never learned has count 0. Missing values are ignored.
    New categories, features and classes may appear at any time. Negative numbers are refused.

    Models of parts of a stream can be merged (`merge`); the result is exact to rounding, and for whole weights
    bit for bit.

    Parameters
    ----------
    alpha
        Additive smoothing: added to each count. Less than 1e-10 counts as 1e-10, so that no probability is 0.
    fit_prior
        Whether the prior probability of a class is its frequency; if false, all classes have the same.
    class_prior
        Prior probabilities of the classes, in the order of `classes`, instead of fitted ones. A class beyond
        them is refused.
    min_categories
        Number of categories that each feature has at least.
    max_categories
        Maximum number of categories of a feature. A row with more is refused, so that memory is bounded.

    Notes
    -----
    In scikit-learn a category that was never learned is an IndexError, and strings must be encoded first.
    Otherwise, predictions equal those of scikit-learn.

    Examples
    --------
    >>> from millstream import naive_bayes
    >>> model = naive_bayes.CategoricalNB()
    >>> for outlook, windy, play in [("sunny", 0, "no"), ("rain", 0, "yes"), ("rain", 1, "no")]:
    ...     model.learn_one({"outlook": outlook, "windy": windy}, play)
    >>> model.learn_one({"outlook": "cloudy", "windy": 0}, "yes")
    >>> model.predict_one({"outlook": "cloudy", "windy": 0})
    'yes'
    >>> round(model.predict_proba_one({"outlook": "fog", "windy": 0})["yes"], 4)
    0.6
    >>> model.category_counts["yes"]["windy"]
    {'0': 2.0, '1': 0.0}

    References
    ----------
    Hastie, T., Tibshirani, R. and Friedman, J. (2009). The elements of statistical learning, section 6.6.3.
    """

    name = "naive_bayes.CategoricalNB"

    @forwarded
    def __init__(
        self,
        alpha: float = 1.0,
        fit_prior: bool = True,
        class_prior: Sequence[float] | None = None,
        min_categories: int = 1,
        max_categories: int = 100_000,
    ) -> None: ...

    @property
    def category_counts(self) -> dict[Label, dict[str, dict[str, float]]]:
        """The count of each category of each feature in each class."""
        return self._by_category("count")

    @property
    def feature_log_prob(self) -> dict[Label, dict[str, dict[str, float]]]:
        """The logarithm of the probability of each category of each feature in each class."""
        return self._by_category("log_probability")

    def _by_category(self, what: str) -> dict[Label, dict[str, dict[str, float]]]:
        return {
            label: {
                feature: {category: told[what] for category, told in categories.items()}
                for feature, categories in known["features"].items()
            }
            for label, known in self._known(self.inspect())
        }
