"""Rows that are missing in a result: lines that could not be read, and rows that the model refused."""

from __future__ import annotations

from collections.abc import Sequence

from millstream._echo import plain
from millstream.cli.show import counted

__all__ = ["refused", "unread"]

#: So many reasons are told, each no longer than that.
_MOST, _LONGEST = 3, 160


def unread(count: int, reasons: Sequence[str]) -> list[str]:
    """What to say of what the reader set aside; nothing if that is nothing."""
    # A file of text has lines, a table has rows.
    what = "line" if any(", line " in reason for reason in reasons) else "row"
    return _told(f"{counted(count, what)} could not be read", count, reasons)


def refused(count: int, reasons: Sequence[str], words: str = "refused by the model") -> list[str]:
    """What to say of rows that could be read, but not predicted or learned."""
    return _told(f"{counted(count, 'row')} {words}", count, reasons)


def _told(words: str, count: int, reasons: Sequence[str]) -> list[str]:
    if not count:
        return []
    shown = [plain(reason, _LONGEST) for reason in reasons[:_MOST]]
    if count == 1 and shown:
        return [f"{words}: {shown[0]}"]
    more = [f"  … and {count - len(shown):,} more"] if shown and count > len(shown) else []
    return [f"{words}{':' if shown else ''}", *(f"  {reason}" for reason in shown), *more]
