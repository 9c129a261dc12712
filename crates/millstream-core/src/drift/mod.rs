//! Detectors of change in a stream of numbers. Those of rows are in `features`.
//!
//! Each is a `Test` in a file of its own; `detector` makes a part of it. Those that look at errors of a classifier
//! (`Test::SHARES`) are told 1 for an error and 0 for none, or anything between.

mod advice;
mod adwin;
mod buckets;
mod cusum;
mod cuts;
mod ddm;
mod detector;
mod eddm;
mod ewma_chart;
mod features;
mod fhddm;
mod hddm_a;
mod hddm_w;
mod kswin;
mod page_hinkley;
mod rddm;
mod recent;
mod retrain;
mod stepd;
pub mod window;

pub use adwin::ADWIN;
pub use cusum::CUSUM;
pub use ddm::DDM;
pub use detector::{Direction, Verdict};
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

/// Which changes of the mean to look for.
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
        "which changes of the mean to look for",
    )
}

const fn min_instances(default: i64) -> Parameter {
    Parameter::new(
        "min_instances",
        Kind::Integer { low: 1, high: i64::MAX },
        DefaultValue::Integer(default),
        "numbers before a change may be found",
    )
}

const fn warm_start(default: i64) -> Parameter {
    Parameter::new(
        "warm_start",
        Kind::Integer { low: 1, high: i64::MAX },
        DefaultValue::Integer(default),
        "numbers before a change may be found",
    )
}

/// Of cumulative sums, in the units of the numbers.
const DELTA: Parameter = Parameter::new(
    "delta",
    Kind::Float(Bounds::NOT_NEGATIVE),
    DefaultValue::Float(0.005),
    "deviations that are tolerated",
);
const THRESHOLD: Parameter = Parameter::new(
    "threshold",
    Kind::Float(Bounds::NOT_NEGATIVE),
    DefaultValue::Float(50.0),
    "the cumulative deviation that is a change",
);

/// The share of a threshold that is a warning, where no other is declared; as in charts of weighted means.
const WARNING_SHARE: f64 = 0.5;

/// The chance of a false alarm that is a warning, where only that of a change is declared: ten times as much, and less
/// than 1 in any case.
fn chance_of_warning(chance: f64) -> f64 {
    (10.0 * chance).min(chance.sqrt())
}

/// A size of a window, in numbers.
const fn window_size(name: &'static str, default: i64, words: &'static str) -> Parameter {
    Parameter::new(name, Kind::Integer { low: 2, high: LARGEST_WINDOW }, DefaultValue::Integer(default), words)
}

const LARGEST_WINDOW: i64 = 1 << 24;

const fn confidence(name: &'static str, default: f64, words: &'static str) -> Parameter {
    Parameter::new(name, Kind::Float(Bounds::OPEN_UNIT), DefaultValue::Float(default), words)
}

const fn share(name: &'static str, default: f64, words: &'static str) -> Parameter {
    Parameter::new(name, Kind::Float(Bounds::SHARE), DefaultValue::Float(default), words)
}

const fn deviations(name: &'static str, default: f64, words: &'static str) -> Parameter {
    Parameter::new(name, Kind::Float(Bounds::POSITIVE), DefaultValue::Float(default), words)
}

/// Of Hoeffding's and McDiarmid's bounds.
const DRIFT_CONFIDENCE: Parameter =
    confidence("drift_confidence", 0.001, "the chance of a false alarm that is a change");
const WARNING_CONFIDENCE: Parameter =
    confidence("warning_confidence", 0.005, "the chance of a false alarm that is a warning");
const TWO_SIDED: Parameter = Parameter::new(
    "two_sided_test",
    Kind::Boolean,
    DefaultValue::Boolean(false),
    "whether a fall of the mean is a change too, not only a rise",
);
