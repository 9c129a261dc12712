"""Merging: models of parts of a stream become one, with the declared exactness."""

from __future__ import annotations

from typing import Any, Self

from millstream import _core
from millstream.errors import InvalidType

__all__ = ["Mergeable", "Merging"]


class Merging:
    """`MERGE`: "exact", "bounded", "approximate" or "none".

    Of a class, as it is declared for default parameters; of an object, for its parameters and components.
    """

    def __get__(self, part: Any, cls: type[Any]) -> str:
        if part is not None:
            return str(part._merging()[0])
        from millstream.registry import entry

        name = getattr(cls, "name", None)
        if not isinstance(name, str):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute 'MERGE'")
        return entry(name)["merge"]


class Mergeable:
    """The verbs of merging, for all compiled components."""

    MERGE = Merging()

    def merge(self, other: Any, base: Any = None) -> None:
        """Merge the same component after another part of the stream, as exactly as `MERGE` says.

        Features and labels are matched by name. `other` does not change; after an error nothing does.

        Parameters
        ----------
        other
            A component with equal parameters.
        base
            What both continued, if they did not start unlearned: it counts once. Both must be copies made by
            `base.fork()`, or files of such a copy.
        """
        part: Any = self
        for given in (other,) if base is None else (other, base):
            if not isinstance(given, _core.Part):
                raise InvalidType(
                    f"{part._title()}: only the same component can be merged, got {type(given).__name__}"
                )
        part._merge(other, base)

    def fork(self) -> Self:
        """A copy that records the present state as its base, also in its files; see `merge`."""
        part: Any = self
        copied = part.copy()
        copied._fork()
        return copied  # type: ignore[no-any-return]

    @property
    def version(self) -> str:
        """A digest of parameters and state: equal for equal models."""
        part: Any = self
        return f"{part._version():016x}"
