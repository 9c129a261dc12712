"""Statistics of groups of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream._key_counts import KeyCounts, shown_key
from millstream._native import Native
from millstream.base import Transformer

__all__ = ["Agg", "TargetAgg"]


class _Aggregate(KeyCounts, Native, Transformer):
    """What `Agg` and `TargetAgg` share."""

    @property
    def state(self) -> dict[Any, float]:
        """The statistic of each group, by its value of `by`, or by a tuple of values."""
        groups = {}
        for key, value in self.inspect()["groups"]:
            parts = tuple(shown_key(part) for part in key)
            groups[parts[0] if len(parts) == 1 else parts] = float("nan") if value is None else value
        return groups

    @property
    def feature_name(self) -> str:
        """The name of the output, such as `revenue_mean_by_place`."""
        return str(self.inspect()["output"])


def _names(by: str | int | Sequence[str | int] | None) -> Any:
    return [by] if isinstance(by, (str, int)) else by


class Agg(_Aggregate):
    """A running statistic of a feature for each group of rows, like a group-by over the stream so far.

    Choose it for features such as the mean price of a product or the number of payments of a card. Learning a row
    updates the statistic of its group; the output is the statistic of the group and nothing else. `+` combines
    several, and adds the original features by `compose.Select` or a scaler. Behind it, a learner learns a row with
    the statistic that includes the row, as in River.

    Parameters
    ----------
    on
        Name of the feature that is summarised, a number.
    by
        Name or names of the features whose values form a group; None for one group of all rows.
    how
        The statistic, of one variable: any of `millstream.stats`.
    time
        Name of the feature with the time of a row, for statistics that need it: a number or a date (datetime,
        date, pandas Timestamp, NumPy datetime64), which counts in seconds since 1970, in UTC if it has no time
        zone. It is read from the row, so that it works in a pipeline and with batches.
    max_keys
        The largest number of groups with a statistic of their own.
    when_full
        What happens to a new group beyond `max_keys`: with `"other"` it shares one statistic with all others that
        came too late; with `"evict"` it replaces the group learned least recently; with `"refuse"` its row is
        refused.

    Notes
    -----
    The name of the output is that of River. A statistic is missing while it is undefined (River returns 0), and so
    is the output for a row whose group is missing; such a row is not learned, nor is one whose number is missing
    (River raises an error). `state` is a dict and needs no pandas.

    Examples
    --------
    >>> from millstream import feature_extraction, stats
    >>> rows = [
    ...     {"country": "France", "place": "Taco Bell", "revenue": 42},
    ...     {"country": "Sweden", "place": "Burger King", "revenue": 16},
    ...     {"country": "France", "place": "Burger King", "revenue": 24},
    ...     {"country": "Sweden", "place": "Taco Bell", "revenue": 58},
    ... ]
    >>> agg = feature_extraction.Agg(on="revenue", by="place", how=stats.Mean())
    >>> for x in rows:
    ...     agg.learn_one(x)
    ...     print(agg.transform_one(x))
    {'revenue_mean_by_place': 42.0}
    {'revenue_mean_by_place': 16.0}
    {'revenue_mean_by_place': 20.0}
    {'revenue_mean_by_place': 50.0}
    >>> agg.state
    {'Taco Bell': 50.0, 'Burger King': 20.0}

    Several aggregates side by side:

    >>> both = agg.clone() + feature_extraction.Agg(on="revenue", by=["place", "country"], how=stats.Max())
    >>> for x in rows:
    ...     both.learn_one(x)
    >>> both.transform_one(rows[0])
    {'revenue_mean_by_place': 50.0, 'revenue_max_by_place_and_country': 42.0}
    """

    name = "feature_extraction.Agg"

    def __init__(
        self,
        on: str | int,
        by: str | int | Sequence[str | int] | None,
        how: Any,
        time: str | int | None = None,
        max_keys: int = 100_000,
        when_full: str = "other",
    ) -> None:
        super().__init__(on=on, by=_names(by), how=how, time=time, max_keys=max_keys, when_full=when_full)


class TargetAgg(_Aggregate):
    """A running statistic of the target for each group of rows.

    Choose it if the mean of `preprocessing.TargetEncoder` is not enough: a variance, a quantile, the mean of the
    last rows or of the last days, or groups by several features. The output for a row never contains its own
    target, and the target is learned when the label arrives.

    Parameters
    ----------
    by
        Name or names of the features whose values form a group; None for one group of all rows.
    how
        The statistic, of one variable: any of `millstream.stats`.
    target_name
        Name of the target in the output.
    time
        Name of the feature with the time of a row, for statistics that need it: a number or a date, as in `Agg`.
    max_keys
        The largest number of groups with a statistic of their own.
    when_full
        What happens to a new group beyond `max_keys`: with `"other"` it shares one statistic with all others that
        came too late; with `"evict"` it replaces the group learned least recently; with `"refuse"` its row is
        refused.

    Notes
    -----
    Of two classes, the first counts 0 and the second 1. A third class is refused.

    Examples
    --------
    >>> from millstream import feature_extraction, stats
    >>> agg = feature_extraction.TargetAgg(by="place", how=stats.Mean())
    >>> for place, revenue in (("cafe", 10.0), ("bar", 40.0), ("cafe", 16.0)):
    ...     print(agg.transform_one({"place": place}))
    ...     agg.learn_one({"place": place}, revenue)
    {}
    {}
    {'y_mean_by_place': 10.0}
    >>> agg.state
    {'cafe': 13.0, 'bar': 40.0}
    """

    name = "feature_extraction.TargetAgg"

    def __init__(
        self,
        by: str | int | Sequence[str | int] | None,
        how: Any,
        target_name: str = "y",
        time: str | int | None = None,
        max_keys: int = 100_000,
        when_full: str = "other",
    ) -> None:
        super().__init__(
            by=_names(by), how=how, target_name=target_name, time=time, max_keys=max_keys, when_full=when_full
        )
