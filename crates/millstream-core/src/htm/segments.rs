//! The segments of cells and their synapses, as a temporal memory stores them.
//!
//! A segment has a place for `max_synapses` synapses; the places of segments that were removed are used again. Of each
//! cell there is a list of the segments that have a synapse with it, so that the segments that active cells reach are
//! found without looking at others. An entry of that list also says whether the synapse is connected.
//!
//! There are at most `max_per_cell` segments of a cell and `max_segments` in all: a new one beyond that replaces the least
//! recently used one. `used` orders segments by their last use; no two are equal.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use crate::fault::Result;
use crate::held::state::require;

/// No cell: the place of a segment is free. Also no segment.
const NONE: u32 = u32::MAX;
/// No stream is so long that its clock gets there.
const LATEST: u64 = 1 << 60;

#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub n_cells: usize,
    pub max_per_cell: usize,
    pub max_segments: usize,
    pub max_synapses: usize,
    /// Lowest permanence of a connected synapse.
    pub connected: f32,
}

/// A set of cells.
#[derive(Clone, Debug)]
pub struct CellSet(Vec<u64>);

impl CellSet {
    pub fn new(n_cells: usize) -> Self {
        CellSet(vec![0; n_cells.div_ceil(64)])
    }

    #[inline]
    pub fn contains(&self, cell: u32) -> bool {
        self.0[cell as usize / 64] >> (cell % 64) & 1 == 1
    }

    #[inline]
    pub fn insert(&mut self, cell: u32) {
        self.0[cell as usize / 64] |= 1 << (cell % 64);
    }

    #[inline]
    pub fn remove(&mut self, cell: u32) {
        self.0[cell as usize / 64] &= !(1 << (cell % 64));
    }

    pub fn memory(&self) -> usize {
        8 * self.0.capacity()
    }
}

#[derive(Clone)]
pub struct Segments {
    bounds: Bounds,
    /// By segment: its cell, its number of synapses, and when it was used last.
    cells: Vec<u32>,
    lengths: Vec<u16>,
    used: Vec<u64>,
    /// By segment and place: the cell a synapse comes from, and its permanence.
    sources: Vec<u32>,
    permanences: Vec<f32>,
    free: Vec<u32>,
    clock: u64,
    evictions: u64,
    /// By cell: its segments, and 2 × segment + (1 if connected) for each synapse from it. Follow from the above.
    of_cell: Vec<Vec<u32>>,
    reached: Vec<Vec<u32>>,
    /// Neighbours of a segment in the order of use, and both ends. Follow from `used`.
    older: Vec<u32>,
    newer: Vec<u32>,
    oldest: u32,
    newest: u32,
}

#[derive(Serialize, Deserialize)]
pub struct SavedSegments {
    cells: Vec<u32>,
    lengths: Vec<u16>,
    used: Vec<u64>,
    /// Of all synapses, segment by segment, four bytes each.
    sources: ByteBuf,
    permanences: ByteBuf,
    free: Vec<u32>,
    clock: u64,
    evictions: u64,
}

impl Segments {
    pub fn new(bounds: Bounds) -> Self {
        Segments {
            bounds,
            cells: Vec::new(),
            lengths: Vec::new(),
            used: Vec::new(),
            sources: Vec::new(),
            permanences: Vec::new(),
            free: Vec::new(),
            clock: 0,
            evictions: 0,
            of_cell: vec![Vec::new(); bounds.n_cells],
            reached: vec![Vec::new(); bounds.n_cells],
            older: Vec::new(),
            newer: Vec::new(),
            oldest: NONE,
            newest: NONE,
        }
    }

    /// One more than the largest segment.
    pub fn end(&self) -> usize {
        self.cells.len()
    }

    /// Number of segments.
    pub fn count(&self) -> usize {
        self.cells.len() - self.free.len()
    }

    pub fn n_synapses(&self) -> usize {
        self.lengths.iter().map(|&length| usize::from(length)).sum()
    }

    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// Whether a segment that was known at this time still exists.
    pub fn is_since(&self, segment: u32, clock: u64) -> bool {
        self.cells[segment as usize] != NONE && self.used[segment as usize] <= clock
    }

    pub fn cell(&self, segment: u32) -> u32 {
        self.cells[segment as usize]
    }

    pub fn count_of(&self, cell: u32) -> usize {
        self.of_cell[cell as usize].len()
    }

