"""The graph of a prediction as one C99 file: constant tables, and loops over arrays on the stack.

No allocation, no libraries but the C library's math, and no state: any number of threads may predict. Numbers are
written in hexadecimal, so that none is rounded. An elementwise operation whose result is read once, element by
element, is written into the loop that reads it.
"""

from __future__ import annotations

import json
import math

from millstream._core import __version__
from millstream.export.c_expressions import TYPES
from millstream.export.c_statements import Statements
from millstream.export.c_text import braces, flat_index, literal
from millstream.export.graph import Value
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


def c_source(exported: Exported, name: str) -> str:
    """The text of the file; functions and tables start with `name`."""
    return _Writer(exported, name).text()


class _Writer(Statements):
    """The whole file."""

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

    def _ending(self) -> list[str]:
        outputs = self.exported.outputs
        lines = list(self.lines)
        if "class" in outputs:
            probabilities = outputs["probabilities"]
            shape = probabilities.shape
            lines += ["", "if (probabilities) {"]
            if shape[0]:
                written = self._loops(
                    shape, lambda i: [f"probabilities[{flat_index(i, shape)}] = {self._at(probabilities, i)};"]
                )
                lines += ["    " + line for line in written]
            lines += ["}", f"return {self._at(outputs['class'], [])};"]
        elif "features" in outputs:
            features = outputs["features"]
            lines.append("")
            lines += self._loops(
                features.shape, lambda i: [f"features[{flat_index(i, features.shape)}] = {self._at(features, i)};"]
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
            f"    {TYPES[kind]} {kind[0]}[{self._room[kind].most}];"
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
            return f"const char *const {self.name}_labels[{len(labels)}] = {braces(cells)};"
        cells = [f"INT64_C({int(label)})" for label in labels]
        return f"const int64_t {self.name}_labels[{len(labels)}] = {braces(cells)};"


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
