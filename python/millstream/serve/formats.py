"""Formats of batches that the client and the server share: media types, and Arrow tables as bytes."""

from __future__ import annotations

import pyarrow as pa

__all__ = ["ARROW", "NDJSON", "batch_bytes", "table_bytes"]

NDJSON = "application/x-ndjson"
#: The end of a stream: a message without content.
_END = b"\xff\xff\xff\xff\0\0\0\0"
ARROW = "application/vnd.apache.arrow.stream"


def table_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def batch_bytes(batch: pa.RecordBatch) -> bytes:
    """A batch without dictionaries as an Arrow IPC stream. Opening a writer takes as long as writing the batch."""
    return b"".join((batch.schema.serialize(), batch.serialize(), _END))
