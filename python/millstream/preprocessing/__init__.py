"""Transformers that prepare features for learners, and wrappers that prepare the targets of regressors."""

from millstream.preprocessing.encoders import OneHotEncoder
from millstream.preprocessing.imputers import Imputer, PreviousImputer
from millstream.preprocessing.rows import Binarizer, Normalizer
from millstream.preprocessing.scalers import (
    AdaptiveStandardScaler,
    MaxAbsScaler,
    MinMaxScaler,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from millstream.preprocessing.targets import PredClipper, TargetMinMaxScaler, TargetStandardScaler

__all__ = [
    "AdaptiveStandardScaler",
    "Binarizer",
    "Imputer",
    "MaxAbsScaler",
    "MinMaxScaler",
    "Normalizer",
    "OneHotEncoder",
    "PredClipper",
    "PreviousImputer",
    "QuantileTransformer",
    "RobustScaler",
    "StandardScaler",
    "TargetMinMaxScaler",
    "TargetStandardScaler",
]
