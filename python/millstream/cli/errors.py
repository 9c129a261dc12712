"""What people get wrong on a command line."""

from __future__ import annotations

__all__ = ["UsageError"]


class UsageError(Exception):
    """What was asked for makes no sense, whatever the data are."""
