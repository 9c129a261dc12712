//! Events that wait for a label: a ring in log order, and a table from the key of the id to the position in the ring.
//!
//! Features stay in the log and are read back by `seq`. At 10 million events, an event takes 48 bytes in the ring and
//! 8 in the table.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use super::entry_ring::{Entry, EntryRing, CHUNK};
use super::event_key::EventKey;
use crate::fault::{Fault, Result};

/// An event as it was added and marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The record of the event, and its index in a batch.
    pub seq: u64,
    pub item: u32,
    /// In milliseconds since 1970, never decreasing.
    pub time: i64,
    /// The state of the event, with values defined by the caller; initially 0.
    pub state: u8,
    /// The record of its label; 0 if there is none.
    pub label_seq: u64,
}

impl From<&Entry> for Pending {
    fn from(entry: &Entry) -> Self {
        let &Entry { seq, item, time, state, label_seq, .. } = entry;
        Pending { seq, item, time, state, label_seq }
    }
}

#[derive(Debug)]
pub struct PendingEvents {
    /// The first and the last entry are live.
    ring: EntryRing,
    /// The lower 32 bits of the positions of the live entries.
    table: HashTable<u32>,
    hash: TableHash,
}

impl Default for PendingEvents {
    fn default() -> Self {
        PendingEvents { ring: EntryRing::default(), table: HashTable::new(), hash: TableHash::new() }
    }
}

/// Clients choose ids and know the hash function, so the table mixes keys with secret numbers. Clients then cannot
/// choose ids that collide in the table. Nothing else depends on these numbers.
#[derive(Clone, Copy, Debug)]
struct TableHash([u64; 2]);

impl TableHash {
    fn new() -> Self {
        let random = RandomState::new();
        TableHash([random.hash_one(0), random.hash_one(1)])
    }

    #[inline]
    fn of(self, key: [u64; 2]) -> u64 {
        let product = u128::from(key[0] ^ self.0[0]) * u128::from(key[1] ^ self.0[1]);
        product as u64 ^ (product >> 64) as u64
    }
}

impl PendingEvents {
    pub fn with_capacity(count: usize) -> Self {
        PendingEvents { table: HashTable::with_capacity(count), ..PendingEvents::default() }
    }

    pub fn len(&self) -> usize {
        self.table.len()
    }

    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Bytes on the heap.
    pub fn memory(&self) -> usize {
        self.ring.memory() + self.table.allocation_size()
    }

    /// Add an event after all others; false if its id is there. A record has a greater `seq` than those before it, and
    /// the items of a batch come in order.
    pub fn add(&mut self, key: EventKey, pending: Pending) -> Result<bool> {
        if self.position(key).is_some() {
            return Ok(false);
        }
        let Pending { seq, item, time, state, label_seq } = pending;
        if let Some(last) = self.ring.back() {
            if (seq, item) <= (last.seq, last.item) || time < last.time {
                return Err(Fault::value(format!(
                    "pending events must be added in log order: got seq {seq}, item {item}, time {time} after seq {}, \
                     item {}, time {}",
                    last.seq, last.item, last.time
                )));
            }
        }
        if self.ring.len() >= u64::from(u32::MAX) {
            return Err(Fault::value(format!("a stream can have at most {} pending events", u32::MAX)));
        }
        if self.table.len() == self.table.capacity() {
            self.rebuild_table();
        }
        let position = self.ring.push(Entry { key: key.0, seq, time, label_seq, item, state, live: true });
        let (ring, hash) = (&self.ring, self.hash);
        self.table.insert_unique(hash.of(key.0), position as u32, |&position| {
            ring.get(full(ring, position)).map_or(0, |entry| hash.of(entry.key))
        });
        Ok(true)
    }

    /// How many of some keys are there.
    pub fn count_known(&self, keys: impl Iterator<Item = EventKey>) -> usize {
        keys.filter(|&key| self.position(key).is_some()).count()
    }

    pub fn find(&self, key: EventKey) -> Option<Pending> {
        self.ring.get(self.position(key)?).map(Pending::from)
    }

    /// Set the state and the label of an event; false if it is not there.
    pub fn mark(&mut self, key: EventKey, state: u8, label_seq: u64) -> bool {
        let entry = self.position(key).and_then(|position| self.ring.get_mut(position));
        let found = entry.is_some();
        if let Some(entry) = entry {
            (entry.state, entry.label_seq) = (state, label_seq);
        }
        found
    }

