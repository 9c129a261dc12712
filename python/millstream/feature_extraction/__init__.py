"""Features from text, and from other features."""

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.feature_extraction.aggregates import Agg, TargetAgg
from millstream.feature_extraction.hashing import HashingVectorizer
from millstream.feature_extraction.polynomial import PolynomialExtender
from millstream.feature_extraction.words import TFIDF, BagOfWords

__all__ = ["TFIDF", "Agg", "BagOfWords", "HashingVectorizer", "PolynomialExtender", "TargetAgg"]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
