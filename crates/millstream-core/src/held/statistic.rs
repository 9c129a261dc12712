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
    #[inline]
    pub fn update(&mut self, x: f64, y: f64, w: f64) -> Result<()> {
        if !(x.is_finite() && y.is_finite() && (0.0..f64::INFINITY).contains(&w)) {
            return Err(self.refusal(x, y, w));
        }
        if w > 0.0 {
            self.part.update(x, y, w)?;
            self.count = self.count.saturating_add(1);
        }
        Ok(())
    }

    /// The fault of an update with invalid numbers.
    #[cold]
    fn refusal(&self, x: f64, y: f64, w: f64) -> Fault {
        let title = &self.title;
        Fault::value(if !(0.0..f64::INFINITY).contains(&w) {
            format!("{title}: the weight must be finite and not negative, got {w}")
        } else if !x.is_finite() {
            format!("{title}: x must be finite, got {x}")
        } else {
            format!("{title}: y must be finite, got {y}")
        })
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
