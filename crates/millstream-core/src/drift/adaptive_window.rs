//! The window of ADWIN (Bifet and Gavaldà, 2007): it grows while the mean is constant, in logarithmic memory.
//!
//! The numbers are in buckets (`exponential_histogram.rs`). At every cut between buckets, the means of the two sides, n₀ and n₁
//! numbers, are compared (theorem 3.2 with the variance, as in section 3.1):
//!
//! ```text
//! ε = √(2 m σ² ln(2 ln(n) / δ)) + ⅔ m ln(2 ln(n) / δ),   m = 1 / (n₀ − L + 1) + 1 / (n₁ − L + 1)
//! ```
//!
//! where L is the minimum length of a side. L is part of m as in all implementations used in publications. While the
//! means at some cut differ by more than ε, the oldest bucket is dropped.
//!
//! A warning is the same test with a larger δ. It drops nothing and lasts until the next check.
//!
//! Two things make it fast. The newest numbers wait, and enter the buckets and the sums in batches. The size of a batch
//! depends on the count alone, so that the state does not depend on the portions in which numbers arrive. And most cuts
//! are ruled out by products alone (`window_cuts.rs`), without division or square root.

use serde::{Deserialize, Serialize};

use super::exponential_histogram::{Bucket, ExponentialHistogram, Lines, BATCH};
use super::window_cuts::{self, Cut, Logarithm, WindowSums};
use super::Direction;

/// The parameters of a window, already validated.
#[derive(Clone, Copy, Debug)]
pub struct AdwinSettings {
    /// Significance level of drift at a check.
    pub significance: f64,
    /// Significance level of warnings; equal to `significance` for no warnings.
    pub warning_significance: f64,
    /// Numbers between checks.
    pub clock: u64,
    /// Maximum number of buckets of each size.
    pub max_buckets: usize,
    /// Minimum count of numbers on each side of a cut.
    pub min_window_length: u64,
    /// Numbers before the first check.
    pub grace_period: u64,
}

impl AdwinSettings {
    #[inline]
    pub fn warns(&self) -> bool {
        self.warning_significance > self.significance
    }
}

/// Numbers beyond this could make the squares overflow.
pub const LARGEST: f64 = 1e100;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub struct AdaptiveWindow {
    buckets: ExponentialHistogram,
    /// Numbers in the window.
    width: u64,
    /// Sum of the numbers in buckets.
    total: f64,
    /// Sum of their squared deviations from their mean.
    squares: f64,
    /// Numbers since the window was started.
    ticks: u64,
    /// The newest numbers, which are not yet in buckets.
    waiting: Vec<f64>,
    /// Sum of the waiting numbers, in order.
    loose: f64,
    /// Direction of the warning of the last check.
    doubt: Option<Direction>,
    /// Tick of the estimated change point, of drift or a warning, at the last cut.
    began: u64,
    /// Tick of the next check; 0 if unknown.
    next: u64,
}

/// The serialized form.
#[derive(Serialize, Deserialize)]
struct Saved {
    buckets: Vec<Bucket>,
    lengths: Vec<usize>,
    width: u64,
    total: f64,
    squares: f64,
    ticks: u64,
    #[serde(default)]
    waiting: Vec<f64>,
    /// Whether the sums are of the numbers in buckets only; otherwise they include the waiting numbers.
    #[serde(default)]
    settled: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    doubt: Option<Doubt>,
}

#[derive(Serialize, Deserialize)]
struct Doubt {
    direction: Direction,
    began: u64,
}

/// Buffers that are reused within a batch.
#[derive(Default)]
struct Buffers {
    lines: Lines,
    log: Logarithm,
}

impl From<Saved> for AdaptiveWindow {
    fn from(saved: Saved) -> Self {
        let Saved { width, mut total, mut squares, .. } = saved;
        if !saved.settled {
            let mut before = width as f64;
            for &x in saved.waiting.iter().rev() {
                before -= 1.0;
                total -= x;
                let apart = before * x - total;
                squares = (squares - apart * apart / (before * (before + 1.0)).max(1.0)).max(0.0);
            }
        }
        AdaptiveWindow {
            buckets: ExponentialHistogram { slots: saved.buckets, lengths: saved.lengths },
            width,
            total,
            squares,
            ticks: saved.ticks,
            loose: saved.waiting.iter().sum(),
            waiting: saved.waiting,
            began: saved.doubt.as_ref().map_or(0, |doubt| doubt.began),
            doubt: saved.doubt.map(|doubt| doubt.direction),
            next: 0,
        }
    }
}

