"""Names of hashed columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from millstream import _core
from millstream._echo import quoted
from millstream._feature_names import Renames
from millstream.errors import InvalidValue

__all__ = ["FeatureNames", "names_limit"]

#: Bytes of names if no limit is given: some hundred thousand names.
LIMIT = 1 << 26


class FeatureNames(Mapping[int, str], Renames):
    """The names of hashed columns that a reader has seen, by column.

    `stream.read_vw(path, names=True)` collects them while it reads. A feature is named `namespace^feature`, or
    by the feature alone where the namespace has no name; a product joins its features by `×`, an n-gram by
    spaces. The names of a column that several features share are joined by ` | `, and `collisions` lists them.

    Examples
    --------
    >>> import io
    >>> from millstream import linear_model, stream
    >>> text = "1 |user ann |item red\\n-1 |user ann |item blue\\n" * 10
    >>> reader = stream.read_vw(io.StringIO(text), interactions=["ui"], names=True)
    >>> model = linear_model.LogisticRegression("adaptive", intercept=False)
    >>> for chunk in reader.chunks():
    ...     skipped = model.learn_many(chunk.X, chunk.y)
    >>> sorted(model.weights)
    ['constant', 'item^blue', 'item^red', 'user^ann', 'user^ann × item^blue', 'user^ann × item^red']
    >>> reader.feature_names.collisions
    {}
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._core = _core.FeatureNames(limit)
        self._kept: dict[int, list[str]] = {}
        self._lost = 0

    def of(self, column: int) -> list[str]:
        """The names of all features that were hashed to a column."""
        return self._kept.get(int(column)) or self._core.names(int(column))

    def __getitem__(self, column: int) -> str:
        found = self.of(column)
        if not found:
            raise KeyError(column)
        return " | ".join(found)

    def __iter__(self) -> Iterator[int]:
        return iter(sorted({*self._kept, *self._core.columns()}))

    def __len__(self) -> int:
        return len({*self._kept, *self._core.columns()}) if self._kept else len(self._core)

    @property
    def collisions(self) -> dict[int, list[str]]:
        """The names of each column that several features share."""
        kept = {column for column, names in self._kept.items() if len(names) > 1}
        return {column: self.of(column) for column in sorted(kept.union(self._core.collisions()))}

    @property
    def unnamed(self) -> int:
        """How often a name was not stored because the limit was reached."""
        return self._core.unnamed() + self._lost

    @property
    def memory(self) -> int:
        """Bytes of the names."""
        return self._core.bytes() + sum(len(name) + 64 for names in self._kept.values() for name in names)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, ({column: self.of(column) for column in self},)

    def __repr__(self) -> str:
        words = f"{len(self):,} columns, {len(self.collisions):,} of them shared"
        return f"FeatureNames({words}{f', {self.unnamed:,} names not stored' if self.unnamed else ''})"


def _restored(names: dict[int, list[str]]) -> FeatureNames:
    made = FeatureNames()
    made._kept = names
    return made


def collected(told: Mapping[str, Any]) -> FeatureNames:
    """The names that a compiled transformer has collected, from its `inspect()`."""
    made = _restored({int(column): list(names) for column, names in told["columns"].items()})
    made._lost = int(told["unnamed"])
    return made


def names_parameter(who: str, names: bool | int) -> int:
    """The same limit as the parameter of a compiled component, where 0 means no names, as `clone` passes it."""
    if isinstance(names, int) and not names:
        return 0
    return names_limit(who, names) or 0


def names_limit(who: str, names: bool | int) -> int | None:
    """The limit in bytes that an argument `names` gives; None for no names."""
    if isinstance(names, (bool, np.bool_)):
        return LIMIT if names else None
    if not isinstance(names, (int, np.integer)) or names < 1:
        raise InvalidValue(f"{who}: names must be True, False or a number of bytes, got {quoted(names)}")
    return int(names)
