"""The syntax tree of a string; each node has its position."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Argument", "Call", "Chain", "Items", "Literal", "Node", "Pairs"]


@dataclass(frozen=True)
class Node:
    """A span of the string, from `start` to `stop`."""

    start: int
    stop: int


@dataclass(frozen=True)
class Literal(Node):
    """A number, a string, True, False or None."""

    value: Any


@dataclass(frozen=True)
class Argument:
    """An argument of a component: positional if it has no name."""

    name: str | None
    #: Position of the name.
    start: int
    value: Node


@dataclass(frozen=True)
class Call(Node):
    """A component by name, with its arguments; for a method, also its object."""

    name: str
    #: Position of the name, which for a method is not the start of the span.
    at: int
    arguments: list[Argument] = field(default_factory=list)
    of: Node | None = None


@dataclass(frozen=True)
class Chain(Node):
    """Components joined by "|" or "+"."""

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
