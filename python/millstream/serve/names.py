"""Validation of names and ids that clients choose, and new event ids."""

from __future__ import annotations

import re
import secrets
from typing import Any

from millstream._echo import quoted, typed
from millstream.errors import InvalidType, InvalidValue

__all__ = ["check_id", "check_name", "new_id", "new_ids"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_LONGEST_ID = 128


def check_name(what: str, name: Any) -> str:
    """Refuse a name with characters other than letters, digits, dots, hyphens and underscores."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        found = quoted(name) if isinstance(name, str) else typed(name)
        raise InvalidValue(
            f"{what} must be 1 to 128 letters, digits, dots, hyphens or underscores "
            f"and start with a letter or digit, got {found}"
        )
    return name


def check_id(id: Any) -> str:
    """Refuse an id that is not a string of 1 to 128 printable characters."""
    if not isinstance(id, str):
        raise InvalidType(f"id: must be a string, got {typed(id)}")
    if not 1 <= len(id) <= _LONGEST_ID or not id.isprintable():
        raise InvalidValue(f"id: must be 1 to {_LONGEST_ID} printable characters, got {quoted(id)}")
    return id


def new_id(now: int) -> str:
    """A new id with the layout of a UUID of version 7: 48 bits of time in milliseconds, then 74 random bits."""
    random = secrets.randbits(74)
    number = (now & (1 << 48) - 1) << 80 | 0x7 << 76 | (random >> 62) << 64 | 0b10 << 62 | random & (1 << 62) - 1
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_ids(now: int, count: int) -> list[str]:
    """New ids of a batch: as `new_id`, but the last 48 bits count up from a random number."""
    first = new_id(now)
    head, last = first[:24], int(first[24:], 16)
    if last + count > 1 << 48:
        last -= count
    return [f"{head}{number:012x}" for number in range(last, last + count)]