impl From<AdaptiveWindow> for Saved {
    fn from(window: AdaptiveWindow) -> Self {
        let AdaptiveWindow { buckets: ExponentialHistogram { slots: mut buckets, lengths }, .. } = window;
        // The content of empty slots depends on the portions in which numbers arrived.
        let stride = buckets.len() / lengths.len().max(1);
        for (row, &length) in buckets.chunks_exact_mut(stride.max(1)).zip(&lengths) {
            row[length..].fill(Bucket::default());
        }
        Saved {
            buckets,
            lengths,
            width: window.width,
            total: window.total,
            squares: window.squares,
            ticks: window.ticks,
            waiting: window.waiting,
            settled: true,
            doubt: window.doubt.map(|direction| Doubt { direction, began: window.began }),
        }
    }
}

impl AdaptiveWindow {
    /// Count of numbers since the estimated change point of the last cut.
    #[inline]
    pub fn since(&self) -> u64 {
        self.ticks.saturating_sub(self.began)
    }

    /// Direction of the warning of the last check; `since` then counts from its estimated change point.
    #[inline]
    pub fn doubt(&self) -> Option<Direction> {
        self.doubt
    }

    #[inline]
    pub fn width(&self) -> u64 {
        self.width
    }

    /// The mean; 0 if the window is empty.
    #[inline]
    pub fn mean(&self) -> f64 {
        if self.width == 0 {
            0.0
        } else {
            self.total() / self.width as f64
        }
    }

    #[inline]
    pub fn total(&self) -> f64 {
        self.total + self.loose
    }

    /// Variance of the numbers in buckets, without the waiting ones; 0 if there are none.
    pub fn variance(&self) -> f64 {
        match self.width - self.waiting.len() as u64 {
            0 => 0.0,
            settled => self.squares / settled as f64,
        }
    }

    /// Variance of all numbers; 0 if the window is empty.
    pub fn whole_variance(&self) -> f64 {
        match self.waiting.len() as f64 {
            0.0 => self.variance(),
            count => {
                let gained = gained(&self.waiting, self.width as f64 - count, self.total, self.loose);
                (self.squares + gained) / self.width as f64
            }
        }
    }

    /// Empty the window, keeping its memory.
    pub fn clear(&mut self) {
        self.buckets.clear();
        self.waiting.clear();
        (self.width, self.total, self.squares, self.loose) = (0, 0.0, 0.0, 0.0);
        (self.ticks, self.next, self.began, self.doubt) = (0, 0, 0, None);
    }

    /// Add a number of magnitude at most `LARGEST`. If a cut was found and the numbers before it were dropped, return the
    /// direction of the change.
    #[inline]
    pub fn add(&mut self, x: f64, settings: &AdwinSettings) -> Option<Direction> {
        self.loose += x;
        self.width += 1;
        self.ticks += 1;
        self.waiting.push(x);
        if self.waiting.len() == BATCH || self.ticks >= self.next {
            return self.check_or_settle(settings);
        }
        None
    }

    #[inline(never)]
    fn check_or_settle(&mut self, settings: &AdwinSettings) -> Option<Direction> {
        let mut buffers = Buffers::default();
        if self.waiting.len() == BATCH {
            self.settle(settings.max_buckets, &mut buffers);
        }
        if self.ticks < self.next {
            return None;
        }
        self.check(settings, &mut buffers)
    }

    /// `add` numbers up to the first that finds a cut; return their count.
    pub fn add_many(&mut self, numbers: &[f64], settings: &AdwinSettings) -> (usize, Option<Direction>) {
        let mut buffers = Buffers::default();
        let mut done = 0;
        while let Some(rest) = numbers.get(done..).filter(|rest| !rest.is_empty()) {
            let until = self.next.saturating_sub(self.ticks).max(1);
            let space = BATCH - self.waiting.len();
            let now = rest.len().min(space).min(usize::try_from(until).unwrap_or(usize::MAX));
            let some = &rest[..now];
            self.loose = some.iter().fold(self.loose, |sum, x| sum + x);
            self.width += now as u64;
            self.ticks += now as u64;
            done += now;
            if now == BATCH {
                // A full batch enters the buckets directly.
                self.take_in(some, settings.max_buckets, &mut buffers.lines);
            } else {
                self.waiting.extend_from_slice(some);
                if self.waiting.len() == BATCH {
                    self.settle(settings.max_buckets, &mut buffers);
                }
            }
            if self.ticks >= self.next {
                if let Some(direction) = self.check(settings, &mut buffers) {
                    return (done, Some(direction));
                }
            }
        }
        (done, None)
    }

