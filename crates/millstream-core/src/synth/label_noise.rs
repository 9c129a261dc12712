//! LabelNoise: wrong labels for a fraction of the examples.

use super::{generator, seed, StreamSchema, SAMPLE, SEED, STREAM};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Fault;
use crate::generator::Generator;
use crate::merging::Merge;
use crate::numeric::random::Random;
use crate::parameter::{Bounds, Default, Kind, Parameter};

pub static DECLARATION: Declaration = Declaration {
    name: "synth.LabelNoise",
    role: Role::Generator,
    words: "Another generator with wrong labels for a fraction of the examples",
    merge: Merge::GENERATOR,
    parameters: &[
        STREAM,
        Parameter::new(
            "probability",
            Kind::Float(Bounds::UNIT),
            Default::Float(0.1),
            "probability of a wrong class, drawn uniformly from the others",
        ),
        SEED,
    ],
    build: |arguments| {
        let stream = generator(arguments, "stream")?;
        if stream.schema().classes < 2 {
            return Err(Fault::value(format!("{}: stream must have classes, not numbers", arguments.who)));
        }
        Ok(Built::Generator(Box::new(LabelNoise {
            probability: arguments.float("probability")?,
            random: Random::new(seed(arguments)?, SAMPLE),
            stream,
        })))
    },
};

struct LabelNoise {
    stream: Box<dyn Generator>,
    probability: f64,
    random: Random,
}

impl LabelNoise {
    fn label(&mut self, y: f64) -> f64 {
        if !self.random.chance(self.probability) {
            return y;
        }
        let classes = self.stream.schema().classes as u32;
        (y + 1.0 + f64::from(self.random.below(classes - 1))) % f64::from(classes)
    }
}

impl Generator for LabelNoise {
    fn schema(&self) -> &StreamSchema {
        self.stream.schema()
    }

    fn draw(&mut self, x: &mut [f64]) -> f64 {
        let y = self.stream.draw(x);
        self.label(y)
    }

    fn fill(&mut self, x: &mut [f64], y: &mut [f64]) {
        self.stream.fill(x, y);
        for y in y {
            *y = self.label(*y);
        }
    }

    fn rule(&self, x: &[f64]) -> Option<f64> {
        self.stream.rule(x)
    }
}

#[cfg(test)]
mod tests {
    use crate::synth::tests::built;

    #[test]
    fn every_label_can_be_made_wrong_and_none_stays() {
        let digits = r#"{"name": "synth.LED"}"#;
        let wrong =
            format!(r#"{{"name": "synth.LabelNoise", "parameters": {{"stream": {digits}, "probability": 1}}}}"#);
        let (mut plain, mut noisy, mut x) = (built(digits), built(&wrong), [0.0; 7]);
        let mut seen = [0; 10];
        for _ in 0..10_000 {
            let (right, wrong) = (plain.draw(&mut x), noisy.draw(&mut x));
            assert!(right != wrong && wrong < 10.0);
            seen[((wrong - right + 10.0) % 10.0) as usize] += 1;
        }
        // 10000 / 9 each.
        assert!(seen[1..].iter().all(|n| (950..1280).contains(n)), "{seen:?}");
    }
}