    /// The segments that have a synapse from a cell: 2 × segment + (1 if it is connected).
    #[inline]
    pub fn reached_from(&self, cell: u32) -> &[u32] {
        &self.reached[cell as usize]
    }

    #[inline]
    fn places(&self, segment: u32) -> std::ops::Range<usize> {
        let start = segment as usize * self.bounds.max_synapses;
        start..start + usize::from(self.lengths[segment as usize])
    }

    /// A new segment of a cell, without synapses.
    pub fn create(&mut self, cell: u32) -> u32 {
        let siblings = &self.of_cell[cell as usize];
        if siblings.len() >= self.bounds.max_per_cell {
            if let Some(&least) = siblings.iter().min_by_key(|&&segment| self.used[segment as usize]) {
                self.remove(least);
                self.evictions = self.evictions.saturating_add(1);
            }
        }
        if self.count() >= self.bounds.max_segments && self.oldest != NONE {
            self.remove(self.oldest);
            self.evictions = self.evictions.saturating_add(1);
        }
        let segment = self.free.pop().unwrap_or_else(|| {
            self.cells.push(NONE);
            self.lengths.push(0);
            self.used.push(0);
            self.older.push(NONE);
            self.newer.push(NONE);
            self.sources.resize(self.sources.len() + self.bounds.max_synapses, 0);
            self.permanences.resize(self.permanences.len() + self.bounds.max_synapses, 0.0);
            self.cells.len() as u32 - 1
        });
        self.cells[segment as usize] = cell;
        self.lengths[segment as usize] = 0;
        self.of_cell[cell as usize].push(segment);
        self.append(segment);
        segment
    }

    /// Make a segment the most recently used one.
    pub fn touch(&mut self, segment: u32) {
        self.unlink(segment);
        self.append(segment);
    }

    fn append(&mut self, segment: u32) {
        self.clock += 1;
        self.used[segment as usize] = self.clock;
        self.link_last(segment);
    }

    fn link_last(&mut self, segment: u32) {
        (self.older[segment as usize], self.newer[segment as usize]) = (self.newest, NONE);
        match self.newest {
            NONE => self.oldest = segment,
            newest => self.newer[newest as usize] = segment,
        }
        self.newest = segment;
    }

    fn unlink(&mut self, segment: u32) {
        let (older, newer) = (self.older[segment as usize], self.newer[segment as usize]);
        match older {
            NONE => self.oldest = newer,
            older => self.newer[older as usize] = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.older[newer as usize] = older,
        }
    }

    fn remove(&mut self, segment: u32) {
        for place in self.places(segment) {
            drop_entry(&mut self.reached[self.sources[place] as usize], segment);
        }
        self.unlink(segment);
        let siblings = &mut self.of_cell[self.cells[segment as usize] as usize];
        siblings.retain(|&sibling| sibling != segment);
        (self.cells[segment as usize], self.lengths[segment as usize]) = (NONE, 0);
        self.free.push(segment);
    }

    fn remove_synapse(&mut self, segment: u32, place: usize) {
        let last = self.places(segment).end - 1;
        drop_entry(&mut self.reached[self.sources[place] as usize], segment);
        self.sources[place] = self.sources[last];
        self.permanences[place] = self.permanences[last];
        self.lengths[segment as usize] -= 1;
    }

    /// Move the permanences of synapses from active cells and of all others. Synapses at 0 are removed, and so is a
    /// segment without synapses.
    pub fn adapt(&mut self, segment: u32, active: &CellSet, at_active: f32, at_others: f32) {
        let places = self.places(segment);
        let (start, mut place) = (places.start, places.end);
        // From the last one on, so that a removed synapse is replaced by one that was moved already.
        while place > start {
            place -= 1;
            let (source, before) = (self.sources[place], self.permanences[place]);
            let change = if active.contains(source) { at_active } else { at_others };
            let after = (before + change).min(1.0);
            if after <= 0.0 {
                self.remove_synapse(segment, place);
                continue;
            }
            self.permanences[place] = after;
            let connects = after >= self.bounds.connected;
            if connects != (before >= self.bounds.connected) {
                let entries = &mut self.reached[source as usize];
                if let Some(entry) = entries.iter_mut().find(|entry| **entry >> 1 == segment) {
                    *entry = segment << 1 | u32::from(connects);
                }
            }
        }
        if self.lengths[segment as usize] == 0 {
            self.remove(segment);
        }
    }

