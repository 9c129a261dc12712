//! The window of ADWIN (Bifet and Gavaldà, 2007): as long as the mean has not changed, in logarithmic memory.
//!
//! The numbers are in buckets (`buckets.rs`). At every cut between buckets, the means of the two sides, n₀ and n₁
//! numbers, are compared (theorem 3.2 with the variance, as in section 3.1):
//!
//! ```text
//! ε = √(2 m σ² ln(2 ln(n) / δ)) + ⅔ m ln(2 ln(n) / δ),   m = 1 / (n₀ − L + 1) + 1 / (n₁ − L + 1)
//! ```
//!
//! where L, the least length of a side, is in m as in all programs that are used to publish results. While some cut
//! has means further apart than ε, the oldest bucket is dropped.
//!
//! A warning is the same with a larger δ: then nothing is dropped, and it holds until the next check.
//!
//! Two things make it quick. The newest numbers wait, and enter the buckets and the sums many at once: how many they are
//! depends on their count alone, so that the same numbers leave the same state in any portions. And most cuts are
//! refused by products alone (`cuts.rs`), without a division and a root.

use serde::{Deserialize, Serialize};

use super::buckets::{Bucket, Buckets, Lines, TOGETHER};
use super::cuts::{self, Cut, Logarithm, Sums};
use super::Direction;

/// What a window is asked to do; checked where it is declared.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The chance of a false alarm at a check.
    pub delta: f64,
    /// The chance of a false alarm that is a warning; `delta` for no warnings.
    pub warning_delta: f64,
    /// Numbers between checks.
    pub clock: u64,
    /// Buckets of each size.
    pub max_buckets: usize,
    /// Numbers that each side of a cut must have.
    pub min_window_length: u64,
    /// Numbers before the first check.
    pub grace_period: u64,
}

impl Settings {
    #[inline]
    pub fn warns(&self) -> bool {
        self.warning_delta > self.delta
    }
}

/// Numbers beyond this could make the squares overflow.
pub const LARGEST: f64 = 1e100;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub struct Window {
    buckets: Buckets,
    /// Numbers in the window.
    width: u64,
    /// Of the numbers in buckets.
    total: f64,
    /// The sum of their squared deviations from their mean.
    squares: f64,
    /// Numbers since it was begun.
    ticks: u64,
    /// The newest numbers, which are not yet in buckets.
    waiting: Vec<f64>,
    /// Their sum, one after the other.
    loose: f64,
    /// Which way the mean may have gone, by the last check.
    doubt: Option<Direction>,
    /// How many ticks there were when the change began, or what may be one, by the last cut.
    began: u64,
    /// There is no check before so many ticks; 0 if that is not known.
    next: u64,
}

/// What is saved.
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
    /// Whether the sums are of the numbers in buckets alone; else they are of those that wait too.
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

/// What is used again and again while many numbers come.
#[derive(Default)]
struct Room {
    lines: Lines,
    log: Logarithm,
}

