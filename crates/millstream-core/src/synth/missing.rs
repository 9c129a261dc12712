//! Missing: each value is missing with the same probability (missing completely at random; Rubin, 1976).

use super::{generator, seed, StreamSchema, SAMPLE, SEED, STREAM};
use crate::declaration::{Built, Declaration, Role};
use crate::generator::Generator;
use crate::merging::Merge;
use crate::numeric::random::Random;
use crate::parameter::{Bounds, Default, Kind, Parameter};

pub static DECLARATION: Declaration = Declaration {
    name: "synth.Missing",
    role: Role::Generator,
    words: "Another generator with missing values",
    merge: Merge::GENERATOR,
    parameters: &[
        STREAM,
        Parameter::new(
            "probability",
            Kind::Float(Bounds::UNIT),
            Default::Float(0.1),
            "probability that a value is missing",
        ),
        SEED,
    ],
    build: |arguments| {
        Ok(Built::Generator(Box::new(Missing {
            stream: generator(arguments, "stream")?,
            probability: arguments.float("probability")?,
            random: Random::new(seed(arguments)?, SAMPLE),
        })))
    },
};

struct Missing {
    stream: Box<dyn Generator>,
    probability: f64,
    random: Random,
}

impl Missing {
    fn take_out(&mut self, x: &mut [f64]) {
        for value in x {
            if self.random.chance(self.probability) {
                *value = f64::NAN;
            }
        }
    }
}

impl Generator for Missing {
    fn schema(&self) -> &StreamSchema {
        self.stream.schema()
    }

    fn draw(&mut self, x: &mut [f64]) -> f64 {
        let y = self.stream.draw(x);
        self.take_out(x);
        y
    }

    fn fill(&mut self, x: &mut [f64], y: &mut [f64]) {
        self.stream.fill(x, y);
        self.take_out(x);
    }

    fn rule(&self, x: &[f64]) -> Option<f64> {
        self.stream.rule(x)
    }
}

#[cfg(test)]
mod tests {
    use crate::synth::tests::built;

    #[test]
    fn values_are_missing_by_their_chance() {
        let some = r#"{"name": "synth.Missing", "parameters": {"stream": "synth.Agrawal", "probability": 0.2}}"#;
        let (mut stream, mut x, mut y) = (built(some), vec![0.0; 9 * 10_000], vec![0.0; 10_000]);
        stream.fill(&mut x, &mut y);
        let missing = x.iter().filter(|value| value.is_nan()).count();
        // 18000 with a deviation of 120.
        assert!((17_500..18_500).contains(&missing), "{missing}");
        assert!(y.iter().all(|y| y.is_finite()));
    }
}
