//! Drift detectors for numbers and for rows.

use crate::drift::{Finding, Verdict};
use crate::fault::{Fault, Result};
use crate::part::Part;
use crate::row::Row;

/// Detects changes in a stream of numbers, such as the errors of a model.
pub trait DriftDetector: Part {
    fn update(&mut self, x: f64) -> Result<()>;
    /// Call `update` with each number and add the indices of drift to `found`. A fault comes with the index of the
    /// rejected number and leaves the detector in an unspecified state: the caller keeps a copy.
    fn update_many(
        &mut self,
        numbers: &[f64],
        found: &mut Vec<usize>,
    ) -> std::result::Result<usize, (usize, Fault)> {
        for (index, &x) in numbers.iter().enumerate() {
            self.update(x).map_err(|fault| (index, fault))?;
            if self.verdict().drift {
                found.push(index);
            }
        }
        Ok(numbers.len())
    }
    /// The result of the last update.
    fn verdict(&self) -> Verdict;
    /// Return to the initial state.
    fn reset(&mut self);
    /// The current estimate of the mean.
    fn estimation(&self) -> f64;
    /// Give no warnings, if that saves work. Must be called before the first update; for callers that do not use the
    /// warnings of this detector.
    fn disable_warnings(&mut self) {}
    fn duplicate(&self) -> Box<dyn DriftDetector>;
}

/// Detects changes of the distribution of rows, without labels.
pub trait FeatureDriftDetector: Part {
    fn update(&mut self, x: Row<'_>) -> Result<()>;
    /// Add a row to the reference, which then replaces the first rows of the stream as the reference.
    fn learn(&mut self, x: Row<'_>) -> Result<()>;
    /// The result of the last update; a warning lasts until the next comparison.
    fn verdict(&self) -> Verdict;
    /// Distance between the newest rows and the reference, in the detector's own measure.
    fn estimation(&self) -> f64;
    /// The findings of the last comparison, by feature slot; empty before the first.
    fn findings(&self) -> &[Finding];
    /// The findings of the last comparison that found drift.
    fn drifted(&self) -> &[Finding];
    /// Return to the initial state.
    fn reset(&mut self);
    fn duplicate(&self) -> Box<dyn FeatureDriftDetector>;
}
