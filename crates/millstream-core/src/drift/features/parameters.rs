//! Parameters that detectors of rows share, declared once.

use crate::fault::Result;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};

use super::detector::REFERENCES;
use super::finding::{Correction, Significance, CORRECTIONS};

const LARGEST_WINDOW: i64 = 1 << 24;

const fn rows(name: &'static str, low: i64, default: i64, words: &'static str) -> Parameter {
    Parameter::new(name, Kind::Integer { low, high: LARGEST_WINDOW }, DefaultValue::Integer(default), words)
}

pub const REFERENCE_SIZE: Parameter = reference_size(500);
pub const WINDOW_SIZE: Parameter = window_size(200);
pub const CHECK_INTERVAL: Parameter = check_interval(50);
pub const REFERENCE: Parameter = reference("renewed");

pub const fn reference_size(default: i64) -> Parameter {
    rows("reference_size", 2, default, "rows that the newest ones are compared with")
}

pub const fn window_size(default: i64) -> Parameter {
    rows("window_size", 2, default, "newest rows that are compared")
}

pub const fn check_interval(default: i64) -> Parameter {
    rows("check_interval", 1, default, "rows from one comparison to the next")
}

pub const fn reference(default: &'static str) -> Parameter {
    Parameter::new(
        "reference",
        Kind::Choice(&REFERENCES),
        DefaultValue::Text(default),
        "whether the reference is renewed after a change, fixed, or the rows directly before the newest",
    )
}

pub const ALPHA: Parameter = Parameter::new(
    "alpha",
    Kind::Float(Bounds::OPEN_UNIT),
    DefaultValue::Float(0.001),
    "the chance of a false alarm at each comparison, over all features",
);

pub const ALPHA_WARNING: Parameter = Parameter::new(
    "alpha_warning",
    Kind::Float(Bounds::OPEN_UNIT),
    DefaultValue::Float(0.01),
    "the chance of a false alarm that is a warning",
);

pub const CORRECTION: Parameter = Parameter::new(
    "correction",
    Kind::Choice(&CORRECTIONS),
    DefaultValue::Text("holm"),
    "how p-values are corrected for the number of features",
);

pub fn significance(arguments: &Arguments<'_>) -> Result<Significance> {
    Significance::of(arguments, Correction::of(arguments.text("correction")?))
}
