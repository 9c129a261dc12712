"""What all tests rely on."""

from __future__ import annotations

import signal

import pytest

# In the background of a shell Ctrl-C is ignored, and Python then leaves it so; some tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Modules whose examples go through NumPy's linear algebra, as those tests do that are marked `linear_algebra`.
_LINEAR_ALGEBRA = ("millstream/kernel/", "millstream/linear_model/", "millstream/oco/", "millstream/papers/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the examples of docstrings, which cannot mark themselves."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and any(part in item.path.as_posix() for part in _LINEAR_ALGEBRA):
            item.add_marker(pytest.mark.linear_algebra)
