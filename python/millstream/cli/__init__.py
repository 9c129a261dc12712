"""The command line `millstream`: learn, evaluate and predict files without writing code.

Each command is a module that declares its options once, in a `COMMAND`. The parser, the help and the shell
completion walk `commands.COMMANDS`. A user error ends with one line and an exit code, never with a traceback.
"""

from __future__ import annotations

from millstream.cli.main import main

__all__ = ["main"]
