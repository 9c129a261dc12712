//! The features and classes of a generator.

use crate::fault::{Fault, Result};
use crate::schema::Name;

#[derive(Clone, Debug, PartialEq)]
pub struct StreamSchema {
    /// A name for each feature.
    pub names: Vec<Name>,
    /// The values of each nominal feature, by code; none for a feature that is a number.
    pub values: Vec<Option<Vec<String>>>,
    /// Number of classes; 0 if the target is a number.
    pub classes: usize,
}

impl StreamSchema {
    /// Numeric features, named by their index.
    pub fn numbers(width: usize, classes: usize) -> Self {
        StreamSchema { names: (0..width as i64).map(Name::Number).collect(), values: vec![None; width], classes }
    }

    /// Features with names; nominal ones have values.
    pub fn named(features: &[(&str, &[&str])], classes: usize) -> Self {
        let texts =
            |values: &&[&str]| (!values.is_empty()).then(|| values.iter().map(|&v| v.to_owned()).collect());
        StreamSchema {
            names: features.iter().map(|(name, _)| Name::from(*name)).collect(),
            values: features.iter().map(|(_, values)| texts(values)).collect(),
            classes,
        }
    }

    pub fn width(&self) -> usize {
        self.names.len()
    }

    /// Whether there are nominal features.
    pub fn is_mixed(&self) -> bool {
        self.values.iter().any(Option::is_some)
    }

    /// The schema of a stream with examples of both; an error if they do not match.
    pub fn join(&self, other: &StreamSchema) -> Result<StreamSchema> {
        let fault = |what: &str| Fault::value(format!("both streams must have the same {what}"));
        if self.names != other.names {
            return Err(fault("features"));
        }
        if self.values != other.values {
            return Err(fault("nominal values"));
        }
        if (self.classes == 0) != (other.classes == 0) {
            return Err(fault("kind of target, classes or numbers"));
        }
        Ok(StreamSchema { classes: self.classes.max(other.classes), ..self.clone() })
    }
}
