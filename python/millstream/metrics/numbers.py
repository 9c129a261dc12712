"""Regression metrics."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.metrics.base import Metric

__all__ = ["MAE", "MAPE", "MSE", "R2", "RMSE", "SMAPE"]


class MAE(Metric):
    """Mean absolute error, in the units of the target. Robust to outliers compared to `RMSE`.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.MAE()
    >>> metric.update_many([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    >>> metric
    MAE: 0.5
    """

    name = "metrics.MAE"
    _format = ",.6f"

    @forwarded
    def __init__(self) -> None: ...


class MSE(Metric):
    """Mean squared error, which large errors dominate.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.MSE()
    >>> metric.update_many([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    >>> metric
    MSE: 0.375
    """

    name = "metrics.MSE"
    _format = ",.6f"

    @forwarded
    def __init__(self) -> None: ...


class RMSE(Metric):
    """Root mean squared error, in the units of the target.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.RMSE()
    >>> metric.update_many([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    >>> metric
    RMSE: 0.612372
    """

    name = "metrics.RMSE"
    _format = ",.6f"

    @forwarded
    def __init__(self) -> None: ...


class MAPE(Metric):
    """Mean absolute percentage error. A truth of 0 counts as no error, as in River.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.MAPE()
    >>> metric.update_many([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    >>> metric
    MAPE: 32.738095
    """

    name = "metrics.MAPE"
    _format = ",.6f"

    @forwarded
    def __init__(self) -> None: ...


class SMAPE(Metric):
    """Symmetric mean absolute percentage error, relative to the mean of |truth| and |prediction|; at most 200.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.SMAPE()
    >>> metric.update_many([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    >>> metric
    SMAPE: 57.878788
    """

    name = "metrics.SMAPE"
    _format = ",.6f"

    @forwarded
    def __init__(self) -> None: ...


class R2(Metric):
    """Coefficient of determination: 1 is perfect, 0 is no better than predicting the mean.

    It is 0 while the truth has not varied.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.R2()
    >>> metric.update_many([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    >>> metric
    R2: 0.948608

    References
    ----------
    West, D. H. D. (1979). Updating mean and variance estimates: an improved method.
    """

    name = "metrics.R2"
    _format = ",.6f"

    @forwarded
    def __init__(self) -> None: ...
