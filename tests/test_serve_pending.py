"""Pending events: against a plain Python model, saved and damaged, and used by several threads."""

from __future__ import annotations

import hashlib
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from millstream._core import PendingEvents
from millstream.errors import InvalidState, InvalidType, InvalidValue

GOLDEN = Path(__file__).parent / "golden" / "serving" / "pending_events.bin"
IDS = st.sampled_from([f"id {i}" for i in range(12)] + [bytes([i]) * 16 for i in range(4)])
Event = tuple[int, int, int, int, int]


class Model(RuleBasedStateMachine):
    """The same calls on a dict, which keeps the order of insertion."""

    def __init__(self) -> None:
        super().__init__()
        self.pending = PendingEvents()
        self.model: dict[bytes | str, Event] = {}
        self.seq = 0
        self.time = 0

    def pop(self, ids: list[bytes | str]) -> list[Event]:
        return [self.model.pop(event_id) for event_id in ids]

    @rule(event_id=IDS, seqs=st.integers(1, 300), times=st.integers(0, 10**6))
    def add(self, event_id: bytes | str, seqs: int, times: int) -> None:
        self.seq, self.time = self.seq + seqs, self.time + times
        assert self.pending.add(event_id, self.seq, 3, self.time) == (event_id not in self.model)
        self.model.setdefault(event_id, (self.seq, 3, self.time, 0, 0))

    @rule(ids=st.lists(IDS, max_size=8), first=st.integers(0, 5))
    def add_many(self, ids: list[bytes | str], first: int) -> None:
        self.seq += 1
        new = []
        for item, event_id in enumerate(ids, first):
            new.append(event_id not in self.model)
            self.model.setdefault(event_id, (self.seq, item, self.time, 0, 0))
        assert self.pending.add_many(ids, self.seq, self.time, first) == new

    @rule(event_id=IDS, state=st.integers(0, 255), label_seq=st.integers(0, 2**64 - 1))
    def mark(self, event_id: bytes | str, state: int, label_seq: int) -> None:
        assert self.pending.mark(event_id, state, label_seq) == (event_id in self.model)
        if event_id in self.model:
            self.model[event_id] = (*self.model[event_id][:3], state, label_seq)

    @rule(event_id=IDS)
    def remove(self, event_id: bytes | str) -> None:
        assert self.pending.remove(event_id) == (self.model.pop(event_id, None) is not None)

    @rule(ago=st.integers(0, 10**6), most=st.integers(0, 10))
    def expire(self, ago: int, most: int) -> None:
        before = self.time - ago
        old = [event_id for event_id, event in self.model.items() if event[2] < before][:most]
        assert self.pending.expire(before, most) == self.pop(old)

    @rule(keep=st.integers(0, 12))
    def evict(self, keep: int) -> None:
        assert self.pending.evict(keep) == self.pop(list(self.model)[: max(len(self.model) - keep, 0)])

    @rule()
    def save_and_load(self) -> None:
        saved = self.pending.to_bytes()
        self.pending = PendingEvents.from_bytes(saved)
        assert self.pending.to_bytes() == saved

    @rule(event_id=IDS, back=st.integers(1, 5))
    def refuse_what_is_out_of_order(self, event_id: bytes | str, back: int) -> None:
        if not self.model or event_id in self.model:
            return
        (seq, item, time, _, _), before = list(self.model.values())[-1], self.pending.to_bytes()
        for wrong in ((seq, item, time), (seq + 1, 0, time - back), (max(seq - back, 0), item, time)):
            with pytest.raises(InvalidValue, match="in log order"):
                self.pending.add(event_id, *wrong)
        assert self.pending.to_bytes() == before

    @invariant()
    def same_content(self) -> None:
        assert len(self.pending) == len(self.model)
        assert self.pending.oldest() == next(iter(self.model.values()), None)
        ids: list[bytes | str] = [*self.model, "never", b"added"]
        assert self.pending.find_many(ids) == [self.model.get(event_id) for event_id in ids]
        assert self.pending.find(ids[0]) == self.model.get(ids[0])

    @invariant()
    def equal_content_gives_equal_bytes(self) -> None:
        fresh = PendingEvents()
        for event_id, (seq, item, time, state, label_seq) in self.model.items():
            assert fresh.add(event_id, seq, item, time)
            assert fresh.mark(event_id, state, label_seq)
        assert fresh.to_bytes() == self.pending.to_bytes()


Model.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestAgainstModel = Model.TestCase


