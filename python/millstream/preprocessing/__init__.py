"""Transformers that prepare features for learners."""

from millstream.preprocessing.encoders import CountEncoder, OneHotEncoder, OrdinalEncoder, TargetEncoder
from millstream.preprocessing.imputers import Imputer
from millstream.preprocessing.scalers import MaxAbsScaler, MinMaxScaler, StandardScaler

__all__ = [
    "CountEncoder",
    "Imputer",
    "MaxAbsScaler",
    "MinMaxScaler",
    "OneHotEncoder",
    "OrdinalEncoder",
    "StandardScaler",
    "TargetEncoder",
]
