"""Anomaly likelihood."""

from __future__ import annotations

from typing import Any

from millstream._native import Native
from millstream._part import shown_part
from millstream.base import AnomalyDetector, Model
from millstream.compose.members import compiles
from millstream.errors import InvalidType

__all__ = ["AnomalyLikelihood"]


class AnomalyLikelihood(Native, AnomalyDetector):
    """Scores how unusual the recent scores of a detector are compared with its earlier scores.

    Choose it around a detector with noisy scores, such as `TemporalMemory` on a series that is only partly
    predictable: where high scores are common, a single one carries little information. The mean of the last
    scores is compared with a normal distribution of such means over a long window.

    With `scale="likelihood"` the score is the probability of a lower mean. The default, `scale="log"`, spreads
    the values near 1: 0.2 corresponds to a likelihood of 0.99, 0.5 to 0.99999, and 1 to 1 - 10⁻¹⁰. The score is 0
    for the first `grace_period + min_samples` rows.

    Parameters
    ----------
    model
        Native anomaly detector or pipeline with scores in [0, 1].
    grace_period
        Number of initial rows whose scores are excluded from the distribution, because the detector is still
        learning.
    min_samples
        Number of scores in the distribution before rows are scored.
    window_size
        Number of most recent scores from which the distribution is estimated.
    smoothing_window
        Number of most recent scores whose mean is compared with the distribution.
    refresh_interval
        Number of rows between updates of the distribution.
    scale
        "log", "likelihood", or "raw" for the score of the detector.
    onsets_only
        Whether only the first of consecutive anomalies has its full score; the likelihood of the others is at
        most 0.99.

    Notes
    -----
    The standard deviation of the distribution is at least 0.0173 and its mean at least 0.03, as in NuPIC, so
    that the distribution is also defined for a detector whose scores are all 0. As in the paper, but unlike
    NuPIC, low scores are never anomalies.

    Examples
    --------
    One number near the upper end of its range is normal; five in a row are not:

    >>> from millstream import anomaly, htm
    >>> model = htm.AnomalyLikelihood(anomaly.GaussianScorer(), grace_period=200)
    >>> for row in range(2000):
    ...     model.learn_one({"x": row * 37 % 100 / 100})
    >>> scores = [model.step_one({"x": 0.99}) for _ in range(5)]
    >>> [round(score, 3) for score in scores]
    [0.065, 0.235, 0.25, 0.771, 0.981]

    References
    ----------
    Ahmad, S., Lavin, A., Purdy, S. and Agha, Z. (2017). Unsupervised real-time anomaly detection for streaming
    data. Neurocomputing 262.
    """

    name = "htm.AnomalyLikelihood"

    def __init__(
        self,
        model: Any,
        grace_period: int = 288,
        min_samples: int = 100,
        window_size: int = 8640,
        smoothing_window: int = 10,
        refresh_interval: int = 100,
        scale: str = "log",
        onsets_only: bool = False,
    ) -> None:
        if isinstance(model, Model) and not compiles(model):
            raise InvalidType(f"{self.name}: model must be a native anomaly detector, got {shown_part(model)}")
        super().__init__(
            model=model,
            grace_period=grace_period,
            min_samples=min_samples,
            window_size=window_size,
            smoothing_window=smoothing_window,
            refresh_interval=refresh_interval,
            scale=scale,
            onsets_only=onsets_only,
        )

    @property
    def model(self) -> Any:
        """The detector, as a copy in its current state."""
        return self._member(0)
