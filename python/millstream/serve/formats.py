"""Formats of batches that the client and the server share: media types, and Arrow tables as bytes."""

from __future__ import annotations

import pyarrow as pa

__all__ = ["ARROW", "NDJSON", "table_bytes"]

NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"


def table_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
