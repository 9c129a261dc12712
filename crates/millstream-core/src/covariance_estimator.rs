//! The role of covariance estimators, which receive rows of numbers and estimate the covariances of their features.

use crate::fault::{Fault, Result};
use crate::part::Part;

/// A running estimate of the covariance matrix of the features. Its inverse is computed on demand, so that estimators of a
/// precision matrix differ in their name alone.
pub trait CovarianceEstimator: Part {
    /// Receive a row of a positive weight, with NaN for a missing number; it may have more features than rows before. After
    /// a fault the state is bit for bit what it was.
    fn update(&mut self, x: &[f64], w: f64) -> Result<()>;

    /// Whether a row can be removed.
    fn invertible(&self) -> bool {
        false
    }

    /// Remove a row that was received before, if that is possible.
    fn revert(&mut self, _x: &[f64], _w: f64) -> Result<()> {
        Err(Fault::value("a row cannot be removed"))
    }

    /// The number of features.
    fn width(&self) -> usize;

    /// The mean of each feature; NaN while it is undefined.
    fn means(&self) -> Vec<f64>;

    /// The covariance matrix, row by row; NaN where it is undefined.
    fn covariance(&self) -> Vec<f64>;

    /// Merge the saved state of the same estimator of another part of the stream, whose feature i is feature `slots[i]`
    /// here, of `width` features in both. After a fault the state is what it was.
    fn merge(&mut self, _other: &[u8], _slots: &[usize], _width: usize) -> Result<()> {
        Err(Fault::value("cannot be merged"))
    }

    fn duplicate(&self) -> Box<dyn CovarianceEstimator>;
}
