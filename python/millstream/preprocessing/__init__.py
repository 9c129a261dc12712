"""Transformers that prepare features for learners."""

from millstream.preprocessing.encoders import OneHotEncoder
from millstream.preprocessing.imputers import Imputer
from millstream.preprocessing.scalers import MaxAbsScaler, MinMaxScaler, StandardScaler

__all__ = ["Imputer", "MaxAbsScaler", "MinMaxScaler", "OneHotEncoder", "StandardScaler"]
