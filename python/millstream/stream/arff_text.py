"""The text of ARFF: the header's declarations, and the values of a row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from millstream._echo import quoted, shortened
from millstream.errors import InvalidValue, Unreadable

__all__ = ["ROW_WEIGHT", "Attribute", "cells_of", "declared", "entries", "number_of", "value_of", "zero_of"]

#: Longest header.
LONGEST_HEADER = 1 << 24

_NAME = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s{}]+))\s*(.*)$""", re.DOTALL)
_VALUE = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|((?!['"])[^,]*?))\s*(?:,|$)""")
_ENTRY = re.compile(r"""\s*(\d+)\s+(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|((?!['"])[^,]*?))\s*(?:,|$)""")
#: A weight in braces at the end of a row.
ROW_WEIGHT = re.compile(r",\s*\{\s*([^{}]*?)\s*\}\s*$")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}

_NUMERIC = ("numeric", "real", "integer")

#: Java's date format letters, with Python's.
_DATES = {
    "yyyy": "%Y", "yy": "%y", "MMM": "%b", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d", "HH": "%H", "H": "%H",
    "hh": "%I", "h": "%I", "mm": "%M", "m": "%M", "ss": "%S", "s": "%S", "SSS": "%f", "a": "%p", "Z": "%z",
    "EEE": "%a", "z": "%Z",
}  # fmt: skip


class Attribute(NamedTuple):
    """A column as the header declares it: its kind is "number", "nominal", "text" or "time"."""

    name: str
    kind: str
    values: tuple[str, ...] = ()
    date_format: str | None = None
    #: Whether it is declared to hold integers, which can be labels.
    whole: bool = False


#: An attribute omitted in a sparse row is 0; a nominal one has its first value.
_ZEROS = {"number": 0.0, "text": "", "time": datetime(1970, 1, 1)}


def zero_of(attribute: Attribute) -> Any:
    """The value of an attribute that a sparse row omits."""
    return _ZEROS.get(attribute.kind, attribute.values[0] if attribute.values else None)


def entries(text: str) -> Iterator[tuple[int, str, bool]]:
    """The entries of a sparse row: attribute index, string, and whether it was quoted."""
    place = 0
    while place < len(text):
        found = _ENTRY.match(text, place)
        if found is None:
            raise ValueError(f": a sparse row must have pairs of index and value, got {quoted(text[place:])}")
        yield int(found[1]), *_cell(found, 2)
        place = found.end()


def _cell(found: re.Match[str], first: int) -> tuple[str, bool]:
    single, double, bare = found[first], found[first + 1], found[first + 2]
    inside = single if single is not None else double
    if inside is None:
        return bare, False
    return _unescaped(inside), True


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), text)


def cells_of(text: str) -> Iterator[tuple[str, bool]]:
    """The values of a dense row, and whether each was quoted."""
    place = 0
    while True:
        found = _VALUE.match(text, place)
        if found is None:
            raise ValueError(f": a quote is not closed, or something follows it, in {quoted(text[place:])}")
        yield _cell(found, 1)
        place = found.end()
        if place >= len(text):
            if text.endswith(",") and found[0].endswith(","):
                yield "", False
            return


