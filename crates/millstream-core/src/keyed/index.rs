//! A table from the hashes of keys to the places of their models.

use prefetch_index::prefetch_index;

/// Where a model lies: a form and a slot of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(u64);

const EMPTY: Place = Place(u64::MAX);
/// The number in place of a form for a model that is in the spill file.
const SPILLED: u32 = u32::MAX - 1;

impl Place {
    /// The slot of a stub: see `super::stubs`.
    pub fn spilled(slot: u32) -> Self {
        Place::new(SPILLED, slot)
    }

    #[inline]
    pub fn is_spilled(self) -> bool {
        (self.0 >> 32) as u32 == SPILLED
    }

    pub fn new(form: u32, slot: u32) -> Self {
        Place(u64::from(form) << 32 | u64::from(slot))
    }

    #[inline]
    pub fn form(self) -> usize {
        (self.0 >> 32) as usize
    }

    #[inline]
    pub fn slot(self) -> u32 {
        self.0 as u32
    }
}

/// Full hashes are compared before places are, so a look-up of a key reads one cache line here and then its model.
#[derive(Clone, Copy)]
struct Bucket {
    hash: u64,
    place: Place,
}

/// Open addressing with linear probing. The low bits of a hash select the bucket, because the high ones select a shard.
#[derive(Clone, Default)]
pub struct Index {
    /// A power of two, or none.
    buckets: Vec<Bucket>,
    len: usize,
}

const FEWEST: usize = 16;

impl Index {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn memory(&self) -> usize {
        self.buckets.capacity() * size_of::<Bucket>()
    }

    /// Whether the next `insert` doubles the table.
    fn is_full(&self) -> bool {
        (self.len + 1) * 8 > self.buckets.len() * 7
    }

    #[inline]
    pub fn prefetch(&self, hash: u64) {
        if !self.buckets.is_empty() {
            prefetch_index(&self.buckets, hash as usize & (self.buckets.len() - 1));
        }
    }

    /// The bucket of a hash whose place satisfies `is`.
    #[inline]
    fn bucket(&self, hash: u64, is: impl Fn(Place) -> bool) -> Option<usize> {
        let mask = self.buckets.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let bucket = self.buckets[at];
            if bucket.place == EMPTY {
                return None;
            }
            if bucket.hash == hash && is(bucket.place) {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    pub fn find(&self, hash: u64, is: impl Fn(Place) -> bool) -> Option<Place> {
        self.bucket(hash, is).map(|at| self.buckets[at].place)
    }

    /// Add a key that is not in the table.
    pub fn insert(&mut self, hash: u64, place: Place) {
        if self.is_full() {
            self.resize((self.buckets.len() * 2).max(FEWEST));
        }
        self.put(Bucket { hash, place });
        self.len += 1;
    }

    fn put(&mut self, bucket: Bucket) {
        let mask = self.buckets.len() - 1;
        let mut at = bucket.hash as usize & mask;
        while self.buckets[at].place != EMPTY {
            at = (at + 1) & mask;
        }
        self.buckets[at] = bucket;
    }

    /// A model has moved.
    pub fn replace(&mut self, hash: u64, old: Place, new: Place) {
        if let Some(at) = self.bucket(hash, |place| place == old) {
            self.buckets[at].place = new;
        }
    }

    pub fn remove(&mut self, hash: u64, place: Place) {
        let Some(mut hole) = self.bucket(hash, |other| other == place) else { return };
        let mask = self.buckets.len() - 1;
        // Later buckets of the run move up, so that no run is interrupted.
        let mut at = (hole + 1) & mask;
        while self.buckets[at].place != EMPTY {
            let home = self.buckets[at].hash as usize & mask;
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.buckets[hole] = self.buckets[at];
                hole = at;
            }
            at = (at + 1) & mask;
        }
        self.buckets[hole].place = EMPTY;
        self.len -= 1;
        // Half as large it is half full.
        if self.len * 32 < self.buckets.len() * 7 && self.buckets.len() > FEWEST {
            self.resize(self.buckets.len() / 2);
        }
    }

    fn resize(&mut self, size: usize) {
        let old = std::mem::replace(&mut self.buckets, vec![Bucket { hash: 0, place: EMPTY }; size]);
        old.into_iter().filter(|bucket| bucket.place != EMPTY).for_each(|bucket| self.put(bucket));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustc_hash::FxHashMap;

    #[test]
    fn it_behaves_as_a_map() {
        let (mut index, mut map) = (Index::default(), FxHashMap::<u64, u32>::default());
        let mut state = 1_u64;
        for step in 0..20_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Few low bits, so that runs are long and wrap around.
            let hash = (state >> 60) | (state >> 40) << 32;
            match map.remove(&hash) {
                Some(slot) if step % 3 > 0 => index.remove(hash, Place::new(0, slot)),
                Some(slot) => {
                    index.replace(hash, Place::new(0, slot), Place::new(1, step));
                    index.replace(hash, Place::new(1, step), Place::new(0, step));
                    map.insert(hash, step);
                }
                None => {
                    index.insert(hash, Place::new(0, step));
                    map.insert(hash, step);
                }
            }
            if step % 97 == 0 {
                assert_eq!(index.len(), map.len());
                for (&hash, &slot) in &map {
                    assert_eq!(index.find(hash, |_| true), Some(Place::new(0, slot)));
                }
            }
        }
        assert_eq!(index.find(u64::MAX, |_| true), None);
    }
}
