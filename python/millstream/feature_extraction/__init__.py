"""Features from text, and from other features."""

from millstream.feature_extraction.hashing import HashingVectorizer

__all__ = ["HashingVectorizer"]
