"""The model of a partition, or of all partitions, with the position in the stream."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from millstream._echo import quoted
from millstream.errors import InvalidState
from millstream.stream.checkpoint import Checkpoint
from millstream.stream.message_source import Conversion, MessageSource
from millstream.stream.messages import Message, Offset, Origin, order

__all__ = ["DeadLetter", "PartitionState"]

#: The most writers whose last origin is stored, to recognise repeats.
MOST_WRITERS = 10_000


class DeadLetter(NamedTuple):
    """A message that was set aside, and why."""

    source: str
    partition: str
    offset: Offset
    reason: str
    data: bytes | None


class PartitionState:
    """A model, the offsets up to which it has learned, and the checkpoint that stores both."""

    def __init__(self, source: MessageSource, model: Any, folder: Path | None, wait: float = 0.0) -> None:
        self.source, self.model = source, model
        self.checkpoint = None if folder is None else Checkpoint(folder, wait=wait)
        self.offsets: dict[str, Offset] = {}
        #: Messages and rows that were learned, and messages that were set aside, since the first start.
        self.counts = {"messages": 0, "rows": 0, "set_aside": 0}
        #: The last origin of each writer, if messages state theirs.
        self.writers: dict[str, Offset] = {}
        #: Whether anything has changed since the last save.
        self.changed = False
        columns: Mapping[str, str] | None = None
        if self.checkpoint is not None:
            try:
                columns = self._restore(self.checkpoint)
            except BaseException:
                self.checkpoint.close()
                raise
        self.conversion = Conversion(source, columns)

    def _restore(self, checkpoint: Checkpoint) -> Mapping[str, str] | None:
        found = checkpoint.load()
        if found is None:
            return None
        model, position = found
        if type(model) is not type(self.model):
            raise InvalidState(
                f"stream.process: the checkpoint {quoted(str(checkpoint.folder))} has a "
                f"{type(model).__name__}, got a {type(self.model).__name__}"
            )
        try:
            name, offsets = position["source"], dict(position["offsets"])
            counts, writers = dict(position["counts"]), dict(position["writers"])
            columns: dict[str, str] = dict(position["columns"])
        except (TypeError, KeyError, ValueError):
            raise InvalidState(
                f"stream.process: {quoted(str(checkpoint.folder))} was not written by stream.process"
            ) from None
        if name != self.source.source:
            raise InvalidState(
                f"stream.process: the checkpoint {quoted(str(checkpoint.folder))} is that of {quoted(name)}, got "
                f"{quoted(self.source.source)}"
            )
        self.model, self.offsets, self.counts, self.writers = model, offsets, counts, writers
        return columns

    def is_repeat(self, message: Message) -> bool:
        """Whether a message was processed already."""
        last = self.offsets.get(message.partition)
        return last is not None and message.repeatable and order(message.offset) <= order(last)

    def is_repeated_origin(self, origin: Origin | None) -> bool:
        """Whether the writer of a message has sent its table before; otherwise the origin is noted."""
        if origin is None:
            return False
        writer = f"{origin.source}\n{origin.partition}"
        last = self.writers.get(writer)
        if last is not None and order(origin.offset) <= order(last):
            return True
        if last is None and len(self.writers) >= MOST_WRITERS:
            self.writers.pop(next(iter(self.writers)))
        self.writers[writer] = origin.offset
        return False

    def done(self, message: Message) -> None:
        """Note that a message was processed."""
        if message.repeatable:
            self.offsets[message.partition] = message.offset
        self.changed = True

    def save(self) -> None:
        """Store the model and the position."""
        if self.checkpoint is None or not self.changed:
            return
        position = {
            "source": self.source.source,
            "offsets": self.offsets,
            "counts": self.counts,
            "writers": self.writers,
            "columns": self.conversion.columns,
        }
        self.checkpoint.save(self.model, position)
        self.changed = False

    def close(self) -> None:
        """Release the checkpoint."""
        if self.checkpoint is not None:
            self.checkpoint.close()
