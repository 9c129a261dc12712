//! The verbs of a drift detector.

use serde_json::Value as Json;

use crate::detector::DriftDetector;
use crate::fault::Result;
use crate::registry;

use super::{hold_boxed, Held};

hold_boxed!(DriftDetector, "drift detector");

impl Held<Box<dyn DriftDetector>> {
    /// A detector with its description and the count of numbers it has received.
    pub fn with_count(description: &Json, detector: Box<dyn DriftDetector>, count: u64) -> Result<Self> {
        Ok(Held { count, ..Held::around(registry::resolve(description)?, detector) })
    }

    pub fn detector(&self) -> &dyn DriftDetector {
        &*self.part
    }

    /// Index, counted from 0, of the estimated change point of the current drift or warning.
    pub fn change_point(&self) -> Option<u64> {
        let verdict = self.part.verdict();
        (verdict.drift || verdict.warning).then(|| self.count.saturating_sub(verdict.since))
    }

    #[inline]
    pub fn update(&mut self, x: f64) -> Result<()> {
        self.part.update(x)?;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Call `update` with each number, of which the first has index `from`; adds the indices at which drift was found. A
    /// fault leaves the detector in an unspecified state: the caller keeps a copy.
    pub fn update_many(&mut self, numbers: &[f64], from: usize, found: &mut Vec<usize>) -> Result<()> {
        let known = found.len();
        self.part.update_many(numbers, found).map_err(|(row, fault)| fault.at_row(from + row))?;
        found[known..].iter_mut().for_each(|index| *index += from);
        self.count = self.count.saturating_add(numbers.len() as u64);
        Ok(())
    }
}
