"""Rows as combinations of learned parts."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.decomposition.base import Decomposition

__all__ = ["NMF", "DictionaryLearning"]


class DictionaryLearning(Decomposition):
    """Sparse codes of rows in a dictionary of atoms that is learned with them.

    Choose it where each row combines a few of many patterns, as image patches and signals do: most outputs are 0,
    and there may be more atoms than features. An output is the coefficient of an atom.

    The results are those of scikit-learn's `MiniBatchDictionaryLearning` with `fit_algorithm="cd"` if each batch
    is one call of `partial_fit`. A batch is a number of rows here, whatever the calls in which they arrive: rows
    that wait for their batch are part of the state. `components` are the atoms, of length at most 1. Rows are not
    centred, so put a scaler in front. Missing values count as 0.

    Parameters
    ----------
    n_components
        Number of atoms, and of output features.
    l1
        L1 penalty of the codes: larger values give more zeros.
    batch_size
        Number of rows per update.
    seed
        Random seed of the atoms that replace unused ones.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import decomposition
    >>> random = np.random.default_rng(1)
    >>> atoms = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]])
    >>> X = 5.0 * atoms[random.integers(2, size=1000)]
    >>> model = decomposition.DictionaryLearning(n_components=2, l1=0.1)
    >>> model.learn_many(X)
    0
    >>> code = model.transform_one(dict(enumerate(5.0 * atoms[1])))
    >>> sorted(round(value, 1) for value in code.values())
    [0.0, 4.9]

    References
    ----------
    Mairal, J., Bach, F., Ponce, J. and Sapiro, G. (2009). Online dictionary learning for sparse coding.
    """

    name = "decomposition.DictionaryLearning"
    aliases = {"alpha": "l1", "random_state": "seed"}

    @forwarded
    def __init__(self, n_components: int = 10, l1: float = 1.0, batch_size: int = 100, seed: int = 1) -> None: ...


class NMF(Decomposition):
    """Nonnegative matrix factorisation: rows as sums of nonnegative parts.

    Choose it for counts, intensities and other quantities that add up: parts are never subtracted, so that they
    can often be interpreted. An output is the amount of a part. A negative number is refused.

    The results are those of scikit-learn's `MiniBatchNMF` with the squared error if each batch is one call of
    `partial_fit`. A batch is a number of rows here, whatever the calls in which they arrive: rows that wait for
    their batch are part of the state. `transform_many` treats each row alone, where scikit-learn stops iterating
    for all rows together. Missing values count as 0.

    Parameters
    ----------
    n_components
        Number of parts, and of output features.
    batch_size
        Number of rows per update.
    forgetting
        Factor of the sums at each batch; 1 to forget nothing.
    seed
        Random seed of the first parts.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import decomposition
    >>> random = np.random.default_rng(1)
    >>> parts = np.array([[1.0, 0.0, 0.0], [0.0, 3.0, 4.0]])
    >>> X = random.uniform(size=(2000, 2)) @ parts
    >>> model = decomposition.NMF(n_components=2, batch_size=50)
    >>> model.learn_many(X)
    0
    >>> found = np.array([list(part.values()) for part in model.components])
    >>> rows = model.transform_many(X) @ found
    >>> round(float(np.abs(rows - X).mean()), 1)
    0.0

    References
    ----------
    Lee, D. D. and Seung, H. S. (2001). Algorithms for non-negative matrix factorization.
    Lefèvre, A., Bach, F. and Févotte, C. (2011). Online algorithms for nonnegative matrix factorization with the
    Itakura-Saito divergence.
    """

    name = "decomposition.NMF"
    aliases = {"forget_factor": "forgetting", "random_state": "seed"}

    @forwarded
    def __init__(
        self, n_components: int = 10, batch_size: int = 100, forgetting: float = 0.7, seed: int = 1
    ) -> None: ...
