//! The parameters of classification trees, declared once for all of them.

use crate::fault::Result;
use crate::naive_bayes::class_statistics::Estimate;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};

use super::criterion::Criterion;

/// The prediction of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafClassifier {
    Majority,
    Bayes,
    /// The one of the two with more correct predictions in this leaf.
    Adaptive,
}

#[derive(Clone, Copy, Debug)]
pub struct ClassificationSettings {
    /// The weight of examples between attempts to split a leaf.
    pub grace_period: f64,
    pub max_depth: u32,
    pub criterion: Criterion,
    pub delta: f64,
    pub tau: f64,
    pub leaf_prediction: LeafClassifier,
    /// The number of candidate thresholds for each numeric feature, without histograms.
    pub n_splits: usize,
    /// Bins of the histograms of numeric features; 0 if normal distributions are used instead.
    pub bins: usize,
    pub binary_split: bool,
    pub min_branch_fraction: f64,
    pub max_share_to_split: f64,
    pub merit_preprune: bool,
    pub max_bytes: usize,
}

/// Variances as in MOA and River; nominal values as in `naive_bayes.GaussianNB`.
pub const ESTIMATE: Estimate = Estimate { alpha: 1.0, ddof: 1.0 };

pub const GRACE_PERIOD: Parameter = Parameter::new(
    "grace_period",
    Kind::Integer { low: 1, high: 1 << 53 },
    DefaultValue::Integer(200),
    "weight of examples that a leaf receives between attempts to split it",
);
pub const DELTA: Parameter = Parameter::new(
    "delta",
    Kind::Float(Bounds::OPEN_UNIT),
    DefaultValue::Float(1e-7),
    "probability that the chosen split is not the best one, in Hoeffding's bound",
);
pub const TAU: Parameter = Parameter::new(
    "tau",
    Kind::Float(Bounds::NOT_NEGATIVE),
    DefaultValue::Float(0.05),
    "split on the best feature despite a tie once Hoeffding's bound falls below this value",
);
pub const MAX_DEPTH: Parameter = Parameter::new(
    "max_depth",
    Kind::Optional(&Kind::Integer { low: 0, high: u32::MAX as i64 - 1 }),
    DefaultValue::Null,
    "maximum depth of the tree; null for no limit",
);
pub const SPLIT_CRITERION: Parameter = Parameter::new(
    "split_criterion",
    Kind::Choice(&["info_gain", "gini", "hellinger"]),
    DefaultValue::Text("info_gain"),
    "measure of the quality of a split",
);
pub const LEAF_PREDICTION: Parameter = Parameter::new(
    "leaf_prediction",
    Kind::Choice(&["nba", "nb", "mc"]),
    DefaultValue::Text("nba"),
    "prediction of a leaf: majority class (mc), naive Bayes (nb), or the one with more correct predictions so far (nba)",
);
pub const N_SPLITS: Parameter = Parameter::new(
    "n_splits",
    Kind::Integer { low: 1, high: 1024 },
    DefaultValue::Integer(10),
    "number of candidate thresholds for each numeric feature",
);
pub const SPLITTER: Parameter = Parameter::new(
    "splitter",
    Kind::Choice(&["gaussian", "histogram"]),
    DefaultValue::Text("gaussian"),
    "statistics kept of a numeric feature: a normal distribution for each class, or a histogram",
);
pub const BINARY_SPLIT: Parameter = Parameter::new(
    "binary_split",
    Kind::Boolean,
    DefaultValue::Boolean(false),
    "split a nominal feature into one value and the rest only",
);
pub const MIN_BRANCH_FRACTION: Parameter = Parameter::new(
    "min_branch_fraction",
    Kind::Float(Bounds::DECAY),
    DefaultValue::Float(0.01),
    "at least two branches of a split must receive more than this fraction of the examples",
);
pub const MAX_SHARE_TO_SPLIT: Parameter = Parameter::new(
    "max_share_to_split",
    Kind::Float(Bounds::FRACTION),
    DefaultValue::Float(0.99),
    "do not split a leaf whose majority class exceeds this fraction",
);
pub const MERIT_PREPRUNE: Parameter = Parameter::new(
    "merit_preprune",
    Kind::Boolean,
    DefaultValue::Boolean(true),
    "compare each candidate split with not splitting",
);

pub const MAX_BYTES: Parameter = Parameter::new(
    "max_bytes",
    Kind::Optional(&Kind::Integer { low: 4096, high: 1 << 53 }),
    DefaultValue::Null,
    "maximum memory of the tree in bytes: the least promising leaves discard their statistics; null for no limit",
);

impl ClassificationSettings {
    /// Without a splitter among the arguments, numeric features are split by normal distributions; without `max_bytes`,
    /// memory is not limited.
    pub fn new(arguments: &Arguments<'_>) -> Result<Self> {
        let histograms = arguments.text("splitter").is_ok_and(|splitter| splitter == "histogram");
        let max_bytes = arguments.value("max_bytes").ok().and_then(serde_json::Value::as_u64);
        let max_depth = arguments.value("max_depth")?.as_u64();
        Ok(ClassificationSettings {
            grace_period: arguments.integer("grace_period")? as f64,
            max_depth: max_depth.map_or(u32::MAX, |depth| depth as u32),
            criterion: match arguments.text("split_criterion")? {
                "gini" => Criterion::Gini,
                "hellinger" => Criterion::Hellinger,
                _ => Criterion::InformationGain,
            },
            delta: arguments.float("delta")?,
            tau: arguments.float("tau")?,
            leaf_prediction: match arguments.text("leaf_prediction")? {
                "mc" => LeafClassifier::Majority,
                "nb" => LeafClassifier::Bayes,
                _ => LeafClassifier::Adaptive,
            },
            n_splits: arguments.size("n_splits")?,
            bins: if histograms { arguments.size("n_bins")? } else { 0 },
            binary_split: arguments.boolean("binary_split")?,
            min_branch_fraction: arguments.float("min_branch_fraction")?,
            max_share_to_split: arguments.float("max_share_to_split")?,
            merit_preprune: arguments.boolean("merit_preprune")?,
            max_bytes: max_bytes.map_or(usize::MAX, |bytes| bytes as usize),
        })
    }
}
