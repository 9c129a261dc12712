//! The models whose last example is the oldest by time, for the removal of those that have expired.
//!
//! A heap of all models would change with every row. This one lists some of the oldest models at a scan; every other model
//! is at least as young as `bound`. A listed model that was seen since has another time, and its entry is ignored.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A model: the hash of its key, and the word of its key in the header.
pub type Listed = (u64, u64);

pub struct Ages {
    heap: BinaryHeap<Reverse<(Sortable, u64, u64)>>,
    /// All models that are not listed have a time of at least this, or none.
    bound: f64,
    /// With more entries than this, most are outdated.
    most: usize,
}

/// A time in an order of integers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Sortable(u64);

const SIGN: u64 = 1 << 63;

impl Sortable {
    fn new(time: f64) -> Self {
        let bits = time.to_bits();
        Sortable(if bits & SIGN == 0 { bits | SIGN } else { !bits })
    }

    fn time(self) -> f64 {
        f64::from_bits(if self.0 & SIGN == 0 { !self.0 } else { self.0 & !SIGN })
    }
}

/// One in this many models is listed at a scan.
const LISTED: usize = 16;

impl Default for Ages {
    fn default() -> Self {
        Ages { heap: BinaryHeap::new(), bound: f64::NEG_INFINITY, most: 0 }
    }
}

impl Ages {
    /// A model has a new time.
    #[inline]
    pub fn note(&mut self, time: f64, (hash, word): Listed) {
        if time <= self.bound {
            if self.heap.len() >= self.most {
                return *self = Ages::default();
            }
            self.heap.push(Reverse((Sortable::new(time), hash, word)));
        }
    }

    /// Remove and return an entry for which `is_expired`; it may be outdated.
    pub fn pop(&mut self, is_expired: impl Fn(f64) -> bool) -> Option<(f64, Listed)> {
        let Reverse((time, hash, word)) = *self.heap.peek()?;
        is_expired(time.time()).then(|| {
            self.heap.pop();
            (time.time(), (hash, word))
        })
    }

    /// Whether models that are not listed may have expired, so that a scan is needed.
    pub fn is_short(&self, is_expired: impl Fn(f64) -> bool) -> bool {
        is_expired(self.bound)
    }

    /// List the oldest of all models, which are given with their times; `now` is the largest time so far.
    pub fn scan(&mut self, mut all: Vec<(f64, u64, u64)>, now: f64) {
        self.most = 2 * all.len() + 1024;
        all.retain(|(time, ..)| !time.is_nan());
        if all.is_empty() {
            (self.heap, self.bound) = (BinaryHeap::new(), now);
            return;
        }
        let last = all.len() - 1;
        let few = (all.len() / LISTED).max(1).min(last);
        all.select_nth_unstable_by(few, |one, other| one.0.total_cmp(&other.0));
        self.bound = all[few].0;
        all.truncate(few + 1);
        self.heap = all.into_iter().map(|(time, hash, word)| Reverse((Sortable::new(time), hash, word))).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_come_first() {
        let mut ages = Ages::default();
        let before = |limit: f64| move |time: f64| time < limit;
        assert!(ages.is_short(before(-1e300)));
        ages.scan((0..160).map(|i| (f64::from((i * 7) % 160) - 80.0, 0, i as u64)).collect(), 80.0);
        assert_eq!(ages.pop(before(-80.0)), None);
        assert_eq!(ages.pop(before(-79.0)), Some((-80.0, (0, 0))));
        // Eleven are listed, up to -70; a late row is noted, a young one is not.
        assert!(ages.is_short(before(-69.0)) && !ages.is_short(before(-70.0)));
        ages.note(-90.0, (5, 5));
        ages.note(3.0, (6, 6));
        assert_eq!(ages.pop(before(0.0)), Some((-90.0, (5, 5))));
        let rest: Vec<f64> = std::iter::from_fn(|| ages.pop(before(9.0))).map(|entry| entry.0).collect();
        assert_eq!(rest, (-79..=-70).map(f64::from).collect::<Vec<_>>());
        ages.scan(vec![(f64::NAN, 0, 0)], 90.0);
        assert!(!ages.is_short(before(90.0)));
        (0..2000).for_each(|_| ages.note(1.0, (0, 0)));
        assert!(ages.heap.len() < 1100);
    }
}
