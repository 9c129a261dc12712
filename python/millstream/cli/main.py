"""Entry point of the command line: arguments to exit code."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence

from millstream._echo import fitting, shortened, visible
from millstream.cli.commands import COMMANDS
from millstream.cli.errors import UsageError
from millstream.cli.options import DATA_ERROR, INTERRUPTED, OK, USAGE
from millstream.cli.parser import parser_of
from millstream.cli.python_hints import as_options
from millstream.errors import InvalidNotation, MillstreamError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    _complete_standard_streams()
    try:
        given = parser_of(COMMANDS).parse(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE
    debugging = given.debug or os.environ.get("MILLSTREAM_DEBUG", "") not in ("", "0")
    command = next(command for command in COMMANDS if command.name == given.command)
    try:
        with _Terminable():
            code = command.main(given)
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader has closed the pipe, as `| head` does. Python would fail to flush standard output at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        if debugging:
            raise
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if debugging:
            raise
        code, lines = explained(error)
        print("\n".join(map(visible, lines)), file=sys.stderr)
        return code


def _complete_standard_streams() -> None:
    """Replace closed standard streams: Python sets them to None, and the next file would get their descriptor."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def explained(error: Exception) -> tuple[int, list[str]]:
    """The exit code and the message of an error."""
    if isinstance(error, InvalidNotation):
        return USAGE, [str(error).removeprefix("notation: "), error.pointer]
    if isinstance(error, UsageError):
        return USAGE, [as_options(str(error))]
    if isinstance(error, MillstreamError):
        return DATA_ERROR, [as_options(str(error)), *getattr(error, "__notes__", ())]
    if isinstance(error, OSError) and error.strerror:
        named = isinstance(error.filename, str | os.PathLike)
        name = f"{shortened(str(os.fspath(error.filename)), 240)}: " if named else ""
        return DATA_ERROR, [f"{name}{error.strerror[0].lower()}{error.strerror[1:]}"]
    if isinstance(error, ImportError | MemoryError):
        return DATA_ERROR, [str(error) or "not enough memory"]
    hint = "this is a bug in millstream or in a custom component; --debug shows the traceback"
    return DATA_ERROR, [fitting(f"{type(error).__name__}: {error}"), hint]


class _Terminable:
    """Within this context, SIGTERM acts like Ctrl-C, so that nothing is lost."""

    def __enter__(self) -> None:
        self.before = None
        if threading.current_thread() is threading.main_thread():
            self.before = signal.getsignal(signal.SIGTERM)
            if self.before is signal.SIG_DFL:
                signal.signal(signal.SIGTERM, signal.default_int_handler)

    def __exit__(self, *_: object) -> None:
        if self.before is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
