"""Baselines: the simplest predictors, to compare others with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._native import Native
from millstream._other_names import unknown_name
from millstream._part import forwarded
from millstream.base import Classifier, Regressor

__all__ = ["MajorityClass", "NoChange", "Prior", "TargetMean"]


class NoChange(Native, Classifier):
    """The class of the last example, regardless of the features.

    If labels come in runs (electricity prices, weather, most time series) it is hard to beat, and a model that
    does not beat it is of no use. `metrics.KappaTemporal` compares with it.

    Examples
    --------
    >>> from millstream import baseline
    >>> model = baseline.NoChange()
    >>> for y in ("up", "down", "up"):
    ...     model.learn_one({}, y)
    >>> model.predict_one({}), model.predict_proba_one({})
    ('up', {'up': 1.0, 'down': 0.0})

    References
    ----------
    Bifet, A., Read, J., Žliobaitė, I., Pfahringer, B. and Holmes, G. (2013). Pitfalls in benchmarking data
    stream classification and how to avoid them.
    """

    name = "baseline.NoChange"

    @forwarded
    def __init__(self) -> None: ...


class MajorityClass(Native, Classifier):
    """The most frequent class so far, with probability 1, regardless of the features.

    Its accuracy is that of class imbalance alone. Choose `Prior` to compare probabilities.

    Examples
    --------
    >>> from millstream import baseline
    >>> model = baseline.MajorityClass()
    >>> for y in ("ham", "spam", "ham"):
    ...     model.learn_one({}, y)
    >>> model.predict_one({}), model.predict_proba_one({})
    ('ham', {'ham': 1.0, 'spam': 0.0})
    """

    name = "baseline.MajorityClass"

    @forwarded
    def __init__(self) -> None: ...


class Prior(Native, Classifier):
    """Class probabilities equal to the class frequencies so far, regardless of the features.

    Its log loss is that of the class frequencies alone.

    Examples
    --------
    >>> from millstream import baseline
    >>> model = baseline.Prior()
    >>> for y in ("ham", "spam", "ham", "ham"):
    ...     model.learn_one({}, y)
    >>> model.predict_one({}), model.predict_proba_one({})
    ('ham', {'ham': 0.75, 'spam': 0.25})
    """

    name = "baseline.Prior"

    @forwarded
    def __init__(self) -> None: ...


class TargetMean(Native, Regressor):
    """The mean of the targets so far, regardless of the features; 0 before the first.

    A regressor that does not beat it has an R2 below 0.

    Examples
    --------
    >>> from millstream import baseline
    >>> model = baseline.TargetMean()
    >>> model.learn_one({}, 4.0)
    >>> model.learn_one({}, 10.0, w=3.0)
    >>> model.predict_one({})
    8.5
    """

    name = "baseline.TargetMean"

    @forwarded
    def __init__(self) -> None: ...


if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
