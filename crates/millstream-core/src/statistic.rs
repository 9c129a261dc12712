//! A statistic summarises numbers.

use crate::fault::{Fault, Result};
use crate::part::Part;

/// A running summary of one or two numbers a time.
pub trait Statistic: Part {
    /// `y` is given to statistics of two variables (`takes_pairs`).
    fn update(&mut self, x: f64, y: f64, w: f64) -> Result<()>;
    /// NaN while it is undefined.
    fn get(&self) -> f64;
    fn takes_pairs(&self) -> bool {
        false
    }
    /// Whether `update` with a negative weight takes a number back.
    fn invertible(&self) -> bool {
        false
    }
    /// Start again.
    fn reset(&mut self);
    /// Fold in `other`, the same statistic of another part of the stream, given as its saved state.
    /// Only where the result is exactly that of the whole stream (to rounding).
    fn merge(&mut self, _other: &[u8]) -> Result<()> {
        Err(Fault::value("cannot be merged exactly"))
    }
    fn duplicate(&self) -> Box<dyn Statistic>;
}
