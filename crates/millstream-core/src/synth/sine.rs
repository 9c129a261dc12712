//! Sine: two sides of a curve, in four forms (Gama, Medas, Castillo and Rodrigues, 2004, "Learning with drift
//! detection", SBIA, section 4.1, data sets SINE1 and SINE2).
//!
//! Two features, x and y, are uniform in [0, 1]. In SINE1 a point below the curve
//! y = sin(x) is positive, in SINE2 one below y = 1/2 + 3/10 sin(3πx); after the change the classes are reversed.

use std::f64::consts::PI;

use super::balance::Balance;
use super::{classification_function, seed, StreamSchema, BALANCE_CLASSES, HAS_NOISE, SAMPLE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::generator::Generator;
use crate::merging::Merge;
use crate::numeric::elementary::sin;
use crate::numeric::random::Random;

pub static DECLARATION: Declaration = Declaration {
    name: "synth.Sine",
    role: Role::Generator,
    words: "Two sides of a sine curve (Gama and others, 2004)",
    merge: Merge::GENERATOR,
    parameters: &[
        classification_function(
            3,
            "index of the rule: below sin(x), above it, below 0.5 + 0.3 sin(3πx), above it",
        ),
        SEED,
        BALANCE_CLASSES,
        HAS_NOISE,
    ],
    build: |arguments| {
        let width = if arguments.boolean("has_noise")? { 4 } else { 2 };
        Ok(Built::Generator(Box::new(Sine {
            schema: StreamSchema::numbers(width, 2),
            function: arguments.size("classification_function")?,
            balance: Balance::new(arguments.boolean("balance_classes")?),
            random: Random::new(seed(arguments)?, SAMPLE),
        })))
    },
};

struct Sine {
    schema: StreamSchema,
    function: usize,
    balance: Balance,
    random: Random,
}

/// Whether a point is below the second curve, which Mixed has too.
pub fn is_below_wave(x: f64, y: f64) -> bool {
    y < 0.5 + 0.3 * sin(3.0 * PI * x)
}

fn is_positive(function: usize, x: f64, y: f64) -> bool {
    match function {
        0 => y < sin(x),
        1 => y >= sin(x),
        2 => is_below_wave(x, y),
        _ => !is_below_wave(x, y),
    }
}

impl Generator for Sine {
    fn schema(&self) -> &StreamSchema {
        &self.schema
    }

    fn draw(&mut self, x: &mut [f64]) -> f64 {
        loop {
            for value in &mut *x {
                *value = self.random.unit();
            }
            let y = f64::from(is_positive(self.function, x[0], x[1]));
            if self.balance.admits(y) {
                return y;
            }
        }
    }

    fn rule(&self, x: &[f64]) -> Option<f64> {
        Some(f64::from(is_positive(self.function, x[0], x[1])))
    }
}

#[cfg(test)]
mod tests {
    use super::is_positive;
    use crate::synth::tests::mean_targets;

    #[test]
    fn points_by_hand() {
        // sin(0.5) = 0.479; 0.5 + 0.3 sin(1.5π) = 0.2.
        let at = |y| [0, 1, 2, 3].map(|function| is_positive(function, 0.5, y));
        assert_eq!(at(0.1), [true, false, true, false]);
        assert_eq!(at(0.3), [true, false, false, true]);
        assert_eq!(at(0.6), [false, true, false, true]);
    }

    #[test]
    fn shares_are_the_areas_below_the_curves() {
        let share = |function: i64| {
            let text =
                format!(r#"{{"name": "synth.Sine", "parameters": {{"classification_function": {function}}}}}"#);
            mean_targets(&text, 40_000)
        };
        // 1 - cos(1) = 0.4597, and 0.5 + 0.3 (1 - cos(3π)) / 3π = 0.5637.
        for (function, area) in [0.4597, 0.5403, 0.5637, 0.4363].into_iter().enumerate() {
            assert!((share(function as i64) - area).abs() < 0.01);
        }
    }
}
