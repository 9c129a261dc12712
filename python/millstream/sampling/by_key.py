"""All rows of some keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream._part import forwarded
from millstream.errors import MillstreamError
from millstream.sampling.base import Sampler
from millstream.sampling.rows import Batch, key_column

__all__ = ["ByKey"]


class ByKey(Sampler):
    """All rows of a fraction of the keys, for example of a tenth of the users.

    Choose it if a question is about keys and their rows together: how often users return, what a session looks
    like, how a device behaves. A sample of rows cannot answer such questions: it has one row in a hundred of pairs
    of rows. Whether a key is in the sample depends on its value and the seed alone. A key is therefore in or out
    permanently, on every machine, in every file; and the keys of a fraction of 0.1 are among those of 0.2.

    It is also a filter: `keeps_one(x)` tells whether the key of a row is in the sample, and `ByKey(...) | model`
    learns the rows of these keys only. A filter stores no rows.

    Parameters
    ----------
    fraction
        Fraction of the keys.
    key
        Name of the feature whose values are the keys. 1, 1.0 and True are one key, as in Python; "1" is another.
        Rows in which it is None share one key.
    seed
        Seed of the hash; another seed gives other keys. Samples that are to be joined or merged need the same
        seed.
    max_rows
        Maximum number of rows in `sample()`. Beyond it the keys with the largest hashes are dropped with all their
        rows, and the sample is that of a smaller fraction: see `inspect()`.

    Notes
    -----
    The hash is XXH64 with the seed `seed ^ 0x62795f6b65792100`, of a letter for the type and the value: `s` and
    the UTF-8 bytes of a string, `i` and the 8 little-endian bytes of an integer, `f` and those of another float,
    `n` for None. A key is in the sample if its hash is below `fraction * 2**64`.

    Examples
    --------
    >>> from millstream import sampling
    >>> tenth = sampling.ByKey(0.1, "user")
    >>> for visit in range(3):
    ...     for user in range(1000):
    ...         tenth.learn_one({"user": user, "visit": visit})
    >>> rows = tenth.sample()
    >>> len({x["user"] for x, y in rows}), len(rows)
    (105, 315)
    >>> tenth.keeps_one({"user": 15}), sampling.ByKey(0.2, "user").keeps_one({"user": 15})
    (True, True)

    References
    ----------
    Leskovec, J., Rajaraman, A. and Ullman, J. D. (2020). Mining of massive datasets, 3rd edition, section 4.2.
    """

    name = "sampling.ByKey"

    @forwarded
    def __init__(self, fraction: float, key: str | int, seed: int = 0, max_rows: int = 100_000) -> None: ...

    def _key_of(self, batch: Batch, targets: list[Any] | None) -> Any:
        return key_column(batch.column(self.parameters["key"]))

    def keeps_one(self, x: Mapping[Any, Any]) -> bool:
        """Whether the key of a row is in the sample of this fraction."""
        return self._keeps_one(x)

    def keeps_many(self, X: Any) -> Any:
        """`keeps_one` for many rows, as an array."""
        try:
            batch = Batch.of(X)
            kept = self._keeps(self._key_of(batch, None))
        except MillstreamError as error:
            raise error.by(self.name) from None
        for row, refusal in sorted(batch.bad.items()):
            refusal.at_row(row)
            raise refusal.by(self.name)
        return kept
