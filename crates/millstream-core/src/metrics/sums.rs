//! A sum of weights and the number of outcomes in it.

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Result};

/// No sum of weights grows beyond this, so that products of weight and share stay finite.
pub const LIMIT: f64 = 1e300;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    pub value: f64,
    /// Outcomes added minus outcomes taken back.
    pub count: u64,
}

impl Sum {
    /// Whether `w` may be added, or taken back if it is negative.
    #[inline]
    pub fn check(&self, who: &str, w: f64) -> Result<()> {
        if w < 0.0 && self.count == 0 {
            return Err(Fault::value(format!("{who}: cannot take back an outcome that it was not told")));
        }
        // Written so that NaN is refused too.
        if (self.value + w).abs() <= LIMIT {
            Ok(())
        } else {
            Err(super::overflow(who))
        }
    }

    /// Whether outcomes of weight 1 are sure to be added, however many a block has.
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

    /// Add what another sum holds.
    pub fn merge(&mut self, other: Sum) {
        self.value += other.value;
        self.count = self.count.saturating_add(other.count);
    }

    pub fn is_valid(&self) -> bool {
        self.value.abs() <= LIMIT && (self.count > 0 || self.value == 0.0)
    }
}

/// `a / b`, or 0 where there is nothing to divide by.
pub fn share(a: f64, b: f64) -> f64 {
    if b > 0.0 {
        a / b
    } else {
        0.0
    }
}
