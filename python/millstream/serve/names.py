"""Validation of names and ids that clients choose, and new event ids."""

from __future__ import annotations

import re
from typing import Any

from millstream._core import IdRange, new_id
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


def new_ids(now: int, count: int) -> IdRange:
    """New ids of a batch: the first is random, and the last 48 bits count up."""
    first = new_id(now)
    head, last = first[:24], int(first[24:], 16)
    if last + count > 1 << 48:
        last -= count
    return IdRange(f"{head}{last:012x}", count)
