//! Parameters shared by the detectors for rows.

use crate::fault::Result;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};

use super::finding::{Correction, SignificanceLevels, CORRECTIONS};
use super::window_comparison::REFERENCES;

const LARGEST_WINDOW: i64 = 1 << 24;

const fn rows(name: &'static str, low: i64, default: i64, words: &'static str) -> Parameter {
    Parameter::new(name, Kind::Integer { low, high: LARGEST_WINDOW }, DefaultValue::Integer(default), words)
}

pub const REFERENCE_SIZE: Parameter = reference_size(500);
pub const WINDOW_SIZE: Parameter = window_size(200);
pub const CHECK_INTERVAL: Parameter = check_interval(50);
pub const REFERENCE: Parameter = reference("renewed");

pub const fn reference_size(default: i64) -> Parameter {
    rows("reference_size", 2, default, "number of rows in the reference")
}

pub const fn window_size(default: i64) -> Parameter {
    rows("window_size", 2, default, "number of newest rows that are compared with the reference")
}

pub const fn check_interval(default: i64) -> Parameter {
    rows("check_interval", 1, default, "number of rows between comparisons")
}

pub const fn reference(default: &'static str) -> Parameter {
    Parameter::new(
        "reference",
        Kind::Choice(&REFERENCES),
        DefaultValue::Text(default),
        "renewed after drift, fixed, or sliding: the rows directly before the newest",
    )
}

pub const SIGNIFICANCE: Parameter = Parameter::new(
    "significance",
    Kind::Float(Bounds::OPEN_UNIT),
    DefaultValue::Float(0.001),
    "significance level of drift at each comparison, over all features",
)
.formerly(&["alpha"]);

pub const WARNING_SIGNIFICANCE: Parameter = Parameter::new(
    "warning_significance",
    Kind::Float(Bounds::OPEN_UNIT),
    DefaultValue::Float(0.01),
    "significance level of warnings at each comparison, over all features",
)
.formerly(&["alpha_warning"]);

pub const CORRECTION: Parameter = Parameter::new(
    "correction",
    Kind::Choice(&CORRECTIONS),
    DefaultValue::Text("holm"),
    "correction of the p-values for the number of features",
);

pub fn significance_levels(arguments: &Arguments<'_>) -> Result<SignificanceLevels> {
    SignificanceLevels::of(arguments, Correction::of(arguments.text("correction")?))
}
