"""Records of the log that a person asked to see."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice

from millstream.serve.batches import unpack_ids, unpack_labels
from millstream.serve.reader import RecordReader
from millstream.serve.records import Kind, Record

__all__ = ["selected"]


def selected(
    reader: RecordReader,
    *,
    first: int | None = None,
    count: int = 0,
    kind: str | None = None,
    id: str | None = None,
) -> Iterable[Record]:
    """The newest `count` records that match, or the first ones from the record `first` on; 0 selects all."""
    bounds = reader.bounds()
    start = bounds.first if first is None else first
    newest = count > 0 and first is None
    if newest and kind is None and id is None:
        start = max(start, bounds.last - count + 1)
    found = (record for record in reader.read(start) if _matches(record, kind, id))
    if newest:
        return deque(found, count)
    return islice(found, count) if count else found


def _matches(record: Record, kind: str | None, id: str | None) -> bool:
    own = Kind(record.kind)
    if kind is not None and own.name.lower() != kind:
        return False
    if id is None or record.id == id:
        return True
    if own is Kind.EVENTS:
        return id in unpack_ids(record.body)
    return own is Kind.LABELS and any(label["id"] == id for label in unpack_labels(record.body))
