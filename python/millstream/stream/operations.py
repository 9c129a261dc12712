"""Operations of every stream: each returns a new stream that reads its source only while it is read itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from millstream.sampling import Sampler
    from millstream.stream.base import Stream
    from millstream.stream.chunk import Chunk
    from millstream.stream.split import Split

__all__ = ["Operations"]


class Operations:
    """The operations of a stream.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import stream
    >>> X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1])
    >>> class Six(stream.Stream):
    ...     n_samples = 6
    ...     def chunks(self):
    ...         yield stream.Chunk(X, y)
    >>> list(Six().skip(1).take(2))
    [({0: 2.0, 1: 3.0}, 1), ({0: 4.0, 1: 5.0}, 0)]
    >>> list(Six().filter(lambda x, y: y == 1).map(lambda x: {"sum": x[0] + x[1]}))
    [({'sum': 5.0}, 1), ({'sum': 13.0}, 1), ({'sum': 21.0}, 1)]
    >>> [len(chunk) for chunk in Six().repeat(3).batch(4).chunks()]
    [4, 4, 4, 4, 2]
    >>> sorted(x[0] for x, y in Six().shuffle(buffer=3, seed=1))
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    >>> Six().repeat(2).take(7).n_samples
    7
    """

    def take(self, n: int) -> Stream:
        """The first `n` examples; later ones are not read."""
        from millstream.stream.derived import Take

        return Take(self._stream, n)

    def skip(self, n: int) -> Stream:
        """All but the first `n` examples."""
        from millstream.stream.derived import Skip

        return Skip(self._stream, n)

    def shuffle(self, buffer: int, seed: int | None = None) -> Stream:
        """The examples in random order, each exactly once.

        A buffer is filled with the first examples; each further example replaces a random one, which is returned.
        Memory is therefore bounded by the buffer. An example moves about `buffer` positions back, or up to
        `buffer` positions forward: choose a large buffer if the source is sorted. With a `seed`, each pass has the
        same order; without one, each has its own. Event times are shuffled along with the examples, so do not
        shuffle a stream that is learned by time.
        """
        from millstream.stream.shuffled import Shuffle

        return Shuffle(self._stream, buffer, seed)

    def repeat(self, passes: int | None = None) -> Stream:
        """All examples `passes` times, one pass after the other; endlessly if it is None.

        `s.shuffle(1000, seed=1).repeat(3)` has the same order three times; `s.repeat(3).shuffle(1000, seed=1)` has
        three orders, and mixes the end of a pass with the beginning of the next.
        """
        from millstream.stream.derived import Repeat

        return Repeat(self._stream, passes)

    def map(self, function: Callable[[dict[Any, Any]], Mapping[Any, Any]]) -> Stream:
        """The same examples with other features: `function` takes the dict x of each and returns a dict.

        `function` is called for each example; that of `map_chunks` once for thousands. A transformation that
        learns, such as a scaler, belongs in the model.
        """
        from millstream.stream.mapped import Map

        return Map(self._stream, function)

    def map_chunks(self, function: Callable[[Chunk], Chunk]) -> Stream:
        """Other examples or features: `function` takes each `stream.Chunk` and returns a chunk.

        Change columns with `dataclasses.replace(chunk, X=...)`. The size of chunks may change at any time, so
        treat each row independently.
        """
        from millstream.stream.mapped import MapChunks

        return MapChunks(self._stream, function)

    def calendar(self, on: str, *, form: str = "both", keep: bool = False) -> Stream:
        """The examples with features of the calendar instead of the column `on`, which has times.

        The features are the hour, the weekday (Monday is 0), the day of the year, and the seconds since the last
        row. For linear learners, which would see a jump at midnight, each of the first three is also a point on a
        circle, as sine and cosine. All are those of UTC, or of the local time that the file has without a zone.

        Parameters
        ----------
        on
            A column of times among the features, or the column of event times.
        form
            `"plain"` for numbers, which suffice for trees; `"cyclic"` for sines and cosines; or `"both"`.
        keep
            Whether the column itself remains a feature, in seconds since 1970.

        Examples
        --------
        >>> import io
        >>> from millstream import stream
        >>> file = io.BytesIO(b"at,y\\n2024-02-29 06:30:00,1\\n2024-02-29 18:00:00,0\\n")
        >>> for x, y in stream.read_csv(file, target="y").calendar("at", form="plain"):
        ...     print(x)
        {'at hour': 6.0, 'at weekday': 3.0, 'at yearday': 60.0, 'at since last': nan}
        {'at hour': 18.0, 'at weekday': 3.0, 'at yearday': 60.0, 'at since last': 41400.0}
        """
        from millstream.stream.calendar import Calendar

        return Calendar(self._stream, on, form, keep)

    def filter(self, predicate: Callable[..., Any]) -> Stream:
        """The examples for which `predicate(x)`, or `predicate(x, y)` if it takes two arguments, is true."""
        from millstream.stream.mapped import Filter

        return Filter(self._stream, predicate)

    def filter_chunks(self, predicate: Callable[[Chunk], Any]) -> Stream:
        """The examples for which `predicate(chunk)`, an array of bools, is true: fast, by columns."""
        from millstream.stream.mapped import FilterChunks

        return FilterChunks(self._stream, predicate)

    def sample(self, sampler: Sampler) -> Stream:
        """A sample of the examples, in their order; `sampler` is one of `millstream.sampling` and does not change.

        With `sampling.ByKey` the examples of some keys pass as they are read, also in an endless stream. Other
        samplers read the stream to its end first and hold no more than their sample. Weights and times are those
        of the stream.

        Examples
        --------
        >>> from millstream import sampling, synth
        >>> rows = synth.SEA(seed=1).take(100_000).sample(sampling.Stratified(size=100, seed=1))
        >>> len(list(rows)), sum(y for x, y in rows)
        (100, 50)
        """
        from millstream.stream.sampled import Sample

        return Sample(self._stream, sampler)

    def batch(self, n: int) -> Stream:
        """The same examples in chunks of exactly `n`; the last may be shorter."""
        from millstream.stream.derived import Batch

        return Batch(self._stream, n)

    def split(self, key: str | int | Callable[[dict[Any, Any]], Any]) -> Split:
        """A stream for each value of a column or of a function of x: for each device, customer, airport.

        The column itself is removed, since it is constant in each stream; a function removes no column.

        Examples
        --------
        A model for each device, in one pass:

        >>> from collections import defaultdict
        >>> from millstream import linear_model, stream
        >>> class Plant(stream.Stream):
        ...     def chunks(self):
        ...         rows = [{"device": "ab"[i % 2], "load": i / 100} for i in range(100)]
        ...         yield stream.Chunk(rows, [x["load"] * (2 if x["device"] == "a" else -2) for x in rows])
        >>> models = defaultdict(linear_model.LinearRegression)
        >>> for device, chunk in Plant().split("device").chunks():
        ...     models[device].learn_many(chunk.X, chunk.y)
        0
        0
        >>> {device: round(model.predict_one({"load": 0.5}), 1) for device, model in models.items()}
        {'a': 0.9, 'b': -0.9}

        As a mapping:

        >>> devices = Plant().split("device")
        >>> list(devices)
        ['a', 'b']
        >>> list(devices["b"].take(2))
        [({'load': 0.01}, -0.02), ({'load': 0.03}, -0.06)]
        """
        from millstream.stream.split import Split

        return Split(self._stream, key)

    @property
    def _stream(self) -> Stream:
        return cast("Stream", self)
