"""Nearest neighbours with a self-adjusting memory."""

from __future__ import annotations

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Classifier

__all__ = ["SAMKNNClassifier"]


class SAMKNNClassifier(Native, Classifier):
    """SAM-kNN: nearest neighbours with a short-term and a long-term memory.

    Choose it where the kind of drift is unknown: abrupt, gradual or recurring. The short-term memory is a window
    of the last rows. After each row, the size with the least interleaved test-then-train error among its size, one
    half, one quarter and so on is chosen. Rows that leave it join the long-term memory, unless nearby rows of the
    short-term memory contradict them; later rows remove what contradicts them. The prediction is that of the
    memory (short-term, long-term, or both together) that was right most often over the last rows.

    It takes several times as long as `KNNClassifier`. Its votes are weighted by 1 / distance, as in the paper.
    Distances, ties, scales, nominal and missing values are those of `KNNClassifier`.

    Parameters
    ----------
    n_neighbors
        Number of nearest rows that predict.
    window_size
        Number of rows in both memories.
    ltm_size
        Fraction of these rows that the long-term memory may hold. When it is full, the rows of each class are
        replaced by half as many cluster centres.
    min_stm_size
        Least number of rows that the short-term memory shrinks to.
    weights
        Weights of neighbours: "distance" for 1 / distance, or "uniform".
    metric
        Distance: "minkowski" with power `p`, "euclidean" or "l2", "manhattan" or "l1", or "cosine".
    p
        Power of the Minkowski distance: 1 for Manhattan, 2 for Euclidean.
    scale
        Divisor of numbers in distances: "standard" for the standard deviation, "min_max" for the range, None for
        no scaling.
    seed
        Seed of the compression of the long-term memory.

    Notes
    -----
    The interleaved errors of all candidate sizes are exact; scikit-multiflow's default approximates them. When the
    short-term memory is full, the oldest eighth moves to the long-term memory at once.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import neighbors
    >>> X = np.random.default_rng(1).uniform(size=(2000, 2))
    >>> y = X[:, 0] > X[:, 1]
    >>> y[1000:] = ~y[1000:]
    >>> model = neighbors.SAMKNNClassifier()
    >>> predictions = model.step_many(X, y)
    >>> round(float(np.mean(predictions[1200:] == y[1200:])), 2)
    0.97
    >>> model.short_term_size < 2000
    True

    References
    ----------
    Losing, V., Hammer, B. and Wersing, H. (2016). KNN classifier with self adjusting memory for heterogeneous
    concept drift. ICDM, 291-300.
    """

    name = "neighbors.SAMKNNClassifier"

    @forwarded
    def __init__(
        self,
        n_neighbors: int = 5,
        window_size: int = 5000,
        ltm_size: float = 0.4,
        min_stm_size: int = 50,
        weights: str = "distance",
        metric: str = "minkowski",
        p: float = 2.0,
        scale: str | None = "standard",
        seed: int = 0,
    ) -> None: ...

    @property
    def short_term_size(self) -> int:
        """Number of rows in the short-term memory."""
        return int(self._numbers()["short_term"])

    @property
    def long_term_size(self) -> int:
        """Number of rows in the long-term memory."""
        return int(self._numbers()["long_term"])

    @property
    def predictor(self) -> str:
        """The memory that predicts now: "short_term", "long_term" or "both"."""
        return str(self._numbers()["predictor"])
