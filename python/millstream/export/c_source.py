"""The graph of a prediction as one C99 file: constant tables, and loops over arrays on the stack.

No allocation, no libraries but the C library's math, and no state: any number of threads may predict. Numbers are
written in hexadecimal, so that none is rounded. An elementwise operation whose result is read once, element by
element, is written into the loop that reads it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from millstream._core import __version__
from millstream.export.graph import ELEMENTWISE, Trees, Value
from millstream.export.translation import Exported

__all__ = ["c_source"]

_HEAD = """\
/* A {role}, exported by millstream {version}: {description}

{usage}

C99, the math library only. NaN is a missing number, NULL a missing string; infinity counts as missing.
Do not compile with -ffast-math: it removes the comparisons with NaN. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "-ffast-math removes comparisons with NaN"
#endif
"""
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
_TYPES = {"double": "double", "int": "int32_t", "bool": "uint8_t"}
_LINE = 100


def c_source(exported: Exported, name: str) -> str:
    """The text of the file; functions and tables start with `name`."""
    return _Writer(exported, name).text()


def number(value: float) -> str:
    """A number as a C literal."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return f"{int(value)}.0" if value == int(value) and abs(value) < 1e6 and str(value) != "-0.0" else value.hex()


def literal(text: str) -> str:
    """A string as a C literal."""
    out = []
    for byte in text.encode():
        plain = 32 <= byte < 127 and chr(byte) not in '"\\?'
        out.append(chr(byte) if plain else f"\\{byte:03o}")
    return '"' + "".join(out) + '"'


class _Writer:
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

    def text(self) -> str:
        """The whole file."""
        stored = [value for value in self._needed if not self._is_inlined(value)]
        place = {value.number: at for at, value in enumerate(stored)}
        inlined_outputs = {output.number for output in self._outputs}
        last: dict[int, list[Value]] = {}
        for at, value in enumerate(stored):
            readers = [place[reader.number] for reader in self._readers(value)]
            kept = value.number in inlined_outputs or any(self._feeds(value, output) for output in self._outputs)
            end = len(stored) if kept else max(readers, default=at)
            last.setdefault(end, []).append(value)
        for at, value in enumerate(stored):
            start = self._room[value.dtype].take(math.prod(value.shape))
            self._names[value.number] = f"{value.dtype[0]}{'' if not start else f' + {start}'}"
            self.lines.append("")
            self._statement(value)
            for done in last.get(at, ()):
                self._room[done.dtype].give(self._start(done), math.prod(done.shape))
        body = "\n".join("    " + line if line else "" for line in self._ending())
        return self._assembled(body)

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
            self.tables.append(f"static const {kind} {self._stored[key]}[{array.size}] = {_braces(cells)};")
        return self._stored[key]

    def _at(self, value: Value, index: Sequence[str]) -> str:
        """The expression of one element."""
        if value.data is not None:
            if value.data.size == 1:
                only = value.data.reshape(-1)[0]
                return number(float(only)) if value.dtype == "double" else str(int(only))
            return f"{self._table(value.data)}[{_flat(index, value.shape)}]"
        if value.number in self._names:
            name, _, start = self._names[value.number].partition(" + ")
            flat = _flat(index, value.shape)
            return f"{name}[{start + ' + ' if start else ''}{flat}]"
        if value.op == "numbers":
            return f"numbers[{index[0]}]"
        if value.op in ELEMENTWISE or value.op == "rows":
            args = [self._at(arg, _aligned(index, value.shape, arg.shape)) for arg in value.args]
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
        return self._at(arg, _unraveled(index, value.shape, arg.shape))

    # Statements.

    def _loops(self, shape: Sequence[int], inside: Callable[[list[str]], list[str]], first: int = 0) -> list[str]:
        """Nested loops over a shape around what `inside` writes for an index."""
        names = [f"i{first + axis}" if size > 1 else "0" for axis, size in enumerate(shape)]
        lines = inside(names)
        for name, size in reversed(list(zip(names, shape, strict=True))):
            if name != "0":
                head = f"for (int32_t {name} = 0; {name} < {size}; {name}++) {{"
                lines = [head, *("    " + line for line in lines), "}"]
        return lines

    def _statement(self, value: Value) -> None:
        if value.op in ELEMENTWISE:
            self.lines += self._loops(
                value.shape, lambda index: [f"{self._own(value, index)} = {self._element(value, index)};"]
            )
        else:
            getattr(self, f"_{value.op}")(value)

    def _own(self, value: Value, index: Sequence[str]) -> str:
        name, _, start = self._names[value.number].partition(" + ")
        return f"{name}[{start + ' + ' if start else ''}{_flat(index, value.shape)}]"

    def _element(self, value: Value, index: Sequence[str]) -> str:
        name = self._names.pop(value.number)
        found = self._at(value, index)
        self._names[value.number] = name
        return found

    def _reduce(self, value: Value) -> None:
        arg = value.args[0]
        axes, how, keep = (value.attributes[key] for key in ("axes", "how", "keep"))
        kind = _TYPES[value.dtype]
        start = {"sum": "0", "max": "-INFINITY", "min": "INFINITY"}[how]
        if value.dtype == "int" and how != "sum":
            start = {"max": "INT32_MIN", "min": "INT32_MAX"}[how]

        def inside(index: list[str]) -> list[str]:
            own = [each for axis, each in enumerate(index) if axis not in axes] if keep else index
            kept = iter(own)
            inner = [size for axis, size in enumerate(arg.shape) if axis in axes]
            names = [f"k{axis}" if size > 1 else "0" for axis, size in enumerate(inner)]
            reduced = iter(names)
            whole = [next(reduced) if axis in axes else next(kept) for axis in range(arg.ndim)]
            element = self._at(arg, whole)
            if how == "sum":
                step = [f"sum += {element};"]
            else:
                sign = ">" if how == "max" else "<"
                step = [f"{kind} next = {element};", f"if (next {sign} sum) sum = next;"]
            for name, size in reversed(list(zip(names, inner, strict=True))):
                if name != "0":
                    head = f"for (int32_t {name} = 0; {name} < {size}; {name}++) {{"
                    step = [head, *("    " + line for line in step), "}"]
            lines = [f"{kind} sum = {start};", *step, f"{self._own(value, index)} = sum;"]
            return (
                lines if index and any(each != "0" for each in index) else ["{", *("    " + x for x in lines), "}"]
            )

        self.lines += self._loops(value.shape, inside)

    def _softmax(self, value: Value) -> None:
        arg, size = value.args[0], value.shape[-1]

        def inside(index: list[str]) -> list[str]:
            own = self._own(value, [*index, "k" if size > 1 else "0"])
            each = f"for (int32_t k = 0; k < {size}; k++)"
            return [
                "{",
                "    double most = -INFINITY, sum = 0.0;",
                f"    {each} {{",
                f"        double next = {self._at(arg, [*index, 'k' if size > 1 else '0'])};",
                f"        {own} = next;",
                "        if (next > most) most = next;",
                "    }",
                f"    {each} sum += {own} = exp({own} - most);",
                f"    {each} {own} /= sum;",
                "}",
            ]

        self.lines += self._loops(value.shape[:-1], inside)

    def _argmax(self, value: Value) -> None:
        arg = value.args[0]

        def inside(index: list[str]) -> list[str]:
            element = self._at(arg, [*index, "k"])
            return [
                "{",
                "    int32_t best = 0;",
                "    double most = -INFINITY;",
                f"    for (int32_t k = 0; k < {arg.shape[-1]}; k++) {{",
                f"        double next = {element};",
                "        if (next > most) {",
                "            most = next;",
                "            best = k;",
                "        }",
                "    }",
                f"    {self._own(value, index)} = best;",
                "}",
            ]

        self.lines += self._loops(value.shape, inside)

    def _nearest(self, value: Value) -> None:
        arg, k = value.args[0], value.attributes["k"]

        def inside(index: list[str]) -> list[str]:
            first = self._own(value, [*index, "0"])
            here = first.rpartition("[")
            place = f"{here[0]}[{here[2][:-1]} + "
            return (
                [
                    "{",
                    f"    int32_t *nearest = &{first};",
                    f"    double least[{k}];",
                    "    int32_t count = 0;",
                    f"    for (int32_t k = 0; k < {arg.shape[-1]}; k++) {{",
                    f"        double next = {self._at(arg, [*index, 'k'])};",
                    f"        if (count == {k} && !(next < least[{k - 1}])) continue;",
                    f"        int32_t at = count < {k} ? count++ : {k - 1};",
                    "        for (; at > 0 && next < least[at - 1]; at--) {",
                    "            least[at] = least[at - 1];",
                    "            nearest[at] = nearest[at - 1];",
                    "        }",
                    "        least[at] = next;",
                    "        nearest[at] = k;",
                    "    }",
                    "}",
                ]
                if place
                else []
            )

        self.lines += self._loops(value.shape[:-1], inside)

    def _matmul(self, value: Value) -> None:
        arg, matrix = value.args
        inner = arg.shape[-1]

        def inside(index: list[str]) -> list[str]:
            k = "k" if inner > 1 else "0"
            step = f"sum += {self._at(arg, [*index[:-1], k])} * {self._at(matrix, [k, index[-1]])};"
            loop = [f"for (int32_t k = 0; k < {inner}; k++) {step}"] if inner > 1 else [step]
            lines = ["double sum = 0.0;", *loop, f"{self._own(value, index)} = sum;"]
            return lines if any(each != "0" for each in index) else ["{", *("    " + line for line in lines), "}"]

        self.lines += self._loops(value.shape, inside)

    def _concat(self, value: Value) -> None:
        axis = value.attributes["axis"]
        start = 0
        for arg in value.args:

            def inside(index: list[str], arg: Value = arg, start: int = start) -> list[str]:
                moved = list(index)
                moved[axis] = (
                    str(start) if index[axis] == "0" else f"({index[axis]} + {start})" if start else index[axis]
                )
                return [f"{self._own(value, moved)} = {self._at(arg, index)};"]

            self.lines += self._loops(arg.shape, inside)
            start += arg.shape[axis]

    def _codes(self, value: Value) -> None:
        texts = value.attributes["texts"]
        table = f"{self.name}_texts{value.attributes['column']}"
        order = sorted(range(len(texts)), key=lambda code: texts[code].encode())
        cells = [f"{{{literal(texts[code])}, {code}.0}}" for code in order]
        if cells:
            self.tables.append(f"static const {self.name}_text {table}[{len(cells)}] = {_braces(cells)};")
        given = f"strings[{value.attributes['column']}]"
        found = f"{self.name}_code({given}, {table if cells else 'NULL'}, {len(cells)})"
        self.lines.append(f"{self._own(value, ['0'])} = {found};")

    def _leaves(self, value: Value) -> None:
        trees: Trees = value.attributes["trees"]
        nodes, roots = f"{self.name}_nodes{value.number}", f"{self.name}_roots{value.number}"
        cells = [
            f"{{{number(threshold)}, {2 * feature + int(missing)}, {left}, {right}}}"
            for threshold, feature, missing, left, right in zip(
                trees.threshold, trees.feature, trees.missing_left, trees.left, trees.right, strict=True
            )
        ]
        self.tables.append(f"static const {self.name}_node {nodes}[{len(cells)}] = {_braces(cells)};")
        self.tables.append(
            f"static const int32_t {roots}[{len(trees.roots)}] = {_braces([str(r) for r in trees.roots])};"
        )

        def inside(index: list[str]) -> list[str]:
            feature = self._at(value.args[0], ["(node->feature >> 1)"])
            return [
                "{",
                f"    int32_t at = {roots}[{index[0]}];",
                "    while (at >= 0) {",
                f"        const {self.name}_node *node = &{nodes}[at];",
                f"        double x = {feature};",
                "        int is_left = x <= node->threshold || (isnan(x) && (node->feature & 1));",
                "        at = is_left ? node->left : node->right;",
                "    }",
                f"    {self._own(value, index)} = -1 - at;",
                "}",
            ]

        self.lines += self._loops(value.shape, inside)

    # The file.

    def _ending(self) -> list[str]:
        outputs = self.exported.outputs
        lines = list(self.lines)
        if "class" in outputs:
            probabilities = outputs["probabilities"]
            target = "probabilities"
            lines.append("")
            lines += ["if (probabilities) {"]
            lines += (
                [
                    "    " + line
                    for line in self._loops(
                        probabilities.shape,
                        lambda i: [f"{target}[{_flat(i, probabilities.shape)}] = {self._at(probabilities, i)};"],
                    )
                ]
                if probabilities.shape[0]
                else []
            )
            lines += ["}", f"return {self._at(outputs['class'], [])};"]
        elif "features" in outputs:
            features = outputs["features"]
            lines.append("")
            lines += self._loops(
                features.shape, lambda i: [f"features[{_flat(i, features.shape)}] = {self._at(features, i)};"]
            )
        else:
            (only,) = outputs.values()
            lines += ["", f"return {self._at(only, [])};"]
        return lines

    def _signature(self) -> str:
        exported = self.exported
        inputs = ["const double *numbers"] if exported.numbers or not exported.strings else []
        inputs += ["const char *const *strings"] if exported.strings else []
        if "class" in exported.outputs:
            return f"int32_t {self.name}_predict({', '.join([*inputs, 'double *probabilities'])})"
        if "features" in exported.outputs:
            return f"void {self.name}_transform({', '.join([*inputs, 'double *features'])})"
        kind = "int32_t" if "cluster" in exported.outputs else "double"
        return f"{kind} {self.name}_predict({', '.join(inputs)})"

    def _usage(self) -> str:
        exported = self.exported
        lines = [f"    {self._signature()};", ""]
        for kind, names in (("numbers", exported.numbers), ("strings", exported.strings)):
            if names:
                lines.append(f"`{kind}` are the {len(names)} features {', '.join(str(name) for name in names)}.")
        if "class" in exported.outputs:
            lines.append(
                f"Returns the index of the class in {self.name}_labels, or -1 for none, and writes the\n"
                f"probabilities of the {len(exported.labels)} classes unless the pointer is NULL."
            )
        return "\n".join(lines).replace("*/", "* /")

    def _assembled(self, body: str) -> str:
        exported, name = self.exported, self.name
        description = json.dumps(json.loads(exported.description)).replace("*/", "* /").replace("??", "? ?")
        parts = [
            _HEAD.format(role=exported.role, version=__version__, description=description, usage=self._usage()),
            f"typedef struct {{ double threshold; int32_t feature, left, right; }} {name}_node;"
            if any("_node " in table for table in self.tables)
            else "",
        ]
        if exported.strings:
            parts.append(_TEXTS.replace("NAME", name))
        parts.append(self._labels())
        parts += [text.replace("NAME", name) for op, text in _HELPERS.items() if f"{name}_{op}(" in body]
        parts += self.tables
        room = [
            f"    {_TYPES[kind]} {kind[0]}[{self._room[kind].most}];"
            for kind in ("double", "int", "bool")
            if self._room[kind].most
        ]
        unused = [
            f"    (void){each};"
            for each in ("numbers", "strings")
            if f"*{each}" in self._signature() or f"*const *{each}" in self._signature()
        ]
        function = "\n".join([self._signature(), "{", *room, *unused, body, "}"])
        return "\n".join([*(part for part in parts if part), "", function]) + "\n"

    def _labels(self) -> str:
        labels = self.exported.labels
        if "class" not in self.exported.outputs or not labels:
            return ""
        if any(isinstance(label, str) for label in labels):
            cells = [literal(str(label)) for label in labels]
            return f"const char *const {self.name}_labels[{len(labels)}] = {_braces(cells)};"
        cells = [f"INT64_C({int(label)})" for label in labels]
        return f"const int64_t {self.name}_labels[{len(labels)}] = {_braces(cells)};"


