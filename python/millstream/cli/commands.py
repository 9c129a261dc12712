"""All commands, in the order of the help."""

from __future__ import annotations

from millstream.cli import listing, run

__all__ = ["COMMANDS"]

COMMANDS = (run.COMMAND, listing.LIST, listing.DESCRIBE)
