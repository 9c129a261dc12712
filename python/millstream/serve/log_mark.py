"""The mark that binds a saved state to its log: the id of the log, and the checksum of the last applied record.

A folder may get another log than the one from which its states were computed, for example when `events.db` is
restored from a backup. Record numbers are then used again, so a number alone does not identify a state.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from millstream.errors import UnknownName
from millstream.serve.records import checksum, stored_id

__all__ = ["MARK", "log_mark", "mismatch", "set_aside"]

#: The member of a header that holds the mark.
MARK = "log"


def log_mark(store: Any, seq: int) -> dict[str, Any]:
    """The mark of the state after record `seq`."""
    return {"store": store.id.hex(), "crc": _checksum(store, seq)}


def mismatch(store: Any, seq: int, header: Mapping[str, Any]) -> str | None:
    """Why a state of record `seq` was not computed from this log; None if it was, as far as can be known.

    Headers of earlier versions have no mark. The checksum of a record that was trimmed or lost is not compared.
    """
    if seq > store.last_seq:
        return f"the log ends at record {store.last_seq}"
    if MARK not in header:
        return None
    mark = header[MARK]
    if not isinstance(mark, dict) or mark.get("store") != store.id.hex():
        return "it belongs to another log"
    saved, found = mark.get("crc"), _checksum(store, seq)
    if saved is not None and found is not None and saved != found:
        return f"the log has another record {seq}"
    return None


def set_aside(path: Path) -> None:
    """Rename a file of another log, so that it neither is used nor counts as one of the newest."""
    with suppress(FileNotFoundError):
        path.replace(path.with_name(f"{path.name}.foreign"))


def _checksum(store: Any, seq: int) -> int | None:
    try:
        _, kind, time, stream, id, body = store.get(seq)
    except UnknownName:
        return None
    return checksum(store.seed, seq, kind, time, stream, stored_id(id), body)
