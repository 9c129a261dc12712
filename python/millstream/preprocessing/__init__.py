"""Transformers that prepare features for learners."""

from millstream.preprocessing.encoders import CountEncoder, OneHotEncoder, OrdinalEncoder, TargetEncoder
from millstream.preprocessing.hashing import FeatureHasher
from millstream.preprocessing.imputers import Imputer
from millstream.preprocessing.projections import GaussianRandomProjector, SparseRandomProjector
from millstream.preprocessing.scalers import MaxAbsScaler, MinMaxScaler, StandardScaler

__all__ = [
    "CountEncoder",
    "FeatureHasher",
    "GaussianRandomProjector",
    "Imputer",
    "MaxAbsScaler",
    "MinMaxScaler",
    "OneHotEncoder",
    "OrdinalEncoder",
    "SparseRandomProjector",
    "StandardScaler",
    "TargetEncoder",
]
