"""Errors in the use of the command line."""

from __future__ import annotations

__all__ = ["UsageError"]


class UsageError(Exception):
    """The arguments are wrong, regardless of the data."""
