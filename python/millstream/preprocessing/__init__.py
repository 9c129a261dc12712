"""Transformers that prepare features for learners."""

from millstream.preprocessing.encoders import OneHotEncoder
from millstream.preprocessing.hashing import FeatureHasher
from millstream.preprocessing.imputers import Imputer
from millstream.preprocessing.projections import GaussianRandomProjector, SparseRandomProjector
from millstream.preprocessing.scalers import MaxAbsScaler, MinMaxScaler, StandardScaler

__all__ = [
    "FeatureHasher",
    "GaussianRandomProjector",
    "Imputer",
    "MaxAbsScaler",
    "MinMaxScaler",
    "OneHotEncoder",
    "SparseRandomProjector",
    "StandardScaler",
]
