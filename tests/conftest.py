"""What all tests rely on."""

from __future__ import annotations

import gc
import os
import re
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

# In the background of a shell Ctrl-C is ignored, and Python then leaves it so; some tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Modules whose examples go through NumPy's linear algebra, as those tests do that are marked `linear_algebra`.
_LINEAR_ALGEBRA = ("millstream/kernel/", "millstream/linear_model/", "millstream/oco/", "millstream/papers/")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage among the collected tests, which all stay: that takes a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m 'linear_algebra and ...'`, import only the files in which something has this mark."""
    if collection_path.suffix != ".py" or not re.match(r"linear_algebra and (?!.*\bor\b)", config.option.markexpr):
        return None
    marked = any(part in collection_path.as_posix() for part in _LINEAR_ALGEBRA)
    return None if marked or "mark.linear_algebra" in collection_path.read_text() else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the examples of docstrings, which cannot mark themselves."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and any(part in item.path.as_posix() for part in _LINEAR_ALGEBRA):
            item.add_marker(pytest.mark.linear_algebra)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """In `make faults`, show the numbers that the tests print."""
    if not os.environ.get("MILLSTREAM_FAULTS"):
        return
    for report in terminalreporter.getreports("passed"):
        for line in report.capstdout.splitlines():
            terminalreporter.write_line(line)
