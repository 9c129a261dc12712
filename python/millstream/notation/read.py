"""From string to tree. Nothing is executed or looked up here."""

from __future__ import annotations

import re
from typing import Any

from millstream._echo import quoted
from millstream.errors import InvalidNotation
from millstream.notation.tree import Argument, Call, Chain, Items, Literal, Node, Pairs

__all__ = ["read"]

#: Largest nesting depth: more is not a model, but an attack on the interpreter's stack.
DEEPEST = 50

_SPACE = re.compile(r"\s*")
#: The last part may be a number, as in LVQ2.1: an unknown name, not a syntax error.
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*(?:\.\d+)?")
_METHOD = re.compile(r"\s*\.\s*([^\W\d]\w*)\s*(?=\()")
_NUMBER = re.compile(r"[+-]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?")
_CONSTANTS = {"True": True, "False": False, "None": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "0": "\0", "a": "\a", "b": "\b"}
_ESCAPES |= {"f": "\f", "v": "\v"}
_WIDTHS = {"x": 2, "u": 4, "U": 8}


def read(text: str) -> Node:
    """The tree of a complete notation."""
    reader = _Reader(text)
    if reader.peek() == "":
        raise reader.wrong("there is nothing to read", 0)
    tree = reader.chain(0)
    if reader.peek() != "":
        raise reader.unexpected("an end, '|' or '+'")
    return tree


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def wrong(self, message: str, start: int, stop: int | None = None) -> InvalidNotation:
        return InvalidNotation(message, self.text, start, start + 1 if stop is None else stop)

    def unexpected(self, due: str) -> InvalidNotation:
        found = self.peek()
        got = f"got {quoted(found)}" if found else "but the text ends"
        return self.wrong(f"expected {due}, {got}", self.at)

    def peek(self) -> str:
        """The next non-space character; empty at the end."""
        self.at = _match(_SPACE, self.text, self.at).end()
        return self.text[self.at : self.at + 1]

    def take(self, sign: str) -> bool:
        if self.peek() != sign:
            return False
        self.at += 1
        return True

    def need(self, sign: str, due: str) -> None:
        if not self.take(sign):
            raise self.unexpected(due)

    def chain(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise self.wrong(f"components are nested more than {DEEPEST} deep", self.at)
        return self._joined("|", lambda: self._joined("+", lambda: self.value(depth)))

    def _joined(self, sign: str, member: Any) -> Node:
        self.peek()
        start = self.at
        members = [member()]
        while self.take(sign):
            members.append(member())
        return members[0] if len(members) == 1 else Chain(start, self.at, sign, members)

    def value(self, depth: int) -> Node:
        sign = self.peek()
        start = self.at
        if sign in ("'", '"'):
            return self.quoted(sign)
        if sign == "[":
            self.at += 1
            return self._seen(Items(start, self.at, self.items("]", depth)[0], False))
        if sign == "(":
            return self.group(depth)
        if sign == "{":
            return self.pairs(depth)
        if found := _NAME.match(self.text, self.at):
            self.at = found.end()
            if found[0] in _CONSTANTS:
                return Literal(start, self.at, _CONSTANTS[found[0]])
            return self.call(found[0], start, depth)
        if sign and sign in "+-.0123456789":
            return self.number()
        raise self.unexpected("a component, a number, a quoted string, True, False, None, a list or a dict")

    def _seen(self, items: Items) -> Items:
        """The same, with the stop at the present position."""
        return Items(items.start, self.at, items.items, items.is_tuple)

    def items(self, end: str, depth: int) -> tuple[list[Node], bool]:
        """Values with commas between them up to `end`, and whether there was a comma."""
        items: list[Node] = []
        comma = False
        while not self.take(end):
            if items and not comma:
                raise self.unexpected(f"',' or {quoted(end)}")
            items.append(self.chain(depth + 1))
            comma = self.take(",")
        return items, comma or len(items) != 1

    def group(self, depth: int) -> Node:
        start = self.at
        self.at += 1
        items, is_tuple = self.items(")", depth)
        return Items(start, self.at, items, True) if is_tuple else items[0]

    def pairs(self, depth: int) -> Node:
        start = self.at
        self.at += 1
        pairs: list[tuple[Node, Node]] = []
        comma = True
        while not self.take("}"):
            if not comma:
                raise self.unexpected("',' or '}'")
            key = self.chain(depth + 1)
            self.need(":", "':' after the key")
            pairs.append((key, self.chain(depth + 1)))
            comma = self.take(",")
        return Pairs(start, self.at, pairs)

    def call(self, name: str, start: int, depth: int) -> Node:
        called = Call(start, self.at, name, start)
        if self.peek() == "(":
            called = Call(start, self.at, name, start, self.arguments(depth))
            called = Call(start, self.at, name, start, called.arguments)
        while found := _METHOD.match(self.text, self.at):
            self.at = found.end()
            arguments = self.arguments(depth)
            called = Call(start, self.at, found[1], found.start(1), arguments, called)
        return called

    def arguments(self, depth: int) -> list[Argument]:
        opened = self.at
        self.need("(", "'('")
        arguments: list[Argument] = []
        comma = True
        while not self.take(")"):
            if not comma:
                if self.peek() == "":
                    raise self.wrong("this '(' is never closed", opened)
                raise self.unexpected("',' or ')'")
            if self.peek() == "":
                raise self.wrong("this '(' is never closed", opened)
            arguments.append(self.argument(depth, arguments))
            comma = self.take(",")
        return arguments

    def argument(self, depth: int, before: list[Argument]) -> Argument:
        start = self.at
        found = _NAME.match(self.text, start)
        if found:
            self.at = found.end()
            if self.peek() == "=":
                self.at += 1
                if any(argument.name == found[0] for argument in before):
                    raise self.wrong(f"{found[0]} is given twice", start, found.end())
                return Argument(found[0], start, self.chain(depth + 1))
            self.at = start
        if any(argument.name is not None for argument in before):
            raise self.wrong("an argument without a name cannot follow one with a name", start)
        return Argument(None, start, self.chain(depth + 1))

    def number(self) -> Node:
        start = self.at
        found = _NUMBER.match(self.text, start)
        if not found or not found[0].strip("+-._"):
            raise self.unexpected("a number")
        self.at = found.end()
        if re.match(r"[\w.]", self.text[self.at : self.at + 1]):
            raise self.wrong(f"not a number: {quoted(self.text[start : self.at + 1])}", start, self.at + 1)
        try:
            whole = found[0].lstrip("+-").replace("_", "").isdigit()
            value: int | float = int(found[0]) if whole else float(found[0])
        except ValueError:
            raise self.wrong("not a number that can be read", start, self.at) from None
        return Literal(start, self.at, value)

    def quoted(self, quote: str) -> Node:
        start = self.at
        letters: list[str] = []
        at = start + 1
        while True:
            letter = self.text[at : at + 1]
            if not letter:
                raise self.wrong("this quote is never closed", start)
            at += 1
            if letter == quote:
                break
            if letter == "\\":
                letter, at = self.escape(at)
            letters.append(letter)
        self.at = at
        return Literal(start, at, "".join(letters))

    def escape(self, at: int) -> tuple[str, int]:
        """The character after a backslash, and its end."""
        kind = self.text[at : at + 1]
        if kind in _WIDTHS:
            digits = self.text[at + 1 : at + 1 + _WIDTHS[kind]]
            if len(digits) == _WIDTHS[kind] and re.fullmatch(r"[0-9a-fA-F]+", digits):
                code = int(digits, 16)
                if code < 0x110000:
                    return chr(code), at + 1 + len(digits)
        elif kind in _ESCAPES:
            return _ESCAPES[kind], at + 1
        raise self.wrong(f"not an escape: '\\{kind}'; a backslash is written '\\\\'", at - 1, at + 1)


def _match(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    found = pattern.match(text, at)
    assert found is not None, "the pattern matches nothing, too"
    return found
