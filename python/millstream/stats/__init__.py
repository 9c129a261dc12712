"""Incremental statistics of weighted numbers.

    mean = stats.Mean()
    mean.update(3.0)
    mean.get()

A number of weight 2 counts twice. A statistic is NaN while it is undefined, as in NumPy (River returns 0). `merge`
(also `+`) combines it with the same statistic of another stream, where the result is exact up to rounding; `-` and
`revert` remove a part or a number of those that allow it. `Rolling` and `TimeRolling` restrict any of them to a
window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.stats.base import Statistic
from millstream.stats.decayed import EWCov, EWMean, EWVar
from millstream.stats.distribution import Entropy, Mode
from millstream.stats.moments import SEM, BayesianMean, Count, Kurtosis, Mean, Skew, Sum, Var
from millstream.stats.order import IQR, MAD, AbsMax, Max, Min, PeakToPeak, Quantile
from millstream.stats.pairs import ChiSquared, Cov, KolmogorovSmirnov, PearsonCorr
from millstream.stats.rolling_forms import (
    RollingAbsMax,
    RollingCov,
    RollingIQR,
    RollingMax,
    RollingMean,
    RollingMin,
    RollingMode,
    RollingPeakToPeak,
    RollingPearsonCorr,
    RollingQuantile,
    RollingSEM,
    RollingSum,
    RollingVar,
)
from millstream.stats.series import AutoCorr, Link, Shift
from millstream.stats.windows import Rolling, TimeRolling

__all__ = [
    "IQR",
    "MAD",
    "SEM",
    "AbsMax",
    "AutoCorr",
    "BayesianMean",
    "ChiSquared",
    "Count",
    "Cov",
    "EWCov",
    "EWMean",
    "EWVar",
    "Entropy",
    "KolmogorovSmirnov",
    "Kurtosis",
    "Link",
    "Max",
    "Mean",
    "Min",
    "Mode",
    "PeakToPeak",
    "PearsonCorr",
    "Quantile",
    "Rolling",
    "RollingAbsMax",
    "RollingCov",
    "RollingIQR",
    "RollingMax",
    "RollingMean",
    "RollingMin",
    "RollingMode",
    "RollingPeakToPeak",
    "RollingPearsonCorr",
    "RollingQuantile",
    "RollingSEM",
    "RollingSum",
    "RollingVar",
    "Shift",
    "Skew",
    "Statistic",
    "Sum",
    "TimeRolling",
    "Var",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
