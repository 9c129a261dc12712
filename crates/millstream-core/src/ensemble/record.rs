//! The performance of a member so far: the mean of its errors before each row was learned.

use serde::{Deserialize, Serialize};

use crate::task::Task;

/// For a classifier, the error rate; for a regressor, the mean absolute error.
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
        // A sum that would overflow stays unchanged, and so does the mean.
        if weight < f64::INFINITY {
            self.weight = weight;
            // As two products: the difference of two large errors may overflow.
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

    /// For a regressor, the weight of its predictions: the inverse of its mean error.
    pub fn closeness(&self) -> f64 {
        if self.weight > 0.0 {
            1.0 / self.error.max(f64::MIN_POSITIVE)
        } else {
            0.0
        }
    }

    /// The weight of votes of a learner with this record.
    pub fn trust<T: Task>(&self) -> f64 {
        match T::ERROR_RATE {
            true => self.accuracy(),
            false => self.closeness(),
        }
    }

    pub fn is_sound(&self) -> bool {
        self.weight.is_finite() && self.weight >= 0.0 && self.error.is_finite() && self.error >= 0.0
    }
}

/// The position of an error among the previous ones: 1/2 at their mean, 0 and 1 at three standard deviations from it
/// and beyond. The detectors of a regressor receive it, so that the unit of the target does not matter (Gomes et al.,
/// 2018, "Adaptive random forests for data stream regression").
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    count: f64,
    mean: f64,
    /// The sum of squared deviations.
    squares: f64,
}

/// The square of a larger error could overflow.
const LARGEST: f64 = 1e100;

impl Spread {
    /// Add an error, and return its position.
    pub fn add(&mut self, error: f64) -> f64 {
        let error = error.min(LARGEST);
        self.count += 1.0;
        let off = error - self.mean;
        self.mean += off / self.count;
        self.squares += off * (error - self.mean);
        self.position(error)
    }

    /// The position of an error that is not added.
    pub fn position(&self, error: f64) -> f64 {
        let error = error.min(LARGEST);
        let deviation = (self.squares / self.count).sqrt();
        match deviation > 0.0 {
            true => (0.5 + (error - self.mean) / (6.0 * deviation)).clamp(0.0, 1.0),
            false => 0.5,
        }
    }

    pub fn is_sound(&self) -> bool {
        let sound = |number: f64, most: f64| number >= 0.0 && number <= most;
        sound(self.count, 1e15) && sound(self.mean, LARGEST) && sound(self.squares, LARGEST * LARGEST * 1e16)
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
        let mut spread = Spread::default();
        // Of 1, 3: the mean is 2 and the deviation 1, so 3 lies at 1/2 + 1/6.
        assert_eq!(spread.add(1.0), 0.5);
        assert_eq!(spread.add(3.0), 0.5 + 1.0 / 6.0);
        assert!((0..100).all(|_| (0.0..=1.0).contains(&spread.add(f64::MAX))) && spread.is_sound());
        for error in [f64::MAX, 0.0, f64::MAX, f64::MAX] {
            record.add(error, 1e308);
            assert!(record.is_sound(), "{record:?}");
        }
    }
}
