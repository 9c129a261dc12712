"""Foreign values and names in messages: on one line, of bounded length, without anything that controls a terminal.

Values come from callers, names and labels from files of strangers. `quoted` and `typed` put a value into a
message, `plain` puts a name into the output of a command. `fitting` bounds whole messages: those of the compiled
core echo names of any length. `visible` is for whole pages and tables.
"""

from __future__ import annotations

import math
import re
from typing import Any

__all__ = ["LONGEST", "escaped", "fitting", "plain", "quoted", "shortened", "typed", "visible"]

#: How many characters of a value are echoed.
LONGEST = 60

#: How long a message may be. Three names and the words between them fit in half of this.
LONGEST_MESSAGE = 800

#: Python refuses to write larger integers, of more than 4300 digits.
_WRITTEN_BITS = 14_000

#: A quoted value that is longer than any that `quoted` gives; a path may be as long.
_LONG_QUOTE = re.compile(r"'([^']{240,})'|\"([^\"]{240,})\"", re.DOTALL)


def shortened(text: str, longest: int = LONGEST) -> str:
    """The text, or its beginning and its end where it is longer."""
    if len(text) <= longest:
        return text
    end = max((longest - 1) // 3, 0)
    return f"{text[: max(longest - 1 - end, 0)]}…{text[len(text) - end :]}"


def quoted(value: Any, longest: int = LONGEST) -> str:
    """A value as it is written in Python, on one line and not longer than `longest` characters."""
    if type(value) in (str, bytes):
        # The ends are enough, however long it is, and no control character is printable.
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
    """The type of a value and the value, for messages on types."""
    echoed = quoted(value)
    return echoed if echoed.startswith("an int of ") else f"{type(value).__name__} {echoed}"


def plain(text: Any, longest: int = 200) -> str:
    """A name as it may be printed: no character moves the cursor, starts a sequence or turns the line around."""
    return shortened(escaped(str(text)), longest)


def escaped(text: str) -> str:
    """The same text with all control characters, bidirectional overrides and line breaks written as escapes."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


#: What a document of ours has no use for, but for line breaks and tabs: control characters, what overrides the
#: direction of writing, marks without width, halves of surrogate pairs.
_UNSEEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)


def visible(document: str) -> str:
    """A document that may hold names of strangers, with all that a reader would not see written as escapes."""
    return _UNSEEN.sub(lambda found: ascii(found[0])[1:-1], document)


def fitting(message: str) -> str:
    """A message on one line, in which no quoted value is long, and which is not long itself."""
    if len(message) > 240:
        message = _LONG_QUOTE.sub(_short_quote, message)
    # Cut before and after: an escape is longer than its character.
    return shortened(escaped(shortened(message, LONGEST_MESSAGE)), LONGEST_MESSAGE)


def _short_quote(found: re.Match[str]) -> str:
    return shortened(found[0], LONGEST)


def _one_line(text: str) -> str:
    return escaped(" ".join(text.split()) if "\n" in text or "\r" in text else text)
