//! Drift: one stream turns into another (Bifet, Holmes, Pfahringer, Kirkby and Gavaldà, 2009, "New ensemble methods
//! for evolving data streams", KDD, section 3).
//!
//! The probability that example t, counted from 0, comes from the second stream is σ(t) = 1 / (1 + e^(-4 (t - p) / w)): one
//! half at the position p, rising mostly within the width w around it. Width 0 is a step at p. The paper's α is the
//! slope of σ at p, an angle for which tan α = 1 / w.
//!
//! An incremental drift has examples in between: x = (1 - σ) xₐ + σ x_b of two examples of one class, one from each
//! stream, as in stream-learn (Ksieniewicz and Zyblewski, 2022, Neurocomputing 478); a nominal value is that of the
//! second with probability σ, and a numeric target is mixed like the features.
//!
//! A recurring drift goes back at p + period, forth again at p + 2 · period, and so on.

use std::f64::consts::PI;

use super::{generator, seed, StreamSchema, SAMPLE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::generator::Generator;
use crate::merging::Merge;
use crate::numeric::elementary::{cos, exp, sin};
use crate::numeric::random::Random;
use crate::parameter::{Bounds, Default, Kind, Parameter};

pub static DECLARATION: Declaration = Declaration {
    name: "synth.Drift",
    role: Role::Generator,
    words: "Drift from one stream to another: abrupt, gradual, incremental or recurring",
    merge: Merge::GENERATOR,
    parameters: &[
        Parameter::new("stream", Kind::Part(&[Role::Generator]), Default::Required, "generator before the change"),
        Parameter::new(
            "drift_stream",
            Kind::Part(&[Role::Generator]),
            Default::Required,
            "generator after the change",
        ),
        Parameter::new(
            "position",
            Kind::Integer { low: 0, high: i64::MAX },
            Default::Integer(5000),
            "index of the example at which both generators are equally likely",
        ),
        Parameter::new(
            "width",
            Kind::Integer { low: 0, high: i64::MAX },
            Default::Integer(1000),
            "number of examples of the transition; 0 for an abrupt change",
        ),
        Parameter::new(
            "incremental",
            Kind::Boolean,
            Default::Boolean(false),
            "mix examples of both streams during the transition, instead of choosing one of them",
        ),
        Parameter::new(
            "period",
            Kind::Optional(&Kind::Integer { low: 1, high: i64::MAX }),
            Default::Null,
            "number of examples between recurring changes; null for a single change",
        ),
        Parameter::new(
            "angle",
            Kind::Optional(&Kind::Float(Bounds::new(0.0, false, 90.0, true))),
            Default::Null,
            "steepness of the transition in degrees, which sets the width to 1 / tan(angle)",
        )
        .formerly(&["alpha"]),
        SEED,
    ],
    build: |arguments| {
        let (stream, drift_stream) = (generator(arguments, "stream")?, generator(arguments, "drift_stream")?);
        let schema = stream.schema().join(drift_stream.schema()).map_err(|fault| fault.by(arguments.who))?;
        let width = match arguments.value("angle")?.as_f64() {
            None => arguments.integer("width")? as f64,
            // At 90 degrees the cosine is 0 but for rounding.
            Some(degrees) if degrees > 89.999_999 => 0.0,
            Some(degrees) => cos(degrees * PI / 180.0) / sin(degrees * PI / 180.0),
        };
        Ok(Built::Generator(Box::new(Drift {
            other: vec![0.0; schema.width()],
            schema,
            stream,
            drift_stream,
            position: arguments.integer("position")? as f64,
            width,
            incremental: arguments.boolean("incremental")?,
            period: arguments.value("period")?.as_f64(),
            drawn: 0,
            random: Random::new(seed(arguments)?, SAMPLE),
        })))
    },
};

/// How often an example of the second stream is drawn to find one of the wanted class.
const TRIES: usize = 10_000;

struct Drift {
    schema: StreamSchema,
    stream: Box<dyn Generator>,
    drift_stream: Box<dyn Generator>,
    position: f64,
    width: f64,
    incremental: bool,
    period: Option<f64>,
    drawn: u64,
    /// An example of the second stream.
    other: Vec<f64>,
    random: Random,
}

/// How much of the second stream there is at example `t`.
fn share(t: f64, position: f64, width: f64, period: Option<f64>) -> f64 {
    // The change that is nearest, and whether it leads back.
    let changes = period.map_or(0.0, |period| ((t - position) / period).round().max(0.0));
    let since = t - position - changes * period.unwrap_or(0.0);
    let place = 4.0 * since / width;
    // Beyond 40 the rest is smaller than what a random number can tell, and nothing is computed.
    let forth = match width > 0.0 && place.abs() < 40.0 {
        true => 1.0 / (1.0 + exp(-place)),
        false => f64::from(since >= 0.0),
    };
    if changes % 2.0 == 0.0 {
        forth
    } else {
        1.0 - forth
    }
}

impl Drift {
    /// An example between the two streams.
    fn between(&mut self, x: &mut [f64], share: f64) -> f64 {
        let y = self.stream.draw(x);
        let mut other = self.drift_stream.draw(&mut self.other);
        for _ in 0..TRIES {
            if self.schema.classes == 0 || other == y {
                break;
            }
            other = self.drift_stream.draw(&mut self.other);
        }
        for ((a, &b), values) in x.iter_mut().zip(&self.other).zip(&self.schema.values) {
            match values {
                None => *a = (1.0 - share) * *a + share * b,
                Some(_) if self.random.chance(share) => *a = b,
                Some(_) => {}
            }
        }
        match self.schema.classes {
            0 => (1.0 - share) * y + share * other,
            _ => y,
        }
    }
}

impl Generator for Drift {
    fn schema(&self) -> &StreamSchema {
        &self.schema
    }

    fn draw(&mut self, x: &mut [f64]) -> f64 {
        let share = share(self.drawn as f64, self.position, self.width, self.period);
        self.drawn += 1;
        let whole = share == 0.0 || share == 1.0;
        if self.incremental && !whole {
            return self.between(x, share);
        }
        if self.random.chance(share) {
            self.drift_stream.draw(x)
        } else {
            self.stream.draw(x)
        }
    }

    fn rule(&self, x: &[f64]) -> Option<f64> {
        self.stream.rule(x)
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn the_share_of_the_second_stream() {
        assert_eq!(share(100.0, 100.0, 10.0, None), 0.5);
        // Half a width after the position: 1 / (1 + e^-2).
        assert!((share(105.0, 100.0, 10.0, None) - 0.880_797_077_977_882_3).abs() < 1e-15);
        assert_eq!([99.0, 100.0].map(|t| share(t, 100.0, 0.0, None)), [0.0, 1.0]);
    }

    #[test]
    fn a_recurring_drift_goes_back_and_forth() {
        let at = |t| share(t, 100.0, 0.0, Some(50.0));
        assert_eq!([0.0, 99.0, 100.0, 149.0, 150.0, 199.0, 200.0].map(at), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
        assert_eq!(share(150.0, 100.0, 10.0, Some(50.0)), 0.5);
        assert!((share(155.0, 100.0, 10.0, Some(50.0)) - 0.119_202_922_022_117_7).abs() < 1e-15);
    }
}
