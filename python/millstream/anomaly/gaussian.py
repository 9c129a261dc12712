"""A normal distribution for each feature."""

from __future__ import annotations

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import AnomalyDetector

__all__ = ["GaussianScorer"]


class GaussianScorer(Native, AnomalyDetector):
    """Scores the distance of a row from the mean, under a normal distribution of each feature.

    Choose it if single features reveal anomalies, such as sensors with a working range: it needs no scaling, its
    score is a probability that can be compared across models, and it costs a few operations per feature. It cannot
    detect rows whose features are normal individually but not jointly; `HalfSpaceTrees` can.

    With the mean and standard deviation of a feature so far, the feature's score is `2 * abs(cdf(x) - 0.5)`:
    uniform in [0, 1] for normal values. The score of a row of `d` features is the largest of these to the power
    `d`, which is the probability that a normal row with independent features is less extreme. One normal row in
    a hundred therefore reaches 0.99, whatever the number of features. Only features with at least `grace_period`
    values are scored; nominal and missing values are ignored. If a feature never varied, any other value has score
    1.

    Parameters
    ----------
    window_size
        Number of most recent values of a feature that are used; None for all. Choose a window if the normal range
        changes.
    grace_period
        Number of examples before a feature is scored. A row without scored features has score 0.

    Notes
    -----
    River's `GaussianScorer` scores a target and not the features. On one feature the two agree, except for a
    constant feature: River scores 1 even at its value.

    Examples
    --------
    Normal rows of ten features. One per cent of them score above 0.99, although in one row of ten some feature
    is beyond its own 99 %:

    >>> import numpy as np
    >>> from millstream import anomaly
    >>> X = np.random.default_rng(7).normal(size=(20_000, 10))
    >>> model = anomaly.GaussianScorer()
    >>> scores = model.step_many(X)
    >>> round(float(np.mean(scores > 0.99)), 3), round(float(np.mean(abs(X).max(axis=1) > 2.576)), 3)
    (0.01, 0.098)
    >>> round(model.score_one({0: 5.0}), 6)
    0.999999

    References
    ----------
    Welford, B. P. (1962). Note on a method for calculating corrected sums of squares and products.
    David, H. A. and Nagaraja, H. N. (2003). Order Statistics. Wiley.
    """

    name = "anomaly.GaussianScorer"

    @forwarded
    def __init__(self, window_size: int | None = None, grace_period: int = 100) -> None: ...
