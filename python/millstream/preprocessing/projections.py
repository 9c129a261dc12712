"""Random projections: few columns that preserve the distances between rows."""

from __future__ import annotations

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Transformer

__all__ = ["GaussianRandomProjector", "SparseRandomProjector"]


class GaussianRandomProjector(Native, Transformer):
    """Projects rows to a few columns by a matrix of Gaussian random numbers.

    Choose it in front of a learner whose cost grows with the number of features, such as a nearest-neighbour
    search: distances between rows are preserved up to a factor of about 1 ± √(8 ln(n) / `n_components`) for n
    rows, whatever the number of features. Nothing is learned. If the features are correlated, `decomposition.PCA`
    needs fewer columns for the same error.

    The row of the matrix for a feature is a function of the seed and the name of the feature. It does not depend
    on the order of features, nor on the other features, so features may appear at any time, and two models with
    the same seed project alike. A nominal value is a feature of its own, `name=value`, that is 1. Missing values
    count as 0.

    In scikit-learn this is `random_projection.GaussianRandomProjection`.

    Parameters
    ----------
    n_components
        Number of output features.
    seed
        Random seed.

    Notes
    -----
    Entries have the distribution of River's and scikit-learn's, variance 1 / `n_components`, but are other
    numbers. In River, they depend on the order in which features are first seen.

    Examples
    --------
    >>> from millstream import preprocessing
    >>> projector = preprocessing.GaussianRandomProjector(n_components=2, seed=1)
    >>> y = projector.transform_one({"a": 1.0, "b": -2.0, "c": 0.5})
    >>> [round(value, 4) for value in y.values()]
    [2.2846, -0.2527]
    >>> y == projector.transform_one({"c": 0.5, "a": 1.0, "b": -2.0})
    True

    References
    ----------
    Johnson, W. B. and Lindenstrauss, J. (1984). Extensions of Lipschitz mappings into a Hilbert space.
    Dasgupta, S. and Gupta, A. (2003). An elementary proof of a theorem of Johnson and Lindenstrauss.
    """

    name = "preprocessing.GaussianRandomProjector"
    aliases = {"random_state": "seed"}

    @forwarded
    def __init__(self, n_components: int = 10, seed: int = 1) -> None: ...


class SparseRandomProjector(Native, Transformer):
    """Projects rows to a few columns by a sparse matrix of random signs.

    Choose it instead of `GaussianRandomProjector` for wide rows: a fraction `density` of the matrix is not 0, so
    it is faster by about that factor, at nearly the same distortion. For rows with n features of similar size,
    1/√n is a good density ("very sparse random projections").

    Names, nominal values and missing values are treated as by `GaussianRandomProjector`. In scikit-learn this is
    `random_projection.SparseRandomProjection`, whose default density is 1/√n.

    Parameters
    ----------
    n_components
        Number of output features.
    density
        Fraction of entries of the projection matrix that are not 0.
    seed
        Random seed.

    Examples
    --------
    >>> from millstream import preprocessing
    >>> projector = preprocessing.SparseRandomProjector(n_components=3, density=0.5, seed=1)
    >>> y = projector.transform_one({"a": 1.0, "b": -2.0, "c": 0.5})
    >>> [round(value, 4) for value in y.values()]
    [-1.2247, 0.8165, -1.633]

    References
    ----------
    Achlioptas, D. (2003). Database-friendly random projections: Johnson-Lindenstrauss with binary coins.
    Li, P., Hastie, T. J. and Church, K. W. (2006). Very sparse random projections.
    """

    name = "preprocessing.SparseRandomProjector"
    aliases = {"random_state": "seed"}

    @forwarded
    def __init__(self, n_components: int = 10, density: float = 0.1, seed: int = 1) -> None: ...
