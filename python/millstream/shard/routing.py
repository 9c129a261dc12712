"""Which shard a key belongs to, and which worker a shard."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from millstream.compose.key_columns import key_values
from millstream.errors import InvalidType, InvalidValue

__all__ = ["owners", "shards_of"]

#: An odd number for the polynomial over the bytes of a string.
_BASE = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def shards_of(keys: Any, shards: int) -> npt.NDArray[np.int64]:
    """The shard of each key of a column, from 0 to `shards` - 1. It depends on nothing but the key.

    Examples
    --------
    >>> from millstream import shard
    >>> shard.shards_of(["s-1", "s-2", "s-1"], 8).tolist()
    [2, 6, 2]
    >>> shard.shards_of([17, 18, 19], 8).tolist()
    [3, 2, 4]
    """
    if shards < 1:
        raise InvalidValue(f"shard: there must be a shard, got {shards}")
    column = key_values(keys)
    if isinstance(column, tuple):
        if column[0] == "codes":
            categories = [str(category).encode() for category in column[2]]
            starts = np.cumsum([0, *map(len, categories)])
            hashes = _text_hashes(starts, np.frombuffer(b"".join(categories), dtype=np.uint8))
            # A missing key has code -1: any shard may refuse it.
            found = np.append(hashes, np.uint64(0))[np.asarray(column[1], dtype=np.int64)]
        else:
            found = _text_hashes(np.asarray(column[1], dtype=np.int64), column[2])
    elif column.dtype.kind in "iu":
        found = column.astype(np.int64).view(np.uint64)
    elif column.dtype.kind == "f":
        whole = np.where(np.isfinite(column) & (np.abs(column) < 2**63), column, 0.0)
        found = whole.astype(np.int64).view(np.uint64)
    else:
        raise InvalidType(f"shard: a key must be an integer or a string, got dtype {column.dtype}")
    return (_mixed(found) % np.uint64(shards)).astype(np.int64)


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finalizer of SplitMix64."""
    z = values + np.uint64(_BASE)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _text_hashes(starts: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """A polynomial over the bytes of each string, modulo 2⁶⁴."""
    lengths = np.diff(starts)
    first = int(starts[0]) if len(starts) else 0
    powers = np.cumprod(np.full(int(lengths.max(initial=0)) + 1, _BASE, dtype=np.uint64))
    indices = np.arange(int(lengths.sum())) - np.repeat(starts[:-1] - first, lengths)
    terms = (data[first : first + len(indices)].astype(np.uint64) + np.uint64(1)) * powers[indices]
    # Sums of a prefix, not `reduceat`, which has no empty segments.
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
    ends = starts - first
    hashes: npt.NDArray[np.uint64] = sums[ends[1:]] - sums[ends[:-1]] + lengths.astype(np.uint64)
    return hashes


def owners(shards: int, workers: Sequence[str]) -> list[str]:
    """The worker of each shard by rendezvous hashing: a worker that leaves or joins moves only its own shards.

    Examples
    --------
    >>> from millstream import shard
    >>> before = shard.owners(8, ["a", "b"])
    >>> after = shard.owners(8, ["a", "b", "c"])
    >>> {new for old, new in zip(before, after) if new != old}
    {'c'}
    """
    if not workers:
        raise InvalidValue("shard: there must be a worker")

    def weight(shard: int, worker: str) -> tuple[bytes, str]:
        return hashlib.blake2b(f"{shard} {worker}".encode(), digest_size=8).digest(), worker

    return [max(workers, key=lambda worker: weight(shard, worker)) for shard in range(shards)]
