//! A quantile of all numbers so far, in bounded memory, with a computed bound on its error.
//!
//! Numbers are collected in a buffer. A full buffer is sorted and compacted: of each pair of neighbours one is
//! kept, with the weight of both, and moves to the buffer of the next level, which is compacted in the same way
//! (Manku, Rajagopalan and Lindsay, 1998). The form used here is that of Karnin, Lang and Liberty (2016), except
//! that it keeps the lower and the higher number alternately instead of at random. A compaction changes the rank
//! of any point by at most the largest weight that it moves. The sum of these changes, divided by the total
//! weight, bounds the difference between the rank of the returned number and q: at most log2(n/1024)/1024, 1 % for
//! a million numbers. Alternation makes the actual error much smaller.
//!
//! The quantile is the smallest number with at least the fraction q of the weight at or below it. It is exact up
//! to 1,024 numbers.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::overflow;
use super::sorted_window::{Question, SortedWindow};
use super::window::Window;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::schema::Schema;
use crate::statistic::Statistic;

const NAME: &str = "stats.Quantile";
/// Numbers in a buffer; even.
pub(super) const CAPACITY: usize = 1024;
/// No stream is long enough to double 1,024 numbers this often.
const LEVELS: usize = 60;

pub static QUANTILE: Declaration = Declaration {
    name: NAME,
    role: Role::Statistic,
    words: "Quantile with a computed bound on its error",
    merge: Merge::none("its summary depends on the order of numbers: use sketch.KLL, which can be merged"),
    parameters: &[Parameter::new(
        "q",
        Kind::Float(Bounds::UNIT),
        DefaultValue::Float(0.5),
        "fraction of numbers at or below the quantile",
    )],
    build: |arguments| {
        Ok(Built::Statistic(Box::new(Quantile { q: arguments.float("q")?, state: State::default() })))
    },
};

#[derive(Clone)]
struct Quantile {
    q: f64,
    state: State,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct State {
    /// (number, weight) by level; sorted above the lowest.
    pub(super) levels: Vec<Vec<(f64, f64)>>,
    pub(super) total: f64,
    /// Bound on the change of a rank.
    moved: f64,
    /// By level: whether the next compaction keeps the higher of each pair.
    higher: Vec<bool>,
    pub(super) lowest: f64,
    pub(super) highest: f64,
}

impl State {
    pub(super) fn push(&mut self, x: f64, w: f64) {
        if self.levels.is_empty() {
            (self.lowest, self.highest) = (x, x);
            self.grow();
        }
        self.lowest = self.lowest.min(x);
        self.highest = self.highest.max(x);
        self.total += w;
        self.levels[0].push((x, w));
        let mut level = 0;
        while self.levels[level].len() >= CAPACITY && level < LEVELS {
            self.compact(level);
            level += 1;
        }
    }

    pub(super) fn get(&self, q: f64) -> f64 {
        if self.levels.is_empty() {
            return f64::NAN;
        }
        if q == 0.0 {
            return self.lowest;
        }
        if q == 1.0 {
            return self.highest;
        }
        self.reach(q, |x| x).unwrap_or(self.highest)
    }

    /// The quantile of a function of the numbers.
    pub(super) fn reach(&self, q: f64, function: impl Fn(f64) -> f64) -> Option<f64> {
        let mut all: Vec<(f64, f64)> = Vec::with_capacity(self.levels.iter().map(Vec::len).sum());
        self.levels.iter().rev().for_each(|level| all.extend(level.iter().map(|&(x, w)| (function(x), w))));
        // A stable sort makes use of the levels that are already sorted.
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let wanted = self.wanted(q);
        let mut below = 0.0;
        for (x, w) in all {
            below += w;
            if below >= wanted {
                return Some(x);
            }
        }
        None
    }

    /// Bound on the difference between the rank of a quantile and its fraction.
    pub(super) fn error(&self) -> f64 {
        if self.total > 0.0 {
            self.moved / self.total
        } else {
            0.0
        }
    }

    pub(super) fn memory(&self) -> usize {
        16 * self.levels.iter().map(Vec::capacity).sum::<usize>() + 32 * self.levels.capacity()
    }

    /// Whether the distance of any two numbers is finite after one more.
    pub(super) fn spans(&self, x: f64) -> bool {
        self.levels.is_empty() || (self.highest.max(x) - self.lowest.min(x)).is_finite()
    }

