"""Models composed of several members in Python: an example that one of them refuses leaves all unchanged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millstream import _core
from millstream._python_loop import Features, check_on_error, restore, run_rows
from millstream.base import Model
from millstream.compose.rollback import Rollback

__all__ = ["Lesson", "Reduction", "can_learn_many"]

#: A member, and the example that it learns.
Lesson = tuple[Any, Features, Any, float]


class Reduction(Model):
    """A model whose members learn an example together, or not at all."""

    def _start(self) -> None:
        self._rollback = Rollback()

    def __getstate__(self) -> dict[str, Any]:
        self._rollback.retry()
        return {name: value for name, value in self.__dict__.items() if name != "_rollback"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._rollback = Rollback()

    def _teach(self, lessons: Iterable[Lesson]) -> None:
        """Learn an example of each of some members."""
        lessons = list(lessons)
        self._rollback.begin([member for member, *_ in lessons])
        try:
            for member, x, y, w in lessons:
                self._rollback.teach(member, x, y, w)
        except BaseException:
            self._rollback.undo()
            raise
        self._rollback.commit()

    def _teach_many(self, members: list[Any], X: Any, y: Any, w: Any, on_error: str) -> int:
        """Learn the same rows with each member, in batches where that gives the same result."""
        check_on_error(on_error)
        if on_error != "raise" or not can_learn_many(members, X):
            return run_rows(self, X, y, w, None, on_error)[1]
        before: list[tuple[Any, Any]] = []
        try:
            for member in members:
                before.append((member, member.copy()))
                member.learn_many(X, y, w)
        except BaseException:
            for member, state in before:
                restore(member, state)
            raise
        return 0


def can_learn_many(members: list[Any], X: Any) -> bool:
    """Whether all members are compiled, and the rows can be read more than once."""
    return all(isinstance(member, _core.Model) for member in members) and hasattr(X, "__len__")
