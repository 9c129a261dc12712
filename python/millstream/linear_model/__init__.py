"""Learners that are linear in their parameters.

Numbers are not scaled: put a `StandardScaler` in front of learners that follow a gradient. A nominal feature has
one weight per value, a missing value contributes nothing, and features may appear at any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.linear_model.bayesian import BayesianLinearRegression
from millstream.linear_model.confidence import AROW, CW, SCW, Ellipsoid, GaussianHerding
from millstream.linear_model.gradient import LinearRegression, LogisticRegression, SoftmaxRegression
from millstream.linear_model.incremental_risk import IRMA, IRMAClassifier
from millstream.linear_model.least_squares import (
    LMS,
    RLS,
    AROWRegressor,
    LeastSquares,
    PARegressor,
    RidgeClassifier,
)
from millstream.linear_model.margin import ALMA, ROMMA, SVM, PAClassifier, Perceptron
from millstream.linear_model.quantiles import QuantileRegression

__all__ = [
    "ALMA",
    "AROW",
    "CW",
    "IRMA",
    "LMS",
    "RLS",
    "ROMMA",
    "SCW",
    "SVM",
    "AROWRegressor",
    "BayesianLinearRegression",
    "Ellipsoid",
    "GaussianHerding",
    "IRMAClassifier",
    "LeastSquares",
    "LinearRegression",
    "LogisticRegression",
    "PAClassifier",
    "PARegressor",
    "Perceptron",
    "QuantileRegression",
    "RidgeClassifier",
    "SoftmaxRegression",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
