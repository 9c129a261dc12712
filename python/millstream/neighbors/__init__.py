"""Nearest neighbours: models that predict from the stored rows that are most similar.

`KNNClassifier` and `KNNRegressor` search the last `window_size` rows. `SAMKNNClassifier` also keeps older rows
that do not contradict newer ones. Rows are stored as they were given and scaled when they are compared, so they
need no scaler in front.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.neighbors.engines import HNSW, SearchEngine
from millstream.neighbors.knn import KNNClassifier, KNNRegressor
from millstream.neighbors.neighbor import Neighbor
from millstream.neighbors.sam_knn import SAMKNNClassifier

__all__ = ["HNSW", "KNNClassifier", "KNNRegressor", "Neighbor", "SAMKNNClassifier", "SearchEngine"]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
