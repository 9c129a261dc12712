"""Classifiers that cannot forget a class, because they keep sums."""

from __future__ import annotations

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Classifier, Label

__all__ = ["NearestClassMean", "StreamingLDA"]


class _Counted(Native, Classifier):
    """A classifier that counts the rows of its classes."""

    @property
    def class_counts(self) -> dict[Label, float]:
        """Sum of the weights of each class."""
        counts = self._numbers()["counts"]
        labels = self._labels()
        return {label: counts[code] for code, label in enumerate(labels[: len(counts)]) if label is not None}


class NearestClassMean(_Counted):
    """Predicts the class whose mean is nearest; forgets no class.

    Choose it for embeddings and other features of equal scale, as the simplest learner that does not depend on the
    order of the stream: the mean of a class depends on the rows of that class alone. `StreamingLDA` also uses the
    covariances and is usually more accurate, but its cost is quadratic in the number of features, not linear.

    Probabilities are those of Gaussian classes with one variance in every direction. Scale the features if their
    units differ. A missing number counts as 0, and a nominal feature has one dimension per value.

    Examples
    --------
    >>> from millstream import continual
    >>> model = continual.NearestClassMean()
    >>> for x, y in [(1.0, "low"), (2.0, "low"), (9.0, "high"), (8.0, "high")]:
    ...     model.learn_one({"x": x}, y)
    >>> model.predict_one({"x": 4.0}), model.class_counts
    ('low', {'low': 2.0, 'high': 2.0})

    References
    ----------
    Rebuffi, S.-A., Kolesnikov, A., Sperl, G. and Lampert, C. H. (2017). iCaRL: incremental classifier and
    representation learning. CVPR, equation 2.
    """

    name = "continual.NearestClassMean"

    @forwarded
    def __init__(self) -> None: ...


class StreamingLDA(_Counted):
    """Linear discriminant analysis from running sums: equal to batch LDA in any order, forgets no class.

    Choose it first for streams whose classes arrive one after another, on features that separate the classes
    linearly, such as embeddings of a pretrained network. After every row it equals a discriminant
    analysis of all rows so far: scikit-learn's `LinearDiscriminantAnalysis(solver="lsqr",
    shrinkage=...)`, to rounding.

    Learning a row costs the square of the number of features. The first prediction after a row also factorises the
    covariance, which costs their cube: predict many rows at once where there are hundreds of features. A missing
    number counts as 0; a nominal feature has one dimension per value, so shrinkage must be positive.

    Parameters
    ----------
    shrinkage
        Weight of a multiple of the identity, of the same mean variance, in the covariance. With 0, a prediction is
        refused until the covariance can be inverted, which takes more rows than there are features and classes.
    priors
        Prior probabilities of the classes: "empirical" for their frequencies so far, "uniform" for equal ones.

    Notes
    -----
    CapyMOA's SLDA (0.15.1) uses the covariance about the mean of all classes, which loses accuracy as classes are
    added, and is not matched. Hayes and Kanan add a fixed multiple of the identity; here, as in scikit-learn, it
    is relative to the mean variance.

    Examples
    --------
    >>> from millstream import continual, datasets
    >>> rows = datasets.Digits().take(1500)
    >>> by_class = sorted(rows, key=lambda example: example[1])
    >>> model = continual.StreamingLDA()
    >>> for x, y in by_class:
    ...     model.learn_one(x, y)
    >>> test = list(datasets.Digits())[1500:]
    >>> round(sum(model.predict_one(x) == y for x, y in test) / len(test), 2)
    0.95

    References
    ----------
    Hayes, T. L. and Kanan, C. (2020). Lifelong machine learning with deep streaming linear discriminant analysis.
    CVPR Workshops.
    """

    name = "continual.StreamingLDA"

    @forwarded
    def __init__(self, shrinkage: float = 1e-4, priors: str = "empirical") -> None: ...
