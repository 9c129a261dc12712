"""Sketches of sets of keys: how many, how many in common, and whether a key is among them."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from millstream import _core
from millstream._part import forwarded
from millstream.errors import InvalidType
from millstream.sketch.base import KeySketch

__all__ = ["Bloom", "HyperLogLog", "Theta"]


class HyperLogLog(KeySketch):
    """The number of distinct keys, in a few kilobytes.

    Choose it to count users, addresses or words. The standard error is 1.04 / 2**(precision / 2): 1.6 % with the
    default. `Theta` also counts intersections and differences, in more memory.

    Parameters
    ----------
    precision
        Binary logarithm of the number of registers, one byte each: 4,096 by default.
    seed
        Seed of the hash; equal for sketches that are to be merged.
    missing
        "refuse" makes None and NaN an error; "count" counts them in `missing_weight` and nowhere else.

    Notes
    -----
    Merged sketches are equal to one sketch of all keys, bit for bit. The estimator of Ertl needs no table of
    biases and works from 0 on. Weights do not matter, except that a key of weight 0 is ignored.

    Examples
    --------
    >>> from millstream import sketch
    >>> users = sketch.HyperLogLog()
    >>> users.update_many(range(100_000))
    >>> users.update_many(range(50_000))
    >>> round(users.query())
    99434
    >>> users.error()
    ErrorBound(of='relative count', bound=0.0325, probability=0.95)

    References
    ----------
    Flajolet, P., Fusy, E., Gandouet, O. and Meunier, F. (2007). HyperLogLog: the analysis of a near-optimal
    cardinality estimation algorithm. AofA.

    Ertl, O. (2017). New cardinality estimation algorithms for HyperLogLog sketches. arXiv 1702.01284.
    """

    name = "sketch.HyperLogLog"
    aliases = {"p": "precision"}

    @forwarded
    def __init__(self, precision: int = 12, seed: int = 0, missing: str = "refuse") -> None: ...

    def query(self) -> float:
        """The estimated number of distinct keys."""
        return self._distinct()

    #: River's name.
    get = query


class Theta(KeySketch):
    """The number of distinct keys of sets, unions, intersections and differences.

    Choose it to compare streams: how many users came back, or came for the first time? For one stream alone,
    `HyperLogLog` needs less memory for the same error. The count is exact up to `k` distinct keys; beyond, the
    standard error is 1 / sqrt(k): 1.6 % with the default.

    `a | b` (also `merge`), `a & b` and `a - b` are sketches too. The relative error of an intersection grows as it
    becomes small compared with the sets.

    Parameters
    ----------
    k
        Number of hashes that are kept.
    seed
        Seed of the hash; equal for sketches that are to be combined.
    missing
        "refuse" makes None and NaN an error; "count" counts them in `missing_weight` and nowhere else.

    Notes
    -----
    Merged sketches are equal to one sketch of all keys, bit for bit. Weights do not matter, except that a key of
    weight 0 is ignored.

    Examples
    --------
    >>> from millstream import sketch
    >>> monday, tuesday = sketch.Theta(), sketch.Theta()
    >>> monday.update_many(range(3000))
    >>> tuesday.update_many(range(2000, 4000))
    >>> [(monday | tuesday).query(), (monday & tuesday).query(), (monday - tuesday).query()]
    [4000.0, 1000.0, 2000.0]
    >>> monday.jaccard(tuesday)
    0.25

    References
    ----------
    Dasgupta, A., Lang, K. J., Rhodes, L. and Thaler, J. (2016). A framework for estimating stream expression
    cardinalities. ICDT.

    Bar-Yossef, Z. et al. (2002). Counting distinct elements in a data stream. RANDOM.
    """

    name = "sketch.Theta"

    @forwarded
    def __init__(self, k: int = 4096, seed: int = 0, missing: str = "refuse") -> None: ...

    def query(self) -> float:
        """The estimated number of distinct keys."""
        return self._distinct()

    get = query

    def union(self, other: Theta) -> Self:
        """A sketch of the keys of either."""
        both = self.copy()
        both.merge(other)
        return both

    def intersection(self, other: Theta) -> Self:
        """A sketch of the keys of both."""
        return self._combined(other, "intersection")

    def difference(self, other: Theta) -> Self:
        """A sketch of the keys that `other` does not have."""
        return self._combined(other, "difference")

    def _combined(self, other: Any, operation: str) -> Self:
        if not isinstance(other, _core.Sketch):
            raise InvalidType(f"{self.name}: only sketches can be combined, got {type(other).__name__}")
        result = self.copy()
        result._combine(other, operation)
        return result

    def jaccard(self, other: Theta) -> float:
        """The fraction of the keys of either that both have; NaN if there are none."""
        if not isinstance(other, _core.Sketch):
            raise InvalidType(f"{self.name}: only sketches can be compared, got {type(other).__name__}")
        return self._jaccard(other)

    def __or__(self, other: Theta) -> Self:
        return self.union(other)

    def __and__(self, other: Theta) -> Self:
        return self.intersection(other)

    def __sub__(self, other: Theta) -> Self:
        return self.difference(other)


class Bloom(KeySketch):
    """Whether a key occurred, without false negatives.

    Choose it to skip duplicates, or to ask a slow store only for keys that may be there. A key that occurred is
    always reported. One that did not is reported with probability `false_positive_rate`, once `capacity` distinct
    keys are in the filter; beyond that, the rate rises, and `error()` estimates it.

    Parameters
    ----------
    capacity
        Number of distinct keys at which the false positive rate is reached.
    false_positive_rate
        Probability that a key which did not occur is reported. 1 % needs 9.6 bits for each key.
    seed
        Seed of the hash; equal for filters that are to be merged.
    missing
        "refuse" makes None and NaN an error; "count" counts them in `missing_weight` and nowhere else.

    Notes
    -----
    Merged filters are equal to one filter of all keys, bit for bit. Weights do not matter, except that a key of
    weight 0 is ignored.

    Examples
    --------
    >>> from millstream import sketch
    >>> seen = sketch.Bloom(capacity=1000)
    >>> seen.update_many(["ann", "bob"])
    >>> "ann" in seen, "eve" in seen
    (True, False)
    >>> round(seen.count())
    2

    References
    ----------
    Bloom, B. H. (1970). Space/time trade-offs in hash coding with allowable errors. CACM 13(7).

    Kirsch, A. and Mitzenmacher, M. (2008). Less hashing, same performance: building a better Bloom filter.
    """

    name = "sketch.Bloom"
    aliases = {"fp_rate": "false_positive_rate"}
    _question: ClassVar[str] = "contains"

    @forwarded
    def __init__(
        self,
        capacity: int = 100_000,
        false_positive_rate: float = 0.01,
        seed: int = 0,
        missing: str = "refuse",
    ) -> None: ...

    def query(self, key: Any) -> bool:
        """Whether a key may have occurred; False is certain."""
        return self._ask_key("contains", key) > 0.0

    def query_many(self, keys: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """`query` for many keys, as an array."""
        return self._many(keys) > 0.0  # type: ignore[no-any-return]

    def __contains__(self, key: Any) -> bool:
        return self.query(key)

    def count(self) -> float:
        """The estimated number of distinct keys."""
        return self._distinct()

    #: River's and Python's name.
    add = _core.Sketch._update_key
