"""Samples of the newest rows."""

from __future__ import annotations

import datetime
from typing import Literal

from millstream.sampling.base import Sampler, span

__all__ = ["WindowSample"]


class WindowSample(Sampler):
    """A sample of the newest rows: of the last so many, or of the last span of time.

    Choose it if a question is about a window, such as the last hour, and the window is too large to be kept. The
    sample is uniform; with weights, rows of larger weight are more likely, as in `WeightedReservoir`. Besides the
    sample it holds the rows that may enter it when others expire: about `size * (1 + log(n / size))` of n rows in
    the window, and at most about three times as many.

    Parameters
    ----------
    size
        Number of rows of the sample; all rows of the window, if there are fewer.
    window_size
        Length of the window: a number of rows, or a span of time (with `by_time`, or as a timedelta). A window of
        time ends at the latest time so far; a row leaves it when its age reaches the length.
    by_time
        Measure in the time `t` of the rows, not in rows; dates count in seconds.
    late
        A row whose time is before that of an earlier row: "refuse" it with an error, or "accept" it as a row of
        its time.
    seed
        Seed of the draws. Samples that are to be merged need different seeds, and `by_time`.

    Examples
    --------
    >>> from millstream import sampling
    >>> window = sampling.WindowSample(size=3, window_size=100)
    >>> for number in range(1000):
    ...     window.learn_one({"number": number})
    >>> [x["number"] for x, y in window.sample()]
    [933, 942, 943]

    References
    ----------
    Babcock, B., Datar, M. and Motwani, R. (2002). Sampling from a moving window over streaming data. SODA.
    """

    name = "sampling.WindowSample"

    def __init__(
        self,
        size: int,
        window_size: float | datetime.timedelta,
        by_time: bool = False,
        late: Literal["refuse", "accept"] = "refuse",
        seed: int = 0,
    ) -> None:
        window_size, by_time = span(self.name, "window_size", window_size, by_time)
        super().__init__(size=size, window_size=window_size, by_time=by_time, late=late, seed=seed)
