"""The verbs that all sketches have."""

from __future__ import annotations

import json
from typing import Any, ClassVar, NamedTuple

from millstream import _core
from millstream._measures import Measure, numbers
from millstream.errors import MillstreamError
from millstream.sketch.columns import is_column, keys_of, numbers_of

__all__ = ["ErrorBound", "KeySketch", "NumberSketch", "Sketch"]


class ErrorBound(NamedTuple):
    """A bound on the error of `query`: which error, how large, and with which probability it is kept.

    `bound` and `probability` are None if nothing is guaranteed.
    """

    of: str
    bound: float | None
    probability: float | None


class Sketch(_core.Sketch, Measure):
    """The base class of sketches."""

    role: ClassVar[str] = "sketch"

    def error(self) -> ErrorBound:
        """The bound on the error of `query`, with the probability that a query keeps it."""
        return ErrorBound(**json.loads(self._error_bound()))

    def __iadd__(self, other: Any) -> Any:
        self.merge(other)
        return self

    def __add__(self, other: Any) -> Any:
        both = self.copy()
        both.merge(other)
        return both

    def _named(self, error: MillstreamError) -> MillstreamError:
        return error.by(str(self.name))


class NumberSketch(Sketch):
    """A sketch of numbers that answers questions about their distribution."""

    update = _core.Sketch._update_number

    def update_many(self, x: Any, w: Any = None) -> None:
        """Add many numbers, with the same result as `update` one by one; an error changes nothing.

        `x` is a NumPy or Arrow array, a pandas or polars column or a list; `w` has one weight for each number.
        """
        try:
            x, w = numbers_of("x", x), None if w is None else numbers("w", w)
        except MillstreamError as error:
            raise self._named(error) from None
        self._update_numbers(x, w)

    def quantile(self, q: Any) -> Any:
        """The smallest number whose rank is at least `q`, or an array of them; NaN before the first number."""
        return self._answer("quantile", "q", q)

    query = quantile

    def rank(self, x: Any) -> Any:
        """The fraction of the weight of numbers up to `x`, or an array of them; NaN before the first number."""
        return self._answer("rank", "x", x)

    #: The distribution function is another name of the rank.
    cdf = rank

    def _answer(self, question: str, what: str, x: Any) -> Any:
        if not is_column(x):
            return self._ask_number(question, x)
        try:
            return self._ask_numbers(question, numbers(what, x))
        except MillstreamError as error:
            raise (error if str(error).startswith(str(self.name)) else self._named(error)) from None


class KeySketch(Sketch):
    """A sketch of keys: strings, integers, floats and bools. 1, 1.0 and True are one key, "1" is another."""

    #: What `query` asks about a key.
    _question: ClassVar[str] = "weight"

    update = _core.Sketch._update_key

    def update_many(self, x: Any, w: Any = None) -> None:
        """Add many keys, with the same result as `update` one by one; an error changes nothing.

        `x` is a NumPy or Arrow array, also of strings or dictionary codes, a pandas or polars column or a list;
        `w` has one weight for each key.
        """
        try:
            x, w = keys_of(x), None if w is None else numbers("w", w)
        except MillstreamError as error:
            raise self._named(error) from None
        self._update_keys(x, w)

    def _many(self, keys: Any) -> Any:
        try:
            column = keys_of(keys)
        except MillstreamError as error:
            raise self._named(error) from None
        return self._ask_keys(self._question, column)