    /// Visit the cells that a segment has synapses from.
    pub fn sources(&self, segment: u32) -> &[u32] {
        &self.sources[self.places(segment)]
    }

    /// Add synapses from cells that it has none from, in place of the weakest ones if there is no room.
    pub fn connect(&mut self, segment: u32, sources: &[u32], permanence: f32) {
        let sources = &sources[..sources.len().min(self.bounds.max_synapses)];
        let length = usize::from(self.lengths[segment as usize]);
        for _ in self.bounds.max_synapses..length + sources.len() {
            let weakest =
                self.places(segment).min_by(|&a, &b| self.permanences[a].total_cmp(&self.permanences[b]));
            if let Some(place) = weakest {
                self.remove_synapse(segment, place);
            }
        }
        let connects = u32::from(permanence >= self.bounds.connected);
        for &source in sources {
            let place = self.places(segment).end;
            (self.sources[place], self.permanences[place]) = (source, permanence);
            self.lengths[segment as usize] += 1;
            self.reached[source as usize].push(segment << 1 | connects);
        }
    }

    pub fn save(&self) -> SavedSegments {
        let places = || (0..self.end() as u32).flat_map(|segment| self.places(segment));
        SavedSegments {
            cells: self.cells.clone(),
            lengths: self.lengths.clone(),
            used: (self.used.iter().zip(&self.cells))
                .map(|(&used, &cell)| if cell == NONE { 0 } else { used })
                .collect(),
            sources: ByteBuf::from(
                places().flat_map(|place| self.sources[place].to_le_bytes()).collect::<Vec<u8>>(),
            ),
            permanences: ByteBuf::from(
                places().flat_map(|place| self.permanences[place].to_le_bytes()).collect::<Vec<u8>>(),
            ),
            free: self.free.clone(),
            clock: self.clock,
            evictions: self.evictions,
        }
    }

    pub fn loaded(&self, who: &str, saved: &SavedSegments) -> Result<Segments> {
        let (bounds, end) = (self.bounds, saved.cells.len());
        require(who, [saved.lengths.len(), saved.used.len()] == [end; 2], "segments do not match")?;
        let alive = saved.cells.iter().filter(|&&cell| cell != NONE).count();
        require(who, end <= bounds.max_segments, "too many segments")?;
        require(who, saved.clock <= LATEST, "the clock is out of range")?;
        let mut is_free = vec![false; end];
        for &segment in &saved.free {
            let known = saved.cells.get(segment as usize) == Some(&NONE);
            require(
                who,
                known && !std::mem::replace(&mut is_free[segment as usize], true),
                "a place is not free",
            )?;
        }
        require(who, saved.free.len() == end - alive, "a free place is not listed")?;
        let total: usize = saved.lengths.iter().map(|&length| usize::from(length)).sum();
        let bytes = [saved.sources.len(), saved.permanences.len()];
        require(who, bytes == [4 * total; 2], "synapses do not match")?;
        let mut segments = Segments::new(bounds);
        segments.cells.clone_from(&saved.cells);
        segments.lengths.clone_from(&saved.lengths);
        segments.used.clone_from(&saved.used);
        segments.free.clone_from(&saved.free);
        (segments.clock, segments.evictions) = (saved.clock, saved.evictions);
        segments.sources = vec![0; end * bounds.max_synapses];
        segments.permanences = vec![0.0; end * bounds.max_synapses];
        (segments.older, segments.newer) = (vec![NONE; end], vec![NONE; end]);
        let (mut sources, mut permanences) = (saved.sources.chunks_exact(4), saved.permanences.chunks_exact(4));
        let word = |bytes: &[u8]| [bytes[0], bytes[1], bytes[2], bytes[3]];
        for segment in 0..end as u32 {
            let (cell, length) = (saved.cells[segment as usize], usize::from(saved.lengths[segment as usize]));
            if cell == NONE {
                require(who, length == 0, "a free place has synapses")?;
                continue;
            }
            require(who, (cell as usize) < bounds.n_cells && length <= bounds.max_synapses, "a cell is unknown")?;
            segments.of_cell[cell as usize].push(segment);
            let siblings = segments.of_cell[cell as usize].len();
            require(who, siblings <= bounds.max_per_cell, "too many segments of a cell")?;
            for place in segments.places(segment) {
                let source = sources.next().map_or(NONE, |bytes| u32::from_le_bytes(word(bytes)));
                let permanence = permanences.next().map_or(f32::NAN, |bytes| f32::from_le_bytes(word(bytes)));
                let sound = (source as usize) < bounds.n_cells && permanence > 0.0 && permanence <= 1.0;
                require(who, sound, "a synapse is out of range")?;
                let known = segments.reached[source as usize].last().is_some_and(|entry| entry >> 1 == segment);
                require(who, !known, "two synapses are of the same cell")?;
                (segments.sources[place], segments.permanences[place]) = (source, permanence);
                let connects = u32::from(permanence >= bounds.connected);
                segments.reached[source as usize].push(segment << 1 | connects);
            }
        }
        let mut order: Vec<u32> =
            (0..end as u32).filter(|&segment| saved.cells[segment as usize] != NONE).collect();
        order.sort_unstable_by_key(|&segment| saved.used[segment as usize]);
        let distinct = order.windows(2).all(|pair| saved.used[pair[0] as usize] < saved.used[pair[1] as usize]);
        let past = order.last().is_none_or(|&segment| saved.used[segment as usize] <= saved.clock);
        require(who, distinct && past, "segments are out of order")?;
        order.into_iter().for_each(|segment| segments.link_last(segment));
        Ok(segments)
    }

