"""Blocks parsed by a few threads, ahead of the one who learns, in order and never many at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar

from millstream.stream.home import Home

__all__ = ["in_parallel"]

Item = TypeVar("Item")
Answer = TypeVar("Answer")

#: Two parse while a third block is read or learned; more would only hold more memory.
THREADS = 2

#: The number of an item, the item or its answer, and what went wrong.
Turn = tuple[int, Any, BaseException | None]

_END: Any = object()


def in_parallel(
    items: Iterator[Item], work: Callable[[Item], Answer], *, items_here: bool = False
) -> Iterator[Answer]:
    """What `work` gives for each item, in order, begun before it is asked for.

    The items themselves are made in the threads too, one at a time, unless `items_here`: then in the thread that
    asks, which a signal can interrupt. An error comes in its turn, after all answers before it.
    """
    home = Home()
    turns = _Turns(items, work)
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="millstream")
    running: deque[Future[Turn]] = deque()
    done: dict[int, tuple[Any, BaseException | None]] = {}
    wanted = 0
    try:
        while True:
            while len(running) + len(done) < THREADS + 1:
                running.append(
                    pool.submit(turns.work_on, *turns.take()) if items_here else pool.submit(turns.turn)
                )
            number, answer, error = running.popleft().result()
            done[number] = answer, error
            while wanted in done:
                answer, error = done.pop(wanted)
                wanted += 1
                if error is not None:
                    raise error
                if answer is _END:
                    return
                yield answer
                home.check()
    finally:
        turns.ended = True
        if home.is_here:
            pool.shutdown(wait=True, cancel_futures=True)


class _Turns:
    """The items, given out in turns with their numbers."""

    def __init__(self, items: Iterator[Any], work: Callable[[Any], Any]) -> None:
        self.items, self.work = items, work
        self.lock = Lock()
        self.number = 0
        self.ended = False

    def take(self) -> Turn:
        number = self.number
        self.number += 1
        if self.ended:
            return number, _END, None
        try:
            return number, next(self.items, _END), None
        except Exception as error:
            self.ended = True
            return number, _END, error

    def turn(self) -> Turn:
        with self.lock:
            taken = self.take()
        return self.work_on(*taken)

    def work_on(self, number: int, item: Any, error: BaseException | None) -> Turn:
        if item is _END or error is not None:
            return number, _END, error
        try:
            return number, self.work(item), None
        except Exception as found:
            return number, None, found
