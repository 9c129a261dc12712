//! Drift detectors for a stream of numbers. Detectors for rows are in `features`.
//!
//! Each is a `ChangeTest` in a file of its own, which `change_test` turns into a component. Detectors for the errors of
//! a classifier (`ChangeTest::UNIT_INTERVAL`) receive 1 for an error, 0 for a correct prediction, or a value between.

pub mod adaptive_window;
mod adwin;
mod change_test;
mod cusum;
mod ddm;
mod eddm;
mod error_monitor;
mod ewma_chart;
mod exponential_histogram;
mod features;
mod fhddm;
mod hddm_a;
mod hddm_w;
mod kswin;
mod page_hinkley;
mod rddm;
mod retrain;
mod ring_buffer;
mod stepd;
mod window_cuts;

pub use adwin::ADWIN;
pub use change_test::{Direction, Verdict};
pub use cusum::CUSUM;
pub use ddm::DDM;
pub use eddm::EDDM;
pub use ewma_chart::EWMA_CHART;
pub(crate) use features::most_moved;
pub use features::{Finding, CHI_SQUARE_TEST, CLUSTER_DRIFT, D3, HELLINGER_DISTANCE, KS_TEST, OCDD, PSI};
pub use fhddm::FHDDM;
pub use hddm_a::HDDM_A;
pub use hddm_w::HDDM_W;
pub use kswin::KSWIN;
pub use page_hinkley::PAGE_HINKLEY;
pub use rddm::RDDM;
pub use retrain::RETRAIN;
pub use stepd::STEPD;

use crate::fault::Result;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};

/// The directions in which the mean may change.
#[derive(Clone, Copy, Debug)]
struct Sides {
    up: bool,
    down: bool,
}

impl Sides {
    fn of(arguments: &Arguments<'_>) -> Result<Self> {
        let mode = arguments.text("mode")?;
        Ok(Sides { up: mode != "down", down: mode != "up" })
    }
}

const fn mode(default: &'static str) -> Parameter {
    Parameter::new(
        "mode",
        Kind::Choice(&["both", "up", "down"]),
        DefaultValue::Text(default),
        "direction of the changes to detect: up, down or both",
    )
}

const fn grace_period(default: i64, formerly: &'static [&'static str]) -> Parameter {
    Parameter::new(
        "grace_period",
        Kind::Integer { low: 1, high: i64::MAX },
        DefaultValue::Integer(default),
        "number of initial values without a detection",
    )
    .formerly(formerly)
}

/// Of cumulative sums, in the units of the numbers.
const ALLOWANCE: Parameter = Parameter::new(
    "allowance",
    Kind::Float(Bounds::NOT_NEGATIVE),
    DefaultValue::Float(0.005),
    "deviation from the mean that is tolerated at each value",
)
.formerly(&["delta"]);
const THRESHOLD: Parameter = Parameter::new(
    "threshold",
    Kind::Float(Bounds::NOT_NEGATIVE),
    DefaultValue::Float(50.0),
    "cumulative deviation above which drift is detected",
);

/// Fraction of the drift threshold at which a warning is given, where no other is declared; as in charts of weighted
/// means.
const WARNING_FRACTION: f64 = 0.5;

/// The significance level of warnings, where only that of drift is declared: ten times that level, but always less
/// than 1.
fn warning_significance(significance: f64) -> f64 {
    (10.0 * significance).min(significance.sqrt())
}

/// The size of a window, in numbers.
const fn window_size(name: &'static str, default: i64, words: &'static str) -> Parameter {
    Parameter::new(name, Kind::Integer { low: 2, high: LARGEST_WINDOW }, DefaultValue::Integer(default), words)
}

const LARGEST_WINDOW: i64 = 1 << 24;

const fn significance(name: &'static str, default: f64, words: &'static str) -> Parameter {
    Parameter::new(name, Kind::Float(Bounds::OPEN_UNIT), DefaultValue::Float(default), words)
}

const fn fraction(name: &'static str, default: f64, words: &'static str) -> Parameter {
    Parameter::new(name, Kind::Float(Bounds::FRACTION), DefaultValue::Float(default), words)
}

const fn deviations(name: &'static str, default: f64, words: &'static str) -> Parameter {
    Parameter::new(name, Kind::Float(Bounds::POSITIVE), DefaultValue::Float(default), words)
}

/// Of Hoeffding's and McDiarmid's bounds.
const SIGNIFICANCE: Parameter =
    significance("significance", 0.001, "significance level of drift").formerly(&["drift_confidence"]);
const WARNING_SIGNIFICANCE: Parameter =
    significance("warning_significance", 0.005, "significance level of warnings")
        .formerly(&["warning_confidence"]);
const TWO_SIDED: Parameter = Parameter::new(
    "two_sided_test",
    Kind::Boolean,
    DefaultValue::Boolean(false),
    "also detect a decrease of the mean, not only an increase",
);
