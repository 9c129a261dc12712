//! The window of ADWIN (Bifet and Gavaldà, 2007): as long as the mean has not changed, in logarithmic memory.
//!
//! The window is an exponential histogram (section 4 of the paper): buckets of 1, 2, 4, … numbers, at most M of each
//! size, the oldest the largest; when there are M + 1 of a size, the two oldest become one of twice the size. A bucket
//! keeps its sum and the sum of squared deviations from its mean. At every cut between buckets, the means of the two
//! sides, n₀ and n₁ numbers, are compared (theorem 3.2 with the variance, as in section 3.1):
//!
//! ```text
//! ε = √(2 m σ² ln(2 ln(n) / δ)) + ⅔ m ln(2 ln(n) / δ),   m = 1 / (n₀ − L + 1) + 1 / (n₁ − L + 1)
//! ```
//!
//! where L, the least length of a side, is in m as in all programs that are used to publish results. While some cut
//! has means further apart than ε, the oldest bucket is dropped.
//!
//! Two things make it quick. Which buckets become one does not depend on the numbers, so the newest numbers wait, and
//! enter the buckets many at once: each row of buckets is gone through once for all of them. And most cuts are refused
//! by products alone (`cuts.rs`), without a division and a root.

use serde::{Deserialize, Serialize};

use super::cuts::{Cuts, TOGETHER};
use super::Direction;

/// What a window is asked to do; checked where it is declared.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The chance of a false alarm at a check.
    pub delta: f64,
    /// Numbers between checks.
    pub clock: u64,
    /// Buckets of each size.
    pub max_buckets: usize,
    /// Numbers that each side of a cut must have.
    pub min_window_length: u64,
    /// Numbers before the first check.
    pub grace_period: u64,
}

/// Numbers beyond this could make the squares overflow.
pub const LARGEST: f64 = 1e100;

