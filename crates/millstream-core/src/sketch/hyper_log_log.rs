//! HyperLogLog: the number of distinct keys in 2^precision bytes (Flajolet et al., 2007, AofA), with the estimator of
//! Ertl (2017, "New cardinality estimation algorithms for HyperLogLog sketches", arXiv 1702.01284, algorithm 6).
//!
//! The first `precision` bits of a key's hash select a register, which keeps the largest number of leading zeros of the
//! other bits, plus one. Ertl's estimator needs no table of biases, and is unbiased from 0 to the range of the hash.

use serde::{Deserialize, Serialize};

use super::role::{ErrorBound, Items, Question};
use super::summary::{built, unsupported, Summary};
use super::{MISSING, SEED};
use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::key::Key;
use crate::merging::Merge;
use crate::parameter::{Default, Kind, Parameter};

const NAME: &str = "sketch.HyperLogLog";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Sketch,
    words: "The number of distinct keys, in a few kilobytes",
    merge: Merge::EXACT,
    parameters: &[
        Parameter::new(
            "precision",
            Kind::Integer { low: 4, high: 18 },
            Default::Integer(12),
            "binary logarithm of the number of registers; the relative error is 1.04 / 2^(precision/2)",
        ),
        SEED,
        MISSING,
    ],
    build: |arguments| {
        let (precision, seed) = (arguments.integer("precision")? as u32, arguments.integer("seed")? as u64);
        built(arguments, HyperLogLog { seed, registers: vec![0; 1 << precision] })
    },
};

#[derive(Clone, Serialize, Deserialize)]
struct HyperLogLog {
    seed: u64,
    #[serde(with = "serde_bytes")]
    registers: Vec<u8>,
}

impl HyperLogLog {
    fn precision(&self) -> u32 {
        self.registers.len().ilog2()
    }

    #[inline(always)]
    fn add_hash(&mut self, hash: u64, precision: u32) {
        // A bit after the last one stops the count of zeros.
        let rank = ((hash << precision) | (1 << (precision - 1))).leading_zeros() as u8 + 1;
        let register = &mut self.registers[(hash >> (64 - precision)) as usize];
        *register = rank.max(*register);
    }

    fn estimate(&self) -> f64 {
        let m = self.registers.len() as f64;
        let bits = 64 - self.precision() as usize;
        let mut counts = [0u32; 66];
        self.registers.iter().for_each(|&rank| counts[usize::from(rank)] += 1);
        let mut z = m * tau(1.0 - f64::from(counts[bits + 1]) / m);
        for &count in counts[1..=bits].iter().rev() {
            z = 0.5 * (z + f64::from(count));
        }
        z += m * sigma(f64::from(counts[0]) / m);
        m * m / (2.0 * std::f64::consts::LN_2 * z)
    }
}

/// Ertl's equation 13: x + Σ x^(2^k) 2^(k-1).
fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

/// Ertl's equation 16: (1 - x - Σ (1 - x^(2^-k))² 2^-k) / 3.
fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if z == before {
            return z / 3.0;
        }
    }
}

impl Summary for HyperLogLog {
    const NAME: &'static str = NAME;
    const ITEMS: Items = Items::Keys;

    fn is_valid(&self, built: &Self) -> bool {
        let most = 65 - built.precision() as u8;
        self.seed == built.seed
            && self.registers.len() == built.registers.len()
            && self.registers.iter().all(|&rank| rank <= most)
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.registers.capacity()
    }

    #[inline]
    fn add_key(&mut self, key: Key<'_>, _w: f64) {
        self.add_hash(key.hash(self.seed), self.precision());
    }

    fn add_integers(&mut self, keys: &[i64]) {
        let (seed, precision) = (self.seed, self.precision());
        keys.iter().for_each(|&key| self.add_hash(Key::Int(key).hash(seed), precision));
    }

    fn merge(&mut self, other: &Self) -> Result<()> {
        for (ours, &theirs) in self.registers.iter_mut().zip(&other.registers) {
            *ours = theirs.max(*ours);
        }
        Ok(())
    }

    /// A key that is in both counts once.
    fn merge_base(&mut self, _base: &Self) -> Result<()> {
        Ok(())
    }

    fn answer(&self, question: Question<'_>) -> Result<f64> {
        match question {
            Question::Distinct => Ok(self.estimate()),
            _ => Err(unsupported()),
        }
    }

    fn error_bound(&self, _total: f64) -> ErrorBound {
        // Twice the standard deviation of a nearly normal estimate.
        ErrorBound::new("relative count", 2.0 * 1.04 / (self.registers.len() as f64).sqrt(), 0.95)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(precision: u32) -> HyperLogLog {
        HyperLogLog { seed: 0, registers: vec![0; 1 << precision] }
    }

    #[test]
    fn registers_by_hand() {
        // Precision 4: 0x3 selects register 3; of the bits 0001… the first one is the fourth.
        let mut hll = sketch(4);
        hll.add_hash(0x3100_0000_0000_0000, 4);
        assert_eq!(hll.registers[3], 4);
        // A smaller rank changes nothing; 60 zeros have rank 61.
        hll.add_hash(0x3f00_0000_0000_0000, 4);
        hll.add_hash(0xf000_0000_0000_0000, 4);
        assert_eq!((hll.registers[3], hll.registers[15]), (4, 61));
        assert_eq!(sketch(4).estimate(), 0.0);
    }

    #[test]
    fn estimates_have_their_standard_error() {
        // Relative errors over 200 sketches of precision 10: 1.04 / 32 = 0.0325, here within a tenth, without bias.
        for n in [10u64, 300, 3000, 40_000] {
            let (mut squares, mut sum) = (0.0, 0.0);
            for run in 0..200 {
                let mut hll = sketch(10);
                (0..n).for_each(|key| hll.add_key(Key::Int((run * n + key) as i64), 1.0));
                let error = hll.estimate() / n as f64 - 1.0;
                squares += error * error / 200.0;
                sum += error / 200.0;
            }
            assert!(squares.sqrt() < 0.0325 * 1.1 && sum.abs() < 0.01, "{n}: {} {sum}", squares.sqrt());
        }
    }
}
