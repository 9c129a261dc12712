//! Sums of estimated gains or losses of each action, for policies with weights. An action that comes late starts at the
//! mean of the others: it is neither preferred nor hopeless.

use serde::{Deserialize, Serialize};

/// By code; NaN, and codes beyond the end, for actions that were never taken.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sums(Vec<f64>);

/// The sums stay finite however small a logged probability is.
const LARGEST_STEP: f64 = 1e100;

impl Sums {
    fn get(&self, action: u32) -> Option<f64> {
        self.0.get(action as usize).copied().filter(|sum| !sum.is_nan())
    }

    /// Where an action starts.
    pub fn start(&self) -> f64 {
        let (mut total, mut n) = (0.0, 0_u32);
        for &sum in self.0.iter().filter(|sum| !sum.is_nan()) {
            total += sum;
            n += 1;
        }
        total / f64::from(n.max(1))
    }

    /// Write the sum of each action.
    pub fn write(&self, actions: &[u32], out: &mut Vec<f64>) {
        let start = self.start();
        out.clear();
        out.extend(actions.iter().map(|&action| self.get(action).unwrap_or(start)));
    }

    /// All actions have started before one of them changes, so that they start at the same value.
    pub fn admit(&mut self, actions: &[u32]) {
        let most = actions.iter().max().map_or(0, |&most| most as usize + 1);
        let new = actions.iter().any(|&action| self.get(action).is_none());
        if !new {
            return;
        }
        let start = self.start();
        if self.0.len() < most {
            self.0.resize(most, f64::NAN);
        }
        for &action in actions {
            let sum = &mut self.0[action as usize];
            if sum.is_nan() {
                *sum = start;
            }
        }
    }

    pub fn add(&mut self, action: u32, step: f64) {
        if let Some(sum) = self.0.get_mut(action as usize) {
            *sum += step.clamp(-LARGEST_STEP, LARGEST_STEP);
        }
    }

    pub fn forget(&mut self, action: u32) {
        if let Some(sum) = self.0.get_mut(action as usize) {
            *sum = f64::NAN;
        }
    }

    pub fn is_valid(&self) -> bool {
        self.0.iter().all(|sum| !sum.is_infinite())
    }

    pub fn memory(&self) -> usize {
        8 * self.0.capacity()
    }
}

/// Replace x by exp(x − max) / Σ exp(x − max).
pub fn soft_max(values: &mut [f64]) {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for value in values.iter_mut() {
        *value = crate::numeric::elementary::exp(*value - largest);
        total += *value;
    }
    for value in values {
        *value /= total;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_action_starts_at_the_mean() {
        let mut sums = Sums::default();
        sums.admit(&[0, 2]);
        sums.add(0, 4.0);
        let mut out = Vec::new();
        sums.write(&[2, 1, 0], &mut out);
        assert_eq!(out, [0.0, 2.0, 4.0]);
        sums.admit(&[0, 1, 2]);
        sums.forget(0);
        assert_eq!(sums.start(), 1.0);
        assert!(sums.is_valid());
    }

    #[test]
    fn soft_max_by_hand() {
        // Weights 1, 2 and 1 of 4.
        let mut values = [1000.0, 1000.0 + 2_f64.ln(), 1000.0];
        soft_max(&mut values);
        crate::policy::testing::near(&values, &[0.25, 0.5, 0.25], 1e-12);
    }
}
