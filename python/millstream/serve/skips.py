"""Records that no model learns from.

A label on which a learner written in Python never returns is in the log, so every replay would hang. The
operation "skip" names such a record. It is written to the log, after the first recovery that left the record
out, so that the log alone still determines the state: later recoveries, rollbacks and copies of the log skip
the record without the option. A file beside the log could be lost, or belong to another log.

The operation follows the record that it names, so all skip operations are read before the replay; this takes 0.1 s
per million records. A saved state names the skipped records that it leaves out; it is not used if the log skips
others.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from millstream._echo import typed
from millstream.errors import InvalidType, InvalidValue
from millstream.serve.records import Draft, Kind

__all__ = ["LEFT_OUT", "REASON", "left_out", "recorded_skips", "skip_draft", "skip_mismatch", "wanted_skips"]

#: The reason in the quarantine.
REASON = "skipped at start"
#: The member of a header with the skipped records that a saved state leaves out.
LEFT_OUT = "skipped"

_START = '{"op":"skip"'


def recorded_skips(store: Any) -> set[int]:
    """The records that operations of the log skip."""
    return {int(json.loads(record.body)["record"]) for record in store.starting(Kind.ADMIN, _START)}


def wanted_skips(store: Any, given: Iterable[int]) -> tuple[set[int], list[str]]:
    """The given records that can be skipped, and a note about each one that was trimmed from the log."""
    wanted: set[int] = set()
    notes = []
    first, last = store.first_seq, store.last_seq
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidType(f"serve: skip_records must be a list of integers, got {typed(given)}")
    for seq in dict.fromkeys(given):
        if isinstance(seq, bool) or not isinstance(seq, int):
            raise InvalidType(f"serve: skip_records must be a list of integers, got an item {typed(seq)}")
        if not 1 <= seq <= last:
            raise InvalidValue(f"serve: skip_records: the log has no record {seq}; it ends at record {last}")
        if seq < first:
            # The option may still be given long after it had its effect.
            notes.append(f"record {seq} is not skipped: the log was trimmed and starts at record {first}")
        else:
            wanted.add(seq)
    return wanted, notes


def skip_draft(seq: int, time: int) -> Draft:
    """The operation that skips a record."""
    return Draft(Kind.ADMIN, time, 0, None, f'{_START},"record":{seq}}}')


def left_out(seq: int, skipped: Collection[int]) -> dict[str, list[int]]:
    """The member of the header of a state after record `seq`; empty if the state leaves out no record."""
    found = sorted(each for each in skipped if each <= seq)
    return {LEFT_OUT: found} if found else {}


def skip_mismatch(store: Any, seq: int, header: Mapping[str, Any], skipped: Collection[int]) -> str | None:
    """Why a state after record `seq` leaves out other records than the log does; None if it leaves out the same.

    The operations that skipped trimmed records were trimmed too, or will be.
    """
    given = header.get(LEFT_OUT)
    known = {each for each in given if isinstance(each, int)} if isinstance(given, list) else set()
    contained = {each for each in skipped if each <= seq} - known
    if contained:
        return f"it contains record {min(contained)}, which is skipped"
    missing = {each for each in known if each >= store.first_seq}.difference(skipped)
    return f"it leaves out record {min(missing)}, which is not skipped" if missing else None
