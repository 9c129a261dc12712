"""The hash by which Spark assigns rows to partitions: Murmur3 (x86, 32 bits) with seed 42.

Spark departs from the reference in the last bytes of a string: each of them is mixed as a word of its own, as a
signed number.
"""

from __future__ import annotations

__all__ = ["partition_of"]

_SEED = 42
_MASK = 0xFFFFFFFF


def partition_of(key: int | str, partitions: int) -> int:
    """The partition of a key, which is a bigint or a string, in `df.repartition(partitions, "key")`.

    Examples
    --------
    >>> from millstream.spark.hashing import partition_of
    >>> partition_of(17, 4), partition_of("s-17", 4)
    (2, 3)
    """
    mixed = _hash_bytes(key.encode()) if isinstance(key, str) else _hash_long(key)
    signed = mixed - (1 << 32) if mixed >= 1 << 31 else mixed
    return signed % partitions


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _MASK


def _with_word(state: int, word: int) -> int:
    scrambled = _rotated(word * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    return (_rotated(state ^ scrambled, 13) * 5 + 0xE6546B64) & _MASK


def _finished(state: int, length: int) -> int:
    state ^= length
    state = (state ^ state >> 16) * 0x85EBCA6B & _MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & _MASK
    return state ^ state >> 16


def _hash_long(value: int) -> int:
    return _finished(_with_word(_with_word(_SEED, value & _MASK), value >> 32 & _MASK), 8)


def _hash_bytes(data: bytes) -> int:
    state = _SEED
    aligned = len(data) - len(data) % 4
    for start in range(0, aligned, 4):
        state = _with_word(state, int.from_bytes(data[start : start + 4], "little"))
    for byte in data[aligned:]:
        state = _with_word(state, (byte - 256 if byte >= 128 else byte) & _MASK)
    return _finished(state, len(data))
