//! A sum of weights and the number of outcomes in it.

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Result};

/// Upper bound of a sum of weights, so that its product with a fraction stays finite.
pub const LIMIT: f64 = 1e300;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    pub value: f64,
    /// Outcomes added minus outcomes removed.
    pub count: u64,
}

impl Sum {
    /// Whether `w` may be added, or removed if it is negative.
    #[inline]
    pub fn check(&self, who: &str, w: f64) -> Result<()> {
        if w < 0.0 && self.count == 0 {
            return Err(Fault::value(format!("{who}: cannot remove an outcome that was never added")));
        }
        // This form refuses NaN too.
        if (self.value + w).abs() <= LIMIT {
            Ok(())
        } else {
            Err(super::overflow(who))
        }
    }

    /// Whether any block of outcomes of weight 1 can be added.
    pub fn has_room(&self) -> bool {
        self.value < 0.5 * LIMIT
    }

    #[inline]
    pub fn add(&mut self, w: f64) {
        if w < 0.0 {
            self.count = self.count.saturating_sub(1);
        } else {
            self.count = self.count.saturating_add(1);
        }
        self.value = if self.count == 0 { 0.0 } else { self.value + w };
    }

    /// Add another sum, or subtract it.
    pub fn merge(&mut self, other: Sum, sign: f64) {
        self.count = match sign < 0.0 {
            true => self.count.saturating_sub(other.count),
            false => self.count.saturating_add(other.count),
        };
        self.value = if self.count == 0 { 0.0 } else { self.value + sign * other.value };
    }

    pub fn is_valid(&self) -> bool {
        self.value.abs() <= LIMIT && (self.count > 0 || self.value == 0.0)
    }
}

/// `a / b`, or 0 if `b` is not positive.
pub fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 {
        a / b
    } else {
        0.0
    }
}