    pub fn memory(&self) -> usize {
        let words = self.cells.capacity() + self.older.capacity() + self.newer.capacity() + self.free.capacity();
        let synapses = self.sources.capacity() + self.permanences.capacity();
        let lists: usize = self.of_cell.iter().chain(&self.reached).map(|list| 24 + 4 * list.capacity()).sum();
        4 * (words + synapses) + 2 * self.lengths.capacity() + 8 * self.used.capacity() + lists
    }
}

fn drop_entry(entries: &mut Vec<u32>, segment: u32) {
    if let Some(place) = entries.iter().position(|entry| entry >> 1 == segment) {
        entries.swap_remove(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments() -> Segments {
        Segments::new(Bounds { n_cells: 8, max_per_cell: 2, max_segments: 3, max_synapses: 3, connected: 0.5 })
    }

    fn active(cells: &[u32]) -> CellSet {
        let mut set = CellSet::new(8);
        cells.iter().for_each(|&cell| set.insert(cell));
        set
    }

    /// From (1: 0.4, 2: 0.4, 3: 0.4), with 1 and 2 active: +0.2 and −0.3 give 0.6, 0.6, 0.1; then 3 is at −0.2 and removed.
    #[test]
    fn permanences_by_hand() {
        let mut segments = segments();
        let segment = segments.create(0);
        segments.connect(segment, &[1, 2, 3], 0.4);
        assert_eq!(segments.reached_from(1), [segment << 1]);
        segments.adapt(segment, &active(&[1, 2]), 0.2, -0.3);
        assert_eq!(segments.reached_from(1), [segment << 1 | 1]);
        assert_eq!(segments.reached_from(3), [segment << 1]);
        segments.adapt(segment, &active(&[1, 2]), 0.2, -0.3);
        assert_eq!((segments.sources(segment), segments.reached_from(3)), (&[1, 2][..], &[][..]));
        // A new synapse replaces the weakest one when there is no room.
        segments.connect(segment, &[4, 5], 0.3);
        assert_eq!(segments.n_synapses(), 3);
        assert!(segments.sources(segment).ends_with(&[4, 5]));
        // All of them shrink to nothing: the segment goes too.
        segments.adapt(segment, &active(&[]), 0.0, -1.0);
        assert_eq!((segments.count(), segments.count_of(0)), (0, 0));
    }

    #[test]
    fn the_least_recently_used_segment_is_replaced() {
        let mut segments = segments();
        let [first, second, third] = [0, 1, 2].map(|cell| {
            let segment = segments.create(cell);
            segments.connect(segment, &[7], 0.5);
            segment
        });
        segments.touch(first);
        let clock = segments.clock();
        let fourth = segments.create(0);
        assert_eq!((fourth, segments.count(), segments.evictions()), (second, 3, 1));
        assert!(!segments.is_since(fourth, clock) && segments.is_since(third, clock));
        // A cell has two segments: its own least recently used one goes first.
        let fifth = segments.create(0);
        assert_eq!((fifth, segments.count_of(0), segments.count()), (first, 2, 3));
        let loaded = segments.loaded("test", &segments.save()).unwrap();
        assert_eq!((loaded.oldest, loaded.newest), (segments.oldest, segments.newest));
        assert_eq!((&loaded.older, loaded.count()), (&segments.older, 3));
    }
}
