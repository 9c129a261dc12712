"""A stream that is profiled before and during learning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream import _frames
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk
from millstream.stream.derived import Derived
from millstream.stream.owner_thread import owned
from millstream.stream.prefetch import ReadAhead

if TYPE_CHECKING:
    from millstream.stream.profiling import Profile

__all__ = ["ObservedStream"]


class ObservedStream(Derived):
    """The examples of a stream, with their profile. Records whether the target ever changed."""

    def __init__(self, source: Stream) -> None:
        super().__init__(source)
        self._rest: Iterator[Chunk] | None = None
        self._first: Chunk | None = None
        #: Number of rows so far.
        self.rows = 0
        #: The only value of the target so far; None once there was another.
        self.only: list[Any] | None = []
        #: The profile of the rows so far, and of the first chunk before they are learned.
        self.profile: Profile | None = None
        #: Whether the profile was printed before the run.
        self.profile_shown = False
        #: Column and option of each remark that was printed.
        self.notes_shown: set[tuple[str, str]] = set()
        #: Whether this pass is the first one; later passes have the same rows.
        self._is_first_pass = True
        #: Whether the rows are learned.
        self.is_learned = True
        #: Whether only the probable mistakes are part of the result, not the whole profile.
        self.notes_only = False

    def __repr__(self) -> str:
        return repr(self.source)

    def first(self) -> Chunk | None:
        """The first chunk, which remains in the stream; None if the stream is empty."""
        if self._rest is None:
            chunks = self.source.chunks()
            # Another thread may continue reading, but cannot continue a generator of this thread.
            self._rest = ReadAhead(chunks) if self.source.reads_ahead else chunks
            self._first = next(self._rest, None)
            if self._first is not None:
                self._describe(self._first)
        return self._first

    def _describe(self, chunk: Chunk) -> None:
        from millstream.stream.profiling import Profile
        from millstream.stream.profiling.stream_profile import made_of, omitted_of

        if self.profile is None:
            kinds = getattr(self.source, "schema", None) if self.source.repeatable else None
            self.profile = Profile(self.target, kinds)
            self.profile.omitted, self.profile.made = omitted_of(self.source), made_of(self.source)
        self.profile.update(chunk)

    def chunks(self) -> Iterator[Chunk]:
        first, rest = self._first, self._rest
        self._first = self._rest = None
        with owned(self.source.chunks() if rest is None else rest) as chunks:
            if first is not None:
                # Its profile was made when it was read.
                yield self._watch(first)
            del first
            for chunk in chunks:
                if self._is_first_pass:
                    self._describe(chunk)
                yield self._watch(chunk)
        self._is_first_pass = False

    def _watch(self, chunk: Chunk) -> Chunk:
        self.rows += len(chunk)
        if self.only is not None and chunk.y is not None and len(chunk):
            values = distinct(chunk.y, 2) + self.only
            self.only = values[:1] if all(value == values[0] for value in values) else None
        return chunk


def distinct(y: Any, most: int) -> list[Any]:
    """The distinct values of a target, up to `most` of them, without missing values."""
    y = _frames.targets(y)
    if isinstance(y, np.ndarray):
        if y.dtype.kind == "f":
            y = y[~np.isnan(y)]
        return list(np.unique(y)[:most].tolist())
    found: dict[Any, None] = {}
    for value in y:
        if value is not None and value == value:
            found[value] = None
            if len(found) == most:
                break
    return list(found)
