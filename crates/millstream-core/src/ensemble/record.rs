//! How well a member has done so far: the mean of its errors, each before the row was learned.

use serde::{Deserialize, Serialize};

/// Of a classifier the share of wrong classes, of a regressor the mean absolute error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The sum of weights.
    pub weight: f64,
    pub error: f64,
}

impl Record {
    #[inline]
    pub fn add(&mut self, error: f64, w: f64) {
        let weight = self.weight + w;
        // A sum that would overflow stays where it is, and so does the mean.
        if weight < f64::INFINITY {
            self.weight = weight;
            // By parts: the difference of two large errors may be larger than any number.
            self.error += error * (w / weight) - self.error * (w / weight);
        }
    }

    pub fn accuracy(&self) -> f64 {
        if self.weight > 0.0 {
            1.0 - self.error
        } else {
            0.0
        }
    }

    pub fn is_sound(&self) -> bool {
        self.weight.is_finite() && self.weight >= 0.0 && self.error.is_finite() && self.error >= 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_by_hand() {
        let mut record = Record::default();
        assert_eq!(record.accuracy(), 0.0);
        record.add(1.0, 1.0);
        record.add(0.0, 3.0);
        // (1 · 1 + 0 · 3) / 4
        assert_eq!((record.weight, record.error, record.accuracy()), (4.0, 0.25, 0.75));
        for error in [f64::MAX, 0.0, f64::MAX, f64::MAX] {
            record.add(error, 1e308);
            assert!(record.is_sound(), "{record:?}");
        }
    }
}
