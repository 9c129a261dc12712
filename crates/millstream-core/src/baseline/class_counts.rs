//! The sum of weights of each class, by code.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::exchange::Exchange;
use crate::fault::{Fault, Result};
use crate::held::state::{require, unpack};
use crate::merging::Merger;
use crate::row::{all_finite, most};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClassCounts {
    counts: Vec<f64>,
    total: f64,
}

impl ClassCounts {
    /// See `Part::exchange`.
    pub fn exchange(&mut self, exchange: &mut Exchange<'_>) -> bool {
        exchange.floats(&mut self.counts);
        exchange.float(&mut self.total);
        true
    }

    #[inline]
    pub fn learn(&mut self, who: &str, y: u32, w: f64) -> Result<()> {
        let total = self.total + w;
        if !total.is_finite() {
            return Err(Fault::overflow(who));
        }
        let code = y as usize;
        if self.counts.len() <= code {
            self.counts.resize(code + 1, 0.0);
        }
        self.counts[code] += w;
        self.total = total;
        Ok(())
    }

    /// The most frequent class; the lowest code in case of a tie.
    #[inline]
    pub fn majority(&self) -> Option<u32> {
        most(&self.counts)
    }

    pub fn shares(&self) -> impl Iterator<Item = f64> + '_ {
        self.counts.iter().map(|count| count / self.total)
    }

    pub fn len(&self) -> usize {
        self.counts.len()
    }

    pub fn load(who: &str, bytes: &[u8]) -> Result<Self> {
        let loaded: Self = unpack(who, bytes)?;
        let sound = all_finite(&loaded.counts) && loaded.counts.iter().all(|&count| count >= 0.0);
        require(who, sound && loaded.total.is_finite(), "a count is not finite")?;
        require(who, loaded.counts.is_empty() == (loaded.total <= 0.0), "counts without a total")?;
        // Rounding is monotonic: a sum of some of the weights never exceeds the sum of all of them.
        let fit = loaded.counts.iter().all(|&count| count <= loaded.total);
        // Both sums are rounded at each example, in a different order. Shares, unlike counts, cannot overflow.
        let fit = fit && (loaded.counts.is_empty() || (loaded.shares().sum::<f64>() - 1.0).abs() <= 1e-3);
        require(who, fit, "the counts do not add up to the total")?;
        Ok(loaded)
    }

    /// Add the counts of another part of the stream.
    pub fn merge(&mut self, who: &str, merger: &Merger<'_>) -> Result<()> {
        for (side, sign) in merger.sides() {
            let other = Self::load(who, side.state)?;
            for (&count, &code) in other.counts.iter().zip(side.codes).filter(|(_, &code)| code != u32::MAX) {
                if self.counts.len() <= code as usize {
                    self.counts.resize(code as usize + 1, 0.0);
                }
                let sum = &mut self.counts[code as usize];
                *sum = (*sum + sign * count).max(0.0);
            }
            self.total = (self.total + sign * other.total).max(0.0);
        }
        match self.total.is_finite() {
            true => Ok(()),
            false => Err(Fault::overflow(who)),
        }
    }

    pub fn memory(&self) -> usize {
        8 * self.counts.capacity()
    }

    /// Counts in the order of `classes`.
    pub fn inspect(&self) -> serde_json::Value {
        let known: Vec<f64> = self.counts.iter().copied().filter(|&count| count > 0.0).collect();
        json!({ "classes": known.iter().map(|count| json!({ "count": count })).collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held::state::pack;

    #[test]
    fn a_state_that_could_not_have_been_saved_is_refused() {
        let load = |counts: &[f64], total: f64| {
            ClassCounts::load("x", &pack(&json!({ "counts": counts, "total": total })).unwrap())
        };
        for (counts, total) in [
            (&[][..], 0.0),
            (&[1.0], 1.0),
            (&[5e-324], 5e-324),
            (&[0.0, 1e308, 7e307], 1.7e308),
            (&[1e16, 9.0], 1e16),
        ] {
            let loaded = load(counts, total).unwrap();
            assert!(loaded.shares().all(|share| (0.0..=1.0).contains(&share)));
        }
        for (counts, total) in
            [(&[1.0][..], 5e-324), (&[1.0], 0.5), (&[1.0], 2.0), (&[0.0], 1.0), (&[1.0, 1.0], 1.0), (&[], 1.0)]
        {
            assert!(load(counts, total).is_err(), "{counts:?} of {total}");
        }
    }
}
