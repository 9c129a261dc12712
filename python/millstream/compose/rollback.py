"""Rollback of members written in Python: a refused example leaves them unchanged.

Native transformers can undo an example; a class written in Python cannot. A copy of a large member for each
example would cost more than learning. Therefore members are copied once in a while, and the examples since then
are kept: a rollback returns to the copy and repeats these examples.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable
from typing import Any

from millstream._native import Native
from millstream._python_loop import Features, restore, teach
from millstream.base import Transformer
from millstream.compose.members import is_native

__all__ = ["Rollback", "learns", "undo_native"]

#: Examples from one copy to the next. After the first number, the next copy waits until learning has taken as
#: long as copying did, so that copies never cost more than learning; the second number limits what is kept.
_FEWEST, _MOST = 64, 4096


def learns(member: Any) -> bool:
    """Whether a rollback of the member needs a copy: it is written in Python and has a `learn_one` of its own."""
    method = getattr(type(member), "learn_one", None)
    return not is_native(member) and method is not None and method is not Transformer.learn_one


def undo_native(members: list[Any]) -> None:
    """Undo the last example of native transformers, in reverse order."""
    for member in reversed(members):
        if isinstance(member, Native) and is_native(member):
            member._undo()


class Rollback:
    """Copies of members, and the examples that they have learned since."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        #: Each member and its copy, by identity.
        self._copies: dict[int, tuple[Any, Any]] = {}
        self._marks: dict[int, tuple[Any, ...]] = {}
        #: Examples that were learned since the copy, and those of the row that is being learned.
        self._since: list[tuple[Any, Features, Any, float]] = []
        self._row: list[tuple[Any, Features, Any, float]] = []
        self._rows = 0
        self._copying = self._learning = 0.0

    def begin(self, members: Iterable[Any]) -> None:
        """Prepare for an example that these members, which are written in Python, are going to learn."""
        members = list(members)
        if not members:
            return
        self._row = []
        self._started = time.perf_counter()
        if not self._is_current(members):
            self._forget()
            copies = {id(member): (member, _copy(member)) for member in members}
            now = time.perf_counter()
            self._copying, self._started = now - self._started, now
            self._copies = copies

    def _is_current(self, members: list[Any]) -> bool:
        """Whether copy and examples still lead to the current state of the members, and the examples are not too
        many."""
        if self._rows >= _FEWEST and (self._learning >= self._copying or self._rows >= _MOST):
            return False
        if len(self._copies) != len({id(member) for member in members}):
            return False
        return all(
            id(member) in self._copies and _is_same(self._marks.get(id(member)), _mark(member))
            for member in members
        )

    def teach(self, member: Any, x: Features, y: Any, w: float) -> None:
        """`learn_one` of a member, which can be reverted until the next `begin`."""
        if id(member) in self._copies:
            self._row.append((member, dict(x), y, w))
        teach(member, x, y, w)

    def commit(self) -> None:
        """Keep what the members have learned since `begin`."""
        if not self._copies:
            return
        self._since += self._row
        self._row = []
        self._rows += 1
        self._marks = {key: _mark(member) for key, (member, _) in self._copies.items()}
        self._learning += time.perf_counter() - self._started

    def undo(self) -> None:
        """Return all members to their state at `begin`."""
        touched = {id(lesson[0]) for lesson in self._row}
        copies, since = self._copies, self._since
        self._forget()
        for key in touched:
            member, before = copies[key]
            if before is not None:
                restore(member, before)
        for lesson in since:
            key = id(lesson[0])
            if key in touched and copies[key][1] is not None:
                teach(*lesson)


def _copy(member: Any) -> Any:
    """A copy; None for objects that cannot be copied, such as an open connection."""
    try:
        return copy.deepcopy(member)
    except Exception:
        return None


def _mark(member: Any) -> tuple[Any, ...]:
    """A value that changes if the member learns, or an attribute is set, without this module: then a new copy is
    required."""
    learned = getattr(member, "learned", None)
    return (*getattr(member, "__dict__", {}).values(), learned if isinstance(learned, int) else None)


def _is_same(mark: tuple[Any, ...] | None, now: tuple[Any, ...]) -> bool:
    if mark is None or len(mark) != len(now):
        # The first row after a copy has no mark yet.
        return False
    return all(a is b for a, b in zip(mark[:-1], now[:-1], strict=True)) and bool(mark[-1] == now[-1])
