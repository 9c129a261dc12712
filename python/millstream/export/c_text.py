"""The text of numbers, strings, tables and indices in C."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["aligned_index", "braces", "flat_index", "literal", "number", "unraveled_index"]

_LINE = 100


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


def braces(cells: Sequence[str]) -> str:
    """The initialiser of an array, in lines of bounded length."""
    lines, line = [], ""
    for cell in cells:
        if line and len(line) + len(cell) > _LINE:
            lines.append(line)
            line = ""
        line += cell + ", "
    lines.append(line)
    joined = "\n    ".join(each.rstrip() for each in lines).rstrip(",")
    return f"{{{joined}}}" if len(lines) == 1 else f"{{\n    {joined}}}"


def flat_index(index: Sequence[str], shape: Sequence[int]) -> str:
    """The place of an index in a row-major array."""
    terms, stride = [], 1
    for each, size in reversed(list(zip(index, shape, strict=True))):
        if each != "0" and size > 1:
            whole = each if " " not in each or each.startswith("(") else f"({each})"
            terms.append(whole if stride == 1 else f"{whole} * {stride}")
        stride *= size
    return " + ".join(reversed(terms)) or "0"


def aligned_index(index: Sequence[str], shape: Sequence[int], narrow: Sequence[int]) -> list[str]:
    """The index of an argument that is broadcast to a shape."""
    own = list(index)[len(shape) - len(narrow) :]
    return ["0" if size == 1 else each for each, size in zip(own, narrow, strict=True)]


def unraveled_index(index: Sequence[str], shape: Sequence[int], target: Sequence[int]) -> list[str]:
    """The index in an array of the same elements in another shape."""
    if [size for size in shape if size > 1] == [size for size in target if size > 1]:
        rest = iter(each for each, size in zip(index, shape, strict=True) if size > 1)
        return [next(rest) if size > 1 else "0" for size in target]
    flat = flat_index(index, shape)
    found, stride = [], math.prod(target)
    for axis, size in enumerate(target):
        stride //= size
        part = f"({flat}) / {stride}" if stride > 1 else f"({flat})"
        part = f"({part} % {size})" if axis and size > 1 else f"({part})"
        found.append("0" if size == 1 else part)
    return found
