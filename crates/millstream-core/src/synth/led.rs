//! LED: the segments of a digit, some of them inverted (Breiman, Friedman, Olshen and Stone, 1984, "Classification and
//! regression trees", section 2.6.1).
//!
//! A digit is drawn uniformly; its seven segments are the features, each inverted with a probability, 10 % in the
//! book, where the best possible error is 26 %. Seventeen irrelevant features, randomly 0 or 1, may be added.
//! To drift, some of the seven are swapped with some of the seventeen.

use super::{seed, StreamSchema, MODEL, SAMPLE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Fault;
use crate::generator::Generator;
use crate::merging::Merge;
use crate::numeric::random::Random;
use crate::parameter::{Bounds, Default, Kind, Parameter};

/// Top, upper left, upper right, middle, lower left, lower right, bottom.
const SEGMENTS: [[u8; 7]; 10] = [
    [1, 1, 1, 0, 1, 1, 1],
    [0, 0, 1, 0, 0, 1, 0],
    [1, 0, 1, 1, 1, 0, 1],
    [1, 0, 1, 1, 0, 1, 1],
    [0, 1, 1, 1, 0, 1, 0],
    [1, 1, 0, 1, 0, 1, 1],
    [1, 1, 0, 1, 1, 1, 1],
    [1, 0, 1, 0, 0, 1, 0],
    [1, 1, 1, 1, 1, 1, 1],
    [1, 1, 1, 1, 0, 1, 1],
];
const RELEVANT: usize = 7;
const ALL: usize = 24;

pub static DECLARATION: Declaration = Declaration {
    name: "synth.LED",
    role: Role::Generator,
    words: "Ten digits by the segments of a display, some of them inverted (Breiman and others, 1984)",
    merge: Merge::GENERATOR,
    parameters: &[
        SEED,
        Parameter::new(
            "noise_percentage",
            Kind::Float(Bounds::UNIT),
            Default::Float(0.0),
            "probability that a segment is inverted",
        ),
        Parameter::new(
            "irrelevant_features",
            Kind::Boolean,
            Default::Boolean(false),
            "add 17 irrelevant features",
        ),
        Parameter::new(
            "n_drift_features",
            Kind::Integer { low: 0, high: RELEVANT as i64 },
            Default::Integer(0),
            "number of segments swapped with irrelevant features; needs irrelevant_features",
        ),
    ],
    build: |arguments| {
        let width = if arguments.boolean("irrelevant_features")? { ALL } else { RELEVANT };
        let swapped = arguments.size("n_drift_features")?;
        let mut random = Random::new(seed(arguments)?, MODEL);
        let mut places: Vec<usize> = (0..width).collect();
        if width == ALL {
            // The first of a shuffled list of segments change with the first of a shuffled list of the others.
            let (mut ours, mut others): (Vec<usize>, Vec<usize>) = places.iter().partition(|&&p| p < RELEVANT);
            for _ in 0..swapped {
                let ours = ours.swap_remove(random.below(ours.len() as u32) as usize);
                places.swap(ours, others.swap_remove(random.below(others.len() as u32) as usize));
            }
        } else if swapped > 0 {
            let who = arguments.who;
            return Err(Fault::value(format!(
                "{who}: n_drift_features must be 0 without irrelevant_features to change with, got {swapped}"
            )));
        }
        Ok(Built::Generator(Box::new(Led {
            schema: StreamSchema::numbers(width, 10),
            places,
            noise: arguments.float("noise_percentage")?,
            random: Random::new(seed(arguments)?, SAMPLE),
        })))
    },
};

struct Led {
    schema: StreamSchema,
    /// Where each of the features is written.
    places: Vec<usize>,
    noise: f64,
    random: Random,
}

impl Generator for Led {
    fn schema(&self) -> &StreamSchema {
        &self.schema
    }

    fn draw(&mut self, x: &mut [f64]) -> f64 {
        let digit = self.random.below(10);
        for (&segment, &place) in SEGMENTS[digit as usize].iter().zip(&self.places) {
            let wrong = self.random.chance(self.noise);
            x[place] = f64::from((segment == 1) != wrong);
        }
        if self.places.len() > RELEVANT {
            // One number has bits for all of them.
            let mut bits = self.random.bits();
            for &place in &self.places[RELEVANT..] {
                x[place] = (bits >> 63) as f64;
                bits <<= 1;
            }
        }
        f64::from(digit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_classifier_errs_less_than_in_26_percent() {
        // With noise p, a pattern that differs from a digit in k segments has probability p^k (1 - p)^(7 - k); the
        // best guess is the most probable digit. Summed over all 128 patterns, that guess is right in 74 %.
        let right: f64 = (0u32..128)
            .map(|pattern| {
                let likelihood = |digit: &[u8; 7]| {
                    let differ =
                        digit.iter().enumerate().filter(|(k, s)| u32::from(**s) != pattern >> k & 1).count();
                    0.1f64.powi(differ as i32) * 0.9f64.powi(7 - differ as i32)
                };
                SEGMENTS.iter().map(likelihood).fold(0.0, f64::max) / 10.0
            })
            .sum();
        assert!((right - 0.74).abs() < 0.001, "{right}");
    }

    #[test]
    fn a_swap_needs_something_to_swap_with() {
        let alone = serde_json::json!({"name": "synth.LED", "parameters": {"n_drift_features": 1}});
        let resolved = crate::registry::resolve(&alone).unwrap();
        assert!(crate::registry::build_resolved(&resolved).is_err());
    }
}
