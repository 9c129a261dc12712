"""Transformers side by side."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from millstream._echo import quoted
from millstream._native import Native
from millstream._part import clone_value
from millstream._python_loop import restore
from millstream.base import Features, Transformer
from millstream.compose.members import called, find, gather, is_native, refuse_learned, unique
from millstream.compose.rollback import Rollback, learns, undo_native
from millstream.errors import InvalidType
from millstream.roles import TRANSFORMER, role_of

__all__ = ["TransformerUnion", "Union"]

_WHO = "compose.Union"


class Union(Transformer):
    """Transformers side by side, whose features are concatenated. `a + b + c` makes one.

    All components receive the same row. If two components produce a feature of the same name, the first to be
    learned keeps its name; the other is prefixed with the name of its component. An example that a component
    refuses leaves all of them unchanged; for those written in Python, see `Pipeline`.

    Parameters
    ----------
    parts
        Transformers. Each is a model, a plain function, a description, or a pair of a name and one of these. A
        list is expanded to its elements.
    names
        Name of each component; by default the name of its class, for a pipeline that of its last step.

    Examples
    --------
    >>> from millstream import compose, preprocessing
    >>> numbers = compose.Select(kind="number") | preprocessing.StandardScaler()
    >>> union = numbers + (compose.Select("carrier") | preprocessing.OneHotEncoder())
    >>> union
    (Select(kind='number') | StandardScaler()) + (Select('carrier') | OneHotEncoder())
    >>> for x in ({"carrier": "UA", "distance": 3.0}, {"carrier": "DL", "distance": 5.0}):
    ...     union.learn_one(x)
    >>> union.transform_one({"carrier": "DL", "distance": 5.0})
    {'distance': 1.0, 'carrier_UA': 0.0, 'carrier_DL': 1.0}
    """

    name = _WHO

    def __new__(cls, *parts: Any, names: Any = None) -> Any:
        if cls is Union:
            members, _ = gather(_WHO, "parts", parts, names)
            kind: Any = _NativeUnion if all(map(is_native, members)) else _PythonUnion
            return kind.__new__(kind)
        return super().__new__(cls)

    if TYPE_CHECKING:

        def __init__(self, *parts: Any, names: Any = None) -> None: ...

        @property
        def parts(self) -> list[Any]: ...

        @property
        def names(self) -> list[str]: ...

    @classmethod
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> Any:
        rest = {name: value for name, value in parameters.items() if name != "parts"}
        parts = parameters.get("parts", ())
        if not isinstance(parts, (list, tuple)):
            raise InvalidType(f"{_WHO}: parts must be a list of components, got {quoted(parts)}")
        return Union(list(parts), **rest)

    @classmethod
    def _revive(cls, source: Any) -> Any:
        return Native._revive.__func__(_NativeUnion, source)  # type: ignore[attr-defined]

    def __getitem__(self, key: str | int) -> Any:
        return self.parts[find(_WHO, self.names, key)]

    def __len__(self) -> int:
        return len(self.names)

    def __bool__(self) -> bool:
        return True

    def _shown(self, parts: list[Any], names: list[str] | None) -> str:
        from millstream.compose.pipeline import Pipeline

        if names is not None or len(parts) == 1:
            pairs = [repr(part) for part in parts]
            if names is not None:
                pairs = [f"({name!r}, {part})" for name, part in zip(names, pairs, strict=True)]
            return f"Union({', '.join(pairs)})"
        return " + ".join(f"({part!r})" if isinstance(part, Pipeline) else repr(part) for part in parts)


def _flatten(members: list[Any], names: list[str] | None, live: bool) -> tuple[list[Any], list[str] | None]:
    """Flatten unions among the members to their components, unless that would lose or change something."""
    if names is not None or not all(
        _can_dissolve(member, live) for member in members if isinstance(member, Union)
    ):
        return members, names
    flat: list[Any] = []
    for member in members:
        flat.extend(member.parts if isinstance(member, Union) else [member])
    return flat, None


def _can_dissolve(union: Union, live: bool) -> bool:
    named = union.parameters["names"] is not None
    return not named and not (live and isinstance(union, Native) and union.learned)


class _NativeUnion(Native, Union):
    def __init__(self, *parts: Any, names: Any = None) -> None:
        members, own = gather(_WHO, "parts", parts, names)
        refuse_learned(_WHO, members)
        flat, own = _flatten(members, own, live=False)
        super().__init__(parts=flat, names=own)

    @property
    def parts(self) -> list[Any]:
        """Copies of the components with their state."""
        return [self._member(place) for place in range(len(self))]

    @property
    def names(self) -> list[str]:
        """The names of the components."""
        parameters = self.parameters
        return list(parameters["names"] or unique([called(part) for part in parameters["parts"]]))

    def __repr__(self) -> str:
        parameters = self.parameters
        return self._shown(parameters["parts"], parameters["names"])


class _PythonUnion(Union):
    def __init__(self, *parts: Any, names: Any = None) -> None:
        members, own = gather(_WHO, "parts", parts, names)
        self._parts, self._names = _flatten(members, own, live=True)
        for part in self._parts:
            if role_of(part) is not TRANSFORMER:
                raise InvalidType(f"{_WHO}: parts must be transformers, got {part!r}")
        #: The component that owns each unprefixed feature name.
        self._owners: dict[Any, int] = {}
        self._lock = threading.RLock()
        self._rollback = Rollback()
        #: Number of examples learned.
        self.learned = 0

    @property
    def parts(self) -> list[Any]:
        """The components."""
        return list(self._parts)

    @property
    def names(self) -> list[str]:
        """The names of the components."""
        return list(self._names or unique([called(part) for part in self._parts]))

    @property
    def parameters(self) -> dict[str, Any]:
        return {"parts": self.parts, "names": self._names}

    def describe(self) -> dict[str, Any]:
        raise InvalidType(
            f"{_WHO}: a union with components in Python has no description; "
            "describe() and save() work for native components only, pickle for all"
        )

    def clone(self, **changes: Any) -> Any:
        """A new, unlearned union of the same components."""
        parameters = {name: clone_value(value) for name, value in self.parameters.items()}
        return self._from_parameters({**parameters, **changes})

    def __repr__(self) -> str:
        return self._shown(self._parts, self._names)

    def __getstate__(self) -> dict[str, Any]:
        self._rollback.retry()
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_rollback")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()
        self._rollback = Rollback()

    def _return_to(self, before: _PythonUnion) -> None:
        with self._lock:
            for part, earlier in zip(self._parts, before._parts, strict=True):
                restore(part, earlier)
            self._owners, self.learned = before._owners, before.learned
            self._rollback = Rollback()

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example with every component."""
        if w == 0.0:
            return
        with self._lock:
            done: list[tuple[Any, int]] = []
            rollback = self._rollback
            rollback.begin(filter(learns, self._parts))
            try:
                for part in self._parts:
                    done.append((part, getattr(part, "learned", 0)))
                    rollback.teach(part, x, y, w)
                made = [list(part.transform_one(x)) for part in self._parts]
            except BaseException:
                try:
                    undo_native(done)
                finally:
                    rollback.undo()
                raise
            rollback.commit()
            for place, keys in enumerate(made):
                for key in keys:
                    self._owners.setdefault(key, place)
            self.learned += 1

    def transform_one(self, x: Features) -> dict[Any, Any]:
        """The features of all components."""
        made: dict[Any, Any] = {}
        with self._lock:
            names = self.names
            for place, part in enumerate(self._parts):
                for key, value in part.transform_one(x).items():
                    name = key
                    if self._owners.get(key, place) != place or key in made:
                        name = f"{names[place]}_{key}"
                    made[name] = value
        return made


_NativeUnion.__name__ = _PythonUnion.__name__ = "Union"

TransformerUnion = Union
