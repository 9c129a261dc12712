//! A window of the last numbers of a stream.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RingBuffer {
    values: Vec<f64>,
    /// Index of the next write once the window is full, which is the index of the oldest number.
    next: usize,
}

impl RingBuffer {
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Add a number; return the one that leaves a window of `size`.
    #[inline]
    pub fn push(&mut self, x: f64, size: usize) -> Option<f64> {
        if self.values.len() < size {
            self.values.push(x);
            return None;
        }
        let slot = self.values.get_mut(self.next)?;
        let oldest = std::mem::replace(slot, x);
        // A division would take longer than everything else here.
        let next = self.next + 1;
        self.next = if next < size { next } else { 0 };
        Some(oldest)
    }

    /// All numbers, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = f64> + '_ {
        let (late, early) = self.values.split_at(self.next.min(self.values.len()));
        early.iter().chain(late).copied()
    }

    /// The number at an index counted from the oldest.
    #[inline]
    pub fn get(&self, index: usize) -> f64 {
        let at = self.next + index;
        let at = if at < self.values.len() { at } else { at - self.values.len().min(at) };
        self.values.get(at).copied().unwrap_or_default()
    }

    pub fn clear(&mut self) {
        self.values.clear();
        self.next = 0;
    }

    /// Whether this can be a window of `size` numbers in [`low`, `high`].
    pub fn is_sound(&self, size: usize, low: f64, high: f64) -> bool {
        let full = self.values.len() == size;
        self.values.len() <= size
            && (if full { self.next < size } else { self.next == 0 })
            && self.values.iter().all(|x| (low..=high).contains(x))
    }

    pub fn memory(&self) -> usize {
        self.values.capacity() * std::mem::size_of::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_number_leaves() {
        let mut recent = RingBuffer::default();
        let out: Vec<_> = (1..=5).map(|x| recent.push(f64::from(x), 3)).collect();
        assert_eq!(out, [None, None, None, Some(1.0), Some(2.0)]);
        assert_eq!(recent.iter().collect::<Vec<_>>(), [3.0, 4.0, 5.0]);
        assert_eq!([recent.get(0), recent.get(1), recent.get(2)], [3.0, 4.0, 5.0]);
    }
}
