//! The most frequent value.
//!
//! With `k`, only the first k distinct values are counted, which bounds the memory; −1 counts all. Among equally frequent
//! values it is the one that appeared first.

use super::never_told;
use super::value_counts::ValueCounts;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::merging::{unless_first_values, Merge};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::statistic::Statistic;

const NAME: &str = "stats.Mode";

pub static MODE: Declaration = Declaration {
    name: NAME,
    role: Role::Statistic,
    words: "Most frequent value",
    merge: Merge::EXACT.or(unless_first_values),
    parameters: &[Parameter::new(
        "k",
        Kind::Integer { low: -1, high: 1 << 20 },
        DefaultValue::Integer(25),
        "count the first k distinct values; -1 for all",
    )],
    build: |arguments| {
        let k = arguments.integer("k")?;
        if k == 0 {
            return Err(Fault::value(format!("{NAME}: k must be positive, or -1, got 0")));
        }
        Ok(Built::Statistic(Box::new(Mode { k: usize::try_from(k).ok(), counts: ValueCounts::default() })))
    },
};

#[derive(Clone)]
struct Mode {
    /// None for all values.
    k: Option<usize>,
    counts: ValueCounts<1>,
}

impl Part for Mode {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.counts.entries())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let counts = ValueCounts::load(NAME, unpack(NAME, bytes)?)?;
        require(NAME, self.k.is_none_or(|k| counts.len() <= k), "too many values")?;
        self.counts = counts;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.counts.memory()
    }
}

impl Statistic for Mode {
    fn update(&mut self, x: f64, _y: f64, w: f64) -> Result<()> {
        if w < 0.0 {
            return Err(never_told(NAME));
        }
        match self.k {
            Some(k) if self.counts.len() >= k && !self.counts.knows([x]) => Ok(()),
            _ => self.counts.add(NAME, [x], w),
        }
    }

    fn get(&self) -> f64 {
        let mut best = (f64::NAN, 0.0);
        for &([x], w) in self.counts.entries() {
            if w > best.1 {
                best = (x, w);
            }
        }
        best.0
    }

    fn is_nominal(&self) -> bool {
        true
    }

    fn returns_nominal(&self) -> bool {
        true
    }

    fn recode(&mut self, code: &mut dyn FnMut(f64) -> f64) {
        self.counts.recode(code);
    }

    fn reset(&mut self) {
        self.counts = ValueCounts::default();
    }

    fn merge(&mut self, other: &[u8]) -> Result<()> {
        if self.k.is_some() {
            return Err(Fault::value("cannot be merged: use k=-1"));
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
        // 1, 2, 2, 3, 3, 3: all counted, 3 is the most frequent; of the first two values, 2.
        for (k, expected) in [(None, 3.0), (Some(2), 2.0)] {
            let mut mode = Mode { k, counts: ValueCounts::default() };
            assert!(mode.get().is_nan());
            for x in [1.0, 2.0, 2.0, 3.0, 3.0, 3.0] {
                mode.update(x, 0.0, 1.0).expect("a good number");
            }
            assert_eq!(mode.get(), expected);
        }
    }
}