/// How many numbers wait at most.
const WAITING: usize = 32;

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Bucket {
    total: f64,
    /// The sum of squared deviations from the bucket's mean.
    squares: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Window {
    /// Row by row, `max_buckets + 1` places each; row r has buckets of 2ʳ numbers, the oldest first.
    buckets: Vec<Bucket>,
    /// How many buckets each row has.
    lengths: Vec<usize>,
    /// Numbers in the window.
    width: u64,
    total: f64,
    squares: f64,
    /// Numbers since it was begun.
    ticks: u64,
    /// The newest numbers, which are in the sums and not yet in the buckets.
    #[serde(default)]
    waiting: Vec<f64>,
    /// How many numbers are after the change, by the last cut.
    #[serde(skip)]
    since: u64,
    /// There is no check before so many ticks; 0 if that is not known.
    #[serde(skip)]
    next: u64,
}

impl Bucket {
    /// Two of the same size as one; `size` is a power of two, so that its inverse is exact.
    #[inline]
    fn joined(self, other: Bucket, size: f64) -> Bucket {
        let apart = (self.total - other.total) * (1.0 / size);
        Bucket {
            total: self.total + other.total,
            squares: self.squares + other.squares + 0.5 * size * apart * apart,
        }
    }
}

impl Window {
    /// How many numbers are believed to be from after the change that the last number has brought to light.
    pub fn since(&self) -> u64 {
        self.since
    }

    #[inline]
    pub fn width(&self) -> u64 {
        self.width
    }

    /// 0 while there is nothing.
    pub fn mean(&self) -> f64 {
        if self.width == 0 {
            0.0
        } else {
            self.total / self.width as f64
        }
    }

    pub fn total(&self) -> f64 {
        self.total
    }

    pub fn variance(&self) -> f64 {
        if self.width == 0 {
            0.0
        } else {
            self.squares / self.width as f64
        }
    }

    /// Begin anew; the memory is kept.
    pub fn clear(&mut self) {
        self.buckets.clear();
        self.lengths.clear();
        self.waiting.clear();
        (self.width, self.total, self.squares, self.ticks, self.next) = (0, 0.0, 0.0, 0, 0);
    }

    /// Add a number of at most `LARGEST` either way; where a cut was found and what is before it dropped, which way the
    /// mean went.
    #[inline]
    pub fn add(&mut self, x: f64, settings: &Settings) -> Option<Direction> {
        self.insert(x);
        self.ticks += 1;
        if self.waiting.len() == WAITING {
            self.settle(settings.max_buckets);
        }
        if self.ticks < self.next {
            return None;
        }
        self.check(settings)
    }

    /// `add` with numbers up to the first that finds a cut; gives how many they were.
    pub fn add_many(&mut self, numbers: &[f64], settings: &Settings) -> (usize, Option<Direction>) {
        let mut done = 0;
        while let Some(rest) = numbers.get(done..).filter(|rest| !rest.is_empty()) {
            let until = self.next.saturating_sub(self.ticks).max(1);
            let room = WAITING - self.waiting.len();
            let now = rest.len().min(room).min(usize::try_from(until).unwrap_or(usize::MAX));
            self.insert_many(&rest[..now]);
            self.ticks += now as u64;
            done += now;
            if self.waiting.len() == WAITING {
                self.settle(settings.max_buckets);
            }
            if self.ticks >= self.next {
                if let Some(direction) = self.check(settings) {
                    return (done, Some(direction));
                }
            }
        }
        (done, None)
    }

    #[inline]
    fn insert(&mut self, x: f64) {
        // (x − Σ / n)² n / (n + 1), with one division; of whole numbers everything before it is exact.
        let before = self.width as f64;
        self.width += 1;
        let apart = before * x - self.total;
        self.squares += apart * apart / (before * (before + 1.0)).max(1.0);
        self.total += x;
        self.waiting.push(x);
    }

    /// `insert` with each.
    #[inline]
    fn insert_many(&mut self, numbers: &[f64]) {
        let mut before = self.width as f64;
        let (mut total, mut squares) = (self.total, self.squares);
        for &x in numbers {
            let apart = before * x - total;
            squares += apart * apart / (before * (before + 1.0)).max(1.0);
            total += x;
            before += 1.0;
        }
        (self.total, self.squares) = (total, squares);
        self.width += numbers.len() as u64;
        self.waiting.extend_from_slice(numbers);
    }

    #[inline(never)]
    fn check(&mut self, settings: &Settings) -> Option<Direction> {
        let due = self.ticks.is_multiple_of(settings.clock);
        self.next = (self.ticks / settings.clock + 1).saturating_mul(settings.clock);
        if !due || self.width <= settings.grace_period {
            return None;
        }
        self.settle(settings.max_buckets);
        self.shrink(settings)
    }

    /// Put the numbers that wait into buckets, as if one after the other: where a row has one bucket too many, its two
    /// oldest go to the next as one, so that a row which is given more than it holds hands on pairs from its beginning.
    fn settle(&mut self, max_buckets: usize) {
        let stride = max_buckets + 1;
        let mut rooms = [[Bucket::default(); WAITING]; 2];
        let [given, handed] = &mut rooms;
        let (mut given, mut handed) = (given, handed);
        let mut count = self.waiting.len();
        for (bucket, &x) in given.iter_mut().zip(&self.waiting) {
            bucket.total = x;
        }
        self.waiting.clear();
        let mut row = 0;
        while count > 0 {
            if row == self.lengths.len() {
                self.lengths.push(0);
                self.buckets.resize(self.lengths.len() * stride, Bucket::default());
            }
            let length = self.lengths[row];
            let buckets = &mut self.buckets[row * stride..(row + 1) * stride];
            let pairs = (length + count).saturating_sub(max_buckets).div_ceil(2);
            let size = (1u64 << row) as f64;
            // The pairs that are all in the row, the one that is half in it, and those of what was given.
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

    fn shrink(&mut self, settings: &Settings) -> Option<Direction> {
        let mut found = None;
        while let Some(direction) = self.cut(settings) {
            if found.is_none() {
                self.since = self.newer_side(settings);
                found = Some(direction);
            }
            self.drop_oldest(settings.max_buckets);
        }
        found
    }

    /// The first cut, from the oldest on, whose sides have means too far apart.
    fn cut(&self, settings: &Settings) -> Option<Direction> {
        let stride = settings.max_buckets + 1;
        let cuts = Cuts::new(self.width, self.total, self.squares, settings);
        let (mut old, mut old_total) = (0.0, 0.0);
        // Sizes and sums of the older sides of some cuts, which are looked at together.
        let (mut olds, mut totals) = ([0.0; TOGETHER], [0.0; TOGETHER]);
        let mut count = 0;
        for (row, &length) in self.lengths.iter().enumerate().rev() {
            let size = (1u64 << row) as f64;
            for some in self.buckets[row * stride..row * stride + length].chunks(TOGETHER) {
                if count + some.len() > TOGETHER {
                    if let Some(direction) = cuts.first(&olds[..count], &totals[..count]) {
                        return Some(direction);
                    }
                    count = 0;
                }
                let places = olds[count..].iter_mut().zip(&mut totals[count..]);
                for (bucket, (old_here, total_here)) in some.iter().zip(places) {
                    old += size;
                    old_total += bucket.total;
                    (*old_here, *total_here) = (old, old_total);
                }
                count += some.len();
            }
        }
        cuts.first(&olds[..count], &totals[..count])
    }

    /// How many numbers are after the cut whose sides differ most for their sizes, which of all cuts is the likeliest
    /// place of one change. The window after a cut still begins before it: large buckets are dropped whole or not.
    fn newer_side(&self, settings: &Settings) -> u64 {
        let stride = settings.max_buckets + 1;
        let (mut old, mut old_total) = (0.0, 0.0);
        let (mut best, mut newer) = (-1.0, self.width);
        for (row, &length) in self.lengths.iter().enumerate().rev() {
            for bucket in &self.buckets[row * stride..row * stride + length] {
                old += (1u64 << row) as f64;
                old_total += bucket.total;
                let new = self.width as f64 - old;
                let apart = (self.total - old_total) / new - old_total / old;
                let evidence = apart * apart * old * new;
                if new > 0.0 && evidence > best {
                    (best, newer) = (evidence, new as u64);
                }
            }
        }
        newer
    }

    fn drop_oldest(&mut self, max_buckets: usize) {
        let stride = max_buckets + 1;
        let Some(row) = self.lengths.len().checked_sub(1) else { return };
        let start = row * stride;
        let oldest = self.buckets[start];
        let size = 1u64 << row;
        self.buckets.copy_within(start + 1..start + stride, start);
        self.lengths[row] -= 1;
        self.width -= size;
        self.total -= oldest.total;
        if self.width == 0 {
            self.squares = 0.0;
        } else {
            let (old, new) = (size as f64, self.width as f64);
            let apart = oldest.total / old - self.total / new;
            let lost = oldest.squares + old * new * apart * apart / (old + new);
            self.squares = (self.squares - lost).max(0.0);
        }
        while self.lengths.last() == Some(&0) {
            self.lengths.pop();
            self.buckets.truncate(self.lengths.len() * stride);
        }
    }

    /// Whether a window with these settings could be so.
    pub fn is_sound(&self, settings: &Settings) -> bool {
        let stride = settings.max_buckets + 1;
        // No more than 2⁶⁴ numbers of the largest size: larger sums would overflow with the next number.
        let possible = |total: f64, squares: f64| {
            total.abs() <= 1e20 * LARGEST && (0.0..=1e41 * LARGEST * LARGEST).contains(&squares)
        };
        let width = self.lengths.iter().enumerate().try_fold(0u64, |sum, (row, &length)| {
            let numbers = 1u64.checked_shl(row as u32)?.checked_mul(length as u64)?;
            sum.checked_add(numbers)
        });
        self.lengths.len() <= 60
            && self.buckets.len() == self.lengths.len() * stride
            && self.lengths.iter().all(|&length| length <= settings.max_buckets)
            && self.lengths.last() != Some(&0)
            && self.waiting.len() <= WAITING
            && width.and_then(|width| width.checked_add(self.waiting.len() as u64)) == Some(self.width)
            && self.waiting.iter().all(|x| x.abs() <= LARGEST)
            && self.buckets.iter().all(|bucket| possible(bucket.total, bucket.squares))
            && possible(self.total, self.squares)
    }

    pub fn memory(&self) -> usize {
        self.buckets.capacity() * std::mem::size_of::<Bucket>()
            + self.lengths.capacity() * std::mem::size_of::<usize>()
            + self.waiting.capacity() * std::mem::size_of::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Settings =
        Settings { delta: 0.002, clock: 1, max_buckets: 2, min_window_length: 1, grace_period: 1 };

    #[test]
    fn buckets_worked_by_hand() {
        // At most two of a size: 1, 2, 3 make {1, 2} and 3, then 4: {1, 2}, 3, 4; with 5: {1, 2}, {3, 4}, 5.
        let mut window = Window::default();
        for x in [1.0, 2.0, 3.0, 4.0, 5.0] {
            window.insert(x);
        }
        window.settle(2);
        assert_eq!(window.lengths, [1, 2]);
        assert_eq!(window.buckets[0].total, 5.0);
        assert_eq!((window.buckets[3].total, window.buckets[3].squares), (3.0, 0.5));
        assert_eq!((window.buckets[4].total, window.buckets[4].squares), (7.0, 0.5));
        // The mean is 3, the squared deviations 4 + 1 + 0 + 1 + 4.
        assert_eq!((window.mean(), window.squares), (3.0, 10.0));
        // Without the oldest bucket: 3, 4, 5.
        window.drop_oldest(2);
        assert_eq!((window.width(), window.mean()), (3, 4.0));
        assert!((window.squares - 2.0).abs() < 1e-12);
        assert!(window.is_sound(&SETTINGS));
    }

    #[test]
    fn the_rest_after_a_cut_has_no_cut() {
        let mut window = Window::default();
        let settings = Settings { max_buckets: 5, clock: 32, min_window_length: 5, grace_period: 10, ..SETTINGS };
        let mut found = Vec::new();
        for place in 0..2000u32 {
            let x = f64::from(u8::from(place % 10 == 0 || place >= 1000));
            if window.add(x, &settings) == Some(Direction::Up) {
                found.push(place);
                assert!(window.cut(&settings).is_none());
            }
        }
        assert!(found[0] >= 1000 && found[0] < 1064, "{found:?}");
        assert!(window.width() <= 1032 && window.mean() > 0.95);
        assert!(window.is_sound(&settings));
    }

    /// Numbers that change now and then, and are the same everywhere.
    fn numbers(count: usize) -> Vec<f64> {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f64 / (1u64 << 24) as f64
        };
        (0..count).map(|place| next() * (1.0 + (place / 700) as f64 % 3.0)).collect()
    }

    #[test]
    fn many_at_once_make_the_buckets_of_one_after_the_other() {
        for max_buckets in [1, 2, 3, 5, 6, 40] {
            let (mut one, mut many) = (Window::default(), Window::default());
            for (place, x) in numbers(1000).into_iter().enumerate() {
                one.insert(x);
                one.settle(max_buckets);
                many.insert(x);
                if many.waiting.len() == WAITING || place % 71 == 0 {
                    many.settle(max_buckets);
                }
            }
            many.settle(max_buckets);
            assert_eq!(one.lengths, many.lengths);
            let stride = max_buckets + 1;
            for (row, &length) in one.lengths.iter().enumerate() {
                for place in row * stride..row * stride + length {
                    assert_eq!(one.buckets[place].total, many.buckets[place].total);
                    assert_eq!(one.buckets[place].squares, many.buckets[place].squares);
                }
            }
        }
    }

    /// Every cut computed, as the head of the file says.
    fn plain_cut(window: &Window, settings: &Settings) -> bool {
        let (width, least) = (window.width as f64, settings.min_window_length as f64);
        let log = (2.0 * width.ln() / settings.delta).ln();
        let (mut old, mut old_total) = (0.0, 0.0);
        let stride = settings.max_buckets + 1;
        window.lengths.iter().enumerate().rev().any(|(row, &length)| {
            window.buckets[row * stride..row * stride + length].iter().any(|bucket| {
                old += (1u64 << row) as f64;
                old_total += bucket.total;
                let new = width - old;
                let apart = ((window.total - old_total) / new - old_total / old).abs();
                let m = 1.0 / (old - least + 1.0) + 1.0 / (new - least + 1.0);
                let allowed = (2.0 * m * window.variance() * log).sqrt() + 2.0 / 3.0 * m * log;
                old >= least && new >= least && apart > allowed
            })
        })
    }

    #[test]
    fn the_filter_refuses_no_cut() {
        let settings = Settings { delta: 0.05, max_buckets: 5, min_window_length: 5, ..SETTINGS };
        let mut found = 0;
        let mut window = Window::default();
        for x in numbers(6000) {
            window.insert(x);
            window.settle(settings.max_buckets);
            assert_eq!(plain_cut(&window, &settings), window.cut(&settings).is_some(), "{}", window.width);
            found += u32::from(window.shrink(&settings).is_some());
        }
        assert!(found > 8, "{found}");
    }

    #[test]
    fn many_are_one_after_the_other() {
        let settings = Settings { clock: 20, max_buckets: 5, min_window_length: 5, grace_period: 10, ..SETTINGS };
        let numbers = numbers(6000);
        let (mut one, mut many) = (Window::default(), Window::default());
        let mut found = (Vec::new(), Vec::new());
        for (place, &x) in numbers.iter().enumerate() {
            if one.add(x, &settings).is_some() {
                found.0.push(place + 1);
            }
        }
        let mut done = 0;
        while done < numbers.len() {
            let (taken, direction) = many.add_many(&numbers[done..(done + 777).min(numbers.len())], &settings);
            done += taken;
            if direction.is_some() {
                found.1.push(done);
            }
        }
        assert_eq!(found.0, found.1);
        assert!(found.0.len() > 5);
        assert_eq!(crate::state::pack(&one).ok(), crate::state::pack(&many).ok());
    }
}
