//! The count sketch (Charikar, Chen and Farach-Colton, 2002, "Finding frequent items in data streams", ICALP).
//!
//! A key adds its weight, with a random sign, to one counter of each row; its estimate is the median of these counters
//! with the signs taken back. Weights may be negative. The error is measured by the Euclidean norm of all weights, which
//! is much smaller than their sum if few keys are frequent. With ⌈6/ε²⌉ counters, one row fails to be within ε ‖f‖ with
//! probability 1/6 at most (Chebyshev), and the number of rows is the smallest odd one for which half of them fail with
//! probability δ at most.

use serde::{Deserialize, Serialize};

use super::role::{ErrorBound, Items, Question};
use super::summary::{built, unsupported, Summary};
use super::{check_memory, slot, MAX_ROWS, MISSING, SEED};
use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::key::Key;
use crate::merging::Merge;
use crate::parameter::{Bounds, Default, Kind, Parameter};

const NAME: &str = "sketch.CountSketch";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Sketch,
    words: "The weight of each key, with negative weights",
    merge: Merge::EXACT,
    parameters: &[
        Parameter::new(
            "epsilon",
            Kind::Float(Bounds::new(1e-3, true, 1.0, false)),
            Default::Float(0.05),
            "an estimate is wrong by at most this fraction of the Euclidean norm of all weights",
        ),
        Parameter::new(
            "delta",
            Kind::Float(Bounds::new(1e-9, true, 1.0, false)),
            Default::Float(0.01),
            "probability that an estimate exceeds the bound",
        ),
        SEED,
        MISSING,
    ],
    build: |arguments| {
        let (epsilon, delta) = (arguments.float("epsilon")?, arguments.float("delta")?);
        let width = (6.0 / (epsilon * epsilon)).ceil() as usize;
        let depth = (1..MAX_ROWS).step_by(2).find(|&rows| majority_fails(rows) <= delta).unwrap_or(MAX_ROWS - 1);
        check_memory(arguments, 8.0 * (width * depth) as f64)?;
        let seed = arguments.integer("seed")? as u64;
        built(arguments, CountSketch { seed, epsilon, delta, width, counters: vec![0.0; width * depth] })
    },
};

/// The probability that more than half of an odd number of rows fail, if each does with probability 1/6.
fn majority_fails(rows: usize) -> f64 {
    let term = |failed: usize| {
        let choices = (0..failed).map(|i| (rows - i) as f64 / (i + 1) as f64).product::<f64>();
        choices * 5.0f64.powi((rows - failed) as i32) / 6.0f64.powi(rows as i32)
    };
    (rows / 2 + 1..=rows).map(term).sum()
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct CountSketch {
    seed: u64,
    epsilon: f64,
    delta: f64,
    width: usize,
    /// Row after row.
    counters: Vec<f64>,
}

/// 1 or -1 for a hash in a row: a bit that `slot` does not depend on, as it uses the highest bits of a product.
#[inline(always)]
fn sign(hash: u64, row: usize) -> f64 {
    match (hash.wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(row as u32 + 1)) & 1 {
        0 => 1.0,
        _ => -1.0,
    }
}

impl CountSketch {
    fn depth(&self) -> usize {
        self.counters.len() / self.width
    }

    #[inline(always)]
    fn add_hash(&mut self, hash: u64, w: f64) {
        for (row, counters) in self.counters.chunks_exact_mut(self.width).enumerate() {
            counters[slot(hash, row, self.width)] += sign(hash, row) * w;
        }
    }

    fn estimate(&self, hash: u64) -> f64 {
        let mut estimates = [0.0; MAX_ROWS];
        for (row, counters) in self.counters.chunks_exact(self.width).enumerate() {
            estimates[row] = sign(hash, row) * counters[slot(hash, row, self.width)];
        }
        // Adding 0 turns -0 into 0.
        median(&mut estimates[..self.depth()]) + 0.0
    }

    /// An estimate of the Euclidean norm of all weights.
    fn norm(&self) -> f64 {
        let mut squares = [0.0; MAX_ROWS];
        for (square, counters) in squares.iter_mut().zip(self.counters.chunks_exact(self.width)) {
            *square = counters.iter().map(|counter| counter * counter).sum();
        }
        median(&mut squares[..self.depth()]).sqrt()
    }
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

impl Summary for CountSketch {
    const NAME: &'static str = NAME;
    const ITEMS: Items = Items::Keys;
    const SIGNED: bool = true;
    const MAX_TOTAL: f64 = 1e150;

    fn is_valid(&self, built: &Self) -> bool {
        (self.seed, self.width, self.counters.len()) == (built.seed, built.width, built.counters.len())
            && (self.epsilon, self.delta) == (built.epsilon, built.delta)
            && self.counters.iter().all(|counter| counter.abs() <= Self::MAX_TOTAL)
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + 8 * self.counters.capacity()
    }

    fn add_key(&mut self, key: Key<'_>, w: f64) {
        self.add_hash(key.hash(self.seed), w);
    }

    fn merge(&mut self, other: &Self) -> Result<()> {
        for (ours, &theirs) in self.counters.iter_mut().zip(&other.counters) {
            *ours += theirs;
        }
        Ok(())
    }

    fn merge_base(&mut self, base: &Self) -> Result<()> {
        for (ours, &base) in self.counters.iter_mut().zip(&base.counters) {
            *ours -= base;
        }
        Ok(())
    }

    fn answer(&self, question: Question<'_>) -> Result<f64> {
        match question {
            Question::Weight(key) => Ok(self.estimate(key.hash(self.seed))),
            _ => Err(unsupported()),
        }
    }

    fn error_bound(&self, _total: f64) -> ErrorBound {
        ErrorBound::new("weight", self.epsilon * self.norm(), 1.0 - self.delta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_alone_is_exact_and_can_be_removed() {
        let mut sketch = CountSketch { seed: 0, epsilon: 0.1, delta: 0.1, width: 600, counters: vec![0.0; 3000] };
        sketch.add_key(Key::Text("a"), 3.0);
        sketch.add_key(Key::Text("a"), -5.0);
        assert_eq!(sketch.estimate(Key::Text("a").hash(0)), -2.0);
        assert_eq!(sketch.norm(), 2.0);
        sketch.add_key(Key::Text("a"), 2.0);
        assert!(sketch.counters.iter().all(|&counter| counter == 0.0));
    }

    #[test]
    fn rows_by_hand() {
        // One row fails with probability 1/6; of three, two or three: 3 · 5/216 + 1/216 = 16/216.
        assert!((majority_fails(1) - 1.0 / 6.0).abs() < 1e-15);
        assert!((majority_fails(3) - 16.0 / 216.0).abs() < 1e-15);
    }

    #[test]
    fn errors_are_within_the_bound() {
        // ε = 0.1 of the norm, 9 rows: fewer than 1 % of the keys may exceed it.
        let mut sketch = CountSketch { seed: 3, epsilon: 0.1, delta: 0.01, width: 600, counters: vec![0.0; 5400] };
        let weight = |key: i64| (1000 / (key + 1)) as f64 * if key % 2 == 0 { 1.0 } else { -1.0 };
        (0..5000).for_each(|key| sketch.add_key(Key::Int(key), weight(key)));
        let norm = (0..5000).map(|key| weight(key).powi(2)).sum::<f64>().sqrt();
        assert!((sketch.norm() / norm - 1.0).abs() < 0.1);
        let beyond = |&key: &i64| (sketch.estimate(Key::Int(key).hash(3)) - weight(key)).abs() > 0.1 * norm;
        assert!((0..5000).filter(beyond).count() < 50);
    }
}
