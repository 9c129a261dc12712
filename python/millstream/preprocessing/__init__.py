"""Transformers that prepare features for learners, and wrappers that prepare the targets of regressors."""

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.preprocessing.encoders import CountEncoder, OneHotEncoder, OrdinalEncoder, TargetEncoder
from millstream.preprocessing.guard import Guard
from millstream.preprocessing.hashing import FeatureHasher
from millstream.preprocessing.imputers import Imputer, PreviousImputer
from millstream.preprocessing.projections import GaussianRandomProjector, SparseRandomProjector
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
    "CountEncoder",
    "FeatureHasher",
    "GaussianRandomProjector",
    "Guard",
    "Imputer",
    "MaxAbsScaler",
    "MinMaxScaler",
    "Normalizer",
    "OneHotEncoder",
    "OrdinalEncoder",
    "PredClipper",
    "PreviousImputer",
    "QuantileTransformer",
    "RobustScaler",
    "SparseRandomProjector",
    "StandardScaler",
    "TargetEncoder",
    "TargetMinMaxScaler",
    "TargetStandardScaler",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
