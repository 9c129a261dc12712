"""Random trees that count how many recent rows were near a row."""

from __future__ import annotations

from millstream._limits import Limited, Limits, described
from millstream._native import Native
from millstream.base import AnomalyDetector

__all__ = ["HalfSpaceTrees"]


class HalfSpaceTrees(Limited, Native, AnomalyDetector):
    """Half-space trees: random trees that count how many recent rows were near a row.

    Choose it for streams of numbers whose normal rows form regions of any shape, with anomalies outside them or
    between them. Nothing is assumed about distributions, a row costs a fraction of a microsecond, and what is
    normal may change with time. Bursts of anomalies longer than a window become normal; wrap the
    detector in `QuantileFilter` to keep it from learning them. For a single feature, or where features are
    normally distributed, `GaussianScorer` is more accurate.

    Each tree cuts the space of features into `2 ** height` cells at random before it receives data. Rows of a
    window are counted in the cells; when the window is full, its counts become the reference for scores. The score
    is in [0, 1]. It is 0 for the first `window_size` rows, before there is a reference.

    Cells are cut within `limits`, 0 to 1 by default: scale other features first, as in the example. A value
    outside its limits falls into the outermost cell. A row that lacks a feature goes to the side of a cut with
    more rows of the current window. Nominal features are ignored, and so are features that are absent from the
    first row with numbers, because the trees are grown then.

    Parameters
    ----------
    n_trees
        Number of trees; time and memory are proportional to it.
    height
        Number of cuts from the root of a tree to a leaf.
    window_size
        Number of rows in a window.
    limits
        Range of each feature: a dict of feature to (low, high), or one pair for all features. The range of other
        features is (0, 1). Wide features are cut more often.
    seed
        Seed of the random cuts.

    Notes
    -----
    As in River, the score adds up the counts of all nodes on a path, each times 2 to the power of its depth, up
    to the first with less than a tenth of the window; the paper takes the last node alone. Cuts are drawn as in
    River too: a feature in proportion to the width of the cell, then a point that is not within 15 % of its
    ends. Cells count weights; the length of a window is a number of rows.

    Examples
    --------
    Two clusters, at (0.2, 0.2) and (0.8, 0.8). The point between them is not extreme in either feature, but no
    row was near it:

    >>> import numpy as np
    >>> from millstream import anomaly
    >>> random = np.random.default_rng(3)
    >>> X = np.where(random.random((2000, 1)) < 0.5, 0.2, 0.8) + random.normal(scale=0.03, size=(2000, 2))
    >>> model = anomaly.HalfSpaceTrees(n_trees=25)
    >>> model.learn_many(X)
    0
    >>> [round(model.score_one({0: x, 1: y}), 3) for x, y in [(0.2, 0.2), (0.8, 0.8), (0.5, 0.5), (0.2, 0.8)]]
    [0.745, 0.714, 0.99, 0.992]

    With features of other ranges, scale first:

    >>> from millstream import preprocessing
    >>> model = preprocessing.MinMaxScaler() | anomaly.HalfSpaceTrees()
    >>> scores = model.step_many(1000.0 * X)
    >>> bool(scores[:250].max() == 0.0), round(float(np.median(scores[250:])), 2)
    (True, 0.84)

    References
    ----------
    Tan, S. C., Ting, K. M. and Liu, T. F. (2011). Fast anomaly detection for streaming data. IJCAI, 1511-1516.
    """

    name = "anomaly.HalfSpaceTrees"

    def __init__(
        self,
        n_trees: int = 10,
        height: int = 8,
        window_size: int = 250,
        limits: Limits | None = None,
        seed: int = 1,
    ) -> None:
        super().__init__(
            n_trees=n_trees, height=height, window_size=window_size, limits=described(self.name, limits), seed=seed
        )
