"""Samples of all rows so far."""

from __future__ import annotations

import datetime
from typing import Literal

from millstream._part import forwarded
from millstream.sampling.base import Sampler, span

__all__ = ["DecayedReservoir", "Reservoir", "WeightedReservoir"]


class Reservoir(Sampler):
    """A uniform sample of all rows so far: at any moment, every set of `size` rows is equally likely.

    Choose it to look at a stream, to test on it or to estimate a mean, without knowing its length. It draws random
    numbers only for the rows that it keeps, so that passing a row costs a few nanoseconds. A weight of 0 leaves a
    row out; other weights make no difference (see `WeightedReservoir`).

    Parameters
    ----------
    size
        Number of rows of the sample.
    seed
        Seed of the draws. Samples that are to be merged need different seeds.

    Examples
    --------
    >>> from millstream import sampling
    >>> reservoir = sampling.Reservoir(size=3, seed=1)
    >>> for number in range(1000):
    ...     reservoir.learn_one({"number": number}, number % 2 == 0)
    >>> reservoir.sample()
    [({'number': 622}, True), ({'number': 685}, False), ({'number': 200}, True)]

    References
    ----------
    Li, K.-H. (1994). Reservoir-sampling algorithms of time complexity O(n(1 + log(N/n))). ACM Transactions on
    Mathematical Software 20(4).
    """

    name = "sampling.Reservoir"

    @forwarded
    def __init__(self, size: int, seed: int = 0) -> None: ...


class WeightedReservoir(Sampler):
    """A sample of all rows so far in which rows of larger weight are more likely.

    The sample is that of successive draws: the first row is drawn with a probability in proportion to its weight,
    the next one in the same way from the remaining rows, and so on. Choose it if rows are of different importance:
    amounts, losses, numbers of items that a row stands for. A row of weight 0 is never drawn.

    Parameters
    ----------
    size
        Number of rows of the sample.
    seed
        Seed of the draws. Samples that are to be merged need different seeds.

    Examples
    --------
    >>> from millstream import sampling
    >>> heavy = 0
    >>> for seed in range(300):
    ...     reservoir = sampling.WeightedReservoir(size=1, seed=seed)
    ...     reservoir.learn_one({"kind": "light"}, w=1.0)
    ...     reservoir.learn_one({"kind": "heavy"}, w=3.0)
    ...     heavy += reservoir.sample()[0][0]["kind"] == "heavy"
    >>> round(heavy / 300, 2)
    0.72

    References
    ----------
    Efraimidis, P. S. and Spirakis, P. G. (2006). Weighted random sampling with a reservoir. Information Processing
    Letters 97(5).
    """

    name = "sampling.WeightedReservoir"

    @forwarded
    def __init__(self, size: int, seed: int = 0) -> None: ...


class DecayedReservoir(Sampler):
    """A sample in which the weight of a row halves with each half-life.

    Choose it if recent rows matter most and older ones still count: for a monitor, a replay buffer, or a training
    set of a stream that drifts. `WindowSample` forgets rows abruptly instead.

    Parameters
    ----------
    size
        Number of rows of the sample.
    half_life
        Age at which the weight of a row has halved: a number of rows, or a span of time (with `by_time`, or as a
        timedelta).
    by_time
        Measure in the time `t` of the rows, not in rows; dates count in seconds.
    late
        A row whose time is before that of an earlier row: "refuse" it with an error, or "accept" it with the
        weight of its time.
    seed
        Seed of the draws. Samples that are to be merged need different seeds, and `by_time`.

    Examples
    --------
    >>> from datetime import datetime, timedelta
    >>> from millstream import sampling
    >>> reservoir = sampling.DecayedReservoir(size=50, half_life=timedelta(days=7))
    >>> start = datetime(2026, 1, 1)
    >>> for hour in range(24 * 365):
    ...     reservoir.learn_one({"hour": hour}, t=start + timedelta(hours=hour))
    >>> ages = sorted(24 * 365 - 1 - x["hour"] for x, y in reservoir.sample())
    >>> round(ages[25] / 24, 1)
    5.9

    References
    ----------
    Cormode, G., Shkapenyuk, V., Srivastava, D. and Xu, B. (2009). Forward decay: a practical time decay model for
    streaming systems. ICDE.
    """

    name = "sampling.DecayedReservoir"

    def __init__(
        self,
        size: int,
        half_life: float | datetime.timedelta,
        by_time: bool = False,
        late: Literal["refuse", "accept"] = "refuse",
        seed: int = 0,
    ) -> None:
        half_life, by_time = span(self.name, "half_life", half_life, by_time)
        super().__init__(size=size, half_life=half_life, by_time=by_time, late=late, seed=seed)
