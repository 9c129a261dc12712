//! Errors in one line: who, what, must be, got.
//!
//! A `Fault` is boxed, so that `Result<(), Fault>` stays one word on the hot path.

use std::fmt;

/// The built-in Python exception of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A value out of range: NaN, infinity, a bad weight, a parameter out of bounds.
    Value,
    /// A value of the wrong type: a string instead of a number, a feature that changed its kind.
    Type,
    /// An unknown name.
    Key,
    /// An update that would have overflowed.
    Overflow,
    /// A saved model that cannot be read.
    State,
}

#[derive(Clone, Debug)]
pub struct Fault(Box<Details>);

#[derive(Clone, Debug)]
struct Details {
    kind: FaultKind,
    message: String,
    row: Option<usize>,
}

pub type Result<T> = std::result::Result<T, Fault>;

impl Fault {
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Fault(Box::new(Details { kind, message: message.into(), row: None }))
    }

    pub fn value(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Value, message)
    }

    pub fn wrong_type(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Type, message)
    }

    pub fn key(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Key, message)
    }

    pub fn state(message: impl Into<String>) -> Self {
        Self::new(FaultKind::State, message)
    }

    /// The state of `who` would have overflowed; it is unchanged.
    pub fn overflow(who: &str) -> Self {
        Self::new(
            FaultKind::Overflow,
            format!("{who}: this example would make the state overflow; it was not learned (scale the features, or lower the learning rate)"),
        )
    }

    /// Prepend `who: `, for faults raised where the learner's name is not known.
    pub fn by(mut self, who: &str) -> Self {
        self.0.message = format!("{who}: {}", self.0.message);
        self
    }

    /// Add the row of the batch.
    pub fn at_row(mut self, row: usize) -> Self {
        if self.0.row.is_none() {
            self.0.row = Some(row);
        }
        self
    }

    pub fn kind(&self) -> FaultKind {
        self.0.kind
    }

    pub fn row(&self) -> Option<usize> {
        self.0.row
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }
}

/// A number for a message, with an exponent if it would have many zeros.
pub struct Shown(pub f64);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        match size == 0.0 || !size.is_finite() || (1e-5..1e16).contains(&size) {
            true => write!(f, "{}", self.0),
            false => write!(f, "{:e}", self.0),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.row {
            Some(row) => write!(f, "row {row}: {}", self.0.message),
            None => f.write_str(&self.0.message),
        }
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_short() {
        let shown = |number: f64| Shown(number).to_string();
        assert_eq!([shown(3.0), shown(-0.5), shown(0.0), shown(f64::NAN)], ["3", "-0.5", "0", "NaN"]);
        assert_eq!([shown(1e308), shown(-2.5e-300)], ["1e308", "-2.5e-300"]);
    }
}
