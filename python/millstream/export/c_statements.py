"""Statements of C: loops that compute the values that are stored."""

from __future__ import annotations

from millstream.export.c_expressions import TYPES, Expressions
from millstream.export.c_text import braces, literal, number
from millstream.export.graph import ELEMENTWISE, Trees, Value

__all__ = ["Statements"]


class Statements(Expressions):
    """The lines of the function that compute its values, one after the other."""

    def _statement(self, value: Value) -> None:
        if value.op in ELEMENTWISE:
            self.lines += self._loops(
                value.shape, lambda index: [f"{self._own(value, index)} = {self._element(value, index)};"]
            )
        else:
            getattr(self, f"_{value.op}")(value)

    def _reduce(self, value: Value) -> None:
        arg = value.args[0]
        axes, how, keep = (value.attributes[key] for key in ("axes", "how", "keep"))
        kind = TYPES[value.dtype]
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
            return [
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
            self.tables.append(f"static const {self.name}_text {table}[{len(cells)}] = {braces(cells)};")
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
        self.tables.append(f"static const {self.name}_node {nodes}[{len(cells)}] = {braces(cells)};")
        self.tables.append(
            f"static const int32_t {roots}[{len(trees.roots)}] = {braces([str(r) for r in trees.roots])};"
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
