"""All commands, in the order of the help."""

from __future__ import annotations

from millstream.cli import (
    bench,
    compare,
    completion,
    demo,
    describe,
    drift,
    events,
    export,
    forecast,
    generate,
    inspect,
    look,
    merge,
    paper,
    predict,
    replay,
    run,
    serve,
)
from millstream.cli import list as list_command

__all__ = ["COMMANDS"]

COMMANDS = (
    look.COMMAND,
    run.COMMAND,
    compare.COMMAND,
    drift.COMMAND,
    forecast.COMMAND,
    predict.COMMAND,
    serve.COMMAND,
    events.COMMAND,
    replay.COMMAND,
    inspect.COMMAND,
    merge.COMMAND,
    export.COMMAND,
    list_command.COMMAND,
    describe.COMMAND,
    generate.COMMAND,
    bench.COMMAND,
    demo.COMMAND,
    paper.COMMAND,
    completion.COMMAND,
)
