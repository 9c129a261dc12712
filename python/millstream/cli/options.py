"""Declarations of commands and options."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from millstream._echo import quoted

__all__ = ["COMMON", "DATA_ERROR", "INTERRUPTED", "OK", "USAGE", "Command", "Option", "grouped"]

#: Exit codes.
OK, DATA_ERROR, USAGE, INTERRUPTED = 0, 1, 2, 130


@dataclass(frozen=True)
class Option:
    """One option, or one positional argument if its name does not start with a dash."""

    names: tuple[str, ...]
    words: str
    #: Name of its value in the help; an option without one is a flag.
    value: str | None = None
    kind: Callable[[str], Any] = str
    default: Any = None
    choices: tuple[str, ...] | None = None
    #: Whether it may be repeated.
    many: bool = False
    #: Names of several values, instead of `value`.
    values: tuple[str, ...] = ()
    #: Whether an argument may be omitted.
    optional: bool = False
    #: Its heading in the help.
    group: str = ""
    #: Completion of its value in a shell: "file", "part", "role", "model".
    complete: str = ""

    @property
    def is_argument(self) -> bool:
        """Whether it is a positional argument."""
        return not self.names[0].startswith("-")

    @property
    def is_flag(self) -> bool:
        """Whether it is a flag."""
        return not self.is_argument and self.value is None and not self.values

    def add_to(self, parser: argparse._ActionsContainer) -> None:
        """Add it to a parser."""
        if self.is_flag:
            parser.add_argument(*self.names, action="store_true", help=self.words)
            return
        shown = f"{self.default:,}" if isinstance(self.default, int) else self.default
        words = self.words if self.default is None else f"{self.words} (default {shown})"
        settings: dict[str, Any] = {"help": words, "default": self.default, "type": self.kind}
        if self.choices:
            settings["choices"] = self.choices
        if self.is_argument:
            several = "*" if self.many else "?"
            settings |= {"metavar": self.value, "nargs": several if self.optional else None}
            parser.add_argument(self.names[0], **{k: v for k, v in settings.items() if v is not None})
            return
        if self.many:
            settings["action"] = "append"
        if self.values:
            parser.add_argument(*self.names, **settings, metavar=self.values, nargs=len(self.values))
            return
        settings["metavar"] = "|".join(self.choices) if self.choices else self.value
        parser.add_argument(*self.names, **settings)


@dataclass(frozen=True)
class Command:
    """One command: summary, description, options and examples."""

    name: str
    words: str
    about: str
    options: tuple[Option, ...]
    #: Comment and command line of each example, without `millstream`.
    examples: tuple[tuple[str, str], ...]
    main: Callable[[argparse.Namespace], int]


def grouped(group: str, *options: Option) -> tuple[Option, ...]:
    """The options with a common heading."""
    return tuple(replace(option, group=group) for option in options)


#: Upper bound of the counters of the core.
_TOO_MANY = 2.0**63


def count(text: str) -> int:
    """An integer, which may be written as 100_000, 100,000 or 1e5."""
    plain = text.replace(",", "").replace("_", "")
    try:
        number = float(plain)
    except ValueError:
        number = -1.0
    if not number.is_integer() or number < 0:
        raise argparse.ArgumentTypeError(f"must be an integer >= 0, got {quoted(text)}")
    if number >= _TOO_MANY:
        raise argparse.ArgumentTypeError(f"must be below 2**63, got {quoted(text)}")
    # A float does not have all digits of a large number.
    return int(plain) if plain.isdecimal() else int(number)


def positive(text: str) -> int:
    """An integer >= 1."""
    number = count(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be an integer >= 1, got 0")
    return number


def port(text: str) -> int:
    """The number of a port."""
    # Other commands do not load the server.
    from millstream.serve.address import LAST_PORT

    number = count(text)
    if number > LAST_PORT:
        raise argparse.ArgumentTypeError(f"must be an integer from 0 to {LAST_PORT}, got {quoted(text)}")
    return number


_UNITS = {"s": "seconds", "min": "minutes", "h": "hours", "d": "days", "w": "weeks", "ms": "milliseconds"}


def delay(text: str) -> int | float | timedelta:
    """Rows, or a time: 500, 30min, 1.5h, 2d."""
    found = re.fullmatch(r"([\d_.,]+)\s*(ms|s|min|h|d|w)?", text.strip())
    try:
        amount = float(found[1].replace(",", "").replace("_", "")) if found else -1.0
    except ValueError:
        amount = -1.0
    if not found or amount < 0:
        raise argparse.ArgumentTypeError(f"must be rows (500) or a time (30min, 1.5h, 2d), got {quoted(text)}")
    if found[2]:
        try:
            return timedelta(**{_UNITS[found[2]]: amount})
        except OverflowError:
            raise argparse.ArgumentTypeError(f"must be less than 3 million years, got {quoted(text)}") from None
    if amount >= _TOO_MANY:
        raise argparse.ArgumentTypeError(f"must be below 2**63, got {quoted(text)}")
    return int(amount) if amount.is_integer() else amount


def setting(text: str) -> tuple[str, str]:
    """An option of a reader, name=value."""
    return pair(text, "NAME=VALUE")


def pair(text: str, form: str = "COLUMN=KIND") -> tuple[str, str]:
    """A name and a value, name=value."""
    name, sign, value = text.rpartition("=")
    if not sign or not name or not value:
        raise argparse.ArgumentTypeError(f"must be {form}, got {quoted(text)}")
    return name, value


KEEP = Option(
    ("--keep",),
    "comma-separated columns, such as an id, to copy into the predictions; not used as features, unless a saved "
    "model has learned them",
    value="COLUMNS",
    many=True,
    group="output",
)


def kept_names(given: argparse.Namespace) -> list[str]:
    """The columns of --keep."""
    return [name for text in getattr(given, "keep", None) or () for name in text.split(",") if name]


def keyed_stream(stream: Any) -> Any:
    """The stream of --keep within a derived one; None if there is none."""
    while stream is not None and not hasattr(stream, "take_rows"):
        stream = getattr(stream, "source", None)
    return stream


#: For every command.
COMMON = (Option(("--debug",), "show the traceback of an error; same as MILLSTREAM_DEBUG=1", group="output"),)
JSON = Option(("--json",), "print the result as JSON", group="output")
QUIET = Option(("--quiet", "-q"), "print only the result, without progress and remarks", group="output")
