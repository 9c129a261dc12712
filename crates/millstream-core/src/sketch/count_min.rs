//! The count-min sketch (Cormode and Muthukrishnan, 2005, "An improved data stream summary: the count-min sketch and its
//! applications", Journal of Algorithms 55(1)).
//!
//! ⌈ln 1/δ⌉ rows of ⌈e/ε⌉ counters. A key adds its weight to one counter of each row, and its estimate is the smallest of
//! these counters: never below the truth, and above it by more than ε N with probability δ at most (theorem 1). With
//! `conservative` only counters below the new estimate are raised, to it (Estan and Varghese, 2002): the estimates are
//! closer, but such sketches cannot be merged.

use serde::{Deserialize, Serialize};

use super::role::{ErrorBound, Items, Question};
use super::summary::{built, unsupported, Summary};
use super::{check_memory, slot, MAX_ROWS, MISSING, SEED};
use crate::declaration::{Declaration, Role};
use crate::fault::{Fault, Result};
use crate::key::Key;
use crate::merging::{unless_conservative, Merge};
use crate::numeric::elementary::ln;
use crate::parameter::{Bounds, Default, Kind, Parameter};

const NAME: &str = "sketch.CountMin";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Sketch,
    words: "The weight of each key, never too low",
    merge: Merge::EXACT.or(unless_conservative),
    parameters: &[
        Parameter::new(
            "epsilon",
            Kind::Float(Bounds::new(1e-6, true, 1.0, false)),
            Default::Float(0.001),
            "an estimate exceeds the weight of its key by at most this fraction of the total weight",
        ),
        Parameter::new(
            "delta",
            Kind::Float(Bounds::new(1e-12, true, 1.0, false)),
            Default::Float(0.01),
            "probability that an estimate exceeds the bound",
        ),
        Parameter::new(
            "conservative",
            Kind::Boolean,
            Default::Boolean(false),
            "raise only the counters that are too low; closer estimates, but no merge",
        ),
        SEED,
        MISSING,
    ],
    build: |arguments| {
        let (epsilon, delta) = (arguments.float("epsilon")?, arguments.float("delta")?);
        let width = (std::f64::consts::E / epsilon).ceil() as usize;
        let depth = ((-ln(delta)).ceil() as usize).clamp(1, MAX_ROWS);
        check_memory(arguments, 8.0 * (width * depth) as f64)?;
        let (seed, conservative) = (arguments.integer("seed")? as u64, arguments.boolean("conservative")?);
        built(
            arguments,
            CountMin { seed, conservative, epsilon, delta, width, counters: vec![0.0; width * depth] },
        )
    },
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct CountMin {
    seed: u64,
    conservative: bool,
    epsilon: f64,
    delta: f64,
    width: usize,
    /// Row after row.
    counters: Vec<f64>,
}

impl CountMin {
    #[inline(always)]
    fn add_hash(&mut self, hash: u64, w: f64) {
        if self.conservative {
            let raised = self.estimate(hash) + w;
            for (row, counters) in self.counters.chunks_exact_mut(self.width).enumerate() {
                let counter = &mut counters[slot(hash, row, self.width)];
                *counter = counter.max(raised);
            }
        } else {
            for (row, counters) in self.counters.chunks_exact_mut(self.width).enumerate() {
                counters[slot(hash, row, self.width)] += w;
            }
        }
    }

    fn estimate(&self, hash: u64) -> f64 {
        let rows = self.counters.chunks_exact(self.width).enumerate();
        rows.map(|(row, counters)| counters[slot(hash, row, self.width)]).fold(f64::INFINITY, f64::min)
    }
}

impl Summary for CountMin {
    const NAME: &'static str = NAME;
    const ITEMS: Items = Items::Keys;

    fn is_valid(&self, built: &Self) -> bool {
        let settings = |sketch: &Self| (sketch.seed, sketch.conservative, sketch.width, sketch.counters.len());
        settings(self) == settings(built)
            && (self.epsilon, self.delta) == (built.epsilon, built.delta)
            && self.counters.iter().all(|counter| (0.0..f64::INFINITY).contains(counter))
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + 8 * self.counters.capacity()
    }

    #[inline]
    fn add_key(&mut self, key: Key<'_>, w: f64) {
        self.add_hash(key.hash(self.seed), w);
    }

    fn add_integers(&mut self, keys: &[i64]) {
        if self.conservative {
            keys.iter().for_each(|&key| self.add_key(Key::Int(key), 1.0));
            return;
        }
        // Row by row over hashes of a few keys: one row of counters stays in the fastest cache.
        let mut hashes = [0; 512];
        for keys in keys.chunks(hashes.len()) {
            let hashes = &mut hashes[..keys.len()];
            for (hash, &key) in hashes.iter_mut().zip(keys) {
                *hash = Key::Int(key).hash(self.seed);
            }
            for (row, counters) in self.counters.chunks_exact_mut(self.width).enumerate() {
                hashes.iter().for_each(|&hash| counters[slot(hash, row, self.width)] += 1.0);
            }
        }
    }

    fn merge(&mut self, other: &Self) -> Result<()> {
        if self.conservative {
            return Err(Fault::value("with conservative=True, sketches cannot be merged; use conservative=False"));
        }
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

    fn error_bound(&self, total: f64) -> ErrorBound {
        ErrorBound::new("weight", self.epsilon * total, 1.0 - self.delta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(width: usize, depth: usize, conservative: bool) -> CountMin {
        CountMin { seed: 1, conservative, epsilon: 0.1, delta: 0.1, width, counters: vec![0.0; width * depth] }
    }

    #[test]
    fn two_rows_by_hand() {
        // Rows of 2 counters: keys that share a counter in one row add up there, and the smaller counter counts.
        let mut sketch = sketch(2, 2, false);
        let hashes: [u64; 3] = [0, 1 << 63, 0x1234_5678_9abc_def0];
        for (hash, w) in hashes.into_iter().zip([1.0, 2.0, 4.0]) {
            sketch.add_hash(hash, w);
        }
        // Odd factors keep the highest bit: hash 0 has slot 0 and hash 2⁶³ slot 1 in each row. The third has some slots.
        let third = [0, 1].map(|row| slot(hashes[2], row, 2));
        for row in 0..2 {
            let mut wanted = [1.0, 2.0];
            wanted[third[row]] += 4.0;
            assert_eq!(sketch.counters[2 * row..2 * row + 2], wanted);
        }
        let first = [0, 1].map(|row| sketch.counters[2 * row]);
        assert_eq!(sketch.estimate(0), first[0].min(first[1]));
    }

    #[test]
    fn conservative_estimates_are_closer_and_never_low() {
        let (mut plain, mut careful) = (sketch(64, 3, false), sketch(64, 3, true));
        for key in 0..3000i64 {
            for sketch in [&mut plain, &mut careful] {
                sketch.add_key(Key::Int(key % 500), 1.0);
            }
        }
        let excess = |sketch: &CountMin| -> f64 {
            let excesses = (0..500).map(|key| sketch.estimate(Key::Int(key).hash(1)) - 6.0);
            excesses.inspect(|&excess| assert!(excess >= 0.0)).sum()
        };
        assert!(excess(&careful) < 0.8 * excess(&plain));
        assert!(careful.clone().merge(&careful).is_err());
        let mut many = sketch(64, 3, false);
        many.add_integers(&(0..3000).map(|key| key % 500).collect::<Vec<_>>());
        assert_eq!(many, plain);
    }
}
