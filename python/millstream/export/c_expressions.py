"""Expressions of C: where each value of a graph is stored, and how one of its elements is read.

An elementwise operation whose result is read once, element by element, is written into the loop that reads it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from millstream.export.c_text import aligned_index, braces, flat_index, number, unraveled_index
from millstream.export.graph import ELEMENTWISE, Value
from millstream.export.translation import Exported

__all__ = ["TYPES", "Expressions"]

_FUNCTIONS = {
    "exp": "exp({})",
    "log": "log({})",
    "sqrt": "sqrt({})",
    "sin": "sin({})",
    "cos": "cos({})",
    "tanh": "tanh({})",
    "floor": "floor({})",
    "abs": "fabs({})",
    "neg": "(-{})",
    "sigmoid": "(1.0 / (1.0 + exp(-{})))",
    "isnan": "(isnan({}) != 0)",
    "isinf": "(isinf({}) != 0)",
    "not": "(!{})",
    "add": "({} + {})",
    "sub": "({} - {})",
    "mul": "({} * {})",
    "div": "({} / {})",
    "pow": "pow({}, {})",
    "lt": "({} < {})",
    "le": "({} <= {})",
    "eq": "({} == {})",
    "and": "({} && {})",
    "or": "({} || {})",
    "where": "({} ? {} : {})",
    "double": "(double)({})",
    "int": "(int32_t)({})",
}
#: Views: they compute nothing, and are always written where they are read.
_VIEWS = frozenset({"gather", "take", "rows", "pick"})
TYPES = {"double": "double", "int": "int32_t", "bool": "uint8_t"}


class Expressions:
    """The values of an exported graph, and the constant tables that they read."""

    def __init__(self, exported: Exported, name: str) -> None:
        self.exported, self.name = exported, name
        self.tables: list[str] = []
        self.lines: list[str] = []
        self._names: dict[int, str] = {}
        self._stored: dict[tuple[Any, ...], str] = {}
        self._outputs = list(exported.outputs.values())
        self._needed = self._order()
        self._uses: dict[int, list[Value]] = {}
        for value in self._needed:
            for arg in value.args:
                self._uses.setdefault(arg.number, []).append(value)
        self._room = {"double": _Room(), "int": _Room(), "bool": _Room()}

    def _order(self) -> list[Value]:
        needed: set[int] = set()
        waiting = list(self._outputs)
        while waiting:
            value = waiting.pop()
            if value.number not in needed:
                needed.add(value.number)
                waiting.extend(value.args)
        return [value for value in self.exported.graph.values if value.number in needed]

    # What is stored, and where.

    def _is_inlined(self, value: Value) -> bool:
        if value.data is not None or value.op in ("numbers", *_VIEWS):
            return True
        if value.op == "reshape":
            return True
        if value.op not in ELEMENTWISE or any(value is output for output in self._outputs):
            return False
        uses = self._uses.get(value.number, [])
        if len(uses) != 1:
            return False
        reader = uses[0]
        # Through a view each element may be read many times.
        if reader.op in ("reduce", "softmax"):
            return True
        return reader.op in ELEMENTWISE and math.prod(reader.shape) == math.prod(value.shape)

    def _readers(self, value: Value) -> list[Value]:
        """The stored values that read this one, directly or through values that are written in place."""
        found = []
        waiting = list(self._uses.get(value.number, []))
        while waiting:
            reader = waiting.pop()
            if self._is_inlined(reader):
                waiting.extend(self._uses.get(reader.number, []))
            else:
                found.append(reader)
        return found

    def _feeds(self, value: Value, output: Value) -> bool:
        """Whether an output that is written in place reads a value."""
        if not self._is_inlined(output):
            return False
        return any(arg is value or self._feeds(value, arg) for arg in output.args)

    def _start(self, value: Value) -> int:
        name = self._names[value.number]
        return int(name.partition(" + ")[2] or 0)

    # Expressions.

    def _table(self, array: np.ndarray[Any, Any]) -> str:
        key = (array.dtype.str, array.tobytes())
        if key not in self._stored:
            self._stored[key] = f"{self.name}_t{len(self._stored)}"
            kind = {"f": "double", "b": "uint8_t"}.get(array.dtype.kind, "int32_t")
            cells = [number(float(each)) if kind == "double" else str(int(each)) for each in array.reshape(-1)]
            self.tables.append(f"static const {kind} {self._stored[key]}[{array.size}] = {braces(cells)};")
        return self._stored[key]

    def _at(self, value: Value, index: Sequence[str]) -> str:
        """The expression of one element."""
        if value.data is not None:
            if value.data.size == 1:
                only = value.data.reshape(-1)[0]
                return number(float(only)) if value.dtype == "double" else str(int(only))
            return f"{self._table(value.data)}[{flat_index(index, value.shape)}]"
        if value.number in self._names:
            name, _, start = self._names[value.number].partition(" + ")
            flat = flat_index(index, value.shape)
            return f"{name}[{start + ' + ' if start else ''}{flat}]"
        if value.op == "numbers":
            return f"numbers[{index[0]}]"
        if value.op in ELEMENTWISE or value.op == "rows":
            args = [self._at(arg, aligned_index(index, value.shape, arg.shape)) for arg in value.args]
            if value.op == "rows":
                return args[0]
            if value.op in ("max", "min"):
                kind = "i" if value.dtype == "int" else ""
                return f"{self.name}_{value.op}{kind}({', '.join(args)})"
            return _FUNCTIONS[value.op].format(*args)
        if value.op == "gather":
            table, places = value.args
            place = self._at(places, index[: places.ndim])
            return self._at(table, [place, *index[places.ndim :]])
        if value.op == "take":
            arg, places = value.args
            assert places.data is not None
            column = index[-1]
            steps = np.diff(places.data)
            if (steps == 1).all():
                first = int(places.data[0])
                column = f"{column} + {first}" if first else column
                column = str(first) if index[-1] == "0" else column
            else:
                column = self._at(places, [index[-1]])
            return self._at(arg, [*index[: arg.ndim - 1], column])
        if value.op == "pick":
            arg, places = value.args
            return self._at(arg, [*index[:-1], self._at(places, index)])
        assert value.op == "reshape"
        arg = value.args[0]
        return self._at(arg, unraveled_index(index, value.shape, arg.shape))

    def _own(self, value: Value, index: Sequence[str]) -> str:
        name, _, start = self._names[value.number].partition(" + ")
        return f"{name}[{start + ' + ' if start else ''}{flat_index(index, value.shape)}]"

    def _element(self, value: Value, index: Sequence[str]) -> str:
        name = self._names.pop(value.number)
        found = self._at(value, index)
        self._names[value.number] = name
        return found

    def _loops(self, shape: Sequence[int], inside: Callable[[list[str]], list[str]], first: int = 0) -> list[str]:
        """Nested loops over a shape around what `inside` writes for an index."""
        names = [f"i{first + axis}" if size > 1 else "0" for axis, size in enumerate(shape)]
        lines = inside(names)
        for name, size in reversed(list(zip(names, shape, strict=True))):
            if name != "0":
                head = f"for (int32_t {name} = 0; {name} < {size}; {name}++) {{"
                lines = [head, *("    " + line for line in lines), "}"]
        return lines


class _Room:
    """Places in an array, which are used again once a value is no longer needed."""

    def __init__(self) -> None:
        self.most = 0
        self._free: list[tuple[int, int]] = []

    def take(self, size: int) -> int:
        size = max(size, 1)
        for at, (start, length) in enumerate(self._free):
            if length >= size:
                self._free[at : at + 1] = [(start + size, length - size)] if length > size else []
                return start
        start = self.most
        self.most += size
        return start

    def give(self, start: int, size: int) -> None:
        merged: list[tuple[int, int]] = []
        for begin, length in sorted([*self._free, (start, max(size, 1))]):
            if merged and merged[-1][0] + merged[-1][1] == begin:
                merged[-1] = (merged[-1][0], merged[-1][1] + length)
            else:
                merged.append((begin, length))
        self._free = merged
