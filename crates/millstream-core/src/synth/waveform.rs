//! Waveform: three classes of mixed triangular waves (Breiman, Friedman, Olshen and Stone, 1984, "Classification and
//! regression trees", section 2.6.2).
//!
//! Three waves are triangles of height 6 that peak at the 7th, 15th and 11th of 21 points. An example is
//! u · (one wave) + (1 - u) · (another), u uniform in [0, 1], plus Gaussian noise of variance 1 at each point; its
//! class is the pair of waves. The best possible error is about 14 %. In the second form there are 19 more features
//! that are only noise.

use super::{seed, StreamSchema, HAS_NOISE, SAMPLE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::generator::Generator;
use crate::merging::Merge;
use crate::numeric::random::Random;

const PEAKS: [usize; 3] = [7, 15, 11];
/// The waves that a class mixes.
const PAIRS: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];
const POINTS: usize = 21;
const ALL: usize = 40;

pub static DECLARATION: Declaration = Declaration {
    name: "synth.Waveform",
    role: Role::Generator,
    words: "Three classes of mixed triangular waves with noise (Breiman and others, 1984)",
    merge: Merge::GENERATOR,
    parameters: &[SEED, HAS_NOISE],
    build: |arguments| {
        let width = if arguments.boolean("has_noise")? { ALL } else { POINTS };
        Ok(Built::Generator(Box::new(Waveform {
            schema: StreamSchema::numbers(width, 3),
            waves: PEAKS.map(wave),
            random: Random::new(seed(arguments)?, SAMPLE),
        })))
    },
};

struct Waveform {
    schema: StreamSchema,
    waves: [[f64; POINTS]; 3],
    random: Random,
}

/// A triangle of height 6 around a point, counted from 1.
fn wave(peak: usize) -> [f64; POINTS] {
    std::array::from_fn(|place| 6usize.saturating_sub(peak.abs_diff(place + 1)) as f64)
}

impl Generator for Waveform {
    fn schema(&self) -> &StreamSchema {
        &self.schema
    }

    fn draw(&mut self, x: &mut [f64]) -> f64 {
        let class = self.random.below(3);
        let (a, b) = PAIRS[class as usize];
        let u = self.random.unit();
        let (points, rest) = x.split_at_mut(POINTS);
        for ((value, a), b) in points.iter_mut().zip(&self.waves[a]).zip(&self.waves[b]) {
            *value = u * a + (1.0 - u) * b + self.random.gaussian();
        }
        for value in rest {
            *value = self.random.gaussian();
        }
        f64::from(class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_are_triangles() {
        let expected = [0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0].map(f64::from);
        assert_eq!(wave(7), expected);
        assert_eq!(wave(15)[14], 6.0);
        assert_eq!(wave(11)[5..16], expected[1..12]);
    }
}
