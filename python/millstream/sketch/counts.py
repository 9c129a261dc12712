"""Sketches of how often keys occur."""

from __future__ import annotations

from typing import Any, NamedTuple

from millstream._part import forwarded
from millstream.errors import InvalidValue
from millstream.sketch.base import KeySketch

__all__ = ["CountMin", "CountSketch", "Frequent", "SpaceSaving"]


class _Weights(KeySketch):
    def query(self, key: Any) -> float:
        """The estimated weight of a key."""
        return self._ask_key("weight", key)

    def query_many(self, keys: Any) -> Any:
        """The estimated weights of many keys, as an array."""
        return self._many(keys)

    def __getitem__(self, key: Any) -> float:
        return self.query(key)

    # Without these, Python would call `__getitem__` with 0, 1, 2 and so on for ever.
    __iter__ = None
    __contains__ = None


class CountMin(_Weights):
    """The weight of each key, never too low.

    Choose it to look up how often given keys occurred. It does not store keys: `SpaceSaving` lists the frequent
    ones. An estimate exceeds the weight of its key by at most `epsilon` times the total weight, with probability 1
    - `delta`.

    Parameters
    ----------
    epsilon
        Largest excess of an estimate, as a fraction of the total weight. The sketch has ceil(e / epsilon) counters
        in each row.
    delta
        Probability that an estimate exceeds the bound. The sketch has ceil(ln(1 / delta)) rows.
    conservative
        Raise only the counters that are too low. The estimates are closer, but such sketches cannot be merged.
    seed
        Seed of the hash; equal for sketches that are to be merged.
    missing
        "refuse" makes None and NaN an error; "count" counts them in `missing_weight` and nowhere else.

    Notes
    -----
    Merged sketches are equal to one sketch of all keys, bit for bit if the weights are whole.

    Examples
    --------
    >>> from millstream import sketch
    >>> counts = sketch.CountMin(epsilon=0.01)
    >>> counts.update_many(["ann", "bob", "ann"])
    >>> counts.update("bob", w=5)
    >>> counts["ann"], counts["bob"], counts["eve"]
    (2.0, 6.0, 0.0)
    >>> counts.error()
    ErrorBound(of='weight', bound=0.08, probability=0.99)

    References
    ----------
    Cormode, G. and Muthukrishnan, S. (2005). An improved data stream summary: the count-min sketch and its
    applications. Journal of Algorithms 55(1).

    Estan, C. and Varghese, G. (2002). New directions in traffic measurement and accounting. SIGCOMM.
    """

    name = "sketch.CountMin"

    @forwarded
    def __init__(
        self,
        epsilon: float = 0.001,
        delta: float = 0.01,
        conservative: bool = False,
        seed: int = 0,
        missing: str = "refuse",
    ) -> None: ...


class CountSketch(_Weights):
    """The weight of each key, with negative weights.

    Choose it instead of `CountMin` if weights may be negative, such as removals, or if few keys are frequent: its
    error is a fraction of the Euclidean norm of all weights, not of their sum. Estimates err in both directions.

    Parameters
    ----------
    epsilon
        Largest error of an estimate, as a fraction of the Euclidean norm of the weights of all keys. The sketch
        has ceil(6 / epsilon**2) counters in each row.
    delta
        Probability that an estimate exceeds the bound; it determines the number of rows.
    seed
        Seed of the hash; equal for sketches that are to be merged.
    missing
        "refuse" makes None and NaN an error; "count" counts them in `missing_weight` and nowhere else.

    Examples
    --------
    >>> from millstream import sketch
    >>> stock = sketch.CountSketch()
    >>> stock.update("apples", w=10)
    >>> stock.update("apples", w=-4)
    >>> stock["apples"]
    6.0

    References
    ----------
    Charikar, M., Chen, K. and Farach-Colton, M. (2002). Finding frequent items in data streams. ICALP.
    """

    name = "sketch.CountSketch"

    @forwarded
    def __init__(
        self, epsilon: float = 0.05, delta: float = 0.01, seed: int = 0, missing: str = "refuse"
    ) -> None: ...


class Frequent(NamedTuple):
    """A frequent key: its weight is at least `lower` and at most `upper`."""

    key: Any
    lower: float
    upper: float


class SpaceSaving(_Weights):
    """The frequent keys, with bounds of their weights.

    It has `capacity` counters and stores the keys themselves. The estimate of a key is never too low, and exceeds
    its weight by at most the total weight divided by `capacity`. Every key above this weight has a counter.

    Parameters
    ----------
    capacity
        Number of counters.
    missing
        "refuse" makes None and NaN an error; "count" counts them in `missing_weight` and nowhere else.

    Notes
    -----
    With a capacity of at least 1 / epsilon, `heavy_hitters(support)` misses no key above `support`, and reports
    none below `support - epsilon`, both as fractions of the total weight. River's `HeavyHitters` requires an
    epsilon above the support, and misses many.

    A merge keeps these bounds for the total weight of both.

    Examples
    --------
    >>> from millstream import sketch
    >>> words = sketch.SpaceSaving(capacity=10)
    >>> words.update_many("to be or not to be that is the question to ask".split())
    >>> words.most_common(2)
    [('to', 3.0), ('be', 2.0)]
    >>> words.heavy_hitters(support=0.2)
    [Frequent(key='to', lower=3.0, upper=3.0)]

    References
    ----------
    Metwally, A., Agrawal, D. and El Abbadi, A. (2005). Efficient computation of frequent and top-k elements in
    data streams. ICDT.

    Agarwal, P. K. et al. (2012). Mergeable summaries. PODS.
    """

    name = "sketch.SpaceSaving"
    aliases = {"k": "capacity"}

    @forwarded
    def __init__(self, capacity: int = 1000, missing: str = "refuse") -> None: ...

    def frequent(self) -> list[Frequent]:
        """All keys with a counter, the heaviest first, with bounds of their weights."""
        return [Frequent(key, upper - error, upper) for key, upper, error in self._frequent()]

    def heavy_hitters(self, support: float) -> list[Frequent]:
        """Keys with more than the fraction `support` of the total weight, the heaviest first.

        No such key is missed. Keys within 1 / `capacity` below it may be among them; those with `lower` above
        `support * total_weight` are certain.
        """
        least = 1.0 / self.capacity  # type: ignore[attr-defined]
        if not least <= support < 1.0:
            raise InvalidValue(
                f"{self.name}: support must be in [{least:g}, 1), which the capacity determines, got {support!r}"
            )
        threshold = support * self.total_weight
        return [each for each in self.frequent() if each.upper > threshold]

    def most_common(self, n: int | None = None) -> list[tuple[Any, float]]:
        """The `n` heaviest keys with their estimates, all by default."""
        return [(each.key, each.upper) for each in self.frequent()[:n]]