_HELPERS = {
    "max": "static double NAME_max(double a, double b) { return b > a || isnan(b) ? b : a; }",
    "min": "static double NAME_min(double a, double b) { return b < a || isnan(b) ? b : a; }",
    "maxi": "static int32_t NAME_maxi(int32_t a, int32_t b) { return a > b ? a : b; }",
    "mini": "static int32_t NAME_mini(int32_t a, int32_t b) { return a < b ? a : b; }",
}
_TEXTS = """\
typedef struct { const char *text; double code; } NAME_text;

/* The code of a string in an ascending table: NaN for NULL, -1 for others. */
static double NAME_code(const char *given, const NAME_text *table, int32_t size)
{
    int32_t low = 0, high = size;
    if (!given) return NAN;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        int order = strcmp(given, table[middle].text);
        if (order == 0) return table[middle].code;
        if (order < 0) high = middle; else low = middle + 1;
    }
    return -1.0;
}
"""


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


def _braces(cells: Sequence[str]) -> str:
    lines, line = [], ""
    for cell in cells:
        if line and len(line) + len(cell) > _LINE:
            lines.append(line)
            line = ""
        line += cell + ", "
    lines.append(line)
    joined = "\n    ".join(each.rstrip() for each in lines).rstrip(",")
    return f"{{{joined}}}" if len(lines) == 1 else f"{{\n    {joined}}}"


