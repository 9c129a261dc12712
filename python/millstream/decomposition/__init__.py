"""Decompositions: transformers that describe rows by a few components.

Rows are not scaled, so put a `StandardScaler` in front if features have different units. A nominal feature has one
coordinate per value, 1 where the row has that value and otherwise 0. Features may appear at any time and become
part of the components with the next update. Until the first update, `transform_one` returns zeros and `ready` is
False."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.decomposition.factors import NMF, DictionaryLearning
from millstream.decomposition.principal import CCIPCA, PCA, IncrementalPCA
from millstream.decomposition.singular import FrequentDirections, IncrementalSVD
from millstream.decomposition.topics import LDA

__all__ = [
    "CCIPCA",
    "LDA",
    "NMF",
    "PCA",
    "DictionaryLearning",
    "FrequentDirections",
    "IncrementalPCA",
    "IncrementalSVD",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