def number_of(text: str, what: str) -> float:
    """A number; ValueError if it is not one."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f": {what} must be a number, got {quoted(text)}") from None


def value_of(attribute: Attribute, cell: str, in_quotes: bool) -> Any:
    """The value of a cell as its attribute is declared; ValueError if it does not fit."""
    if cell == "?" and not in_quotes:
        return None
    if attribute.kind == "number":
        return number_of(cell, f"attribute {quoted(attribute.name)}")
    if attribute.kind == "nominal" and cell not in attribute.values:
        some = ", ".join(shortened(value) for value in attribute.values[:8])
        raise ValueError(f": attribute {quoted(attribute.name)} must be one of {some}, got {quoted(cell)}")
    if attribute.kind == "time":
        try:
            moment = datetime.fromisoformat(cell) if attribute.date_format is None else None
            moment = moment or datetime.strptime(cell, str(attribute.date_format))
        except ValueError:
            words = attribute.date_format or "ISO 8601"
            raise ValueError(
                f": attribute {quoted(attribute.name)} must be a date ({words}), got {quoted(cell)}"
            ) from None
        return moment
    return cell


def not_utf8(raw: bytes) -> str | None:
    """The message for a line that is not UTF-8."""
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return f"bad UTF-8 (byte 0x{raw[error.start]:02x})"
    return None


def declared(pieces: Iterator[bytes | None], source: str) -> tuple[list[Attribute], bytes, int]:
    """The attributes, the bytes behind `@data`, and the number of the line on which they begin."""
    data = b""
    header: list[Attribute] = []
    line, start = 1, 0
    while True:
        end = data.find(b"\n", start)
        if end < 0:
            piece = next(pieces, None)
            if piece is not None and len(data) < LONGEST_HEADER:
                data += piece
                continue
            if not data.strip():
                raise InvalidValue(f"{source}: the file is empty")
            if not data[start:].strip().lower().startswith(b"@data"):
                raise Unreadable(f"{source}: not an ARFF file, or truncated: there is no line @data")
            end = len(data)
        raw = data[start:end]
        text = raw.decode(errors="replace").strip()
        start = end + 1
        word = text.lower()
        if word.startswith("@data"):
            if not header:
                raise InvalidValue(f"{source}, line {line}: @data before any @attribute")
            return header, data[start:], line + 1
        if word.startswith("@attribute"):
            if (bad := not_utf8(raw)) is not None:
                raise InvalidValue(f"{source}, line {line}: {bad}")
            header.append(_attribute(text[len("@attribute") :], f"{source}, line {line}"))
            if len({attribute.name for attribute in header}) != len(header):
                raise InvalidValue(f"{source}, line {line}: duplicate attribute {quoted(header[-1].name)}")
        elif text and not text.startswith("%") and not word.startswith("@relation"):
            raise InvalidValue(f"{source}, line {line}: not a line of an ARFF header: {quoted(text)}")
        line += 1


def _attribute(text: str, place: str) -> Attribute:
    named = _NAME.match(text)
    if named is None:
        raise InvalidValue(f"{place}: an attribute must have a name and a type, got {quoted(text.strip())}")
    name, rest = _cell(named, 1)[0], named[4].strip()
    if rest.startswith("{"):
        if not rest.endswith("}"):
            raise InvalidValue(f"{place}: the values of {quoted(name)} do not end with a brace")
        try:
            values = tuple(value for value, _ in cells_of(rest[1:-1])) if rest[1:-1].strip() else ()
        except ValueError as error:
            raise InvalidValue(f"{place}{error}") from None
        return Attribute(name, "nominal", values)
    kind, _, more = rest.partition(" ")
    if kind.lower() in _NUMERIC:
        return Attribute(name, "number", whole=kind.lower() == "integer")
    if kind.lower() == "string":
        return Attribute(name, "text")
    if kind.lower() == "date":
        java = more.strip().strip("'\"")
        found = _date_format(java)
        if found is not None and not _is_date_format(found):
            raise InvalidValue(f"{place}: attribute {quoted(name)}: not a date format: {quoted(java)}")
        return Attribute(name, "time", date_format=found)
    must = "must be numeric, nominal, string or date"
    raise InvalidValue(f"{place}: attribute {quoted(name)} {must}, got {quoted(rest.split(' ')[0])}")


def _is_date_format(given: str) -> bool:
    try:
        datetime.strptime("", given)
    except re.error:
        # A repeated component of the date.
        return False
    except ValueError as error:
        return "bad directive" not in str(error) and "stray" not in str(error)
    return True


def _date_format(java: str) -> str | None:
    """A date format of Java's as one of Python's; None for the usual one."""
    if not java or java == "yyyy-MM-dd'T'HH:mm:ss":
        return None
    pieces = re.finditer(r"'([^']*)'|((?P<letter>[A-Za-z])(?P=letter)*)|([^A-Za-z']+)", java)
    return "".join(_DATES.get(p[2], p[2]) if p[2] else (p[1] or p[4] or "").replace("%", "%%") for p in pieces)
