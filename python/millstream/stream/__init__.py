"""Streams: files, tables, feeds and data bases, larger than memory, as chunks of columns."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from millstream._sparse import Sparse
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk

if TYPE_CHECKING:
    from millstream.stream.csv import read_csv as read_csv
    from millstream.stream.formats import open as open  # noqa: A004
    from millstream.stream.formats import read_stdin as read_stdin
    from millstream.stream.table import TableStream as TableStream

#: Where the readers are; each is loaded when first used, because Arrow takes a while to load.
_READERS = {
    "TableStream": "table",
    "open": "formats",
    "read_csv": "csv",
    "read_stdin": "formats",
}

__all__ = ["Chunk", "Sparse", "Stream", *_READERS]


def __getattr__(name: str) -> Any:
    if name in _READERS:
        return getattr(importlib.import_module(f"millstream.stream.{_READERS[name]}"), name)
    raise AttributeError(f"module 'millstream.stream' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
