"""A law: its name, its statement, the models it applies to, and the check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from millstream._echo import escaped, quoted, shortened

if TYPE_CHECKING:
    from millstream.testing.subject import Subject

__all__ = ["Broken", "BrokenLaw", "Law", "broken", "law"]


class BrokenLaw(AssertionError):
    """A model breaks a law. The message has the model, the law, what was expected, what was got, and an example.

    These are also the attributes `law`, `expected`, `got` and `example`.
    """

    def __init__(self, who: str, law: str, expected: str, got: str, example: str) -> None:
        shown = f"; example: {example}" if example else ""
        message = f"{who} breaks the law {law!r}: expected {expected}, got {got}{shown}"
        super().__init__(escaped(shortened(message, 800)))
        self.who, self.law, self.expected, self.got, self.example = who, law, expected, got, example

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.who, self.law, self.expected, self.got, self.example)


class Broken(Exception):
    """The expected and the actual result; the law adds the rest of the message."""

    def __init__(self, expected: str, got: str, example: str | None) -> None:
        super().__init__(expected, got)
        self.expected, self.got, self.example = expected, got, example


def broken(expected: str, got: str, example: str | None = None) -> NoReturn:
    """Report a broken law. The example is by default the last call of the model."""
    raise Broken(expected, got, example)


@dataclass(frozen=True)
class Law:
    """One law."""

    #: Its name, for `skip`.
    name: str
    #: Its statement, in one sentence.
    sentence: str
    #: Whether the law applies to a model.
    applies: Callable[[Any], bool]
    #: Returns if the law holds.
    hold: Callable[[Any], None]

    def check(self, subject: Subject) -> None:
        """Raise `BrokenLaw` unless the law holds."""
        try:
            self.hold(subject)
        except Broken as found:
            example = subject.last_call if found.example is None else found.example
            raise BrokenLaw(subject.title, self.name, found.expected, found.got, example) from found.__cause__
        except Exception as error:
            got = f"{type(error).__name__}: {quoted(str(error), 200)[1:-1]}"
            raise BrokenLaw(subject.title, self.name, "no error", got, subject.last_call) from error


def law(
    name: str, applies: Callable[[Any], bool] = lambda subject: True
) -> Callable[[Callable[[Any], None]], Law]:
    """Create a law from a function that checks it; the docstring is its statement."""

    def made(hold: Callable[[Any], None]) -> Law:
        return Law(name, " ".join((hold.__doc__ or "").split()), applies, hold)

    return made
