//! The linear model in a leaf of a regression tree (Ikonomovska, Gama and Džeroski, 2011, section 4.3): a perceptron
//! without threshold on standardised features, trained by the delta rule.
//!
//! The step is divided by 1 + |z|² (normalised least mean squares), so that it is stable for any number of features.
//! Nominal values are ignored; a missing number counts as its mean.

use serde::{Deserialize, Serialize};

use crate::row::{Row, Value};

use super::target::Targets;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinearLeaf {
    bias: f64,
    weights: Vec<f64>,
    inputs: Vec<Targets>,
}

impl LinearLeaf {
    /// The standardised value z of a feature.
    fn scaled(&self, slot: usize, x: f64) -> f64 {
        let Some(input) = self.inputs.get(slot) else { return 0.0 };
        let deviation = input.variance().sqrt();
        if deviation > 0.0 {
            // Limited to five deviations: one outlier must not undo what was learned.
            ((x - input.mean) / deviation).clamp(-5.0, 5.0)
        } else {
            0.0
        }
    }

    pub fn predict(&self, x: Row<'_>) -> f64 {
        let mut sum = self.bias;
        x.each(|slot, value| {
            if let (Value::Number(x), Some(weight)) = (value, self.weights.get(slot)) {
                sum += weight * self.scaled(slot, x);
            }
        });
        sum
    }

    /// Learn, given the current prediction; new features are added if `grows`. False if it would overflow; then nothing
    /// has changed.
    pub fn learn(&mut self, x: Row<'_>, y: f64, w: f64, predicted: f64, rate: f64, grows: bool) -> bool {
        let (mut length, mut sound) = (1.0, true);
        x.each(|slot, value| {
            if let Value::Number(x) = value {
                let z = self.scaled(slot, x);
                length += z * z;
                let input = self.inputs.get(slot).copied().unwrap_or_default();
                sound &= input.with(x, w).is_sound();
            }
        });
        let step = 1.0 - (1.0 - rate).powf(w);
        let step = step * (y - predicted) / length;
        sound &= step.is_finite() && (self.bias + step).is_finite();
        sound &= self.weights.iter().all(|weight| (weight.abs() + 5.0 * step.abs()).is_finite());
        if !sound {
            return false;
        }
        let width = x.width();
        if grows && self.weights.len() < width {
            self.weights.reserve_exact(width - self.weights.len());
            self.weights.resize(width, 0.0);
            self.inputs.reserve_exact(width - self.inputs.len());
            self.inputs.resize(width, Targets::default());
        }
        self.bias += step;
        x.each(|slot, value| {
            if let (Value::Number(x), true) = (value, slot < self.weights.len()) {
                self.weights[slot] += step * self.scaled(slot, x);
                self.inputs[slot] = self.inputs[slot].with(x, w);
            }
        });
        true
    }

    /// Start at the mean of the targets.
    pub fn begin(&mut self, y: f64) {
        self.bias = y;
    }

    pub fn weights(&self) -> (f64, &[f64]) {
        (self.bias, &self.weights)
    }

    pub fn is_sound(&self) -> bool {
        self.bias.is_finite()
            && self.weights.len() == self.inputs.len()
            && self.weights.iter().all(|weight| weight.is_finite())
            && self.inputs.iter().all(Targets::is_sound)
    }

    /// Whether weights are up to this size and all inputs are sound.
    pub fn is_within(&self, most: f64, sound: impl Fn(&Targets) -> bool) -> bool {
        self.bias.abs() <= most
            && self.weights.iter().all(|weight| weight.abs() <= most)
            && self.inputs.iter().all(sound)
    }

    pub fn memory(&self) -> usize {
        8 * self.weights.len() + std::mem::size_of::<Targets>() * self.inputs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_by_hand() {
        let mut leaf = LinearLeaf::default();
        leaf.begin(2.0);
        // Without variance z is 0, so that only the bias steps: by ½ (4 − 2) / 1.
        assert!(leaf.learn(Row::Plain(&[1.0]), 4.0, 1.0, leaf.predict(Row::Plain(&[1.0])), 0.5, true));
        assert_eq!(leaf.predict(Row::Plain(&[9.0])), 3.0);
        assert!(leaf.learn(Row::Plain(&[3.0]), 3.0, 1.0, 3.0, 0.5, true));
        // Mean 2, variance 2 now: z = 2 / √2 = √2 at 4. The error of 6 is shared by 1 + 2: a step of ½ · 6 / 3 = 1 for
        // the bias and √2 for the weight.
        assert_eq!(leaf.predict(Row::Plain(&[4.0])), 3.0);
        assert!(leaf.learn(Row::Plain(&[4.0]), 9.0, 1.0, 3.0, 0.5, true));
        let (bias, weights) = leaf.weights();
        assert!((bias - 4.0).abs() < 1e-15 && (weights[0] - 2f64.sqrt()).abs() < 1e-15);
    }
}
