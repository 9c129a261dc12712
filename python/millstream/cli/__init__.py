"""The command `millstream`: a model on a file, watched, without writing a loop.

Each command is a file here that declares its options once, in a `COMMAND`; the parser, the help and the completion
of shells walk `commands.COMMANDS`. What people get wrong ends in one line and an exit code, never in a traceback.
"""

from __future__ import annotations

from millstream.cli.main import main

__all__ = ["main"]
