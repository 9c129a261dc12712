//! The parameters of adaptive trees, declared once for all of them.

use crate::drift::adaptive_window::AdwinSettings;
use crate::fault::Result;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};

use super::hat::AdaptiveSettings;

pub const BOOTSTRAP_SAMPLING: Parameter = Parameter::new(
    "bootstrap_sampling",
    Kind::Boolean,
    DefaultValue::Boolean(true),
    "learn each example with a random weight from a Poisson distribution",
);
pub const DRIFT_WINDOW_THRESHOLD: Parameter = Parameter::new(
    "drift_window_threshold",
    Kind::Integer { low: 1, high: 1 << 53 },
    DefaultValue::Integer(300),
    "minimum number of examples before an alternate subtree is compared with its original",
);
pub const ADWIN_SIGNIFICANCE: Parameter = Parameter::new(
    "adwin_significance",
    Kind::Float(Bounds::OPEN_UNIT),
    DefaultValue::Float(0.002),
    "significance level of the ADWIN of each node",
)
.formerly(&["adwin_delta"]);
pub const SWITCH_SIGNIFICANCE: Parameter = Parameter::new(
    "switch_significance",
    Kind::Float(Bounds::OPEN_UNIT),
    DefaultValue::Float(0.05),
    "significance level of the test that replaces a subtree by its alternate, or drops the alternate",
);
pub const SEED: Parameter = Parameter::new(
    "seed",
    Kind::Integer { low: 0, high: i64::MAX },
    DefaultValue::Integer(1),
    "seed of the random weights of bootstrap_sampling",
);

impl AdaptiveSettings {
    pub fn new(arguments: &Arguments<'_>) -> Result<Self> {
        let delta = arguments.float("adwin_significance")?;
        Ok(AdaptiveSettings {
            // The defaults of `drift.ADWIN`, without warnings.
            adwin: AdwinSettings {
                significance: delta,
                warning_significance: delta,
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
