"""Untrusted values and names in messages: on one line, of bounded length, without control characters.

Values come from callers, names and labels from files. `quoted` and `typed` format a value for a message, `plain` a
name for the output of a command. `fitting` limits the length of messages, because those of the compiled core
contain names of any length. `visible` is for whole pages and tables.
"""

from __future__ import annotations

import math
import re
from typing import Any

__all__ = ["LONGEST", "escaped", "fitting", "plain", "quoted", "shortened", "typed", "visible"]

#: Maximum length of an echoed value.
LONGEST = 60

#: Maximum length of a message. Three names and the words between them fit in half of this.
LONGEST_MESSAGE = 800

#: Python refuses to format larger integers, of more than 4300 digits.
_WRITTEN_BITS = 14_000

#: A quoted value that is longer than any result of `quoted`; a path may be as long.
_LONG_QUOTE = re.compile(r"'([^']{240,})'|\"([^\"]{240,})\"", re.DOTALL)


def shortened(text: str, longest: int = LONGEST) -> str:
    """The text, or its start and end if it is too long."""
    if len(text) <= longest:
        return text
    end = max((longest - 1) // 3, 0)
    return f"{text[: max(longest - 1 - end, 0)]}…{text[len(text) - end :]}"


def quoted(value: Any, longest: int = LONGEST) -> str:
    """A value as it is written in Python, on one line and not longer than `longest` characters."""
    if type(value) in (str, bytes):
        # Both ends are enough, and no control character is printable.
        half = longest + 1
        value = value if len(value) <= 2 * half else value[:half] + value[-half:]
    elif isinstance(value, int) and value.bit_length() > _WRITTEN_BITS:
        return f"an int of about {math.ceil(value.bit_length() * math.log10(2))} digits"
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__name__} object>"
    return shortened(_one_line(text), longest)


def typed(value: Any) -> str:
    """The type of a value and the value, for messages about types; None is shown without its type."""
    echoed = quoted(value)
    return echoed if value is None or echoed.startswith("an int of ") else f"{type(value).__name__} {echoed}"


def plain(text: Any, longest: int = 200) -> str:
    """A name that is safe to print: no control characters, escape sequences or bidirectional overrides."""
    return shortened(escaped(str(text)), longest)


def escaped(text: str) -> str:
    """The text with all control characters, bidirectional overrides and line breaks as escapes."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


#: Invisible characters except line breaks and tabs: control characters, bidirectional overrides, zero-width marks,
#: surrogates.
_UNSEEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)


def visible(document: str) -> str:
    """A document with untrusted names, in which invisible characters are escapes."""
    return _UNSEEN.sub(lambda found: ascii(found[0])[1:-1], document)


def fitting(message: str) -> str:
    """A message on one line, with a maximum length and no long quoted values."""
    if len(message) > 240:
        message = _LONG_QUOTE.sub(_short_quote, message)
    # Shortened before and after, because an escape is longer than its character.
    return shortened(escaped(shortened(message, LONGEST_MESSAGE)), LONGEST_MESSAGE)


def _short_quote(found: re.Match[str]) -> str:
    return shortened(found[0], LONGEST)


def _one_line(text: str) -> str:
    return escaped(" ".join(text.split()) if "\n" in text or "\r" in text else text)
