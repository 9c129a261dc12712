"""Search engines: indexes that find nearest neighbours without a scan over all rows."""

from __future__ import annotations

from millstream._part import Config, forwarded

__all__ = ["HNSW", "SearchEngine"]


class SearchEngine(Config):
    """Base class of search engines."""


class HNSW(SearchEngine):
    """Approximate nearest neighbours by a hierarchical navigable small world graph.

    Choose it for windows of more than about 30,000 rows that are searched much more often than they change. A
    search visits a few hundred rows instead of all. Learning a row takes longer than a search: the row is linked
    into the graph, and the oldest row is removed from it. Neighbours may be missed: measure the recall on your
    data, and raise `ef_search` until it is high enough. If it is at least the number of rows, all of them are
    compared, and the search is exact.

    A row that has left the window is never returned. Links to a removed row are replaced by links to its
    neighbours, so the recall stays the same however often the window turns over.

    Links were chosen with the scales of their time; distances are always measured with the present scales. The
    graph takes about `40 * m` bytes per row in addition to the rows.

    Parameters
    ----------
    m
        Number of links of a row on each layer; twice as many on the lowest.
    ef_construction
        Number of nearest rows among which a new row chooses its links.
    ef_search
        Number of nearest rows that a search keeps; at least the number of neighbours.
    seed
        Seed of the random layers.

    Notes
    -----
    The parameters are those of hnswlib (`M` there). hnswlib marks rows as deleted and still visits them; here they
    are removed. Results are the same on every platform, and a saved model continues with the same graph.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import neighbors
    >>> X = np.random.default_rng(1).normal(size=(3000, 8))
    >>> y = X[:, 0]
    >>> exact = neighbors.KNNRegressor(window_size=2000)
    >>> approximate = neighbors.KNNRegressor(window_size=2000, engine=neighbors.HNSW(m=16, ef_search=60))
    >>> for model in (exact, approximate):
    ...     skipped = model.learn_many(X, y)
    >>> query = dict(enumerate(X[0]))
    >>> found = {neighbor.age for neighbor in approximate.kneighbors_one(query, 10)}
    >>> len(found & {neighbor.age for neighbor in exact.kneighbors_one(query, 10)})
    10

    References
    ----------
    Malkov, Y. A. and Yashunin, D. A. (2018). Efficient and robust approximate nearest neighbor search using
    hierarchical navigable small world graphs. IEEE TPAMI 42(4), 824-836.
    """

    name = "neighbors.HNSW"
    aliases = {"M": "m", "ef": "ef_search"}

    @forwarded
    def __init__(self, m: int = 16, ef_construction: int = 100, ef_search: int = 50, seed: int = 0) -> None: ...