    /// Remove an event, wherever it is; false if it is not there.
    pub fn remove(&mut self, key: EventKey) -> bool {
        let Some(position) = self.position(key) else { return false };
        self.forget(key.0);
        if let Some(entry) = self.ring.get_mut(position) {
            entry.live = false;
        }
        while self.ring.front().is_some_and(|entry| !entry.live) {
            self.ring.pop_front();
        }
        while self.ring.back().is_some_and(|entry| !entry.live) {
            self.ring.pop_back();
        }
        if is_sparse(self.ring.len() - self.len() as u64, self.len() as u64) {
            self.ring = std::mem::take(&mut self.ring).compacted();
            self.rebuild_table();
        }
        true
    }

    /// Whether the next change may rebuild a large table, which takes about a second for ten million events.
    pub fn will_rebuild(&self) -> bool {
        let removed = self.ring.len() - self.len() as u64;
        self.len() > CHUNK
            && (self.table.len() == self.table.capacity() || is_sparse(removed + 1, self.len() as u64 - 1))
    }

    /// The oldest event.
    pub fn oldest(&self) -> Option<Pending> {
        self.ring.front().map(Pending::from)
    }

    /// The events after an item of a record whose time is less than `before`, in order.
    pub fn after(&self, seq: u64, item: u32, before: i64) -> impl Iterator<Item = Pending> + '_ {
        // Entries are in the order of (seq, item), removed ones included.
        let (mut low, mut high) = (self.ring.start(), self.ring.start() + self.ring.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.ring.get(middle) {
                Some(entry) if (entry.seq, entry.item) <= (seq, item) => low = middle + 1,
                _ => high = middle,
            }
        }
        (low..self.ring.start() + self.ring.len())
            .map_while(|position| self.ring.get(position))
            .take_while(move |entry| entry.time < before)
            .filter(|entry| entry.live)
            .map(Pending::from)
    }

    /// Remove the oldest event.
    pub fn pop(&mut self) -> Option<Pending> {
        let entry = *self.ring.front()?;
        self.forget(entry.key);
        self.ring.pop_front();
        while self.ring.front().is_some_and(|entry| !entry.live) {
            self.ring.pop_front();
        }
        if self.table.capacity() > CHUNK && self.table.len() < self.table.capacity() / 8 {
            self.rebuild_table();
        }
        Some(Pending::from(&entry))
    }

    /// The keys and events, from the oldest to the newest.
    pub fn iter(&self) -> impl Iterator<Item = (EventKey, Pending)> + '_ {
        self.ring.iter().filter(|(_, entry)| entry.live).map(|(_, entry)| (EventKey(entry.key), entry.into()))
    }

    #[inline]
    fn position(&self, key: EventKey) -> Option<u64> {
        let is_key =
            |&position: &u32| self.ring.get(full(&self.ring, position)).is_some_and(|entry| entry.key == key.0);
        self.table.find(self.hash.of(key.0), is_key).map(|&position| full(&self.ring, position))
    }

    fn forget(&mut self, key: [u64; 2]) {
        let ring = &self.ring;
        let is_key = |&position: &u32| ring.get(full(ring, position)).is_some_and(|entry| entry.key == key);
        if let Ok(found) = self.table.find_entry(self.hash.of(key), is_key) {
            found.remove();
        }
    }

    /// A table with room for half as many events again. It is filled from the ring, in order; growing the old table
    /// would visit the entries at random.
    #[cold]
    fn rebuild_table(&mut self) {
        let mut table = HashTable::with_capacity(self.table.len().max(8) * 3 / 2);
        let (ring, hash) = (&self.ring, self.hash);
        for (position, entry) in ring.iter().filter(|(_, entry)| entry.live) {
            // There is room for all entries: nothing is rehashed.
            table.insert_unique(hash.of(entry.key), position as u32, |_| 0);
        }
        self.table = table;
    }
}

/// Whether removed entries take more than a quarter of the memory of live ones. Each removal therefore costs at most
/// five moves.
fn is_sparse(removed: u64, live: u64) -> bool {
    removed > live / 4 + CHUNK as u64
}

