//! The number of features that each leaf of a forest considers.

use crate::fault::Result;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};

pub const MAX_FEATURES: Parameter = Parameter::new(
    "max_features",
    Kind::Optional(&Kind::Portion(&["sqrt", "log2"])),
    DefaultValue::Float(0.6),
    "number of features that each leaf considers: a fraction, a number, sqrt or log2 of their number, or null for all",
);

/// A function of the number of features, and its parameter.
pub type Size = (fn(usize, f64) -> usize, f64);

pub fn size(arguments: &Arguments<'_>) -> Result<Size> {
    let given = arguments.value("max_features")?;
    Ok(match (given.as_str(), given.as_u64()) {
        (Some("sqrt"), _) => (|features, _| (features as f64).sqrt().round() as usize, 0.0),
        (Some(_), _) => (|features, _| (features as f64).log2().round() as usize, 0.0),
        (None, Some(number)) => (|_, number| number as usize, number as f64),
        _ => (|features, fraction| (features as f64 * fraction).round() as usize, given.as_f64().unwrap_or(1.0)),
    })
}
