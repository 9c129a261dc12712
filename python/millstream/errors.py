"""Exceptions. Each is also the corresponding built-in exception, with a message of one line."""

from __future__ import annotations

import unicodedata
from typing import Any

from millstream._echo import fitting

__all__ = [
    "InvalidNotation",
    "InvalidState",
    "InvalidType",
    "InvalidValue",
    "MillstreamError",
    "MissingData",
    "MissingFile",
    "MissingMessages",
    "MissingPackage",
    "NotPermitted",
    "NumericOverflow",
    "UnknownName",
    "Unreadable",
]


class MillstreamError(Exception):
    """The base class of all exceptions of millstream.

    `row` is the index of the faulty row of a batch, otherwise None; `result` is the partial result of an
    evaluation that ended with this exception, otherwise None.
    """

    result: Any = None

    def __init__(self, message: str, row: int | None = None) -> None:
        # Names and values are untrusted: a line break in one must not forge a line of a log.
        super().__init__(fitting(message))
        self.row = row

    def by(self, who: str) -> MillstreamError:
        """The same error with the learner's name in front."""
        place = "" if self.row is None else f"row {self.row}: "
        message = str(self).removeprefix(place)
        if not message.startswith(f"{who}: "):
            self.args = (f"{place}{who}: {message}", *self.args[1:])
        return self

    def at_row(self, row: int) -> None:
        """Add the row of the batch, unless it is known."""
        if self.row is None:
            self.args = (f"row {row}: {self}", *self.args[1:])
            self.row = row

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.row)


class InvalidValue(MillstreamError, ValueError):
    """A value out of range: NaN, infinity, a negative weight, a parameter out of its bounds."""


class InvalidType(MillstreamError, TypeError):
    """A value of the wrong type: a string instead of a number, a feature that changed its kind."""


class UnknownName(MillstreamError, KeyError):
    """An unknown name."""


class NumericOverflow(MillstreamError, OverflowError, ValueError):
    """An update that would have overflowed; the model is unchanged."""


class InvalidState(MillstreamError, ValueError):
    """A saved model that cannot be read."""


class InvalidNotation(InvalidValue):
    """Invalid model notation. A note, shown in tracebacks, points at the error."""

    def __init__(self, message: str, text: str, start: int, stop: int, row: int | None = None) -> None:
        super().__init__(f"notation: {message}", row)
        self.text, self.start, self.stop = text, start, max(stop, start + 1)
        self.add_note(self.pointer)

    @property
    def pointer(self) -> str:
        """The notation around the error, and a line that points at it."""
        # A long notation is shown from a little before the error.
        first = 0 if self.start < 72 else self.start - 40
        last = first + 110
        before, inside = self.text[first : self.start], self.text[self.start : min(self.stop, last)]
        shown = ("… " if first else "") + before + inside + self.text[self.start + len(inside) : last]
        shown += " …" if last < len(self.text) else ""
        plain = "".join(letter if letter.isprintable() else " " for letter in shown)
        indent = (2 if first else 0) + _columns(before)
        return f"  {plain}\n  {' ' * indent}{'^' * max(1, _columns(inside))}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle_notation, (str(self), self.text, self.start, self.stop)


def _unpickle_notation(message: str, text: str, start: int, stop: int) -> InvalidNotation:
    return InvalidNotation(message.removeprefix("notation: "), text, start, stop)


def _columns(text: str) -> int:
    """The width of a string in a terminal."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


class MissingPackage(MillstreamError, ImportError):
    """An optional package is not installed; the message says how to install it."""


class MissingData(MillstreamError, FileNotFoundError):
    """The files of a data set are missing; the message says how to get them."""


class Unreadable(MillstreamError, OSError):
    """A source that cannot be read, or not to its end: a directory, a truncated file."""


class MissingMessages(Unreadable):
    """Messages that a broker deleted before they were read, by retention or trimming."""


class MissingFile(Unreadable, FileNotFoundError):
    """A file that does not exist."""


class NotPermitted(Unreadable, PermissionError):
    """A file without read permission."""
