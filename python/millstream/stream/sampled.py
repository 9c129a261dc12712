"""A sample of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream._echo import quoted
from millstream._part import shown_part
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.registry import nearest
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk
from millstream.stream.derived import Derived
from millstream.stream.joined import joined

if TYPE_CHECKING:
    from millstream.sampling import Sampler

__all__ = ["Sample"]


class Sample(Derived):
    """The examples that a sampler draws."""

    def __init__(self, source: Stream, sampler: Sampler) -> None:
        from millstream.sampling import ByKey, Sampler

        if not isinstance(sampler, Sampler):
            raise InvalidType(f"stream.sample: sampler must be one of sampling, got {shown_part(sampler)}")
        self.sampler: Any = sampler.clone()
        self.filters = isinstance(sampler, ByKey)
        if source.endless and not self.filters:
            raise InvalidValue(
                f"stream.sample: {type(sampler).__name__} samples a whole stream, and this one never ends: "
                "use take(n) before, or learn_many of the sampler"
            )
        super().__init__(source, sampler)

    def chunks(self) -> Iterator[Chunk]:
        yield from self._filtered() if self.filters else self._drawn()

    @property
    def n_samples(self) -> int | None:
        return None

    def _filtered(self) -> Iterator[Chunk]:
        from millstream.sampling.rows import key_column

        for chunk in self.source.chunks():
            try:
                mask = self.sampler._keeps(key_column(self._column(chunk, self.sampler.parameters["key"])))
            except MillstreamError as error:
                raise error.by("stream.sample") from None
            if mask.any():
                yield chunk if mask.all() else chunk.take(np.flatnonzero(mask))

    def _drawn(self) -> Iterator[Chunk]:
        """The sampler draws the numbers of rows; the rows themselves stay in the form that the stream has."""
        sampler = self.sampler.clone()
        held: Chunk | None = None
        numbers = np.zeros(0, dtype=np.int64)
        start = 0
        for chunk in self.source.chunks():
            self._offer(sampler, chunk, start)
            wanted = _numbers(sampler, everything=True)
            pool = chunk if held is None else joined([held, chunk])
            known = np.concatenate([numbers, np.arange(start, start + len(chunk))])
            held, numbers = pool.take(np.searchsorted(known, wanted)), wanted
            start += len(chunk)
        if held is not None and len(drawn := _numbers(sampler, everything=False)):
            yield held.take(np.searchsorted(numbers, drawn))

    def _offer(self, sampler: Any, chunk: Chunk, start: int) -> None:
        from millstream.sampling.rows import key_column, time_column

        parameters = sampler.parameters
        try:
            keys = None
            if "key" in parameters:
                keys = key_column(self._column(chunk, parameters["key"]))
            weights = None if chunk.w is None else np.asarray(chunk.w, dtype=np.float64)
            times = time_column(chunk.time) if parameters.get("by_time") else None

            def fetch(indices: list[int]) -> list[Any]:
                return [({"row": start + index}, None) for index in indices]

            sampler._learn_many(len(chunk), keys, weights, times, {}, fetch, "raise")
        except MillstreamError as error:
            raise error.by("stream.sample") from None

    def _column(self, chunk: Chunk, name: Any) -> Any:
        """A column of a chunk by name; None is the target."""
        beside = {self.target: chunk.y, self.weight: chunk.w, self.time: chunk.time, None: chunk.y}
        if beside.get(name) is not None:
            return beside[name]
        X = chunk.X
        if isinstance(X, np.ndarray):
            if isinstance(name, int) and 0 <= name < X.shape[1]:
                return X[:, name]
        elif hasattr(X, "column_names"):
            if name in X.column_names:
                return X[name]
        else:
            from millstream import _frames

            rows = list(_frames.dicts(X))
            if all(name in row for row in rows):
                return [row[name] for row in rows]
        if name is None:
            raise InvalidValue("each row needs a target")
        known = [each for each in getattr(X, "column_names", ()) if isinstance(each, str)]
        raise InvalidValue(f"each row needs a column {quoted(name)}{nearest(str(name), known)}")


def _numbers(sampler: Any, *, everything: bool) -> Any:
    return np.sort(np.array([x["row"] for x, _ in sampler._rows(everything)], dtype=np.int64))
