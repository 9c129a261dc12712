//! What can be set of a tree that watches its errors, declared once for all of them.

use crate::drift::window::Settings as Adwin;
use crate::fault::Result;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};

use super::hat::Options;

pub const BOOTSTRAP_SAMPLING: Parameter = Parameter::new(
    "bootstrap_sampling",
    Kind::Boolean,
    DefaultValue::Boolean(true),
    "leaves learn each example with a weight drawn by chance",
);
pub const DRIFT_WINDOW_THRESHOLD: Parameter = Parameter::new(
    "drift_window_threshold",
    Kind::Integer { low: 1, high: 1 << 53 },
    DefaultValue::Integer(300),
    "examples before an alternate subtree is judged",
);
pub const ADWIN_DELTA: Parameter = Parameter::new(
    "adwin_delta",
    Kind::Float(Bounds::OPEN_UNIT),
    DefaultValue::Float(0.002),
    "the chance of a false alarm of a node's ADWIN",
);
pub const SWITCH_SIGNIFICANCE: Parameter = Parameter::new(
    "switch_significance",
    Kind::Float(Bounds::OPEN_UNIT),
    DefaultValue::Float(0.05),
    "the chance that an alternate that is swapped in or given up is no better or worse",
);
pub const SEED: Parameter = Parameter::new(
    "seed",
    Kind::Integer { low: 0, high: i64::MAX },
    DefaultValue::Integer(1),
    "of the random numbers of bootstrap_sampling",
);

impl Options {
    pub fn new(arguments: &Arguments<'_>) -> Result<Self> {
        let delta = arguments.float("adwin_delta")?;
        Ok(Options {
            // But for delta as `drift.ADWIN` is, and without warnings.
            adwin: Adwin {
                delta,
                warning_delta: delta,
                clock: 32,
                max_buckets: 5,
                min_window_length: 5,
                grace_period: 10,
            },
            threshold: arguments.integer("drift_window_threshold")? as u64,
            log_significance: (2.0 / arguments.float("switch_significance")?).ln(),
            bootstrap: arguments.boolean("bootstrap_sampling")?,
        })
    }
}
