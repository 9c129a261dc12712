"""Features from text, and from other features."""

from millstream.feature_extraction.aggregates import Agg, TargetAgg
from millstream.feature_extraction.hashing import HashingVectorizer

__all__ = ["Agg", "HashingVectorizer", "TargetAgg"]