def _flat(index: Sequence[str], shape: Sequence[int]) -> str:
    """The place of an index in a row-major array."""
    terms, stride = [], 1
    for each, size in reversed(list(zip(index, shape, strict=True))):
        if each != "0" and size > 1:
            whole = each if " " not in each or each.startswith("(") else f"({each})"
            terms.append(whole if stride == 1 else f"{whole} * {stride}")
        stride *= size
    return " + ".join(reversed(terms)) or "0"


def _aligned(index: Sequence[str], shape: Sequence[int], narrow: Sequence[int]) -> list[str]:
    """The index of an argument that is broadcast to a shape."""
    own = list(index)[len(shape) - len(narrow) :]
    return ["0" if size == 1 else each for each, size in zip(own, narrow, strict=True)]


def _unraveled(index: Sequence[str], shape: Sequence[int], target: Sequence[int]) -> list[str]:
    """The index in an array of the same elements in another shape."""
    if [size for size in shape if size > 1] == [size for size in target if size > 1]:
        rest = iter(each for each, size in zip(index, shape, strict=True) if size > 1)
        return [next(rest) if size > 1 else "0" for size in target]
    flat = _flat(index, shape)
    found, stride = [], math.prod(target)
    for axis, size in enumerate(target):
        stride //= size
        part = f"({flat}) / {stride}" if stride > 1 else f"({flat})"
        part = f"({part} % {size})" if axis and size > 1 else f"({part})"
        found.append("0" if size == 1 else part)
    return found
