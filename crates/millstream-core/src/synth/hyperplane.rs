//! Hyperplane: two sides of a rotating hyperplane (Hulten, Spencer and Domingos, 2001, "Mining time-changing data
//! streams", KDD, section 5.1).
//!
//! Features are uniform in [0, 1]; the class is 1 where Σ wᵢ xᵢ >= w₀ with w₀ = Σ wᵢ / 2, so that the sides have
//! equal volume. After each example the first weights move by `mag_change` in their direction, and with probability
//! `sigma` a direction is reversed. Initial weights are uniform in [0, 1].

use super::{seed, StreamSchema, MODEL, NOISE_PERCENTAGE, N_FEATURES, SAMPLE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::generator::Generator;
use crate::merging::Merge;
use crate::numeric::random::Random;
use crate::parameter::{Bounds, Default, Kind, Parameter};

pub static DECLARATION: Declaration = Declaration {
    name: "synth.Hyperplane",
    role: Role::Generator,
    words: "Two sides of a slowly rotating hyperplane (Hulten, Spencer and Domingos, 2001)",
    merge: Merge::GENERATOR,
    parameters: &[
        SEED,
        N_FEATURES,
        Parameter::new(
            "n_drift_features",
            Kind::Integer { low: 0, high: 100_000 },
            Default::Integer(2),
            "number of moving weights, from the first; all if there are fewer",
        ),
        Parameter::new(
            "mag_change",
            Kind::Float(Bounds::UNIT),
            Default::Float(0.0),
            "change of a moving weight per example; 0 for no drift",
        ),
        Parameter::new("noise_percentage", Kind::Float(Bounds::UNIT), Default::Float(0.05), NOISE_PERCENTAGE),
        Parameter::new(
            "sigma",
            Kind::Float(Bounds::UNIT),
            Default::Float(0.1),
            "probability per example that a moving weight reverses its direction",
        ),
    ],
    build: |arguments| {
        let width = arguments.size("n_features")?;
        let mut random = Random::new(seed(arguments)?, MODEL);
        let change = arguments.float("mag_change")?;
        let moving = if change > 0.0 { arguments.size("n_drift_features")?.min(width) } else { 0 };
        Ok(Built::Generator(Box::new(Hyperplane {
            schema: StreamSchema::numbers(width, 2),
            weights: (0..width).map(|_| random.unit()).collect(),
            steps: vec![change; moving],
            noise: arguments.float("noise_percentage")?,
            sigma: arguments.float("sigma")?,
            random: Random::new(seed(arguments)?, SAMPLE),
        })))
    },
};

struct Hyperplane {
    schema: StreamSchema,
    weights: Vec<f64>,
    /// By how much each moving weight goes on.
    steps: Vec<f64>,
    noise: f64,
    sigma: f64,
    random: Random,
}

fn is_above(weights: &[f64], x: &[f64]) -> bool {
    let (mut score, mut total) = (0.0, 0.0);
    for (w, x) in weights.iter().zip(x) {
        score += w * x;
        total += w;
    }
    score >= 0.5 * total
}

impl Generator for Hyperplane {
    fn schema(&self) -> &StreamSchema {
        &self.schema
    }

    fn draw(&mut self, x: &mut [f64]) -> f64 {
        for value in &mut *x {
            *value = self.random.unit();
        }
        let wrong = self.random.chance(self.noise);
        let y = f64::from(is_above(&self.weights, x) != wrong);
        for (weight, step) in self.weights.iter_mut().zip(&mut self.steps) {
            *weight += *step;
            if self.random.chance(self.sigma) {
                *step = -*step;
            }
        }
        y
    }

    fn rule(&self, x: &[f64]) -> Option<f64> {
        Some(f64::from(is_above(&self.weights, x)))
    }
}

#[cfg(test)]
mod tests {
    use super::is_above;
    use crate::synth::tests::{built, mean_targets};

    #[test]
    fn the_sides_are_equally_large() {
        // Weights 1 and 3, so the plane is x₁ + 3 x₂ = 2: (0.5, 0.5) lies on it, (0.9, 0.3) gives 1.8.
        assert!(is_above(&[1.0, 3.0], &[0.5, 0.5]));
        assert!(!is_above(&[1.0, 3.0], &[0.9, 0.3]));
        let share = mean_targets(r#"{"name": "synth.Hyperplane"}"#, 40_000);
        assert!((share - 0.5).abs() < 0.01, "{share}");
    }

    #[test]
    fn weights_move_and_do_not_turn_without_sigma() {
        let mut plane = built(
            r#"{"name": "synth.Hyperplane", "parameters": {"n_features": 2, "n_drift_features": 1, "mag_change": 1.0,
            "noise_percentage": 0.0, "sigma": 0.0}}"#,
        );
        let mut x = [0.0; 2];
        for _ in 0..1000 {
            plane.draw(&mut x);
        }
        // The first weight is now above 1000 and the second at most 1: the first feature alone decides.
        assert_eq!(plane.rule(&[0.51, 0.0]), Some(1.0));
        assert_eq!(plane.rule(&[0.49, 1.0]), Some(0.0));
    }
}
