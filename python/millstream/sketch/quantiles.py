"""Sketches of numbers: quantiles and distributions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from millstream._part import forwarded
from millstream.sketch.base import NumberSketch

__all__ = ["KLL", "DDSketch", "Histogram"]


class KLL(NumberSketch):
    """Quantiles of numbers within an error of rank.

    The first choice for quantiles: the error holds for any numbers in any order, and sketches of parts of a stream
    can be merged without losing it. With `k=200` the rank of a quantile is within 1.6 % of the truth, whatever the
    number of items; memory stays below 8 kB for a billion numbers. Minimum and maximum are exact, and so are all
    quantiles of the first few hundred numbers.

    Choose `DDSketch` if the value must be close, not the rank: the 99.9 % quantile of latencies, for example.

    Parameters
    ----------
    k
        Size of the largest compactor. The error is nearly proportional to 1/k.
    seed
        Seed of the coins. Sketches with different seeds can be merged; parts of one stream should have different
        ones, so that their errors are independent.
    missing
        "refuse" makes NaN and None an error; "count" counts them in `missing_weight` and nowhere else.

    Notes
    -----
    Under the compactors runs the sampler of the paper, which keeps one random item of 2, 4, 8, ... The items of an
    unfinished run stay in the sketch, so that `total_weight` is exact at any time. Weights count as repetitions;
    fractions of a weight are kept to 2**-20 and rounded at random beyond.

    DataSketches drops NaN silently; here it is an error unless `missing="count"`.

    Examples
    --------
    >>> from millstream import sketch
    >>> quantiles = sketch.KLL()
    >>> quantiles.update_many(range(1, 101))
    >>> quantiles.quantile(0.9), quantiles.rank(25)
    (90.0, 0.25)
    >>> quantiles.quantile([0.0, 0.5, 1.0]).tolist()
    [1.0, 50.0, 100.0]

    All hundred numbers fit, so the ranks are exact; the bound for long streams is larger:

    >>> quantiles.error()
    ErrorBound(of='rank', bound=0.0, probability=0.99)
    >>> quantiles.update_many(range(100_000))
    >>> round(quantiles.error().bound, 4)
    0.0163

    References
    ----------
    Karnin, Z., Lang, K. and Liberty, E. (2016). Optimal quantile approximation in streams. FOCS.

    Ivkin, N., Liberty, E., Lang, K., Karnin, Z. and Braverman, V. (2019). Streaming quantiles algorithms with
    small space and update time.
    """

    name = "sketch.KLL"

    @forwarded
    def __init__(self, k: int = 200, seed: int = 0, missing: str = "refuse") -> None: ...


class DDSketch(NumberSketch):
    """Quantiles of numbers within a relative error of value.

    Choose it for latencies, sizes and prices: the 99.9 % quantile is within `relative_accuracy` of the true
    number, however heavy the tail. `KLL` bounds the rank instead, so its value can be far off where numbers are
    sparse.

    The result does not depend on the order of the numbers, and merged sketches are equal to one sketch of all
    numbers, bit for bit if the weights are whole.

    Parameters
    ----------
    relative_accuracy
        Largest relative error of a quantile.
    max_bins
        Largest number of bins for positive, and for negative numbers. 2,048 bins of 1 % span 17 orders of
        magnitude. If they do not suffice, the bins nearest to 0 are added up, and quantiles that fall there lose
        the guarantee.
    missing
        "refuse" makes NaN and None an error; "count" counts them in `missing_weight` and nowhere else.

    Examples
    --------
    >>> from millstream import sketch
    >>> latencies = sketch.DDSketch(relative_accuracy=0.01)
    >>> latencies.update_many([0.02] * 990 + [1.5] * 9 + [40.0])
    >>> latencies.quantile([0.5, 0.995, 1.0]).round(3).tolist()
    [0.02, 1.507, 40.0]
    >>> latencies.error()
    ErrorBound(of='relative value', bound=0.01, probability=1.0)

    References
    ----------
    Masson, C., Rim, J. E. and Lee, H. K. (2019). DDSketch: a fast and fully-mergeable quantile sketch with
    relative-error guarantees. PVLDB 12(12).
    """

    name = "sketch.DDSketch"
    aliases = {"bin_limit": "max_bins"}

    @forwarded
    def __init__(self, relative_accuracy: float = 0.01, max_bins: int = 2048, missing: str = "refuse") -> None: ...

    @property
    def bins(self) -> list[tuple[float, float]]:
        """Pairs of the middle of a bin and its weight, ascending."""
        return self._bins()


class Histogram(NumberSketch):
    """Adaptive bins of numbers.

    Each bin is a mean and a weight; the closest two become one when there are too many. Choose it to draw or to
    inspect a distribution. Quantiles and ranks are interpolated and have no error bound; choose `KLL` where one is
    needed.

    Parameters
    ----------
    max_bins
        Largest number of bins.
    missing
        "refuse" makes NaN and None an error; "count" counts them in `missing_weight` and nowhere else.

    Notes
    -----
    River stores the left and right end of each bin; the paper, and this class, store its mean, so ranks differ
    slightly from River's `cdf`.

    Examples
    --------
    >>> from millstream import sketch
    >>> histogram = sketch.Histogram(max_bins=3)
    >>> histogram.update_many([1.0, 10.0, 2.0, 2.5])
    >>> histogram.bins
    [(1.0, 1.0), (2.25, 2.0), (10.0, 1.0)]
    >>> round(histogram.cdf(2.25), 3)
    0.5

    References
    ----------
    Ben-Haim, Y. and Tom-Tov, E. (2010). A streaming parallel decision tree algorithm. JMLR 11.
    """

    name = "sketch.Histogram"

    @forwarded
    def __init__(self, max_bins: int = 256, missing: str = "refuse") -> None: ...

    @property
    def bins(self) -> list[tuple[float, float]]:
        """Pairs of the mean of a bin and its weight, ascending."""
        return self._bins()

    def __iter__(self) -> Iterator[tuple[float, float]]:
        """The bins."""
        return iter(self.bins)

    def iter_cdf(self, X: Iterable[float]) -> Iterator[float]:
        """The fraction of learned numbers up to each given number; 0 before the first. River's name."""
        for x in X:
            yield float(self.rank(x)) if self.total_weight else 0.0
