"""Streams: files, tables, feeds and data bases, larger than memory, as chunks of columns."""

from __future__ import annotations

from millstream._sparse import Sparse
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk

__all__ = ["Chunk", "Sparse", "Stream"]
