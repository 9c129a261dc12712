"""Decisions by a threshold on the score of an anomaly detector."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from millstream import stats
from millstream._answers import checked_number
from millstream._echo import typed
from millstream._native import Native
from millstream._part import shown_part
from millstream._python_loop import teach
from millstream.base import AnomalyFilter, Features, Model, check_example
from millstream.errors import InvalidType, InvalidValue
from millstream.roles import ANOMALY_DETECTOR, role_of

__all__ = ["QuantileFilter", "ThresholdFilter"]


class _Filter(AnomalyFilter):
    """The base class of filters around detectors written in Python."""

    aliases = {"anomaly_detector": "model"}
    model: Any
    protect_anomaly_detector: bool

    def _around(self, model: Any, protect_anomaly_detector: bool) -> None:
        if isinstance(model, type) or role_of(model) is not ANOMALY_DETECTOR:
            raise InvalidType(f"{self.name}: model must be an anomaly detector, got {shown_part(model)}")
        self.model = model
        self.protect_anomaly_detector = protect_anomaly_detector

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example; a protected detector skips anomalies."""
        check_example(self, y, w)
        score = self.score_one(x)
        if w > 0.0 and not (self.protect_anomaly_detector and self.classify(score)):
            teach(self.model, x, y, w)

    def score_one(self, x: Features) -> float:
        """The score of the detector."""
        must = f"{self.name}: score_one of its model must return a finite number"
        return checked_number(self.model.score_one(x), must)


def _is_compiled(model: Any) -> bool:
    return isinstance(model, (Native, Mapping, str))


class ThresholdFilter(_Filter):
    """Classifies a row as an anomaly if the score of a detector reaches a threshold.

    Choose it if the score can be interpreted, like that of `GaussianScorer`; if only the order of scores is
    meaningful, choose `QuantileFilter`.

    A row is classified before it is learned: `predict_one` returns whether a row is an anomaly, `classify` whether
    a score is. Within a pipeline, rows pass unchanged, and the steps after the filter do not learn anomalies. If a
    later step refuses a row, the filter does not learn it either.

    Parameters
    ----------
    model
        The anomaly detector, native or written in Python, or a pipeline. Also `anomaly_detector`.
    threshold
        Lowest score of an anomaly.
    protect_anomaly_detector
        Whether to exclude anomalies from the training of the detector. Choose False if normal rows may change
        abruptly: the detector must then learn the new rows to adapt.

    Notes
    -----
    There are two differences from River: an unprotected detector learns every row (River's learns none), and in a
    pipeline a row is classified once, before the detector learns it.

    Examples
    --------
    One reading in fifty is wrong (40). Behind a filter, the regression does not learn them:

    >>> from millstream import anomaly, linear_model
    >>> def sensor():
    ...     for row in range(3000):
    ...         x = (row * 37 % 100) / 100
    ...         yield ({"x": 40.0}, 0.0) if row % 50 == 49 else ({"x": x}, 1.0 + 2.0 * x)
    >>> def error(model):
    ...     for x, y in sensor():
    ...         model.learn_one(x, y)
    ...     return round(sum(abs(model.predict_one({"x": x / 100}) - 1.0 - 2.0 * x / 100) for x in range(100)), 4)
    >>> filtered = anomaly.ThresholdFilter(anomaly.GaussianScorer(grace_period=20), threshold=0.999)
    >>> error(linear_model.RLS()), error(filtered | linear_model.RLS())
    (51.1249, 0.1541)
    """

    name = "anomaly.ThresholdFilter"

    def __new__(cls, model: Any = None, *_: Any, **others: Any) -> Any:
        if cls is ThresholdFilter and _is_compiled(others.get("anomaly_detector", model)):
            return _NativeThresholdFilter.__new__(_NativeThresholdFilter)
        return super().__new__(cls)

    def __init__(
        self, model: Model | Mapping[str, Any] | str, threshold: float, protect_anomaly_detector: bool = True
    ) -> None:
        self._around(model, protect_anomaly_detector)
        if not math.isfinite(threshold):
            raise InvalidValue(f"{self.name}: threshold must be a finite number, got {typed(threshold)}")
        self.threshold = threshold

    @classmethod
    def _revive(cls, source: Any) -> Any:
        return Native._revive.__func__(_NativeThresholdFilter, source)  # type: ignore[attr-defined]

    def classify(self, score: float) -> bool:
        """Whether a score reaches the threshold."""
        return score >= self.threshold


