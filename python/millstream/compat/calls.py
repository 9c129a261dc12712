"""Calls of millstream that can be carried out and shown as Python."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Call", "shown"]


@dataclass(frozen=True)
class Call:
    """A call of `millstream.<function>`; arguments may be calls too."""

    function: str
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)

    def run(self) -> Any:
        module, _, name = self.function.rpartition(".")
        function = getattr(importlib.import_module(f"millstream.{module}"), name)
        arguments = [_value(argument) for argument in self.arguments]
        return function(*arguments, **{name: _value(value) for name, value in self.keywords.items()})

    def modules(self) -> set[str]:
        """The modules of millstream that its code needs."""
        inner = [*self.arguments, *self.keywords.values()]
        found = (argument.modules() for argument in inner if isinstance(argument, Call))
        return {self.function.partition(".")[0]}.union(*found)

    def __str__(self) -> str:
        words = [shown(argument) for argument in self.arguments]
        words += [f"{name}={shown(value)}" for name, value in self.keywords.items()]
        return f"{self.function}({', '.join(words)})"


def _value(argument: Any) -> Any:
    return argument.run() if isinstance(argument, Call) else argument


def shown(argument: Any) -> str:
    """An argument as Python."""
    if isinstance(argument, str):
        return '"' + argument.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(argument, list):
        return f"[{', '.join(map(shown, argument))}]"
    if isinstance(argument, dict):
        return "{" + ", ".join(f"{shown(key)}: {shown(value)}" for key, value in argument.items()) + "}"
    return str(argument) if isinstance(argument, Call) else repr(argument)
