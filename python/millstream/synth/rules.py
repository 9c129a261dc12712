"""Classes by a rule: each class is a region of the features."""

from __future__ import annotations

from typing import ClassVar

from millstream.synth.base import Generator

__all__ = ["SEA"]


class SEA(Generator):
    """Two classes by a sum of two features, the best known test of abrupt drift.

    Three features are uniform in [0, 10). The class is 1 where the first two sum to more than a threshold; the
    third means nothing. Choose it for a first look at how a model meets a change: a linear model can learn each
    variant perfectly, and the variants differ only in the threshold.

    The paper has 10 % of noise and four blocks of 12,500 examples with variants 0 to 3, abruptly one after the
    other. Its class 1 is the side up to the threshold; here, as in MOA and River, it is the side above.

    Parameters
    ----------
    variant
        Which threshold the sum is held against: 8, 9, 7 or 9.5.
    noise
        The share of examples whose class is another than the rule's.
    seed
        Where the random numbers start; the same seed gives the same stream.

    Examples
    --------
    >>> from itertools import islice
    >>> from millstream import synth
    >>> stream = synth.SEA(variant=0, noise=0.1, seed=42)
    >>> for x, y in islice(stream, 3):
    ...     print({name: round(value, 2) for name, value in x.items()}, y)
    {0: 1.05, 1: 5.92, 2: 5.28} 0
    {0: 1.88, 1: 5.41, 2: 7.78} 0
    {0: 0.25, 1: 3.5, 2: 3.78} 0

    Class 1 has 68 % of the square when the threshold is 8:

    >>> chunk = next(synth.SEA(variant=0).chunks(100_000))
    >>> round(float(chunk.y.mean()), 2)
    0.68

    References
    ----------
    Street and Kim, 2001. A streaming ensemble algorithm (SEA) for large-scale classification. KDD, 377-382.
    """

    name: ClassVar[str] = "synth.SEA"

    def __init__(self, variant: int = 0, noise: float = 0.0, seed: int = 1) -> None:
        super().__init__(variant=variant, noise=noise, seed=seed)