class _NativeThresholdFilter(Native, ThresholdFilter):
    def __init__(
        self, model: Model | Mapping[str, Any] | str, threshold: float, protect_anomaly_detector: bool = True
    ) -> None:
        Native.__init__(self, model=model, threshold=threshold, protect_anomaly_detector=protect_anomaly_detector)


class QuantileFilter(_Filter):
    """Classifies a row as an anomaly if the score of a detector reaches a quantile of the scores so far.

    Choose it to flag about a given fraction of rows, whatever the scale of the scores: `q=0.99` flags the one
    per cent of rows with the highest scores.

    A row is classified before it is learned: `predict_one` returns whether a row is an anomaly, `classify` whether
    a score is. Within a pipeline, rows pass unchanged, and the steps after the filter do not learn anomalies. If a
    later step refuses a row, the filter does not learn it either.

    Parameters
    ----------
    model
        The anomaly detector, native or written in Python, or a pipeline. Also `anomaly_detector`.
    q
        Fraction of scores at or below the threshold.
    protect_anomaly_detector
        Whether to exclude anomalies from the training of the detector. Choose False if normal rows may change
        abruptly: the detector must then learn the new rows to adapt.

    Notes
    -----
    The quantile is that of `stats.Quantile`, of all scores, those of anomalies included, and its error is
    bounded. No row is an anomaly while the quantile is 0, because a detector that needs more rows scores 0. In a
    pipeline a row is classified once, before the detector learns it; River classifies it again afterwards.

    Examples
    --------
    A burst of 300 anomalies. A detector that learns them treats them as normal once they fill a window; a
    protected one flags nearly all:

    >>> import numpy as np
    >>> from millstream import anomaly
    >>> random = np.random.default_rng(5)
    >>> X = random.normal(0.3, 0.05, size=(4000, 2))
    >>> X[3500:3800] = random.normal(0.8, 0.01, size=(300, 2))
    >>> def flagged(protected):
    ...     model = anomaly.QuantileFilter(anomaly.HalfSpaceTrees(), 0.95, protect_anomaly_detector=protected)
    ...     model.learn_many(X[:3500])
    ...     said = []
    ...     for x in X[3500:3800].tolist():
    ...         said.append(model.predict_one(dict(enumerate(x))))
    ...         model.learn_one(dict(enumerate(x)))
    ...     return sum(said)
    >>> flagged(True), flagged(False)
    (299, 249)
    """

    name = "anomaly.QuantileFilter"

    def __new__(cls, model: Any = None, *_: Any, **others: Any) -> Any:
        if cls is QuantileFilter and _is_compiled(others.get("anomaly_detector", model)):
            return _NativeQuantileFilter.__new__(_NativeQuantileFilter)
        return super().__new__(cls)

    def __init__(
        self, model: Model | Mapping[str, Any] | str, q: float, protect_anomaly_detector: bool = True
    ) -> None:
        self._around(model, protect_anomaly_detector)
        if not 0.0 < q < 1.0:
            raise InvalidValue(f"{self.name}: q must be in (0, 1), got {typed(q)}")
        self.q = q
        self._quantile = stats.Quantile(q)

    @classmethod
    def _revive(cls, source: Any) -> Any:
        return Native._revive.__func__(_NativeQuantileFilter, source)  # type: ignore[attr-defined]

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example; a protected detector skips anomalies."""
        score = self.score_one(x)
        super().learn_one(x, y, w)
        self._quantile.update(score, w)

    def classify(self, score: float) -> bool:
        """Whether a score reaches the quantile of the scores so far."""
        quantile = self._quantile.get()
        return not math.isnan(quantile) and quantile != 0.0 and score >= quantile


class _NativeQuantileFilter(Native, QuantileFilter):
    def __init__(
        self, model: Model | Mapping[str, Any] | str, q: float, protect_anomaly_detector: bool = True
    ) -> None:
        Native.__init__(self, model=model, q=q, protect_anomaly_detector=protect_anomaly_detector)


_NativeThresholdFilter.__name__ = ThresholdFilter.__name__
_NativeQuantileFilter.__name__ = QuantileFilter.__name__
