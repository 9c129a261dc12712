"""The verbs of a sampler."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from millstream import _core, _frames
from millstream._measures import Measure
from millstream._python_loop import check_on_error
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.roles import SAMPLER, Role
from millstream.sampling.rows import Batch, time_column

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Sampler", "span"]


class Sampler(_core.Sampler, Measure):
    """The base class of samplers.

    A row is a dict of numbers, strings, bools and None, and is returned as it was given: an int stays an int. The
    memory depends on the size of the sample, not on the length of the stream or the number of distinct values.
    """

    role: ClassVar[Role] = SAMPLER

    learn_one = _core.Sampler._learn_one

    def learn_many(self, X: Any, y: Any = None, w: Any = None, t: Any = None, *, on_error: str = "raise") -> int:
        """Receive many rows, with the same result as `learn_one` one by one.

        `X` is a NumPy matrix, a pandas, polars or Arrow frame, a sparse matrix or an iterable of dicts; `y`, `w`
        and `t` have one value for each row. Only the rows that remain in the sample are read from a frame.
        `on_error` defines what happens at a row that is refused: with "raise" the call fails and the sampler is as
        it was before; with "stop" it fails and keeps the rows before; with "skip" the row is skipped. Returns the
        number of skipped rows.
        """
        check_on_error(on_error)
        name = str(self.name)
        try:
            batch = Batch.of(X)
            targets = batch.targets(y)
            key: Any = self._key_of(batch, targets)
            weights, times = _frames.weights(w, by_row=True), time_column(t)
            for what, column in (("w", weights), ("t", times)):
                if column is not None and len(column) != batch.rows:
                    raise InvalidValue(f"{what} has {len(column)} values for {batch.rows} rows")
        except MillstreamError as error:
            raise error.by(name) from None
        for row, refusal in batch.bad.items():
            refusal.at_row(row)
            refusal.by(name)

        def fetch(indices: list[int]) -> list[Any]:
            ys = [None] * len(indices) if targets is None else [targets[index] for index in indices]
            return list(zip(batch.fetch(indices), ys, strict=True))

        return self._learn_many(batch.rows, key, weights, times, batch.bad, fetch, on_error)

    def _key_of(self, batch: Batch, targets: list[Any] | None) -> Any:
        """The keys of rows, if the sampler needs any."""
        return None

    def sample(self) -> list[tuple[dict[Any, Any], Any]]:
        """The rows of the sample with their targets, which are None where none was given."""
        return self._rows(False)

    def inspect(self) -> Any:
        """Counts of the state as plain data."""
        return json.loads(self._inspect())

    def __or__(self, model: Any) -> Any:
        """`sampler | model`: only sampled rows are learned."""
        from millstream.sampling.sampled import Sampled

        return Sampled(self, model)

    def keeps_one(self, x: Mapping[Any, Any]) -> bool:
        """Whether every row like this one is in the sample, whatever the other rows are."""
        raise InvalidType(f"{self.name}: {_NO_FILTER}")

    def keeps_many(self, X: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """`keeps_one` for many rows, as an array."""
        raise InvalidType(f"{self.name}: {_NO_FILTER}")


_NO_FILTER = (
    "cannot filter rows, because a row that enters the sample may be replaced later; "
    "filter with sampling.ByKey, or learn sample()"
)


def span(who: str, name: str, value: Any, by_time: bool) -> tuple[Any, bool]:
    """A number of rows or a span of time, and whether it is one of time: a timedelta always is."""
    if not isinstance(value, datetime.timedelta):
        return value, by_time
    if value <= datetime.timedelta(0):
        raise InvalidValue(f"{who}: {name} must be positive, got {value}")
    return value / datetime.timedelta(seconds=1), True
