"""All commands, in the order of the help."""

from __future__ import annotations

from millstream.cli import (
    bench,
    compare,
    completion,
    demo,
    generate,
    inspecting,
    listing,
    predict,
    run,
)

__all__ = ["COMMANDS"]

COMMANDS = (
    run.COMMAND,
    compare.COMMAND,
    predict.COMMAND,
    inspecting.COMMAND,
    listing.LIST,
    listing.DESCRIBE,
    generate.COMMAND,
    bench.COMMAND,
    demo.COMMAND,
    completion.COMMAND,
)
