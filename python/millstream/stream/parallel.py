"""Blocks parsed by a few threads ahead of their consumer, in order, and few at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from millstream.stream.owner_thread import Home, owned
from millstream.stream.prefetch import ReadAhead

__all__ = ["in_parallel", "in_turn"]

Item = TypeVar("Item")
Answer = TypeVar("Answer")

#: Two parse while a third block is read or learned; more would only hold more memory.
THREADS = 2


def in_parallel(
    items: Iterator[Item], work: Callable[[Item], Answer], *, items_here: bool = False
) -> Iterator[Answer]:
    """The results of `work` for each item, in order, computed before they are requested.

    One thread makes the items, from the first to the last, and closes their iterator: a thread of its own, or with
    `items_here` the calling thread, which a signal can interrupt. `items` must not have been started. An error is
    raised in its turn, after all results before it.
    """
    home = Home()
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="millstream")
    submitted = _submitted(pool, items, work)
    # One result is awaited, one waits in the queue, and one waits for space there.
    running = _ahead(submitted, THREADS) if items_here else ReadAhead(submitted, depth=THREADS - 1)
    try:
        with owned(running):
            for future in running:
                yield future.result()
                home.check()
    finally:
        if home.is_here:
            pool.shutdown(wait=True, cancel_futures=True)


def in_turn(items: Iterator[Item], work: Callable[[Item], Answer]) -> Iterator[Answer]:
    """The results of `work` for each item, one after the other, in the calling thread."""
    with owned(items):
        for item in items:
            yield work(item)


def _submitted(
    pool: ThreadPoolExecutor, items: Iterator[Item], work: Callable[[Item], Answer]
) -> Iterator[Future[Answer]]:
    with owned(items):
        for item in items:
            yield pool.submit(work, item)


def _ahead(items: Iterator[Item], depth: int) -> Iterator[Item]:
    """The same items, `depth` of them made before they are requested, in the calling thread."""
    waiting: deque[Item] = deque()
    failure: Exception | None = None
    with owned(items):
        try:
            for item in items:
                waiting.append(item)
                if len(waiting) > depth:
                    yield waiting.popleft()
        except Exception as error:
            failure = error
        yield from waiting
        if failure is not None:
            raise failure
