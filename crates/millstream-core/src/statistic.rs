//! The role of statistics, which summarise numbers.

use crate::fault::{Fault, Result};
use crate::part::Part;
use crate::stats::Window;

/// A running statistic of one or two variables.
pub trait Statistic: Part {
    /// `y` is used by statistics of two variables only (`takes_pairs`). A negative weight removes a number that was
    /// added before, if the statistic is `invertible`. After a fault the state is bit for bit what it was.
    fn update(&mut self, x: f64, y: f64, w: f64) -> Result<()>;
    /// Like `update`, for a number with a finite time. Only statistics that `takes_time` use it.
    fn update_at(&mut self, x: f64, y: f64, w: f64, _time: f64) -> Result<()> {
        self.update(x, y, w)
    }
    /// The current value; NaN while it is undefined.
    fn get(&self) -> f64;
    fn takes_pairs(&self) -> bool {
        false
    }
    /// Numbers up to this absolute value never make later updates overflow; `f64::MAX` without such a limit.
    fn largest(&self) -> f64 {
        f64::MAX
    }
    /// Whether it needs the time of each number: callers call `update_at`, and `update` refuses.
    fn takes_time(&self) -> bool {
        false
    }
    /// Whether its numbers may be codes of strings and bools, because it only asks which of them are equal.
    fn is_nominal(&self) -> bool {
        false
    }
    /// Whether its value is one of the numbers that it has received, or a code.
    fn returns_nominal(&self) -> bool {
        false
    }
    /// Replace each number that it holds by another, where it is nominal: the codes of another stream.
    fn recode(&mut self, _code: &mut dyn FnMut(f64) -> f64) {}
    /// The value after an update that cannot fail, if it is known without the update.
    fn next(&self, _x: f64) -> Option<f64> {
        None
    }
    /// Whether `update` with a negative weight removes a number.
    fn invertible(&self) -> bool {
        false
    }
    /// Restart.
    fn reset(&mut self);
    /// Merge `other`, the saved state of the same statistic of another stream. Supported only where the result
    /// equals that of the concatenated stream, up to rounding.
    fn merge(&mut self, _other: &[u8]) -> Result<()> {
        Err(Fault::value("cannot be merged"))
    }
    /// After `merge`: count the base once that both parts continued, given by its saved state.
    fn merge_base(&mut self, base: &[u8]) -> Result<()> {
        self.unmerge(base)
    }
    /// Remove a merged part of the stream, given by its saved state: the inverse of `merge`.
    fn unmerge(&mut self, _other: &[u8]) -> Result<()> {
        Err(Fault::value("a part of the stream cannot be removed"))
    }
    /// The same statistic over a sliding window, without subtraction; none if it is recomputed from the window.
    fn window(&self) -> Option<Box<dyn Window>> {
        None
    }
    fn duplicate(&self) -> Box<dyn Statistic>;
}