/// A position from its lower 32 bits: the ring never has more than 2³² entries.
#[inline]
fn full(ring: &EntryRing, position: u32) -> u64 {
    ring.start() + u64::from(position.wrapping_sub(ring.start() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seq: u64) -> Pending {
        Pending { seq, item: 0, time: seq as i64 * 10, state: 0, label_seq: 0 }
    }

    fn key(seq: u64) -> EventKey {
        EventKey::of_bytes(&seq.to_le_bytes())
    }

    #[test]
    fn an_event_is_found_until_it_is_removed() {
        let mut pending = PendingEvents::default();
        for seq in 1..=5 {
            assert!(pending.add(key(seq), at(seq)).unwrap());
        }
        assert!(!pending.add(key(3), at(9)).unwrap());
        assert!(pending.mark(key(3), 2, 77) && !pending.mark(key(6), 2, 77));
        assert_eq!(pending.find(key(3)), Some(Pending { state: 2, label_seq: 77, ..at(3) }));
        assert!(pending.remove(key(2)) && !pending.remove(key(2)));
        assert!(pending.remove(key(5)));
        assert_eq!((pending.find(key(2)), pending.find(key(5)), pending.len()), (None, None, 3));
        // After the newest was removed, its seq may come again.
        assert!(pending.add(key(5), at(5)).unwrap());
        assert_eq!([1, 3, 4, 5].map(|_| pending.pop().map(|popped| popped.seq)), [1, 3, 4, 5].map(Some));
        assert_eq!((pending.pop(), pending.is_empty(), pending.oldest()), (None, true, None));
    }

    #[test]
    fn order_is_kept_and_a_refused_event_changes_nothing() {
        let mut pending = PendingEvents::default();
        pending.add(key(1), Pending { item: 4, ..at(7) }).unwrap();
        for wrong in [at(6), at(7), Pending { item: 4, ..at(7) }, Pending { time: 69, ..at(8) }] {
            let message = pending.add(key(2), wrong).unwrap_err().to_string();
            assert!(message.starts_with("pending events must be added in log order: got seq"), "{message}");
        }
        assert_eq!((pending.len(), pending.find(key(2))), (1, None));
        assert!(pending.add(key(2), Pending { item: 5, ..at(7) }).unwrap());
    }

    #[test]
    fn removed_entries_do_not_pile_up() {
        let mut pending = PendingEvents::default();
        let n = 20 * CHUNK as u64;
        // The first event stays: nothing can be taken from the old end.
        for seq in 0..n {
            pending.add(key(seq), at(seq)).unwrap();
            if seq > 10 {
                assert!(pending.remove(key(seq - 9)));
            }
            assert!(pending.memory() < 3 * CHUNK * 48 + 100_000, "{} at {seq}", pending.memory());
        }
        assert_eq!(pending.len(), 11);
        for seq in [0, 1, n - 1, n - 9] {
            assert_eq!(pending.find(key(seq)), Some(at(seq)), "{seq}");
        }
    }

    #[test]
    fn events_after_another_are_listed_in_order() {
        let mut pending = PendingEvents::default();
        for seq in 1..=10 {
            pending.add(key(seq), at(seq)).unwrap();
        }
        pending.remove(key(5));
        let after = |seq, before| pending.after(seq, 0, before).map(|event| event.seq).collect::<Vec<_>>();
        assert_eq!(after(3, 80), [4, 6, 7]);
        assert_eq!(after(5, 1000), [6, 7, 8, 9, 10]);
        assert_eq!(after(0, 20), [1]);
        assert!(after(10, 1000).is_empty() && after(0, 10).is_empty());
    }

    #[test]
    fn positions_may_pass_32_bits() {
        let ring = EntryRing::starting_at(u64::from(u32::MAX) - 5);
        let mut pending = PendingEvents { ring, ..PendingEvents::default() };
        for seq in 0..20 {
            pending.add(key(seq), at(seq)).unwrap();
        }
        assert_eq!((0..20).filter(|&seq| pending.find(key(seq)) == Some(at(seq))).count(), 20);
        for seq in 0..20 {
            assert_eq!(pending.pop(), Some(at(seq)));
            assert_eq!((seq + 1..20).filter(|&seq| pending.find(key(seq)).is_some()).count(), 19 - seq as usize);
        }
    }

    #[test]
    fn the_table_shrinks() {
        let mut pending = PendingEvents::default();
        for seq in 0..200_000 {
            pending.add(key(seq), at(seq)).unwrap();
        }
        while pending.len() > 1000 {
            pending.pop();
        }
        assert!(pending.memory() < 600_000, "{}", pending.memory());
        assert_eq!(pending.find(key(199_999)), Some(at(199_999)));
    }
}
