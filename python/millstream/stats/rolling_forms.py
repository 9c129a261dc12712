"""Rolling forms by name, as in River: each is `Rolling` around a statistic."""

# ruff: noqa: N802

from __future__ import annotations

from millstream.stats.distribution import Mode
from millstream.stats.moments import SEM, Mean, Sum, Var
from millstream.stats.order import IQR, AbsMax, Max, Min, PeakToPeak, Quantile
from millstream.stats.pairs import Cov, PearsonCorr
from millstream.stats.windows import Rolling

__all__ = [
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
]


def RollingAbsMax(window_size: int) -> Rolling:
    """`Rolling(AbsMax(), window_size)`."""
    return Rolling(AbsMax(), window_size)


def RollingMax(window_size: int) -> Rolling:
    """`Rolling(Max(), window_size)`."""
    return Rolling(Max(), window_size)


def RollingMean(window_size: int) -> Rolling:
    """`Rolling(Mean(), window_size)`."""
    return Rolling(Mean(), window_size)


def RollingMin(window_size: int) -> Rolling:
    """`Rolling(Min(), window_size)`."""
    return Rolling(Min(), window_size)


def RollingMode(window_size: int) -> Rolling:
    """`Rolling(Mode(k=-1), window_size)`."""
    return Rolling(Mode(k=-1), window_size)


def RollingPeakToPeak(window_size: int) -> Rolling:
    """`Rolling(PeakToPeak(), window_size)`."""
    return Rolling(PeakToPeak(), window_size)


def RollingPearsonCorr(window_size: int) -> Rolling:
    """`Rolling(PearsonCorr(), window_size)`."""
    return Rolling(PearsonCorr(), window_size)


def RollingSum(window_size: int) -> Rolling:
    """`Rolling(Sum(), window_size)`."""
    return Rolling(Sum(), window_size)


def RollingCov(window_size: int, ddof: int = 1) -> Rolling:
    """`Rolling(Cov(ddof), window_size)`."""
    return Rolling(Cov(ddof), window_size)


def RollingSEM(window_size: int, ddof: int = 1) -> Rolling:
    """`Rolling(SEM(ddof), window_size)`."""
    return Rolling(SEM(ddof), window_size)


def RollingVar(window_size: int, ddof: int = 1) -> Rolling:
    """`Rolling(Var(ddof), window_size)`."""
    return Rolling(Var(ddof), window_size)


def RollingIQR(window_size: int, q_inf: float = 0.25, q_sup: float = 0.75) -> Rolling:
    """`Rolling(IQR(q_inf, q_sup), window_size)`."""
    return Rolling(IQR(q_inf, q_sup), window_size)


def RollingQuantile(q: float, window_size: int) -> Rolling:
    """`Rolling(Quantile(q), window_size)`: exact, with NumPy's method "inverted_cdf"."""
    return Rolling(Quantile(q), window_size)
