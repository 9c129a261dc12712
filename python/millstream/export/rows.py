"""A row inside the graph, and a component with the state it had when the model was saved."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from millstream.errors import InvalidValue
from millstream.export.graph import Graph, Value
from millstream.export.state import pack, sealed, unpack

__all__ = ["Answer", "Component", "Row", "Unsupported"]

NUMBER, NOMINAL = 1, 2


class Unsupported(InvalidValue):
    """The model cannot be exported; the message says which component, and why."""


@dataclass
class Row:
    """The features of a row by slot, as a component receives them.

    NaN stands for a missing value. A nominal value is its code, and -1 one that was never learned.
    """

    graph: Graph
    values: Value
    names: list[str | int]
    #: 0 for a feature without any value so far, 1 for a number, 2 for a nominal feature.
    kinds: list[int]
    #: The nominal values by slot and code.
    texts: list[list[str]]
    _cache: dict[Any, Value] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """The number of slots."""
        return len(self.kinds)

    @property
    def number_slots(self) -> list[int]:
        """The slots of numbers."""
        return [slot for slot, kind in enumerate(self.kinds) if kind == NUMBER]

    @property
    def nominal_slots(self) -> list[int]:
        """The slots of nominal features."""
        return [slot for slot, kind in enumerate(self.kinds) if kind == NOMINAL]

    def take(self, slots: Sequence[int]) -> Value:
        """The values of some slots; those beyond the row are missing."""
        key = ("take", *slots)
        if key not in self._cache:
            known = [slot for slot in slots if slot < self.width]
            taken = self.graph.take(self.values, known)
            if len(known) < len(slots):
                places = np.cumsum([slot < self.width for slot in slots]) - 1
                places[[slot >= self.width for slot in slots]] = len(known)
                padded = self.graph.concat([taken, np.array([np.nan])]) if known else np.array([np.nan])
                taken = self.graph.take(self.graph.as_value(padded), places)
            self._cache[key] = taken
        return self._cache[key]

    def filled(self, slots: Sequence[int], missing: Any = 0.0) -> Value:
        """The values of some slots, with a number for missing ones."""
        key = ("filled", np.asarray(missing, dtype=np.float64).tobytes(), *slots)
        if key not in self._cache:
            taken = self.take(slots)
            self._cache[key] = self.graph.where(self.graph.isnan(taken), missing, taken)
        return self._cache[key]

    def places(self, slots: Sequence[int]) -> Value:
        """For nominal slots: 0 for a missing value, 1 for an unseen one, 2 + code for others."""
        key = ("places", *slots)
        if key not in self._cache:
            self._cache[key] = self.graph.to_int(self.filled(slots, -2.0) + 2.0)
        return self._cache[key]

    def with_values(self, values: Value, **changes: Any) -> Row:
        """The row with other values, and other names, kinds or texts if given."""
        kept = {"names": self.names, "kinds": self.kinds, "texts": self.texts}
        return Row(self.graph, values, **{**kept, **changes})

    def cut(self, slots: Sequence[int]) -> Row:
        """The row of some slots."""

        def each(listed: list[Any], beyond: Any) -> list[Any]:
            return [listed[slot] if slot < self.width else beyond for slot in slots]

        return Row(self.graph, self.take(slots), each(self.names, ""), each(self.kinds, 0), each(self.texts, []))

    def schema(self) -> dict[str, Any]:
        """The schema of this row, as saved in files."""
        names: list[str | int] = []
        for slot, name in enumerate(self.names):
            names.append(name if name not in names and name != "" else f"feature {slot}")
        numbered = 0
        while numbered < len(names) and type(names[numbered]) is int and names[numbered] == numbered:
            numbered += 1
        return {
            "numbered": numbered,
            "names": names[numbered:],
            "kinds": bytes(self.kinds),
            "values": self.texts,
        }


@dataclass
class Answer:
    """What a learner predicts: class probabilities by code with the class, or one number."""

    #: Of a classifier; None if it has no class to predict.
    probabilities: Value | None = None
    #: The code of the class, -1 for none; by default the first of the most probable ones.
    decision: Value | None = None
    #: Of a learner of numbers, clusters or anomalies.
    number: Value | None = None
    #: Of a regression tree: 0 if there is no prediction, which leaves it out of a blend.
    weight: Any = 1.0


@dataclass
class Component:
    """A component of a model: its description and its state."""

    name: str
    parameters: dict[str, Any]
    raw: bytes

    @classmethod
    def of(cls, description: dict[str, Any], raw: bytes) -> Component:
        """A component with this description."""
        return cls(description["name"], description["parameters"], raw)

    @cached_property
    def state(self) -> Any:
        """The decoded state."""
        return unpack(self.raw)

    def refuse(self, reason: str) -> Unsupported:
        """The error of a component that cannot be exported."""
        return Unsupported(f"{self.name}: cannot be exported: {reason}")

    def alive(self, row: Row, labels: Sequence[Any] = ()) -> Any:
        """The component as a model of its own, which knows the features of the row.

        Asking it needs less code than repeating what it derives from its state.
        """
        from millstream.registry import from_bytes

        description = json.dumps({"name": self.name, "parameters": self.parameters})
        content = {
            "written_by": "export",
            "description": description,
            "schema": row.schema(),
            "labels": list(labels),
            "learned": 1,
            "state": self.raw,
        }
        return from_bytes(sealed(content))

    def with_state(self, state: Any) -> Component:
        """The same component with another state."""
        return Component(self.name, self.parameters, pack(state))
