"""Garbage collection: requests and records contain no reference cycles, so collections find nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collect_rarely", "rare_collections"]

_RARE = 50_000, 20, 100


def collect_rarely() -> None:
    """Collect garbage rarely from now on, and exempt all existing objects."""
    gc.freeze()
    gc.set_threshold(*_RARE)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage rarely within the block."""
    usual = gc.get_threshold()
    gc.set_threshold(*_RARE)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
