//! Generators: endless streams with a known truth, as the literature defines them.
//!
//! | you look for | it is in |
//! |---|---|
//! | what a generator must do | `crate::generator` |
//! | its features and classes | `stream_schema` |
//! | one generator | the file of its name |
//!
//! A generator writes rows into a block that the caller owns. All randomness comes from `random`, all elementary
//! functions from `elementary`, so that a seed gives the same stream on every platform. Rows are drawn one after
//! the other, so the block size does not change the stream.

pub mod agrawal;
mod balance;
pub mod drift;
pub mod friedman;
pub mod hyperplane;
pub mod imbalance;
pub mod label_noise;
pub mod led;
pub mod missing;
pub mod mixed;
pub mod planes_2d;
pub mod random_rbf;
pub mod random_tree;
pub mod sea;
pub mod sine;
pub mod stagger;
mod stream_schema;
pub mod waveform;

pub use stream_schema::StreamSchema;

use crate::declaration::{Built, Role};
use crate::fault::Result;
use crate::generator::Generator;
use crate::parameter::{Arguments, Default, Kind, Parameter};

/// The purposes of one seed: what is fixed before the first example, and the examples.
const MODEL: u64 = 0;
const SAMPLE: u64 = 1;

const ANY_SEED: Kind = Kind::Integer { low: 0, high: i64::MAX };

/// The parameter that all generators have.
const SEED: Parameter = Parameter::new(
    "seed",
    ANY_SEED,
    Default::Integer(1),
    "seed of the random generator; the same seed gives the same stream",
);

const NOISE_PERCENTAGE: &str = "fraction of examples with a wrong label";

const SEED_MODEL: Parameter = Parameter::new(
    "seed_model",
    Kind::Optional(&ANY_SEED),
    Default::Null,
    "seed of the concept, which is fixed before the first example; null for the seed of the examples",
);

const BALANCE_CLASSES: Parameter = Parameter::new(
    "balance_classes",
    Kind::Boolean,
    Default::Boolean(false),
    "alternate the two classes, so that they are equally frequent",
);

const N_CLASSES: Parameter =
    Parameter::new("n_classes", Kind::Integer { low: 2, high: 10_000 }, Default::Integer(2), "number of classes");

const N_FEATURES: Parameter = Parameter::new(
    "n_features",
    Kind::Integer { low: 1, high: 100_000 },
    Default::Integer(10),
    "number of features",
);

const HAS_NOISE: Parameter =
    Parameter::new("has_noise", Kind::Boolean, Default::Boolean(false), "add irrelevant features");

/// The stream that a wrapper changes.
const STREAM: Parameter =
    Parameter::new("stream", Kind::Part(&[Role::Generator]), Default::Required, "generator to modify");

/// The number of a generator's rule.
const fn classification_function(high: i64, words: &'static str) -> Parameter {
    Parameter::new("classification_function", Kind::Integer { low: 0, high }, Default::Integer(0), words)
}

fn generator(arguments: &Arguments<'_>, name: &str) -> Result<Box<dyn Generator>> {
    match arguments.part(name)? {
        Built::Generator(generator) => Ok(generator),
        _ => Err(arguments.absent(name)),
    }
}

fn seed(arguments: &Arguments<'_>) -> Result<u64> {
    Ok(arguments.size("seed")? as u64)
}

/// The seed of what is fixed before the first example: its own, or that of the examples.
fn seed_model(arguments: &Arguments<'_>) -> Result<u64> {
    if arguments.value("seed_model")?.is_null() {
        return seed(arguments);
    }
    Ok(arguments.size("seed_model")? as u64)
}

#[cfg(test)]
pub mod tests {
    use crate::declaration::Built;
    use crate::generator::Generator;
    use crate::registry::{build_resolved, resolve};

    /// The generator of a description in JSON.
    pub fn built(description: &str) -> Box<dyn Generator> {
        let resolved = resolve(&serde_json::from_str(description).unwrap()).unwrap();
        match build_resolved(&resolved).unwrap() {
            Built::Generator(generator) => generator,
            _ => panic!("not a generator"),
        }
    }

    pub fn rule(description: &str, x: &[f64]) -> Option<f64> {
        built(description).rule(x)
    }

    /// The mean of the first targets, which for two classes is the share of class 1.
    pub fn mean_targets(description: &str, n: usize) -> f64 {
        let mut stream = built(description);
        let mut x = vec![0.0; n * stream.schema().width()];
        let mut y = vec![0.0; n];
        stream.fill(&mut x, &mut y);
        y.iter().sum::<f64>() / n as f64
    }
}
