"""Messages about skipped rows: unreadable lines, and rows that the model refused."""

from __future__ import annotations

from collections.abc import Sequence

from millstream._echo import plain
from millstream.cli.python_hints import as_options
from millstream.cli.show import counted

__all__ = ["refused", "unread"]

#: Maximum number of listed reasons, and the maximum length of each.
_MOST, _LONGEST = 3, 160


def unread(count: int, reasons: Sequence[str]) -> list[str]:
    """The message about unreadable lines or rows; empty if there are none."""
    # A text file has lines, a table has rows.
    what = "line" if any(", line " in reason for reason in reasons) else "row"
    return _told(f"{counted(count, what)} could not be read", count, reasons)


def refused(count: int, reasons: Sequence[str], words: str = "refused by the model") -> list[str]:
    """The message about rows that could be read, but not predicted or learned."""
    return _told(f"{counted(count, 'row')} {words}", count, reasons)


def _told(words: str, count: int, reasons: Sequence[str]) -> list[str]:
    if not count:
        return []
    shown = [plain(as_options(reason), _LONGEST) for reason in reasons[:_MOST]]
    if count == 1 and shown:
        return [f"{words}: {shown[0]}"]
    more = [f"  … and {count - len(shown):,} more"] if shown and count > len(shown) else []
    return [f"{words}{':' if shown else ''}", *(f"  {reason}" for reason in shown), *more]
