//! Planes2D: a number from one of two planes (Breiman, Friedman, Olshen and Stone, 1984, "Classification and
//! regression trees", section 8.6).
//!
//! x₁ is -1 or 1, x₂ to x₁₀ are -1, 0 or 1, with equal probability. y = 3 + 3 x₂ + 2 x₃ + x₄ + ε if x₁ = 1, else
//! y = -3 + 3 x₅ + 2 x₆ + x₇ + ε, and x₈ to x₁₀ are irrelevant. The variance of ε is 2 in the book, and 1 in the
//! collection of data sets that made the name 2dplanes known; it is 1 here.

use super::{seed, StreamSchema, SAMPLE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::generator::Generator;
use crate::merging::Merge;
use crate::numeric::random::Random;

pub static DECLARATION: Declaration = Declaration {
    name: "synth.Planes2D",
    role: Role::Generator,
    words: "A number from one of two planes, chosen by the first feature (Breiman and others, 1984)",
    merge: Merge::GENERATOR,
    parameters: &[SEED],
    build: |arguments| {
        Ok(Built::Generator(Box::new(Planes2D {
            schema: StreamSchema::numbers(10, 0),
            random: Random::new(seed(arguments)?, SAMPLE),
        })))
    },
};

struct Planes2D {
    schema: StreamSchema,
    random: Random,
}

fn height(x: &[f64]) -> f64 {
    if x[0] == 1.0 {
        3.0 + 3.0 * x[1] + 2.0 * x[2] + x[3]
    } else {
        -3.0 + 3.0 * x[4] + 2.0 * x[5] + x[6]
    }
}

impl Generator for Planes2D {
    fn schema(&self) -> &StreamSchema {
        &self.schema
    }

    fn draw(&mut self, x: &mut [f64]) -> f64 {
        x[0] = f64::from(self.random.below(2)) * 2.0 - 1.0;
        for value in &mut x[1..] {
            *value = f64::from(self.random.below(3)) - 1.0;
        }
        height(x) + self.random.gaussian()
    }

    fn rule(&self, x: &[f64]) -> Option<f64> {
        Some(height(x))
    }
}

#[cfg(test)]
mod tests {
    use super::height;

    #[test]
    fn the_first_feature_says_which_plane() {
        // 3 + 3 - 2 + 0 = 4, and -3 - 3 + 0 + 1 = -5.
        assert_eq!(height(&[1.0, 1.0, -1.0, 0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0]), 4.0);
        assert_eq!(height(&[-1.0, 1.0, -1.0, 0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0]), -5.0);
    }
}
