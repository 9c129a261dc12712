//! Detectors of change, in numbers and in rows.

use crate::drift::{Finding, Verdict};
use crate::fault::{Fault, Result};
use crate::part::Part;
use crate::row::Row;

/// Watches a stream of numbers (often a model's errors) for a change.
pub trait DriftDetector: Part {
    fn update(&mut self, x: f64) -> Result<()>;
    /// `update` with each; the places of changes are added to `found`. After a fault, which comes with the place of the
    /// number that was refused, the detector is of no use: the caller has a copy.
    fn update_many(
        &mut self,
        numbers: &[f64],
        found: &mut Vec<usize>,
    ) -> std::result::Result<usize, (usize, Fault)> {
        for (place, &x) in numbers.iter().enumerate() {
            self.update(x).map_err(|fault| (place, fault))?;
            if self.verdict().drift {
                found.push(place);
            }
        }
        Ok(numbers.len())
    }
    /// What the last update brought to light.
    fn verdict(&self) -> Verdict;
    /// Start again.
    fn reset(&mut self);
    /// The current estimate of the mean.
    fn estimation(&self) -> f64;
    /// Give no warnings any more, if that saves work: for those who have another detector for them, or none. Before the
    /// first number.
    fn forgo_warnings(&mut self) {}
    fn duplicate(&self) -> Box<dyn DriftDetector>;
}

/// Watches rows, without labels, for a change of their distribution.
pub trait FeatureDriftDetector: Part {
    fn update(&mut self, x: Row<'_>) -> Result<()>;
    /// Add a row to the reference that rows are compared with, instead of the first ones of the stream.
    fn learn(&mut self, x: Row<'_>) -> Result<()>;
    /// What the last row brought to light; a warning holds until the next comparison.
    fn verdict(&self) -> Verdict;
    /// How far the newest rows are from the reference, in the detector's own measure.
    fn estimation(&self) -> f64;
    /// What the last comparison found of each feature, by slot; none before the first.
    fn findings(&self) -> &[Finding];
    /// The same of the last comparison that found a change.
    fn drifted(&self) -> &[Finding];
    /// Start again.
    fn reset(&mut self);
    fn duplicate(&self) -> Box<dyn FeatureDriftDetector>;
}
