//! What the examples of a generator look like.

use crate::fault::{Fault, Result};
use crate::schema::Name;

#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// A name for each feature.
    pub names: Vec<Name>,
    /// The values of each nominal feature, by code; none for a feature that is a number.
    pub values: Vec<Option<Vec<String>>>,
    /// How many classes there are; 0 where the target is a number.
    pub classes: usize,
}

impl Form {
    /// Features that are all numbers, named by their place.
    pub fn numbers(width: usize, classes: usize) -> Self {
        Form { names: (0..width as i64).map(Name::Number).collect(), values: vec![None; width], classes }
    }

    /// Features with names; nominal ones have values.
    pub fn named(features: &[(&str, &[&str])], classes: usize) -> Self {
        let texts =
            |values: &&[&str]| (!values.is_empty()).then(|| values.iter().map(|&v| v.to_owned()).collect());
        Form {
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

    /// The form of a stream that gives examples of both; an error if they do not fit together.
    pub fn join(&self, other: &Form) -> Result<Form> {
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
        Ok(Form { classes: self.classes.max(other.classes), ..self.clone() })
    }
}
