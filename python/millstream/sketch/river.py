"""River's names and parameters of sketches."""

from __future__ import annotations

import math

from millstream.errors import InvalidValue
from millstream.sketch.counts import CountMin, SpaceSaving
from millstream.sketch.sets import Bloom, HyperLogLog

__all__ = ["Counter", "HeavyHitters", "NUnique", "Set"]


def Counter(epsilon: float = 0.1, delta: float = 0.05, seed: int | None = None) -> CountMin:  # noqa: N802
    """`CountMin` with River's defaults.

    Examples
    --------
    >>> from millstream import sketch
    >>> counter = sketch.Counter(epsilon=0.05)
    >>> for key in [1, 2, 1]:
    ...     counter.update(key)
    >>> counter[1], counter.total_weight
    (2.0, 3.0)
    """
    return CountMin(epsilon, delta, seed=seed or 0)


def HeavyHitters(  # noqa: N802
    support: float = 0.001, epsilon: float | None = None, fading_factor: float = 1.0
) -> SpaceSaving:
    """`SpaceSaving` for a support and an epsilon below it.

    River's rule, an epsilon above the support, misses frequent keys and is not supported; nor are fading weights.
    The default epsilon is half of the support.

    Examples
    --------
    >>> from millstream import sketch
    >>> hitters = sketch.HeavyHitters(support=0.1)
    >>> hitters.capacity
    20
    """
    epsilon = support / 2.0 if epsilon is None else epsilon
    if not 0.0 < epsilon <= support < 1.0:
        raise InvalidValue(
            "sketch.HeavyHitters: epsilon must be positive and at most the support, which must be below 1, "
            f"got {epsilon!r} and {support!r}"
        )
    if fading_factor != 1.0:
        raise InvalidValue(
            f"sketch.HeavyHitters: weights do not fade; pass fading_factor=1.0, got {fading_factor!r}"
        )
    return SpaceSaving(math.ceil(1.0 / epsilon))


def NUnique(error_rate: float = 0.01, seed: int | None = None) -> HyperLogLog:  # noqa: N802
    """`HyperLogLog` for a relative standard error.

    Examples
    --------
    >>> from millstream import sketch
    >>> sketch.NUnique(error_rate=0.01).precision
    14
    """
    if not 0.0 < error_rate < 1.0:
        raise InvalidValue(f"sketch.NUnique: error_rate must be in (0, 1), got {error_rate!r}")
    precision = math.ceil(math.log2((1.04 / error_rate) ** 2))
    return HyperLogLog(min(max(precision, 4), 18), seed or 0)


def Set(capacity: int = 2048, fp_rate: float = 0.01, seed: int | None = None) -> Bloom:  # noqa: N802
    """`Bloom` with River's defaults.

    Examples
    --------
    >>> from millstream import sketch
    >>> seen = sketch.Set()
    >>> seen.add("ann")
    >>> "ann" in seen
    True
    """
    return Bloom(capacity, fp_rate, seed or 0)
