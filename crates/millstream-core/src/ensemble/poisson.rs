//! Counts from Poisson distributions, each from one uniform number, by the inverse of the distribution.
//!
//! Every draw uses one number, so the numbers of many rows can be drawn ahead, and a row that is processed again has
//! the same.

use crate::numeric::elementary::exp;

/// The largest mean of a table.
pub const LARGEST_MEAN: f64 = 100.0;

/// The distribution with one mean.
#[derive(Clone, Debug)]
pub struct Poisson {
    /// P(count <= k), up to the k where it rounds to 1.
    cumulative: Vec<f64>,
    /// The start of the search, for each 64th of the unit interval.
    first: [u32; 64],
}

impl Poisson {
    /// `mean` is above 0 and at most `LARGEST_MEAN`.
    pub fn new(mean: f64) -> Self {
        let mut cumulative = Vec::new();
        let (mut probability, mut sum) = (exp(-mean), 0.0);
        for k in 1.. {
            sum += probability;
            cumulative.push(sum);
            probability *= mean / f64::from(k);
            // Beyond the mean the terms decrease.
            if f64::from(k) > mean && sum + probability == sum {
                break;
            }
        }
        let first = std::array::from_fn(|part| {
            cumulative.iter().take_while(|&&sum| sum <= part as f64 / 64.0).count() as u32
        });
        Poisson { cumulative, first }
    }

    /// The count at a number in [0, 1).
    #[inline]
    pub fn at(&self, unit: f64) -> f64 {
        let mut k = self.first[(unit * 64.0) as usize & 63] as usize;
        while k + 1 < self.cumulative.len() && unit >= self.cumulative[k] {
            k += 1;
        }
        k as f64
    }
}

/// The count at a number in [0, 1) for a varying mean, at most `LARGEST_MEAN`; 0 for a mean of 0.
pub fn count(mean: f64, unit: f64) -> f64 {
    let (mut probability, mut k) = (exp(-mean), 0.0);
    let mut sum = probability;
    while unit >= sum && probability > 0.0 && (k < mean || sum + probability > sum) {
        k += 1.0;
        probability *= mean / k;
        sum += probability;
    }
    k
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::random::Random;

    #[test]
    fn counts_by_hand() {
        // Of mean 1: P(0) = 0.3679, P(<= 1) = 0.7358, P(<= 2) = 0.9197.
        let poisson = Poisson::new(1.0);
        for (unit, k) in [(0.0, 0.0), (0.3678, 0.0), (0.3679, 1.0), (0.7357, 1.0), (0.7358, 2.0), (0.92, 3.0)] {
            assert_eq!((poisson.at(unit), count(1.0, unit)), (k, k), "{unit}");
        }
        assert_eq!(count(0.0, 0.999_999), 0.0);
    }

    #[test]
    fn mean_and_variance_are_the_mean() {
        for mean in [0.1, 1.0, 6.0, 100.0] {
            let (poisson, mut random, n) = (Poisson::new(mean), Random::new(3, 0), 200_000);
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..n {
                let unit = random.unit();
                let k = poisson.at(unit);
                assert_eq!(k, count(mean, unit));
                sum += k;
                squares += k * k;
            }
            let average = sum / f64::from(n);
            let variance = squares / f64::from(n) - average * average;
            assert!((average - mean).abs() < 5.0 * (mean / f64::from(n)).sqrt(), "{average}");
            assert!((variance / mean - 1.0).abs() < 0.03, "{variance}");
        }
        // The largest number below 1 has a count as well.
        assert!(Poisson::new(100.0).at(1.0 - f64::EPSILON / 2.0) < 300.0);
    }
}
