//! The verbs of a held statistic.

use crate::fault::{Fault, Result};
use crate::statistic::Statistic;

use super::{hold_boxed, Held};

hold_boxed!(Statistic, "statistic");

impl Held<Box<dyn Statistic>> {
    pub fn statistic(&self) -> &dyn Statistic {
        &*self.part
    }

    pub fn get(&self) -> f64 {
        self.part.get()
    }

    /// Statistics of one variable ignore `y`.
    pub fn update(&mut self, x: f64, y: f64, w: f64) -> Result<()> {
        if !(w.is_finite() && w >= 0.0) {
            return Err(Fault::value(format!(
                "{}: the weight must be finite and not negative, got {w}",
                self.title
            )));
        }
        for (what, number) in [("x", x), ("y", y)] {
            if !number.is_finite() {
                return Err(Fault::value(format!("{}: {what} must be finite, got {number}", self.title)));
            }
        }
        if w > 0.0 {
            self.part.update(x, y, w)?;
            self.count = self.count.saturating_add(1);
        }
        Ok(())
    }

    /// Merge a statistic of the same description that has summarised another stream.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if self.description != other.description {
            return Err(Fault::value(format!("{}: only the same statistic can be merged", self.title)));
        }
        self.part.merge(&other.part.save()?).map_err(|fault| fault.by(&self.title))?;
        self.count = self.count.saturating_add(other.count);
        Ok(())
    }
}
