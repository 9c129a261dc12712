"""Covariance and precision matrices of the features of a stream.

    cov = covariance.EmpiricalCovariance()
    cov.update({"red": 0.4, "green": 0.9})
    cov["red", "green"]

Rows are dicts, or many rows at once: matrices and frames. `matrix` is a dict of pairs of features, as in River;
`covariance_`, `precision_` and `location_` are arrays, as in scikit-learn, with the features in the order of
`features`. Values are NaN while they are undefined.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from millstream import _core, _frames
from millstream._measures import Measure, numbers
from millstream._other_names import unknown_name
from millstream._part import forwarded
from millstream.errors import MillstreamError

__all__ = [
    "OAS",
    "CovarianceEstimator",
    "EmpiricalCovariance",
    "EmpiricalPrecision",
    "EwaCovariance",
    "EwaPrecision",
    "LedoitWolf",
    "ShrunkCovariance",
]


class CovarianceEstimator(_core.CovarianceEstimator, Measure):
    """A running estimate of a covariance matrix, or of its inverse."""

    role = "covariance_estimator"

    def update_many(self, X: Any, w: Any = None) -> None:
        """Receive many rows, with the same result as `update` one by one; an error changes nothing.

        `X` is a NumPy matrix, a pandas, polars or Arrow frame, a SciPy sparse matrix, or an iterable of dicts.
        """
        w = None if w is None else numbers("w", w)
        rows = self._rows(X)
        if rows[0] != "dicts":
            self._update_many(rows, w)
            return
        before = self.copy()
        try:
            for index, x in enumerate(rows[1]):
                try:
                    self.update(x, 1.0 if w is None else float(w[index]))
                except MillstreamError as error:
                    error.at_row(index)
                    raise
        except BaseException:
            self._load(before)
            raise

    def _rows(self, X: Any) -> tuple[Any, ...]:
        try:
            return _frames.take_apart(X)
        except MillstreamError as error:
            rows = _frames.object_rows(X)
            if rows is not None:
                return ("dicts", rows)
            raise error.by(str(self.name)) from None

    @property
    def covariance_(self) -> npt.NDArray[np.float64]:
        """The covariance matrix, with rows and columns in the order of `features`."""
        return self._square(False)

    @property
    def precision_(self) -> npt.NDArray[np.float64]:
        """The inverse of the covariance matrix; NaN while that is singular."""
        return self._square(True)

    @property
    def location_(self) -> npt.NDArray[np.float64]:
        """The mean of each feature."""
        return self._means()

    @property
    def matrix(self) -> dict[tuple[Any, Any], float]:
        """The estimated matrix by pairs of features, each pair once, in alphabetical order."""
        square, names = self._estimate(), self.features
        order = sorted(range(len(square)), key=lambda i: (str(names[i]), i))
        return {(names[i], names[j]): float(square[i, j]) for at, i in enumerate(order) for j in order[at:]}

    def __getitem__(self, pair: tuple[Any, Any]) -> float:
        names = self.features
        try:
            i, j = pair
            place = names.index(i), names.index(j)
        except (TypeError, ValueError):
            raise KeyError(pair) from None
        return float(self._estimate()[place])

    def __contains__(self, pair: object) -> bool:
        return isinstance(pair, tuple) and len(pair) == 2 and all(name in self.features for name in pair)

    # Without this, Python would call `__getitem__` with 0.
    __iter__ = None

    def __iadd__(self, other: Any) -> Any:
        self.merge(other)
        return self

    def __add__(self, other: Any) -> Any:
        both = self.copy()
        both.merge(other)
        return both

    def _estimate(self) -> npt.NDArray[np.float64]:
        return self._square(type(self).__name__.endswith("Precision"))

    def _square(self, precision: bool) -> npt.NDArray[np.float64]:
        width, entries = self._matrix(precision)
        return entries.reshape(width, width)

    def __repr__(self) -> str:
        square, names = self._estimate(), self.features
        if not len(square):
            return f"{type(self).__name__} (empty)"
        order = sorted(range(len(square)), key=lambda i: (str(names[i]), i))
        texts = [str(names[i]) for i in order]
        cells = [[f"{square[i, j]:,.3f}" for j in order] for i in order]
        side = max(map(len, texts))
        widths = [max(len(text), *(len(row[at]) for row in cells)) for at, text in enumerate(texts)]
        lines = [" " * side + "".join(f"   {text:>{width}}" for text, width in zip(texts, widths, strict=True))]
        for text, row in zip(texts, cells, strict=True):
            lines.append(
                f"{text:>{side}}" + "".join(f"   {cell:>{width}}" for cell, width in zip(row, widths, strict=True))
            )
        return "\n".join(lines)


class EmpiricalCovariance(CovarianceEstimator):
    """The empirical covariance matrix.

    Choose it if there are many more rows than features. A row may lack features, and new ones may appear at any
    time: each covariance is that of the rows that have both features, as in pandas. Then the matrix need not be
    positive definite. `merge` is exact up to rounding, and `revert` removes a row.

    Parameters
    ----------
    ddof
        Delta degrees of freedom: the divisor is the total weight minus `ddof`.

    Notes
    -----
    Entries are numbers; in River, they are `stats.Cov` and `stats.Var`.

    Examples
    --------
    >>> from millstream import covariance
    >>> cov = covariance.EmpiricalCovariance()
    >>> for x in [{"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 6.0}, {"a": 6.0, "b": 4.0}]:
    ...     cov.update(x)
    >>> cov
            a       b
    a   7.000   1.000
    b   1.000   4.000
    >>> round(cov["b", "a"], 9)
    1.0

    References
    ----------
    Chan, T. F., Golub, G. H. and LeVeque, R. J. (1983). Algorithms for computing the sample variance: analysis and
    recommendations.
    """

    name = "covariance.EmpiricalCovariance"

    @forwarded
    def __init__(self, ddof: int = 1) -> None: ...


class EmpiricalPrecision(CovarianceEstimator):
    """The inverse of the empirical covariance matrix.

    It is computed on demand, from the covariance matrix of `EmpiricalCovariance`. It is NaN while that is
    singular: with fewer rows than features, or with dependent ones.

    Parameters
    ----------
    ddof
        Delta degrees of freedom: the divisor of the covariance is the total weight minus `ddof`.

    Notes
    -----
    River updates an inverse that starts with the identity, which affects the result for a long time. Here, the
    inverse is exact up to rounding.

    Examples
    --------
    >>> from millstream import covariance
    >>> prec = covariance.EmpiricalPrecision()
    >>> for x in [{"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 6.0}, {"a": 6.0, "b": 4.0}]:
    ...     prec.update(x)
    >>> prec
             a        b
    a    0.148   -0.037
    b   -0.037    0.259
    """

    name = "covariance.EmpiricalPrecision"

    @forwarded
    def __init__(self, ddof: int = 1) -> None: ...


class EwaCovariance(CovarianceEstimator):
    """The exponentially weighted covariance matrix, which adapts to a changing stream.

    Its entries are those of `stats.EWVar` and `stats.EWCov`; a variance is never negative. A missing number leaves
    the entries of its feature as they are, and the first number of a feature is its mean.

    Parameters
    ----------
    fading_factor
        Weight of the newest row; closer to 1 forgets faster. The memory is about 1 / `fading_factor` rows.

    Notes
    -----
    River subtracts the product of means from the mean of products, which loses digits where means are large.

    Examples
    --------
    >>> from millstream import covariance
    >>> cov = covariance.EwaCovariance(fading_factor=0.5)
    >>> for a, b in [(1, 2), (3, 4), (5, 3)]:
    ...     cov.update({"a": a, "b": b})
    >>> cov
            a       b
    a   2.750   0.500
    b   0.500   0.500

    References
    ----------
    Finch, T. (2009). Incremental calculation of weighted mean and variance.
    """

    name = "covariance.EwaCovariance"

    @forwarded
    def __init__(self, fading_factor: float = 0.5) -> None: ...


class EwaPrecision(CovarianceEstimator):
    """The inverse of the exponentially weighted covariance matrix; NaN while that is singular.

    Parameters
    ----------
    fading_factor
        Weight of the newest row; closer to 1 forgets faster. The memory is about 1 / `fading_factor` rows.

    Examples
    --------
    >>> from millstream import covariance
    >>> prec = covariance.EwaPrecision(fading_factor=0.5)
    >>> for a, b in [(1, 2), (3, 4), (5, 3)]:
    ...     prec.update({"a": a, "b": b})
    >>> round(prec["a", "b"], 6)
    -0.444444
    """

    name = "covariance.EwaPrecision"

    @forwarded
    def __init__(self, fading_factor: float = 0.5) -> None: ...


class _Shrunk(CovarianceEstimator):
    @property
    def shrinkage_(self) -> float:
        """Weight of the identity in the matrix."""
        return float(json.loads(self._inspect())["shrinkage"])


class LedoitWolf(_Shrunk):
    """A covariance matrix shrunk towards a multiple of the identity, by the amount of Ledoit and Wolf.

    Choose it if there are few rows per feature: the empirical covariance matrix is then badly conditioned or
    singular, and this one is neither. The amount of shrinkage minimises an estimate of the expected squared error.

    The result is that of `sklearn.covariance.LedoitWolf` on all rows so far, with a divisor of n. A missing number
    is replaced by the mean of its feature so far, and a new feature counts as if it had had its first value in all
    earlier rows. `merge` is exact up to rounding, for the same features.

    Notes
    -----
    River's `LedoitWolfCovariance` shrinks an exponentially weighted covariance, by an amount that it estimates
    from distances to earlier covariances.

    Examples
    --------
    >>> from millstream import covariance
    >>> cov = covariance.LedoitWolf()
    >>> cov.update_many([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> round(cov.shrinkage_, 6)
    0.944444
    >>> cov.covariance_.round(6).tolist()
    [[1.291667, 0.0], [0.0, 1.208333]]

    References
    ----------
    Ledoit, O. and Wolf, M. (2004). A well-conditioned estimator for large-dimensional covariance matrices.
    Journal of Multivariate Analysis 88.
    """

    name = "covariance.LedoitWolf"

    @forwarded
    def __init__(self) -> None: ...


class OAS(_Shrunk):
    """A covariance matrix with oracle approximating shrinkage, towards a multiple of the identity.

    Like `LedoitWolf`; its amount of shrinkage is better for normally distributed features. The result is that of
    `sklearn.covariance.OAS` on all rows so far. Missing numbers, new features and `merge` are as in `LedoitWolf`.

    Examples
    --------
    >>> from millstream import covariance
    >>> cov = covariance.OAS()
    >>> cov.update_many([[5.0, 0.0], [-5.0, 0.1], [5.0, 0.2], [-5.0, 0.0], [0.0, 0.1], [0.0, 0.3]])
    >>> round(cov.shrinkage_, 6)
    0.572559

    References
    ----------
    Chen, Y., Wiesel, A., Eldar, Y. C. and Hero, A. O. (2010). Shrinkage algorithms for MMSE covariance
    estimation. IEEE Transactions on Signal Processing 58.
    """

    name = "covariance.OAS"

    @forwarded
    def __init__(self) -> None: ...


class ShrunkCovariance(_Shrunk):
    """A covariance matrix shrunk towards a multiple of the identity by a fixed amount.

    The result is that of `sklearn.covariance.ShrunkCovariance` on all rows so far. Missing numbers, new features
    and `merge` are as in `LedoitWolf`.

    Parameters
    ----------
    shrinkage
        Weight of the identity: 0 for the empirical covariance, 1 for a multiple of the identity.

    Examples
    --------
    >>> from millstream import covariance
    >>> cov = covariance.ShrunkCovariance(shrinkage=0.2)
    >>> cov.update_many([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> cov.covariance_.round(6).tolist()
    [[1.85, 0.0], [0.0, 0.65]]
    """

    name = "covariance.ShrunkCovariance"
    unsupported = {
        "fading_factor": "all rows count equally; EwaCovariance has a fading factor",
        "delta": "shrinkage is the fraction of the target",
        "target": "the target is the mean variance on the diagonal",
    }

    @forwarded
    def __init__(self, shrinkage: float = 0.1) -> None: ...


if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
