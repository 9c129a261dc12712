"""Power cuts at random operations of a simulated disk: nothing acknowledged is lost, and nothing is half there.

`MILLSTREAM_FAULTS=long` runs 10,000 seeds instead of 300. A failing seed is named in the test's id.
"""

import os
import random
from pathlib import Path

import pytest

from damaged_store import drafts
from millstream.serve.store import EventStore, StoreFailed, StoreFull

pytest.importorskip("apsw")
from simulated_disk import PowerCut, SimulatedDisk

PATH = Path("/data/events.db")
SEEDS = 10_000 if os.environ.get("MILLSTREAM_FAULTS") == "long" else 300
BLOCK = 50


class History:
    """What was asked of a store, and what it acknowledged."""

    def __init__(self):
        self.acknowledged, self.asked = 0, 0
        self.first, self.first_asked = 1, 1
        self.cuts = self.refused = 0

    def check(self, store):
        """The store has all acknowledged records, and of the group that was not acknowledged all or none."""
        assert store.last_seq in (self.acknowledged, self.asked)
        assert self.first <= store.first_seq <= max(self.first, self.first_asked)
        expected = drafts(store.first_seq, store.last_seq - store.first_seq + 1)
        assert [record.body for record in store.read()] == [draft.body for draft in expected]
        assert [record.seq for record in store.read()] == list(range(store.first_seq, store.last_seq + 1))
        self.acknowledged = self.asked = store.last_seq
        self.first = self.first_asked = store.first_seq
        self.cuts += len(store.report.cuts)

    def append(self, store, count):
        self.asked = self.acknowledged + count
        assert store.append(drafts(self.acknowledged + 1, count)) == self.acknowledged + 1
        self.acknowledged = self.asked

    def fill(self, store, disk, count):
        """Append with little space left; a group that does not fit is refused and changes nothing."""
        disk.capacity = sum(len(data) for data in disk.contents().values()) + count * 20
        try:
            self.append(store, count)
        except StoreFull:
            self.asked = self.acknowledged
            self.refused += 1
        finally:
            disk.capacity = None

    def trim(self, store, before):
        self.first_asked = before
        store.trim(before)
        self.first = before


def work(chance, history, disk):
    """Open the store and use it until the power goes out."""
    store = EventStore(PATH, disk=disk, page_size=512)
    history.check(store)
    for _ in range(chance.randint(1, 15)):
        action = chance.random()
        if action < 0.7:
            history.append(store, chance.choice((1, 1, 2, 5, 12, 40)))
        elif action < 0.75:
            store.checkpoint()
        elif action < 0.85:
            history.fill(store, disk, chance.choice((3, 15, 60)))
        elif action < 0.93 and history.acknowledged:
            history.trim(store, chance.randint(history.first, history.acknowledged + 1))
        elif action > 0.95:
            store.close()
            store = EventStore(PATH, disk=disk, page_size=512)
            history.check(store)
    if chance.random() < 0.3:
        store.close()


def survive(seed):
    chance = random.Random(seed)
    history, disk = History(), SimulatedDisk(seed=seed)
    for _ in range(chance.randint(1, 5)):
        disk.kill(cut_at=chance.randint(1, chance.choice((20, 100, 400))))
        try:
            work(chance, history, disk)
        except (StoreFailed, StoreFull, PowerCut):
            assert disk.operations >= disk.cut_at
        if chance.random() < 0.8:
            files = disk.after_power_cut(chance.getrandbits(32))
            disk.discard()
            disk = SimulatedDisk(files, seed=chance.getrandbits(32))
    disk.kill()
    with EventStore(PATH, disk=disk) as store:
        history.check(store)
        history.append(store, 3)
    with EventStore(PATH, disk=disk) as store:
        history.check(store)
    disk.discard()
    return history


@pytest.mark.slow
@pytest.mark.parametrize("block", range(0, SEEDS, BLOCK))
def test_power_cuts(block):
    histories = [survive(seed) for seed in range(block, block + BLOCK)]
    # The cuts must fall inside transactions often enough to mean something.
    cuts, refused = sum(each.cuts for each in histories), sum(each.refused for each in histories)
    print(f"seeds {block} to {block + BLOCK - 1}: {cuts} incomplete ends were cut, {refused} groups did not fit")
    assert cuts
    assert refused