    #[inline]
    fn check(&mut self, settings: &AdwinSettings, buffers: &mut Buffers) -> Option<Direction> {
        let due = self.ticks.is_multiple_of(settings.clock);
        self.next = (self.ticks / settings.clock + 1).saturating_mul(settings.clock);
        if !due || self.width <= settings.grace_period {
            return None;
        }
        self.settle(settings.max_buckets, buffers);
        self.doubt = None;
        match self.cut(settings, &mut buffers.log) {
            None => None,
            Some(cut) => self.follow(cut, settings, &mut buffers.log),
        }
    }

    /// Act on a cut: drop the numbers before it if it is drift, or set a warning.
    #[cold]
    fn follow(&mut self, cut: Cut, settings: &AdwinSettings, log: &mut Logarithm) -> Option<Direction> {
        self.began = self.ticks.saturating_sub(self.estimated_newer_side(settings));
        if !cut.significant {
            self.doubt = Some(cut.direction);
            return None;
        }
        self.drop_oldest(settings.max_buckets);
        while self.cut(settings, log).is_some_and(|cut| cut.significant) {
            self.drop_oldest(settings.max_buckets);
        }
        Some(cut.direction)
    }

    /// Move the waiting numbers into buckets and sums.
    fn settle(&mut self, max_buckets: usize, buffers: &mut Buffers) {
        if !self.waiting.is_empty() {
            let waiting = std::mem::take(&mut self.waiting);
            self.take_in(&waiting, max_buckets, &mut buffers.lines);
            self.waiting = waiting;
            self.waiting.clear();
        }
    }

    /// Add numbers to buckets and sums; their sum is `loose`, and they are already counted in `width`.
    #[inline]
    fn take_in(&mut self, numbers: &[f64], max_buckets: usize, lines: &mut Lines) {
        let (before, sum) = (self.width as f64 - numbers.len() as f64, self.loose);
        self.squares += gained(numbers, before, self.total, sum);
        self.total += sum;
        self.loose = 0.0;
        self.buckets.add(numbers, max_buckets, lines);
    }

    /// See `window_cuts::first`; there must be no waiting numbers.
    #[inline]
    fn cut(&self, settings: &AdwinSettings, log: &mut Logarithm) -> Option<Cut> {
        let sums = WindowSums { width: self.width, total: self.total, squares: self.squares };
        window_cuts::first(&self.buckets, sums, settings, log)
    }

