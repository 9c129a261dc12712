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

use serde::{Deserialize, Serialize};

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
}

impl Window {
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
        (self.width, self.total, self.squares, self.ticks) = (0, 0.0, 0.0, 0);
    }

    /// Add a number of at most `LARGEST` either way; where a cut was found and what is before it dropped, which way the
    /// mean went.
    #[inline]
    pub fn add(&mut self, x: f64, settings: &Settings) -> Option<Direction> {
        self.insert(x, settings.max_buckets);
        self.ticks += 1;
        if !self.ticks.is_multiple_of(settings.clock) || self.width <= settings.grace_period {
            return None;
        }
        self.shrink(settings)
    }

    #[inline]
    fn insert(&mut self, x: f64, max_buckets: usize) {
        let before = self.width as f64;
        self.width += 1;
        if before > 0.0 {
            let apart = x - self.total / before;
            self.squares += before * apart * apart / (before + 1.0);
        }
        self.total += x;
        self.push(0, Bucket { total: x, squares: 0.0 }, max_buckets);
    }

    /// Put a bucket at the end of a row; where that is one too many, the two oldest go to the next row as one.
    fn push(&mut self, row: usize, bucket: Bucket, max_buckets: usize) {
        let stride = max_buckets + 1;
        let (mut row, mut bucket) = (row, bucket);
        loop {
            if row == self.lengths.len() {
                self.lengths.push(0);
                self.buckets.resize(self.lengths.len() * stride, Bucket::default());
            }
            let length = self.lengths[row];
            let buckets = &mut self.buckets[row * stride..(row + 1) * stride];
            buckets[length] = bucket;
            if length < max_buckets {
                self.lengths[row] = length + 1;
                return;
            }
            let (first, second) = (buckets[0], buckets[1]);
            buckets.copy_within(2.., 0);
            self.lengths[row] = length - 1;
            let size = (1u64 << row) as f64;
            let apart = (first.total - second.total) / size;
            bucket = Bucket {
                total: first.total + second.total,
                squares: first.squares + second.squares + 0.5 * size * apart * apart,
            };
            row += 1;
        }
    }

    fn shrink(&mut self, settings: &Settings) -> Option<Direction> {
        let mut found = None;
        while let Some(direction) = self.cut(settings) {
            found = found.or(Some(direction));
            self.drop_oldest(settings.max_buckets);
        }
        found
    }

    /// The first cut, from the oldest on, whose sides have means too far apart.
    fn cut(&self, settings: &Settings) -> Option<Direction> {
        let stride = settings.max_buckets + 1;
        let least = settings.min_window_length;
        let width = self.width as f64;
        let log = (2.0 * width.ln() / settings.delta).ln();
        let spread = 2.0 * log * self.squares / width;
        let (mut old, mut old_total) = (0u64, 0.0);
        for (row, &length) in self.lengths.iter().enumerate().rev() {
            for bucket in &self.buckets[row * stride..row * stride + length] {
                old += 1 << row;
                old_total += bucket.total;
                let new = self.width - old;
                if new < least || new == 0 {
                    return None;
                }
                if old < least {
                    continue;
                }
                let apart = (self.total - old_total) / new as f64 - old_total / old as f64;
                let m = 1.0 / (old - least + 1) as f64 + 1.0 / (new - least + 1) as f64;
                // |apart| > √(spread m) + ⅔ m log, without the root.
                let rest = apart.abs() - 2.0 / 3.0 * m * log;
                if rest > 0.0 && rest * rest > spread * m {
                    return Some(if apart > 0.0 { Direction::Up } else { Direction::Down });
                }
            }
        }
        None
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
        let width = self.lengths.iter().enumerate().try_fold(0u64, |sum, (row, &length)| {
            let numbers = 1u64.checked_shl(row as u32)?.checked_mul(length as u64)?;
            sum.checked_add(numbers)
        });
        self.lengths.len() <= 60
            && self.buckets.len() == self.lengths.len() * stride
            && self.lengths.iter().all(|&length| length <= settings.max_buckets)
            && self.lengths.last() != Some(&0)
            && width == Some(self.width)
            && self
                .buckets
                .iter()
                .all(|bucket| bucket.total.is_finite() && (0.0..f64::MAX).contains(&bucket.squares))
            && self.total.is_finite()
            && (0.0..f64::MAX).contains(&self.squares)
    }

    pub fn memory(&self) -> usize {
        self.buckets.capacity() * std::mem::size_of::<Bucket>()
            + self.lengths.capacity() * std::mem::size_of::<usize>()
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
            window.insert(x, 2);
        }
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
}
