"""Rollback of members written in Python: a refused example leaves them unchanged.

Native transformers can undo an example; a class written in Python cannot. The state of a small member is therefore
recorded before each example (`snapshot.py`), which always works. For a large member this would cost more than
learning. Such members are copied periodically, and the examples since then are kept: a rollback repeats them on a
copy of the copy, and the member takes over its state when all are repeated. Until then the member stays as it is.
If the repetition fails, because a service is down or the user interrupts it, it is repeated before the next
example.
"""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Iterable
from typing import Any

from millstream._native import Native
from millstream._python_loop import Features, restore, teach
from millstream.base import Transformer
from millstream.compose.members import is_native
from millstream.compose.snapshot import Snapshot, put_back, take

__all__ = ["Rollback", "learns", "undo_native"]

#: Examples from one copy to the next. After the first number, the next copy waits until learning has taken as
#: long as copying did, so that copies never cost more than learning; the second number limits what is kept.
_FEWEST, _MOST = 64, 4096

_Lesson = tuple[Any, Features, Any, float]


def learns(member: Any) -> bool:
    """Whether a rollback of the member needs its earlier state: it is written in Python and has a `learn_one` of
    its own."""
    method = getattr(type(member), "learn_one", None)
    undone = is_native(member) or getattr(member, "undoes_examples", False)
    return not undone and method is not None and method is not Transformer.learn_one


def undo_native(members: list[tuple[Any, int]]) -> None:
    """Undo the last example of transformers that can, as native ones do, in reverse order.

    Each member comes with the number of examples that it had learned before: an interruption may arrive before or
    after it has learned.
    """
    for member, learned in reversed(members):
        undoes = (isinstance(member, Native) and is_native(member)) or getattr(member, "undoes_examples", False)
        if undoes and member.learned != learned:
            member._undo()


class _Replay:
    """Repeats the examples since a copy of a member."""

    def __init__(self, member: Any, before: Any, lessons: list[_Lesson]) -> None:
        self.member, self.before, self.lessons = member, before, lessons
        self.mark = _mark(member)
        self.repeated: Any = None

    def run(self) -> None:
        if self.repeated is None:
            if not _is_same(self.mark, _mark(self.member)):
                # It was changed from outside, which must not be lost.
                return
            repeated = copy.deepcopy(self.before)
            for _, x, y, w in self.lessons:
                teach(repeated, x, y, w)
            self.repeated = repeated
        restore(self.member, self.repeated)


class Rollback:
    """The state of members before an example."""

    def __init__(self) -> None:
        #: What is left to do until the members are back in their state before the last example.
        self._unfinished: list[_Replay] = []
        self._snapshots: list[Snapshot] = []
        self._forget()

    def _forget(self) -> None:
        #: Each member and its copy, by identity.
        self._copies: dict[int, tuple[Any, Any]] = {}
        self._marks: dict[int, tuple[Any, ...]] = {}
        #: Examples that were learned since the copy, and those of the row that is being learned.
        self._since: list[_Lesson] = []
        self._row: list[_Lesson] = []
        self._rows = 0
        self._copying = self._learning = 0.0

    def begin(self, members: Iterable[Any]) -> None:
        """Prepare for an example that these members, which are written in Python, are going to learn."""
        self.finish()
        members = list(members)
        if not members:
            return
        self._started = time.perf_counter()
        large, snapshots = self._take(members)
        if large and not self._is_current(large):
            self._forget()
            copies = {id(member): (member, _copy(member)) for member in large}
            now = time.perf_counter()
            self._copying, self._started = now - self._started, now
            self._copies = copies
        self._snapshots = snapshots

    def _take(self, members: list[Any]) -> tuple[list[Any], list[Snapshot]]:
        """The large members, and the state of the small ones."""
        large, snapshots = [], []
        for member in members:
            # A member that was large is not tried again.
            snapshot = None if id(member) in self._copies else take(member)
            if snapshot is None:
                large.append(member)
            else:
                snapshots.append(snapshot)
        return large, snapshots

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
        self._snapshots = []
        if not self._copies:
            return
        self._since += self._row
        self._row = []
        self._rows += 1
        self._marks = {key: _mark(member) for key, (member, _) in self._copies.items()}
        self._learning += time.perf_counter() - self._started

    def undo(self) -> None:
        """Return all members to their state at `begin`: now, or else before the next example."""
        # The caller raises the example's own error; the next example tries again.
        with contextlib.suppress(Exception):
            self.finish()

    def retry(self) -> None:
        """Try to complete the rollback of an earlier row; a row that is being learned is left alone."""
        if not (self._row or self._snapshots):
            self.undo()

    def finish(self) -> None:
        """Complete the rollback of a row, also one that failed or was interrupted."""
        put_back(self._snapshots)
        self._snapshots = []
        if self._row:
            replays = []
            for key in {id(lesson[0]) for lesson in self._row}:
                member, before = self._copies[key]
                if before is not None:
                    lessons = [lesson for lesson in self._since if lesson[0] is member]
                    replays.append(_Replay(member, before, lessons))
            self._unfinished += replays
            self._forget()
        failed = None
        for replay in self._unfinished[:]:
            try:
                replay.run()
            except Exception as error:
                failed = failed or error
            else:
                self._unfinished.remove(replay)
        if failed is not None:
            raise failed


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
