//! How many features each leaf of a forest looks at.

use crate::fault::Result;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};

pub const MAX_FEATURES: Parameter = Parameter::new(
    "max_features",
    Kind::Optional(&Kind::Portion(&["sqrt", "log2"])),
    DefaultValue::Float(0.6),
    "how many features each leaf looks at: a share of them, their number, or null for all",
);

/// A rule for the number of features, given how many there are, and the number in the rule.
pub type Size = (fn(usize, f64) -> usize, f64);

pub fn size(arguments: &Arguments<'_>) -> Result<Size> {
    let given = arguments.value("max_features")?;
    Ok(match (given.as_str(), given.as_u64()) {
        (Some("sqrt"), _) => (|features, _| (features as f64).sqrt().round() as usize, 0.0),
        (Some(_), _) => (|features, _| (features as f64).log2().round() as usize, 0.0),
        (None, Some(number)) => (|_, number| number as usize, number as f64),
        _ => (|features, share| (features as f64 * share).round() as usize, given.as_f64().unwrap_or(1.0)),
    })
}