    /// The weight that must be at or below the quantile, less a tolerance for rounding.
    pub(super) fn wanted(&self, q: f64) -> f64 {
        q * self.total - 1e-12 * self.total
    }

    /// Refuse a state that could not have been saved.
    pub(super) fn check(&self, who: &str) -> Result<()> {
        let good = |&(x, w): &(f64, f64)| x.is_finite() && w.is_finite() && w > 0.0;
        require(who, self.levels.iter().flatten().all(good), "a number is not finite")?;
        let summary = [self.total, self.moved, self.lowest, self.highest];
        require(who, summary.iter().all(|number| number.is_finite()), "a number is not finite")?;
        require(who, self.levels.len() == self.higher.len(), "levels do not match")?;
        require(who, self.levels.len() <= LEVELS + 1, "too many levels")?;
        require(who, self.levels.iter().all(|level| level.len() < CAPACITY), "a buffer is too long")?;
        let ordered = |level: &Vec<(f64, f64)>| level.windows(2).all(|two| two[0].0 <= two[1].0);
        require(who, self.levels.iter().skip(1).all(ordered), "a buffer is out of order")
    }

    fn grow(&mut self) {
        self.levels.push(Vec::new());
        self.higher.push(false);
    }

    fn compact(&mut self, level: usize) {
        if level + 1 == self.levels.len() {
            self.grow();
        }
        let mut full = std::mem::take(&mut self.levels[level]);
        full.sort_by(|a, b| a.0.total_cmp(&b.0));
        let keep = usize::from(self.higher[level]);
        self.higher[level] = !self.higher[level];
        let above = &mut self.levels[level + 1];
        let mut most = 0.0f64;
        for pair in full.chunks_exact(2) {
            above.push((pair[keep].0, pair[0].1 + pair[1].1));
            if pair[0].0 != pair[1].0 {
                most = most.max(pair[1 - keep].1);
            }
        }
        self.moved += most;
        above.sort_by(|a, b| a.0.total_cmp(&b.0));
        let odd = full.len() % 2;
        let last = full[full.len() - odd..].to_vec();
        full.clear();
        full.extend(last);
        self.levels[level] = full;
    }
}

impl Part for Quantile {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        state.check(NAME)?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.state.memory()
    }

    fn inspect(&self, _: &Schema) -> serde_json::Value {
        json!({ "error": self.state.error() })
    }
}

impl Statistic for Quantile {
    fn update(&mut self, x: f64, _y: f64, w: f64) -> Result<()> {
        if w < 0.0 {
            return Err(super::never_told(NAME));
        }
        if self.state.total + w > 1e300 {
            return Err(overflow(NAME));
        }
        self.state.push(x, w);
        Ok(())
    }

    fn get(&self) -> f64 {
        self.state.get(self.q)
    }

    fn reset(&mut self) {
        self.state = State::default();
    }

    fn window(&self) -> Option<Box<dyn Window>> {
        Some(SortedWindow::boxed(Question::Quantile(self.q)))
    }

    fn duplicate(&self) -> Box<dyn Statistic> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // 1, 2, 3, 4 with weights 1, 1, 1, 3: half of 6 is reached at 3, two thirds at 4.
        for (q, expected) in [(0.0, 1.0), (0.5, 3.0), (2.0 / 3.0, 4.0), (1.0, 4.0)] {
            let mut quantile = Quantile { q, state: State::default() };
            for (x, w) in [(3.0, 1.0), (1.0, 1.0), (4.0, 3.0), (2.0, 1.0)] {
                quantile.update(x, 0.0, w).expect("a good number");
            }
            assert_eq!(quantile.get(), expected);
        }
    }

    #[test]
    fn stays_within_its_bound_and_its_memory() {
        let n = 300_000u64;
        for q in [0.01, 0.5, 0.9] {
            let mut quantile = Quantile { q, state: State::default() };
            for i in 0..n {
                let x = (i * 7_919 % n) as f64;
                quantile.update(x, 0.0, 1.0).expect("a good number");
            }
            let bound = quantile.state.moved / quantile.state.total;
            assert!(bound < 0.01);
            assert!((quantile.get() / n as f64 - q).abs() <= bound + 1e-5);
            assert!(quantile.memory() < 500_000);
        }
    }
}
