//! The sum of weights of each class, by code.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::fault::{Fault, Result};
use crate::row::{all_finite, most};
use crate::state::{require, unpack};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClassCounts {
    counts: Vec<f64>,
    total: f64,
}

impl ClassCounts {
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

    /// The most frequent class, the lowest code among equals.
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
        Ok(loaded)
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