    /// Count of numbers after the cut whose sides differ most for their sizes, which is the most likely position of a
    /// single change. The window after a cut still starts before it, because buckets are dropped as a whole.
    fn estimated_newer_side(&self, settings: &AdwinSettings) -> u64 {
        let (mut old, mut old_total) = (0.0, 0.0);
        let (mut best, mut newer) = (-1.0, self.width);
        for (size, row) in self.buckets.rows(settings.max_buckets + 1) {
            for bucket in row {
                old += size;
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
        let Some((size, oldest)) = self.buckets.drop_oldest(max_buckets) else { return };
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
    }

    /// Whether a window with these settings can have this state.
    pub fn is_sound(&self, settings: &AdwinSettings) -> bool {
        // At most 2⁶⁴ numbers of the largest magnitude: larger sums would overflow with the next number.
        let possible = |total: f64, squares: f64| {
            total.abs() <= 1e20 * LARGEST && (0.0..=1e41 * LARGEST * LARGEST).contains(&squares)
        };
        let width = self.buckets.width(settings.max_buckets);
        // A full batch would have entered the buckets, and counts must not overflow with further numbers.
        self.waiting.len() < BATCH
            && self.width.max(self.ticks) <= u64::MAX / 2
            && width.and_then(|width| width.checked_add(self.waiting.len() as u64)) == Some(self.width)
            && self.waiting.iter().all(|x| x.abs() <= LARGEST)
            && self.buckets.slots.iter().all(|bucket| possible(bucket.total, bucket.squares))
            && possible(self.total, self.squares)
            && self.began <= self.ticks
            && (self.doubt.is_none() || settings.warns())
    }

    pub fn memory(&self) -> usize {
        self.buckets.memory() + self.waiting.capacity() * std::mem::size_of::<f64>()
    }
}

/// Increase of the sum of squared deviations when numbers with sum `sum` join `before` others with sum `total`.
#[inline]
fn gained(numbers: &[f64], before: f64, total: f64, sum: f64) -> f64 {
    let count = numbers.len() as f64;
    let within = deviations(numbers, sum / count);
    // (Σ' / k − Σ / n)² n k / (n + k), with one division; for integers all terms before it are exact.
    let apart = before * sum - count * total;
    within + apart * apart / (before * count * (before + count)).max(1.0)
}

/// The sum of squared deviations from a mean, in four independent sums.
#[inline]
fn deviations(numbers: &[f64], mean: f64) -> f64 {
    let mut sums = [0.0; 4];
    let fours = numbers.chunks_exact(4);
    let rest = fours.remainder().iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    for four in fours {
        for (sum, x) in sums.iter_mut().zip(four) {
            *sum += (x - mean) * (x - mean);
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
pub mod tests {
    use super::*;

    const SETTINGS: AdwinSettings = AdwinSettings {
        significance: 0.002,
        warning_significance: 0.002,
        clock: 1,
        max_buckets: 2,
        min_window_length: 1,
        grace_period: 1,
    };

    fn settled(numbers: &[f64], max_buckets: usize) -> AdaptiveWindow {
        let mut window = AdaptiveWindow::default();
        for &x in numbers {
            (window.width, window.loose) = (window.width + 1, window.loose + x);
            window.waiting.push(x);
        }
        window.settle(max_buckets, &mut Buffers::default());
        window
    }

    fn cut(window: &AdaptiveWindow, settings: &AdwinSettings) -> Option<Cut> {
        window.cut(settings, &mut Logarithm::default())
    }

    #[test]
    fn sums_worked_by_hand() {
        let mut window = settled(&[1.0, 2.0, 3.0, 4.0, 5.0], 2);
        // The mean is 3, the squared deviations 4 + 1 + 0 + 1 + 4.
        assert_eq!((window.mean(), window.squares), (3.0, 10.0));
        // Without the oldest bucket, {1, 2}: 3, 4, 5.
        window.drop_oldest(2);
        assert_eq!((window.width(), window.mean()), (3, 4.0));
        assert!((window.squares - 2.0).abs() < 1e-12);
        assert!(window.is_sound(&SETTINGS));
        // And with 10 and 12, whose mean is 11: 2 + 2 + (11 − 4)² · 3 · 2 / 5.
        window.loose = 22.0;
        window.width += 2;
        window.take_in(&[10.0, 12.0], 2, &mut Lines::default());
        assert!((window.squares - 62.8).abs() < 1e-12);
        assert_eq!(window.total(), 34.0);
    }

    #[test]
    fn sums_that_were_saved_with_those_that_wait() {
        let mut window = AdaptiveWindow::default();
        [4.0, 6.0, 11.0, 2.0].iter().for_each(|&x| assert!(window.add(x, &SETTINGS).is_none()));
        [9.0, 3.0].iter().for_each(|&x| {
            (window.width, window.loose, window.ticks) = (window.width + 1, window.loose + x, window.ticks + 1);
            window.waiting.push(x);
        });
        let mut saved = Saved::from(window.clone());
        // All six: their mean is 35/6, the squared deviations Σx² − (Σx)² / 6.
        (saved.settled, saved.total, saved.squares) = (false, 35.0, 267.0 - 35.0 * 35.0 / 6.0);
        let loaded = AdaptiveWindow::from(saved);
        assert_eq!((loaded.total, loaded.loose), (window.total, window.loose));
        assert!((loaded.squares - window.squares).abs() < 1e-12 && loaded.is_sound(&SETTINGS));
    }

    #[test]
    fn so_many_never_wait() {
        // A full batch would leave no space for more numbers.
        let crafted = |count: usize, ticks: u64| {
            let numbers = vec![0.5; count];
            let (buckets, lengths, total) = (Vec::new(), Vec::new(), 0.0);
            let width = count as u64;
            AdaptiveWindow::from(Saved {
                buckets,
                lengths,
                width,
                total,
                squares: 0.0,
                ticks,
                waiting: numbers,
                settled: true,
                doubt: None,
            })
        };
        assert!(crafted(BATCH - 1, 31).is_sound(&SETTINGS));
        assert!(!crafted(BATCH, 32).is_sound(&SETTINGS));
        assert!(!crafted(BATCH + 1, 33).is_sound(&SETTINGS));
        assert!(!crafted(1, u64::MAX).is_sound(&SETTINGS));
        // A valid window continues.
        let mut window = crafted(BATCH - 1, 31);
        assert_eq!(window.add_many(&[0.5; 100], &SETTINGS), (100, None));
    }

    #[test]
    fn the_rest_after_a_cut_has_no_cut() {
        let mut window = AdaptiveWindow::default();
        let settings =
            AdwinSettings { max_buckets: 5, clock: 32, min_window_length: 5, grace_period: 10, ..SETTINGS };
        let mut found = Vec::new();
        for index in 0..2000u32 {
            let x = f64::from(u8::from(index % 10 == 0 || index >= 1000));
            if window.add(x, &settings) == Some(Direction::Up) {
                found.push(index);
                assert!(cut(&window, &settings).is_none());
            }
        }
        assert!(found[0] >= 1000 && found[0] < 1064, "{found:?}");
        assert!(window.width() <= 1032 && window.mean() > 0.95);
        assert!(window.is_sound(&settings));
    }

    /// Numbers with changes, the same on every platform.
    pub fn numbers(count: usize) -> Vec<f64> {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f64 / (1u64 << 24) as f64
        };
        (0..count).map(|index| next() * (1.0 + (index / 700) as f64 % 3.0)).collect()
    }

    /// Every cut computed by the formula at the top of the file.
    fn plain_cut(window: &AdaptiveWindow, settings: &AdwinSettings, significance: f64) -> bool {
        let (width, least) = (window.width as f64, settings.min_window_length as f64);
        let log = (2.0 * width.ln() / significance).ln();
        let (mut old, mut old_total) = (0.0, 0.0);
        window.buckets.rows(settings.max_buckets + 1).any(|(size, row)| {
            row.iter().any(|bucket| {
                old += size;
                old_total += bucket.total;
                let new = width - old;
                let apart = ((window.total - old_total) / new - old_total / old).abs();
                let m = 1.0 / (old - least + 1.0) + 1.0 / (new - least + 1.0);
                let allowed = (2.0 * m * (window.squares / width) * log).sqrt() + 2.0 / 3.0 * m * log;
                old >= least && new >= least && apart > allowed
            })
        })
    }

    #[test]
    fn the_filter_refuses_no_cut() {
        for warning_significance in [0.05, 0.2] {
            filtered(&AdwinSettings {
                significance: 0.05,
                warning_significance,
                max_buckets: 5,
                min_window_length: 5,
                ..SETTINGS
            });
        }
    }

    fn filtered(settings: &AdwinSettings) {
        let (mut found, mut warned) = (0, 0);
        let (mut window, mut buffers) = (AdaptiveWindow::default(), Buffers::default());
        for x in numbers(6000) {
            (window.width, window.loose) = (window.width + 1, x);
            window.take_in(&[x], settings.max_buckets, &mut buffers.lines);
            let cut = window.cut(settings, &mut buffers.log);
            let significant = cut.is_some_and(|cut| cut.significant);
            assert_eq!(plain_cut(&window, settings, settings.significance), significant, "{}", window.width);
            assert_eq!(
                plain_cut(&window, settings, settings.warning_significance),
                cut.is_some(),
                "{}",
                window.width
            );
            if let Some(cut) = cut {
                window.follow(cut, settings, &mut buffers.log);
                (found, warned) = (found + u32::from(significant), warned + u32::from(!significant));
            }
        }
        assert!(found > 8 && (warned > 20) == settings.warns(), "{found} {warned}");
    }

    #[test]
    fn many_are_one_after_the_other() {
        let settings =
            AdwinSettings { clock: 20, max_buckets: 5, min_window_length: 5, grace_period: 10, ..SETTINGS };
        let numbers = numbers(6000);
        let (mut one, mut many) = (AdaptiveWindow::default(), AdaptiveWindow::default());
        let mut found = (Vec::new(), Vec::new());
        for (index, &x) in numbers.iter().enumerate() {
            if one.add(x, &settings).is_some() {
                found.0.push(index + 1);
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
        assert_eq!(crate::held::state::pack(&one).ok(), crate::held::state::pack(&many).ok());
    }
}
