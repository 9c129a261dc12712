//! The entropy of the distribution of values, −Σ p ln p, in nats.
//!
//! With a fading factor α below 1, all counts are multiplied by α before each value is counted, and p is a fraction of
//! these counts (Sovdat, 2014, section 4). Instead of shrinking all counts, each new one is larger by 1/α; the counts are
//! scaled back before they overflow.

use serde::{Deserialize, Serialize};

use super::never_told;
use super::value_counts::ValueCounts;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::merging::{unless_fading, Merge};
use crate::numeric::elementary::ln;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::statistic::Statistic;

const NAME: &str = "stats.Entropy";
/// Counts are scaled back when a new one would weigh more.
const HEAVIEST: f64 = 1e150;

pub static ENTROPY: Declaration = Declaration {
    name: NAME,
    role: Role::Statistic,
    words: "Entropy of the distribution of values",
    merge: Merge::EXACT.or(unless_fading),
    parameters: &[Parameter::new(
        "fading_factor",
        Kind::Float(Bounds::FRACTION),
        DefaultValue::Float(1.0),
        "factor of all counts at each value; 1 forgets nothing",
    )],
    build: |arguments| {
        let factor = arguments.float("fading_factor")?;
        Ok(Built::Statistic(Box::new(Entropy { factor, unit: 1.0, counts: ValueCounts::default() })))
    },
};

#[derive(Clone)]
struct Entropy {
    factor: f64,
    /// The weight of the next value of weight 1.
    unit: f64,
    counts: ValueCounts<1>,
}

#[derive(Serialize, Deserialize)]
struct State {
    unit: f64,
    counts: Vec<([f64; 1], f64)>,
}

impl Part for Entropy {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State { unit: self.unit, counts: self.counts.entries().to_vec() })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        require(NAME, (1.0..=HEAVIEST).contains(&state.unit), "a unit is out of range")?;
        self.counts = ValueCounts::load(NAME, state.counts)?;
        self.unit = state.unit;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.counts.memory()
    }
}

impl Statistic for Entropy {
    fn update(&mut self, x: f64, _y: f64, w: f64) -> Result<()> {
        if w < 0.0 {
            return Err(never_told(NAME));
        }
        self.counts.add(NAME, [x], self.unit * w)?;
        self.unit /= self.factor;
        if self.unit > HEAVIEST {
            self.counts.scale(1.0 / self.unit);
            self.unit = 1.0;
        }
        Ok(())
    }

    fn get(&self) -> f64 {
        let total: f64 = self.counts.entries().iter().map(|entry| entry.1).sum();
        if total <= 0.0 {
            return f64::NAN;
        }
        let fractions = self.counts.entries().iter().map(|entry| entry.1 / total);
        -fractions.filter(|&p| p > 0.0).map(|p| p * ln(p)).sum::<f64>() + 0.0
    }

    fn is_nominal(&self) -> bool {
        true
    }

    fn recode(&mut self, code: &mut dyn FnMut(f64) -> f64) {
        self.counts.recode(code);
    }

    fn reset(&mut self) {
        (self.unit, self.counts) = (1.0, ValueCounts::default());
    }

    fn merge(&mut self, other: &[u8]) -> Result<()> {
        if self.factor < 1.0 {
            return Err(Fault::value("cannot be merged: use fading_factor=1"));
        }
        let mut theirs = self.clone();
        theirs.load(other)?;
        let mut next = self.counts.clone();
        theirs.counts.entries().iter().try_for_each(|&(x, w)| next.add(NAME, x, w))?;
        self.counts = next;
        Ok(())
    }

    fn merge_base(&mut self, base: &[u8]) -> Result<()> {
        let mut base_twin = self.clone();
        base_twin.load(base)?;
        self.counts.subtract(NAME, &base_twin.counts)
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
        // 7, 7, 9: p = ⅔ and ⅓. With α = ½ the counts are ½² + ½ = ¾ and 1: p = 3/7 and 4/7.
        let expected = |p: f64, q: f64| -p * p.ln() - q * q.ln();
        for (factor, entropy) in [(1.0, expected(2.0 / 3.0, 1.0 / 3.0)), (0.5, expected(3.0 / 7.0, 4.0 / 7.0))] {
            let mut statistic = Entropy { factor, unit: 1.0, counts: ValueCounts::default() };
            for x in [7.0, 7.0, 9.0] {
                statistic.update(x, 0.0, 1.0).expect("a good number");
            }
            assert!((statistic.get() - entropy).abs() < 1e-15);
        }
    }
}
