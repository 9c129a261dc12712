//! The buckets of ADWIN's window: an exponential histogram (Bifet and Gavaldà, 2007, section 4).
//!
//! Buckets hold 1, 2, 4, … numbers, at most M of each size, the oldest the largest. When there are M + 1 of a size, the
//! two oldest are merged into one of twice the size. A bucket stores its sum and the sum of squared deviations from its mean.
//!
//! Which buckets are merged does not depend on the numbers, so that a batch passes once through each row, the buckets of
//! one size. With the usual five of a size, a row and its incoming buckets are copied side by side, so that pairs are
//! adjacent and copies have a constant length.

use serde::{Deserialize, Serialize};

/// Maximum size of a batch.
pub const BATCH: usize = 32;

/// Slots of a row with five buckets, the usual number, and one in excess.
const USUAL: usize = 6;
/// Start of the incoming buckets in a line; the buckets of the row are before it.
const GIVEN: usize = 8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    pub total: f64,
    /// The sum of squared deviations from the bucket's mean.
    pub squares: f64,
}

impl Bucket {
    /// Merge two buckets of the same size; `size` is a power of two, so that its inverse is exact.
    #[inline(always)]
    fn joined(self, other: Bucket, size: f64) -> Bucket {
        let apart = (self.total - other.total) * (1.0 / size);
        Bucket {
            total: self.total + other.total,
            squares: self.squares + other.squares + 0.5 * size * apart * apart,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct ExponentialHistogram {
    /// Row by row, `max_buckets + 1` slots each; row r has buckets of 2ʳ numbers, the oldest first.
    pub slots: Vec<Bucket>,
    /// Number of buckets in each row.
    pub lengths: Vec<usize>,
}

/// Buffers for rows with their incoming buckets.
pub struct Lines {
    numbers: [f64; GIVEN + BATCH + USUAL],
    odd: [Bucket; GIVEN + BATCH / 2 + USUAL],
    even: [Bucket; GIVEN + BATCH / 4 + USUAL],
}

impl Default for Lines {
    fn default() -> Self {
        let empty = Bucket::default();
        Lines {
            numbers: [0.0; GIVEN + BATCH + USUAL],
            odd: [empty; GIVEN + BATCH / 2 + USUAL],
            even: [empty; GIVEN + BATCH / 4 + USUAL],
        }
    }
}

impl ExponentialHistogram {
    pub fn clear(&mut self) {
        self.slots.clear();
        self.lengths.clear();
    }

    /// The rows, oldest first, each with the size of its buckets.
    #[inline(always)]
    pub fn rows(&self, stride: usize) -> impl Iterator<Item = (f64, &[Bucket])> {
        let rows = self.slots.chunks_exact(stride).zip(&self.lengths).enumerate().rev();
        rows.map(|(row, (slots, &length))| ((1u64 << row) as f64, &slots[..length]))
    }

    /// Add up to `BATCH` numbers, with the same result as one by one.
    #[inline]
    pub fn add(&mut self, numbers: &[f64], max_buckets: usize, lines: &mut Lines) {
        match max_buckets + 1 {
            USUAL => self.add_usual(numbers, lines),
            stride => self.add_any(numbers, stride),
        }
    }

    fn row(&mut self, row: usize, stride: usize) -> usize {
        if row == self.lengths.len() {
            self.lengths.push(0);
            self.slots.resize(self.lengths.len() * stride, Bucket::default());
        }
        self.lengths[row]
    }

    fn add_usual(&mut self, numbers: &[f64], lines: &mut Lines) {
        let mut length = self.row(0, USUAL);
        let mut count = numbers.len();
        let line = &mut lines.numbers;
        let begin = GIVEN - length;
        for (to, bucket) in line[begin..begin + USUAL].iter_mut().zip(&self.slots[..USUAL]) {
            *to = bucket.total;
        }
        line[GIVEN..GIVEN + count].copy_from_slice(numbers);
        let mut pairs = pairs(length, count, USUAL - 1);
        for (bucket, &total) in self.slots[..USUAL].iter_mut().zip(&line[begin + 2 * pairs..][..USUAL]) {
            *bucket = Bucket { total, squares: 0.0 };
        }
        self.lengths[0] = length + count - 2 * pairs;
        if pairs == 0 {
            return;
        }
        let given = &mut lines.odd;
        let mut next = self.row(1, USUAL);
        lay(&self.slots[USUAL..2 * USUAL], next, given);
        for (pair, joined) in line[begin..].chunks_exact(2).zip(&mut given[GIVEN..GIVEN + pairs]) {
            let apart = pair[0] - pair[1];
            *joined = Bucket { total: pair[0] + pair[1], squares: 0.5 * apart * apart };
        }
        let (mut line, mut given): (&mut [Bucket], &mut [Bucket]) = (&mut lines.odd, &mut lines.even);
        let mut row = 1;
        loop {
            (length, count) = (next, pairs);
            let begin = GIVEN - length;
            pairs = self::pairs(length, count, USUAL - 1);
            self.slots[row * USUAL..(row + 1) * USUAL].copy_from_slice(&line[begin + 2 * pairs..][..USUAL]);
            self.lengths[row] = length + count - 2 * pairs;
            if pairs == 0 {
                return;
            }
            let size = (1u64 << row) as f64;
            row += 1;
            next = self.row(row, USUAL);
            lay(&self.slots[row * USUAL..(row + 1) * USUAL], next, given);
            for (pair, joined) in line[begin..].chunks_exact(2).zip(&mut given[GIVEN..GIVEN + pairs]) {
                *joined = pair[0].joined(pair[1], size);
            }
            std::mem::swap(&mut line, &mut given);
        }
    }

    fn add_any(&mut self, numbers: &[f64], stride: usize) {
        let mut rooms = [[Bucket::default(); BATCH]; 2];
        let [given, handed] = &mut rooms;
        let (mut given, mut handed) = (given, handed);
        let mut count = numbers.len();
        for (bucket, &x) in given.iter_mut().zip(numbers) {
            bucket.total = x;
        }
        let mut row = 0;
        while count > 0 {
            let length = self.row(row, stride);
            let buckets = &mut self.slots[row * stride..(row + 1) * stride];
            let pairs = pairs(length, count, stride - 1);
            let size = (1u64 << row) as f64;
            // The pairs within the row, the pair across the border, and the pairs of incoming buckets.
            let inside = pairs.min(length / 2);
            for (pair, joined) in buckets.chunks_exact(2).zip(&mut handed[..inside]) {
                *joined = pair[0].joined(pair[1], size);
            }
            let mut used = 0;
            let mut place = inside;
            if pairs > inside && length % 2 == 1 {
                handed[place] = buckets[length - 1].joined(given[0], size);
                (place, used) = (place + 1, 1);
            }
            for (pair, joined) in given[used..].chunks_exact(2).zip(&mut handed[place..pairs]) {
                *joined = pair[0].joined(pair[1], size);
            }
            used += 2 * (pairs - place);
            let stay = length.saturating_sub(2 * pairs);
            buckets.copy_within(length - stay..length, 0);
            buckets[stay..stay + count - used].copy_from_slice(&given[used..count]);
            self.lengths[row] = stay + count - used;
            std::mem::swap(&mut given, &mut handed);
            count = pairs;
            row += 1;
        }
    }

    /// Remove the oldest bucket; return its size and content.
    pub fn drop_oldest(&mut self, max_buckets: usize) -> Option<(u64, Bucket)> {
        let stride = max_buckets + 1;
        let row = self.lengths.len().checked_sub(1)?;
        let start = row * stride;
        let oldest = self.slots[start];
        self.slots.copy_within(start + 1..start + stride, start);
        self.lengths[row] -= 1;
        while self.lengths.last() == Some(&0) {
            self.lengths.pop();
            self.slots.truncate(self.lengths.len() * stride);
        }
        Some((1 << row, oldest))
    }

    /// Count of the numbers in all buckets; none if the state is not valid.
    pub fn width(&self, max_buckets: usize) -> Option<u64> {
        let sound = self.lengths.len() <= 60
            && self.slots.len() == self.lengths.len() * (max_buckets + 1)
            && self.lengths.iter().all(|&length| length <= max_buckets)
            && self.lengths.last() != Some(&0);
        let mut rows = self.lengths.iter().enumerate();
        let numbers = |row: usize, length: usize| 1u64.checked_shl(row as u32)?.checked_mul(length as u64);
        sound.then(|| rows.try_fold(0u64, |sum, (row, &length)| sum.checked_add(numbers(row, length)?)))?
    }

    pub fn memory(&self) -> usize {
        self.slots.capacity() * std::mem::size_of::<Bucket>()
            + self.lengths.capacity() * std::mem::size_of::<usize>()
    }
}

/// Number of pairs that a row passes on, by its length, the count of incoming buckets and the maximum it keeps.
#[inline(always)]
fn pairs(length: usize, count: usize, most: usize) -> usize {
    (length + count).saturating_sub(most).div_ceil(2)
}

/// Copy the buckets of a row before its incoming ones. All slots are copied; empty ones are overwritten or not read.
#[inline(always)]
fn lay(row: &[Bucket], length: usize, line: &mut [Bucket]) {
    line[GIVEN - length..][..USUAL].copy_from_slice(&row[..USUAL]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::adaptive_window::tests::numbers;

    #[test]
    fn buckets_worked_by_hand() {
        // At most two of a size: 1, 2, 3 make {1, 2} and 3, then 4: {1, 2}, 3, 4; with 5: {1, 2}, {3, 4}, 5.
        let (mut buckets, mut lines) = (ExponentialHistogram::default(), Lines::default());
        buckets.add(&[1.0, 2.0, 3.0, 4.0, 5.0], 2, &mut lines);
        assert_eq!(buckets.lengths, [1, 2]);
        assert_eq!(buckets.slots[0].total, 5.0);
        assert_eq!(
            buckets.slots[3..5],
            [Bucket { total: 3.0, squares: 0.5 }, Bucket { total: 7.0, squares: 0.5 }]
        );
        assert_eq!(buckets.width(2), Some(5));
        assert_eq!(buckets.drop_oldest(2), Some((2, Bucket { total: 3.0, squares: 0.5 })));
        assert_eq!(buckets.width(2), Some(3));
    }

    #[test]
    fn many_at_once_make_the_buckets_of_one_after_the_other() {
        for max_buckets in [1, 2, 3, 4, 5, 6, 40] {
            let stride = max_buckets + 1;
            let (mut one, mut many, mut any) = (
                ExponentialHistogram::default(),
                ExponentialHistogram::default(),
                ExponentialHistogram::default(),
            );
            let (mut lines, numbers) = (Lines::default(), numbers(3000));
            let (mut begin, mut portion) = (0, 1);
            while begin < numbers.len() {
                let some = &numbers[begin..(begin + portion).min(numbers.len())];
                many.add(some, max_buckets, &mut lines);
                any.add_any(some, stride);
                some.iter().for_each(|&x| one.add(&[x], max_buckets, &mut lines));
                (begin, portion) = (begin + portion, portion % BATCH + 1);
                assert_eq!((&one.lengths, &one.lengths), (&many.lengths, &any.lengths));
                for ((a, b), c) in one.rows(stride).zip(many.rows(stride)).zip(any.rows(stride)) {
                    assert_eq!((a, a), (b, c));
                }
            }
            assert_eq!(many.width(max_buckets), Some(3000));
        }
    }
}
