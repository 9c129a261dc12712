//! SEA: a sum of two features against a threshold (Street and Kim, 2001, "A streaming ensemble algorithm (SEA) for
//! large-scale classification", KDD, section 4.1).
//!
//! Three features are uniform in [0, 10]; the third is irrelevant. The paper's four blocks have the thresholds
//! θ = 8, 9, 7 and 9.5, and 10 % of the labels are wrong. The class here is 1 where x₁ + x₂ > θ, as in the programs
//! that made the generator known; the paper's class 1 is the other side.

use super::{seed, StreamSchema, NOISE_PERCENTAGE, SAMPLE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::generator::Generator;
use crate::merging::Merge;
use crate::numeric::random::Random;
use crate::parameter::{Bounds, Default, Kind, Parameter};

const THRESHOLDS: [f64; 4] = [8.0, 9.0, 7.0, 9.5];

pub static DECLARATION: Declaration = Declaration {
    name: "synth.SEA",
    role: Role::Generator,
    words: "Two classes by a sum of two of three features (Street and Kim, 2001)",
    merge: Merge::GENERATOR,
    parameters: &[
        Parameter::new(
            "variant",
            Kind::Integer { low: 0, high: 3 },
            Default::Integer(0),
            "index of the threshold of the sum: 8, 9, 7 or 9.5",
        ),
        Parameter::new("noise", Kind::Float(Bounds::UNIT), Default::Float(0.0), NOISE_PERCENTAGE),
        SEED,
    ],
    build: |arguments| {
        Ok(Built::Generator(Box::new(Sea {
            schema: StreamSchema::numbers(3, 2),
            threshold: THRESHOLDS[arguments.size("variant")?.min(3)],
            noise: arguments.float("noise")?,
            random: Random::new(seed(arguments)?, SAMPLE),
        })))
    },
};

struct Sea {
    schema: StreamSchema,
    threshold: f64,
    noise: f64,
    random: Random,
}

impl Generator for Sea {
    fn schema(&self) -> &StreamSchema {
        &self.schema
    }

    fn draw(&mut self, x: &mut [f64]) -> f64 {
        for value in &mut *x {
            *value = 10.0 * self.random.unit();
        }
        let wrong = self.random.chance(self.noise);
        f64::from((x[0] + x[1] > self.threshold) != wrong)
    }

    fn rule(&self, x: &[f64]) -> Option<f64> {
        Some(f64::from(x[0] + x[1] > self.threshold))
    }
}

#[cfg(test)]
mod tests {
    use crate::synth::tests::{built, rule};

    #[test]
    fn each_variant_has_its_threshold() {
        // 4.5 + 4.5 = 9 is above 8 and 7, not above 9 and 9.5; the third feature does not matter.
        let classes = [0, 1, 2, 3].map(|variant| {
            rule(&format!(r#"{{"name": "synth.SEA", "parameters": {{"variant": {variant}}}}}"#), &[4.5, 4.5, 10.0])
        });
        assert_eq!(classes, [Some(1.0), Some(0.0), Some(1.0), Some(0.0)]);
    }

    #[test]
    fn noise_turns_its_share_of_the_labels() {
        let mut sea = built(r#"{"name": "synth.SEA", "parameters": {"noise": 0.1}}"#);
        let mut x = [0.0; 3];
        let wrong = (0..20_000).filter(|_| sea.draw(&mut x) != sea.rule(&x).unwrap()).count();
        // 2000 with a deviation of √(20000 · 0.1 · 0.9) = 42.
        assert!((1850..2150).contains(&wrong), "{wrong}");
    }
}
