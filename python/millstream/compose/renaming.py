"""Transformers that rename features: by a prefix, a suffix or a dict of names."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

from millstream._echo import quoted
from millstream.base import Features, Transformer
from millstream.compose.selection import Select
from millstream.errors import InvalidType

__all__ = ["Prefixer", "Renamer", "SelectType", "Suffixer"]


class _Renaming(Transformer):
    def _name(self, name: Any) -> Any:
        raise NotImplementedError

    def transform_one(self, x: Features) -> dict[Any, Any]:
        """The features with their new names."""
        return {self._name(name): value for name, value in x.items()}


class Prefixer(_Renaming):
    """Adds a prefix to the name of each feature, for example to distinguish the features of a union.

    Parameters
    ----------
    prefix
        The prefix.

    Examples
    --------
    >>> from millstream import compose
    >>> compose.Prefixer("user_").transform_one({"age": 42})
    {'user_age': 42}
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = _text("Prefixer", "prefix", prefix)

    def _name(self, name: Any) -> Any:
        return f"{self.prefix}{name}"


class Suffixer(_Renaming):
    """Adds a suffix to the name of each feature.

    Parameters
    ----------
    suffix
        The suffix.

    Examples
    --------
    >>> from millstream import compose
    >>> compose.Suffixer("_scaled").transform_one({"age": 42})
    {'age_scaled': 42}
    """

    def __init__(self, suffix: str) -> None:
        self.suffix = _text("Suffixer", "suffix", suffix)

    def _name(self, name: Any) -> Any:
        return f"{name}{self.suffix}"


class Renamer(Transformer):
    """Renames features; the other features keep their names and come first, as in River.

    Parameters
    ----------
    mapping
        The new name by old name.

    Examples
    --------
    >>> from millstream import compose
    >>> compose.Renamer({"age": "years"}).transform_one({"age": 42, "height": 180})
    {'height': 180, 'years': 42}
    """

    def __init__(self, mapping: Mapping[Any, Any]) -> None:
        if not isinstance(mapping, Mapping):
            raise InvalidType(f"compose.Renamer: mapping must be a dict of names, got {quoted(mapping)}")
        self.mapping = dict(mapping)

    def transform_one(self, x: Features) -> dict[Any, Any]:
        """The features with their new names."""
        kept = {name: value for name, value in x.items() if name not in self.mapping}
        return kept | {new: x[old] for old, new in self.mapping.items() if old in x}


def _text(who: str, what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidType(f"compose.{who}: {what} must be a string, got {quoted(value)}")
    return value


def SelectType(*types: type) -> Select:  # noqa: N802
    """River's selection of features by their Python type, as `Select(kind=...)`: numbers or strings.

    Parameters
    ----------
    types
        `str` for nominal features; `int`, `float`, `bool` or `numbers.Number` for numbers.

    Examples
    --------
    >>> import numbers
    >>> from millstream import compose
    >>> compose.SelectType(numbers.Number), compose.SelectType(str)
    (Select(kind='number'), Select(kind='nominal'))
    """
    kinds = {"nominal" if each is str else "number" if issubclass(each, numbers.Number) else "" for each in types}
    if len(kinds) != 1 or "" in kinds:
        names = ", ".join(each.__name__ for each in types) or "none"
        raise InvalidType(f"compose.SelectType: types must be all strings or all numbers, got {names}")
    return Select(kind=kinds.pop())