impl From<Saved> for Window {
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
        Window {
            buckets: Buckets { places: saved.buckets, lengths: saved.lengths },
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

impl From<Window> for Saved {
    fn from(window: Window) -> Self {
        let Window { buckets: Buckets { places: mut buckets, lengths }, .. } = window;
        // What is in places without a bucket depends on the portions in which numbers came.
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

impl Window {
    /// How many numbers are believed to be from after the change that the last cut has brought to light.
    #[inline]
    pub fn since(&self) -> u64 {
        self.ticks.saturating_sub(self.began)
    }

    /// Which way the mean may have gone, by the last check; then `since` tells where that began.
    #[inline]
    pub fn doubt(&self) -> Option<Direction> {
        self.doubt
    }

    #[inline]
    pub fn width(&self) -> u64 {
        self.width
    }

    /// 0 while there is nothing.
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

    /// Of all numbers but the newest few that wait; 0 while there is nothing.
    pub fn variance(&self) -> f64 {
        match self.width - self.waiting.len() as u64 {
            0 => 0.0,
            settled => self.squares / settled as f64,
        }
    }

    /// Of all numbers; 0 while there is nothing.
    pub fn whole_variance(&self) -> f64 {
        match self.waiting.len() as f64 {
            0.0 => self.variance(),
            count => {
                let gained = gained(&self.waiting, self.width as f64 - count, self.total, self.loose);
                (self.squares + gained) / self.width as f64
            }
        }
    }

    /// Begin anew; the memory is kept.
    pub fn clear(&mut self) {
        self.buckets.clear();
        self.waiting.clear();
        (self.width, self.total, self.squares, self.loose) = (0, 0.0, 0.0, 0.0);
        (self.ticks, self.next, self.began, self.doubt) = (0, 0, 0, None);
    }

    /// Add a number of at most `LARGEST` either way; where a cut was found and what is before it dropped, which way the
    /// mean went.
    #[inline]
    pub fn add(&mut self, x: f64, settings: &Settings) -> Option<Direction> {
        self.loose += x;
        self.width += 1;
        self.ticks += 1;
        self.waiting.push(x);
        if self.waiting.len() == TOGETHER || self.ticks >= self.next {
            return self.come_to(settings);
        }
        None
    }

    #[inline(never)]
    fn come_to(&mut self, settings: &Settings) -> Option<Direction> {
        let mut room = Room::default();
        if self.waiting.len() == TOGETHER {
            self.settle(settings.max_buckets, &mut room);
        }
        if self.ticks < self.next {
            return None;
        }
        self.check(settings, &mut room)
    }

    /// `add` with numbers up to the first that finds a cut; gives how many they were.
    pub fn add_many(&mut self, numbers: &[f64], settings: &Settings) -> (usize, Option<Direction>) {
        let mut room = Room::default();
        let mut done = 0;
        while let Some(rest) = numbers.get(done..).filter(|rest| !rest.is_empty()) {
            let until = self.next.saturating_sub(self.ticks).max(1);
            let space = TOGETHER - self.waiting.len();
            let now = rest.len().min(space).min(usize::try_from(until).unwrap_or(usize::MAX));
            let some = &rest[..now];
            self.loose = some.iter().fold(self.loose, |sum, x| sum + x);
            self.width += now as u64;
            self.ticks += now as u64;
            done += now;
            if now == TOGETHER {
                // Nobody waits: they need not either.
                self.take_in(some, settings.max_buckets, &mut room.lines);
            } else {
                self.waiting.extend_from_slice(some);
                if self.waiting.len() == TOGETHER {
                    self.settle(settings.max_buckets, &mut room);
                }
            }
            if self.ticks >= self.next {
                if let Some(direction) = self.check(settings, &mut room) {
                    return (done, Some(direction));
                }
            }
        }
        (done, None)
    }

    #[inline]
    fn check(&mut self, settings: &Settings, room: &mut Room) -> Option<Direction> {
        let due = self.ticks.is_multiple_of(settings.clock);
        self.next = (self.ticks / settings.clock + 1).saturating_mul(settings.clock);
        if !due || self.width <= settings.grace_period {
            return None;
        }
        self.settle(settings.max_buckets, room);
        self.doubt = None;
        match self.cut(settings, &mut room.log) {
            None => None,
            Some(cut) => self.follow(cut, settings, &mut room.log),
        }
    }

    /// A change, after which what is before cuts is dropped, or a warning.
    #[cold]
    fn follow(&mut self, cut: Cut, settings: &Settings, log: &mut Logarithm) -> Option<Direction> {
        self.began = self.ticks.saturating_sub(self.newer_side(settings));
        if !cut.sure {
            self.doubt = Some(cut.direction);
            return None;
        }
        self.drop_oldest(settings.max_buckets);
        while self.cut(settings, log).is_some_and(|cut| cut.sure) {
            self.drop_oldest(settings.max_buckets);
        }
        Some(cut.direction)
    }

    /// Put the numbers that wait into buckets and sums.
    fn settle(&mut self, max_buckets: usize, room: &mut Room) {
        if !self.waiting.is_empty() {
            let waiting = std::mem::take(&mut self.waiting);
            self.take_in(&waiting, max_buckets, &mut room.lines);
            self.waiting = waiting;
            self.waiting.clear();
        }
    }

    /// Put numbers, whose sum is `loose` and which are in the width, into buckets and sums.
    #[inline]
    fn take_in(&mut self, numbers: &[f64], max_buckets: usize, lines: &mut Lines) {
        let (before, sum) = (self.width as f64 - numbers.len() as f64, self.loose);
        self.squares += gained(numbers, before, self.total, sum);
        self.total += sum;
        self.loose = 0.0;
        self.buckets.add(numbers, max_buckets, lines);
    }

    /// See `cuts::first`; nobody waits.
    #[inline]
    fn cut(&self, settings: &Settings, log: &mut Logarithm) -> Option<Cut> {
        let sums = Sums { width: self.width, total: self.total, squares: self.squares };
        cuts::first(&self.buckets, sums, settings, log)
    }

    /// How many numbers are after the cut whose sides differ most for their sizes, which of all cuts is the likeliest
    /// place of one change. The window after a cut still begins before it: large buckets are dropped whole or not.
    fn newer_side(&self, settings: &Settings) -> u64 {
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

    /// Whether a window with these settings could be so.
    pub fn is_sound(&self, settings: &Settings) -> bool {
        // No more than 2⁶⁴ numbers of the largest size: larger sums would overflow with the next number.
        let possible = |total: f64, squares: f64| {
            total.abs() <= 1e20 * LARGEST && (0.0..=1e41 * LARGEST * LARGEST).contains(&squares)
        };
        let width = self.buckets.width(settings.max_buckets);
        // So many would have entered the buckets; and counts that are told more must not overflow.
        self.waiting.len() < TOGETHER
            && self.width.max(self.ticks) <= u64::MAX / 2
            && width.and_then(|width| width.checked_add(self.waiting.len() as u64)) == Some(self.width)
            && self.waiting.iter().all(|x| x.abs() <= LARGEST)
            && self.buckets.places.iter().all(|bucket| possible(bucket.total, bucket.squares))
            && possible(self.total, self.squares)
            && self.began <= self.ticks
            && (self.doubt.is_none() || settings.warns())
    }

    pub fn memory(&self) -> usize {
        self.buckets.memory() + self.waiting.capacity() * std::mem::size_of::<f64>()
    }
}

/// How much the sum of squared deviations grows when numbers with a sum come to `before` others with the sum `total`.
#[inline]
fn gained(numbers: &[f64], before: f64, total: f64, sum: f64) -> f64 {
    let count = numbers.len() as f64;
    let within = deviations(numbers, sum / count);
    // (Σ' / k − Σ / n)² n k / (n + k), with one division; of whole numbers everything before it is exact.
    let apart = before * sum - count * total;
    within + apart * apart / (before * count * (before + count)).max(1.0)
}

/// The sum of squared deviations from a mean, by four sums that do not wait for each other.
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

    const SETTINGS: Settings = Settings {
        delta: 0.002,
        warning_delta: 0.002,
        clock: 1,
        max_buckets: 2,
        min_window_length: 1,
        grace_period: 1,
    };

    fn settled(numbers: &[f64], max_buckets: usize) -> Window {
        let mut window = Window::default();
        for &x in numbers {
            (window.width, window.loose) = (window.width + 1, window.loose + x);
            window.waiting.push(x);
        }
        window.settle(max_buckets, &mut Room::default());
        window
    }

    fn cut(window: &Window, settings: &Settings) -> Option<Cut> {
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
        let mut window = Window::default();
        [4.0, 6.0, 11.0, 2.0].iter().for_each(|&x| assert!(window.add(x, &SETTINGS).is_none()));
        [9.0, 3.0].iter().for_each(|&x| {
            (window.width, window.loose, window.ticks) = (window.width + 1, window.loose + x, window.ticks + 1);
            window.waiting.push(x);
        });
        let mut saved = Saved::from(window.clone());
        // All six: their mean is 35/6, the squared deviations Σx² − (Σx)² / 6.
        (saved.settled, saved.total, saved.squares) = (false, 35.0, 267.0 - 35.0 * 35.0 / 6.0);
        let loaded = Window::from(saved);
        assert_eq!((loaded.total, loaded.loose), (window.total, window.loose));
        assert!((loaded.squares - window.squares).abs() < 1e-12 && loaded.is_sound(&SETTINGS));
    }

    #[test]
    fn so_many_never_wait() {
        // With no space left nothing more could be taken.
        let crafted = |count: usize, ticks: u64| {
            let numbers = vec![0.5; count];
            let (buckets, lengths, total) = (Vec::new(), Vec::new(), 0.0);
            let width = count as u64;
            Window::from(Saved {
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
        assert!(crafted(TOGETHER - 1, 31).is_sound(&SETTINGS));
        assert!(!crafted(TOGETHER, 32).is_sound(&SETTINGS));
        assert!(!crafted(TOGETHER + 1, 33).is_sound(&SETTINGS));
        assert!(!crafted(1, u64::MAX).is_sound(&SETTINGS));
        // One that is refused in no way goes on.
        let mut window = crafted(TOGETHER - 1, 31);
        assert_eq!(window.add_many(&[0.5; 100], &SETTINGS), (100, None));
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
                assert!(cut(&window, &settings).is_none());
            }
        }
        assert!(found[0] >= 1000 && found[0] < 1064, "{found:?}");
        assert!(window.width() <= 1032 && window.mean() > 0.95);
        assert!(window.is_sound(&settings));
    }

    /// Numbers that change now and then, and are the same everywhere.
    pub fn numbers(count: usize) -> Vec<f64> {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f64 / (1u64 << 24) as f64
        };
        (0..count).map(|place| next() * (1.0 + (place / 700) as f64 % 3.0)).collect()
    }

    /// Every cut computed, as the head of the file says.
    fn plain_cut(window: &Window, settings: &Settings, delta: f64) -> bool {
        let (width, least) = (window.width as f64, settings.min_window_length as f64);
        let log = (2.0 * width.ln() / delta).ln();
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
        for warning_delta in [0.05, 0.2] {
            filtered(&Settings { delta: 0.05, warning_delta, max_buckets: 5, min_window_length: 5, ..SETTINGS });
        }
    }

    fn filtered(settings: &Settings) {
        let (mut found, mut warned) = (0, 0);
        let (mut window, mut room) = (Window::default(), Room::default());
        for x in numbers(6000) {
            (window.width, window.loose) = (window.width + 1, x);
            window.take_in(&[x], settings.max_buckets, &mut room.lines);
            let cut = window.cut(settings, &mut room.log);
            let sure = cut.is_some_and(|cut| cut.sure);
            assert_eq!(plain_cut(&window, settings, settings.delta), sure, "{}", window.width);
            assert_eq!(plain_cut(&window, settings, settings.warning_delta), cut.is_some(), "{}", window.width);
            if let Some(cut) = cut {
                window.follow(cut, settings, &mut room.log);
                (found, warned) = (found + u32::from(sure), warned + u32::from(!sure));
            }
        }
        assert!(found > 8 && (warned > 20) == settings.warns(), "{found} {warned}");
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
        assert_eq!(crate::held::state::pack(&one).ok(), crate::held::state::pack(&many).ok());
    }
}
