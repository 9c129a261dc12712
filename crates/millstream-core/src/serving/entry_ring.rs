//! Entries in log order, in chunks: adding an entry never copies earlier ones, and expiry frees memory.

use std::collections::VecDeque;

/// Entries per chunk (192 KiB).
pub const CHUNK: usize = 1 << 12;

/// 48 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub key: [u64; 2],
    pub seq: u64,
    pub time: i64,
    /// 0 if there is no label.
    pub label_seq: u64,
    pub item: u32,
    pub state: u8,
    /// False after removal out of order; compaction frees its position.
    pub live: bool,
}

/// A queue whose entries keep their positions, counted from the first entry ever added.
#[derive(Debug, Default)]
pub struct EntryRing {
    chunks: VecDeque<Vec<Entry>>,
    start: u64,
    end: u64,
}

impl EntryRing {
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Number of entries, removed ones included.
    pub fn len(&self) -> u64 {
        self.end - self.start
    }

    pub fn front(&self) -> Option<&Entry> {
        self.get(self.start).filter(|_| self.start < self.end)
    }

    pub fn back(&self) -> Option<&Entry> {
        self.get(self.end.wrapping_sub(1)).filter(|_| self.start < self.end)
    }

    #[inline]
    fn split(&self, position: u64) -> (usize, usize) {
        let first_chunk = self.start / CHUNK as u64;
        ((position / CHUNK as u64).wrapping_sub(first_chunk) as usize, position as usize % CHUNK)
    }

    #[inline]
    pub fn get(&self, position: u64) -> Option<&Entry> {
        let (chunk, place) = self.split(position);
        self.chunks.get(chunk)?.get(place)
    }

    #[inline]
    pub fn get_mut(&mut self, position: u64) -> Option<&mut Entry> {
        let (chunk, place) = self.split(position);
        self.chunks.get_mut(chunk)?.get_mut(place)
    }

    /// Add an entry at the end; returns its position.
    pub fn push(&mut self, entry: Entry) -> u64 {
        match self.chunks.back_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(entry),
            // The first chunk grows, because most streams are short.
            None => self.chunks.push_back(vec![entry]),
            Some(_) => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(entry);
                self.chunks.push_back(chunk);
            }
        }
        self.end += 1;
        self.end - 1
    }

    pub fn pop_front(&mut self) {
        if self.start == self.end {
            return;
        }
        self.start += 1;
        if self.start == self.end {
            *self = EntryRing::default();
        } else if self.start.is_multiple_of(CHUNK as u64) {
            self.chunks.pop_front();
        }
    }

    pub fn pop_back(&mut self) {
        if self.end - self.start <= 1 {
            *self = EntryRing::default();
            return;
        }
        self.end -= 1;
        if let Some(chunk) = self.chunks.back_mut() {
            chunk.pop();
            if chunk.is_empty() {
                self.chunks.pop_back();
            }
        }
    }

    /// The entries with their positions, removed ones included.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Entry)> {
        let skipped = self.start as usize % CHUNK;
        (self.start..).zip(self.chunks.iter().flatten().skip(skipped))
    }

    /// The live entries alone, at new positions. Chunks are freed while new ones fill.
    pub fn compacted(self) -> Self {
        let mut ring = EntryRing::default();
        let mut skipped = self.start as usize % CHUNK;
        for chunk in self.chunks {
            for entry in chunk.into_iter().skip(std::mem::take(&mut skipped)).filter(|entry| entry.live) {
                ring.push(entry);
            }
        }
        ring
    }

    /// An empty ring whose first position is not 0.
    #[cfg(test)]
    pub fn starting_at(position: u64) -> Self {
        let before = vec![
            Entry { key: [0; 2], seq: 0, time: 0, label_seq: 0, item: 0, state: 0, live: false };
            position as usize % CHUNK
        ];
        EntryRing { chunks: [before].into(), start: position, end: position }
    }

    /// Bytes on the heap.
    pub fn memory(&self) -> usize {
        let entries: usize = self.chunks.iter().map(Vec::capacity).sum();
        entries * size_of::<Entry>() + self.chunks.capacity() * size_of::<Vec<Entry>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: u64) -> Entry {
        Entry { key: [seq, 0], seq, time: 0, label_seq: 0, item: 0, state: 0, live: seq % 3 != 1 }
    }

    fn filled(n: u64) -> EntryRing {
        let mut ring = EntryRing::default();
        for seq in 0..n {
            ring.push(entry(seq));
        }
        ring
    }

    #[test]
    fn an_entry_has_48_bytes() {
        assert_eq!(size_of::<Entry>(), 48);
    }

    #[test]
    fn positions_stay_while_both_ends_move() {
        let mut ring = EntryRing::default();
        let n = 3 * CHUNK as u64;
        for seq in 0..n {
            assert_eq!(ring.push(entry(seq)), seq);
        }
        for popped in 1..n - 1 {
            ring.pop_front();
            assert_eq!((ring.start(), ring.len()), (popped, n - popped));
            assert_eq!(ring.front().map(|entry| entry.seq), Some(popped));
            assert_eq!(ring.get(n - 1).map(|entry| entry.seq), Some(n - 1));
            assert!(ring.get(popped.saturating_sub(CHUNK as u64 + 1)).is_none() || popped <= CHUNK as u64);
        }
        ring.pop_back();
        assert_eq!(ring.back().map(|entry| entry.seq), Some(n - 2));
        ring.pop_back();
        assert_eq!((ring.len(), ring.memory(), ring.front().is_none()), (0, 0, true));
        ring.pop_back();
        ring.pop_front();
        assert_eq!(ring.push(entry(7)), 0);
    }

    #[test]
    fn memory_is_given_back() {
        let mut ring = filled(10 * CHUNK as u64);
        let full = ring.memory();
        (0..5 * CHUNK).for_each(|_| ring.pop_front());
        (0..3 * CHUNK).for_each(|_| ring.pop_back());
        assert!(ring.memory() < full / 4, "{} of {full}", ring.memory());
    }

    #[test]
    fn compaction_keeps_live_entries_in_order() {
        let mut ring = filled(2 * CHUNK as u64);
        (0..100).for_each(|_| ring.pop_front());
        let live: Vec<u64> = ring.iter().filter(|(_, entry)| entry.live).map(|(_, entry)| entry.seq).collect();
        let ring = ring.compacted();
        assert_eq!(ring.iter().map(|(_, entry)| entry.seq).collect::<Vec<_>>(), live);
        assert_eq!((ring.start(), ring.len()), (0, live.len() as u64));
    }
}
