//! Imbalance: classes in given proportions.
//!
//! The class of an example is drawn first; examples of the stream are then discarded until one of that class occurs. The
//! features of each class are therefore those of the stream; a drifting stream advances with discarded examples.

use super::{generator, seed, StreamSchema, SAMPLE, SEED, STREAM};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Fault;
use crate::generator::Generator;
use crate::merging::Merge;
use crate::numeric::random::{Choice, Random};
use crate::parameter::{Bounds, Default, Kind, Parameter};

/// After so many examples without the wanted class, one of another is let through: the class may not exist.
const TRIES: usize = 100_000;

pub static DECLARATION: Declaration = Declaration {
    name: "synth.Imbalance",
    role: Role::Generator,
    words: "Another generator with classes in given proportions",
    merge: Merge::GENERATOR,
    parameters: &[
        STREAM,
        Parameter::new(
            "shares",
            Kind::Floats(Bounds::new(0.0, true, 1e9, true)),
            Default::Required,
            "relative frequency of each class",
        ),
        SEED,
    ],
    build: |arguments| {
        let stream = generator(arguments, "stream")?;
        let shares = arguments.floats("shares")?;
        let (who, classes) = (arguments.who, stream.schema().classes);
        if classes == 0 {
            return Err(Fault::value(format!("{who}: stream must have classes, not numbers")));
        }
        if shares.len() != classes || shares.iter().sum::<f64>() <= 0.0 {
            return Err(Fault::value(format!(
                "{who}: shares must be {classes} numbers that are not all 0, got {shares:?}"
            )));
        }
        Ok(Built::Generator(Box::new(Imbalance {
            stream,
            choice: Choice::new(&shares),
            random: Random::new(seed(arguments)?, SAMPLE),
        })))
    },
};

struct Imbalance {
    stream: Box<dyn Generator>,
    choice: Choice,
    random: Random,
}

impl Generator for Imbalance {
    fn schema(&self) -> &StreamSchema {
        self.stream.schema()
    }

    fn draw(&mut self, x: &mut [f64]) -> f64 {
        let wanted = self.choice.draw(&mut self.random) as f64;
        for _ in 1..TRIES {
            let y = self.stream.draw(x);
            if y == wanted {
                return y;
            }
        }
        self.stream.draw(x)
    }

    fn rule(&self, x: &[f64]) -> Option<f64> {
        self.stream.rule(x)
    }
}

#[cfg(test)]
mod tests {
    use crate::synth::tests::mean_targets;

    #[test]
    fn classes_have_their_shares() {
        let rare = r#"{"name": "synth.Imbalance", "parameters": {"stream": "synth.SEA", "shares": [99, 1]}}"#;
        let share = mean_targets(rare, 50_000);
        assert!((share - 0.01).abs() < 0.002, "{share}");
    }
}
