//! Whether the logged probabilities fit the log: the mean of the weights q/p must be 1.
//!
//! The effective sample size is (Σ ρ)² / Σ ρ² (Kong, 1992, "A note on importance sampling using standardized weights").

use serde::{Deserialize, Serialize};

use super::sequence::Sequence;

/// Weights ρ = q/p of the logged actions.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Weights {
    mean: Sequence,
    /// Σ w ρ and Σ (w ρ)².
    sum: f64,
    squares: f64,
    largest: f64,
    /// Rounds whose weight the estimator reduced.
    reduced: u64,
}

/// What is shown of them.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    pub effective_sample_size: f64,
    pub largest: f64,
    pub mean: f64,
    pub interval: (f64, f64),
    pub reduced: u64,
}

impl Weights {
    #[inline]
    pub fn update(&mut self, weight: f64, others: f64, w: f64, reduced: bool) {
        let centre = self.mean.centre(1.0);
        // The mean weight of the other actions: rare ones may have a large weight long before they are seen.
        self.mean.update(weight, centre, (centre, (weight.max(others) - centre).max(0.0)), w);
        self.sum += w * weight;
        self.squares += w * weight * (w * weight);
        self.largest = self.largest.max(weight);
        self.reduced += u64::from(reduced);
    }

    pub fn summary(&self, coverage: f64) -> Summary {
        let tail = 0.5 * (1.0 - coverage);
        let interval = (self.mean.lower(tail).max(0.0), self.mean.upper(tail));
        let known = self.squares > 0.0;
        Summary {
            effective_sample_size: if known { self.sum * (self.sum / self.squares) } else { 0.0 },
            largest: self.largest,
            mean: self.mean.mean(),
            interval,
            reduced: self.reduced,
        }
    }

    pub fn merge(&mut self, other: &Weights, sign: f64) {
        self.mean.merge(&other.mean, sign);
        self.sum += sign * other.sum;
        self.squares = (self.squares + sign * other.squares).max(0.0);
        if sign > 0.0 {
            self.largest = self.largest.max(other.largest);
            self.reduced = self.reduced.saturating_add(other.reduced);
        } else {
            self.reduced = self.reduced.saturating_sub(other.reduced);
        }
    }

    pub fn is_valid(&self) -> bool {
        let numbers = [self.sum, self.squares, self.largest];
        self.mean.is_valid() && numbers.iter().all(|number| number.is_finite() && *number >= 0.0)
    }
}

/// The mean weight of the actions that were not taken; 0 if there are none.
#[inline]
pub fn others(probability: f64, target: f64) -> f64 {
    match probability < 1.0 {
        true => (1.0 - target) / (1.0 - probability),
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(probability: f64, claimed: f64) -> Summary {
        let mut weights = Weights::default();
        let rounds = 4000;
        for round in 0..rounds {
            // The first of two actions is taken with `probability`; the target takes both equally often.
            let first = f64::from(round % 100) < 100.0 * probability;
            let p = if first { claimed } else { 1.0 - claimed };
            weights.update(0.5 / p, others(p, 0.5), 1.0, false);
        }
        weights.summary(0.95)
    }

    #[test]
    fn a_wrong_probability_is_noticed() {
        let right = told(0.8, 0.8);
        assert!((right.mean - 1.0).abs() < 1e-9 && right.interval.0 < 1.0 && right.interval.1 > 1.0);
        // Weights 0.625 and 2.5: 4000 · 1² / (0.8 · 0.390625 + 0.2 · 6.25) = 2560.
        assert!((right.effective_sample_size - 2560.0).abs() < 1e-6 && (right.largest - 2.5).abs() < 1e-9);
        assert!(told(0.8, 0.5).interval.0 <= 1.0);
        assert!(told(0.8, 0.9).interval.0 > 1.0);
        assert!(told(0.8, 0.6).interval.1 < 1.0);
    }

    #[test]
    fn a_rare_action_raises_no_false_alarm() {
        // The target always takes an action that the log takes once in a thousand rounds.
        let mut weights = Weights::default();
        (0..900).for_each(|_| weights.update(0.0, others(0.999, 0.0), 1.0, false));
        assert!(weights.summary(0.95).interval.1 > 1.0);
    }
}
