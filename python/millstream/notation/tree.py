"""What a text says, as a tree in which everything knows its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Argument", "Call", "Chain", "Items", "Literal", "Node", "Pairs"]


@dataclass(frozen=True)
class Node:
    """A stretch of the text, from `start` to `stop`."""

    start: int
    stop: int


@dataclass(frozen=True)
class Literal(Node):
    """A number, a text, True, False or None."""

    value: Any


@dataclass(frozen=True)
class Argument:
    """What a part is given: by position if it has no name."""

    name: str | None
    #: Where the name stands.
    start: int
    value: Node


@dataclass(frozen=True)
class Call(Node):
    """A part by its name, with its arguments; of a method, also what it is a method of."""

    name: str
    #: Where the name stands, which for a method is not where the stretch begins.
    at: int
    arguments: list[Argument] = field(default_factory=list)
    of: Node | None = None


@dataclass(frozen=True)
class Chain(Node):
    """Parts joined by "|" or "+"."""

    sign: str
    members: list[Node]


@dataclass(frozen=True)
class Items(Node):
    """A list, or a tuple."""

    items: list[Node]
    is_tuple: bool


@dataclass(frozen=True)
class Pairs(Node):
    """A dict."""

    pairs: list[tuple[Node, Node]]
