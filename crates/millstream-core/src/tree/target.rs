//! Weight, mean and sum of squared deviations of targets (West, 1979), and how to merge two of them (Chan, Golub and
//! LeVeque, 1979).

use serde::{Deserialize, Serialize};

use crate::row::finite;

use super::histogram::Content;

/// A sum of squares beyond this is refused as an overflow.
const LARGEST: f64 = 1e300;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Targets {
    pub weight: f64,
    pub mean: f64,
    pub squares: f64,
}

impl Targets {
    pub fn one(y: f64, w: f64) -> Self {
        Targets { weight: w, mean: y, squares: 0.0 }
    }

    pub fn with(&self, y: f64, w: f64) -> Self {
        let weight = self.weight + w;
        let delta = y - self.mean;
        let mean = self.mean + delta * (w / weight);
        Targets { weight, mean, squares: self.squares + (w * delta * (y - mean)).max(0.0) }
    }

    pub fn variance(&self) -> f64 {
        if self.weight > 1.0 {
            self.squares / (self.weight - 1.0)
        } else {
            0.0
        }
    }

    pub fn is_sound(&self) -> bool {
        self.weight >= 0.0
            && self.weight.is_finite()
            && self.mean.is_finite()
            && self.squares >= 0.0
            && self.squares <= LARGEST
    }
}

/// A leaf refuses targets whose sums would overflow, so subsets cannot overflow either. In a forged file subsets may
/// exceed the total; they are clipped.
impl Content for Targets {
    fn add(&mut self, other: &Self) {
        let weight = finite(self.weight + other.weight);
        if other.weight > 0.0 {
            let (delta, share) = (other.mean - self.mean, other.weight / weight);
            self.squares = (self.squares + other.squares + delta * delta * (self.weight * share)).min(LARGEST);
            self.mean = finite(self.mean + delta * share);
            self.weight = weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // 1, 3, 8: mean 4, squares 9 + 1 + 16 = 26, variance 13.
        let all = [1.0, 3.0, 8.0].iter().fold(Targets::default(), |targets, &y| targets.with(y, 1.0));
        assert_eq!((all.weight, all.mean, all.squares, all.variance()), (3.0, 4.0, 26.0, 13.0));
        let mut both = Targets::one(1.0, 1.0).with(3.0, 1.0);
        both.add(&Targets::one(8.0, 1.0));
        assert!((both.mean - 4.0).abs() < 1e-15 && (both.squares - 26.0).abs() < 1e-13);
    }
}