def test_many_events_removed_in_any_order() -> None:
    # Enough for several chunks, for a growing and a shrinking table, and for compaction.
    n = 30_000
    pending = PendingEvents()
    for start in range(0, n, 1000):
        ids = [f"event {i}" for i in range(start, start + 1000)]
        assert pending.add_many(ids, start + 1, start) == [True] * 1000
    assert pending.memory < 80 * n
    order = sorted(range(n), key=lambda i: hashlib.sha256(str(i).encode()).digest())
    gone = set(order[: n * 9 // 10])
    for i in gone:
        assert pending.remove(f"event {i}")
    left = [i for i in range(n) if i not in gone]
    found = pending.find_many([f"event {i}" for i in range(n)])
    assert [i for i in range(n) if found[i] is not None] == left
    assert pending.memory < 80 * (len(left) + 2 * 4096)
    expected = [(i // 1000 * 1000 + 1, i % 1000, i // 1000 * 1000, 0, 0) for i in left]
    assert pending.expire(n // 2, n) == [event for event in expected if event[2] < n // 2]
    assert pending.evict(0) == [event for event in expected if event[2] >= n // 2]
    assert (len(pending), pending.oldest()) == (0, None)


def test_a_uuid_is_one_id_as_text_and_as_bytes() -> None:
    event_id = uuid.UUID("0190abcd-ef12-7345-8678-9abcdef01234")
    pending = PendingEvents()
    assert pending.add(str(event_id), 1, 0, 5)
    assert pending.find(event_id.bytes) == (1, 0, 5, 0, 0)
    assert not pending.add(event_id.bytes, 2, 0, 5)
    assert pending.find(str(event_id).upper()) is None
    assert pending.find(event_id.hex) is None


def test_wrong_arguments_leave_all_as_it_was() -> None:
    pending = PendingEvents()
    pending.add("a", 5, 0, 50)
    before = pending.to_bytes()
    for event_id, error in ((None, InvalidType), (7, InvalidType), ("\ud800", InvalidValue)):
        wrong: Any = event_id
        with pytest.raises(error):
            pending.add(wrong, 6, 0, 60)
        with pytest.raises(error):
            pending.add_many(["b", wrong], 6, 60)
        with pytest.raises(error):
            pending.find(wrong)
    with pytest.raises(
        InvalidValue, match="in log order: got seq 5, item 0, time 60 after seq 5, item 0, time 50"
    ):
        pending.add_many(["b", "c"], 5, 60)
    with pytest.raises(InvalidValue, match="items up to"):
        pending.add_many(["b", "c"], 6, 60, 2**32 - 2)
    for call in (
        lambda: pending.add("b", -1, 0, 60),
        lambda: pending.add("b", 2**64, 0, 60),
        lambda: pending.add("b", 6, 2**32, 60),
        lambda: pending.mark("a", 256, 7),
        lambda: pending.mark("a", 1, -7),
    ):
        with pytest.raises(OverflowError):
            call()
    assert pending.to_bytes() == before


def golden() -> PendingEvents:
    pending = PendingEvents()
    pending.add("order-1", 1, 0, 1_700_000_000_000)
    pending.add_many(["a", "b", "größe"], 2, 1_700_000_000_250)
    pending.add("0190abcd-ef12-7345-8678-9abcdef01234", 300, 7, 1_700_000_100_000)
    pending.mark("b", 2, 299)
    pending.mark("order-1", 255, 2**64 - 1)
    return pending


def test_saved_events_of_the_first_format_load() -> None:
    # Snapshots are kept for years: this file is never written again.
    saved = GOLDEN.read_bytes()
    pending = PendingEvents.from_bytes(saved)
    assert pending.find("b") == (2, 1, 1_700_000_000_250, 2, 299)
    assert pending.to_bytes() == golden().to_bytes() == saved


def test_damaged_bytes_are_refused() -> None:
    saved = GOLDEN.read_bytes()
    for place in range(len(saved)):
        damaged = bytearray(saved)
        damaged[place] ^= 0x10
        with pytest.raises(InvalidState, match="^the saved pending events are not valid: "):
            PendingEvents.from_bytes(bytes(damaged))
        with pytest.raises(InvalidState, match="^the saved pending events are not valid: "):
            PendingEvents.from_bytes(saved[:place])
    with pytest.raises(InvalidState, match="checksum"):
        PendingEvents.from_bytes(saved + b"\0")


def test_a_reader_never_sees_half_a_change() -> None:
    pending = PendingEvents()
    pending.add_many([f"old {i}" for i in range(20_000)], 1, 1)
    stop = threading.Event()
    wrong: list[Any] = []

    def read() -> None:
        while not stop.is_set():
            found = pending.find_many([f"old {i}" for i in range(0, 20_000, 1000)])
            there = [event is not None for event in found]
            # The oldest go first.
            if there != sorted(there):
                wrong.append(there)
            PendingEvents.from_bytes(pending.to_bytes())

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for seq in range(2, 42):
            pending.add(f"new {seq}", seq, 0, seq)
            pending.evict(20_000 - 480 * seq)
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert wrong == []
    assert len(pending) == 20_000 - 480 * 41
