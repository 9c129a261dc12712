//! The parameters of regression trees, declared once for all of them.

use crate::fault::Result;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};

/// The prediction of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafRegressor {
    Mean,
    Linear,
    /// The one of the two with the smaller recent errors.
    Adaptive,
}

#[derive(Clone, Copy, Debug)]
pub struct RegressionSettings {
    pub grace_period: f64,
    pub delta: f64,
    pub tau: f64,
    pub max_depth: u32,
    pub leaf_prediction: LeafRegressor,
    pub n_bins: usize,
    pub learning_rate: f64,
    pub binary_split: bool,
    pub min_samples_split: f64,
    pub max_bytes: usize,
}

pub const LEAF_PREDICTION: Parameter = Parameter::new(
    "leaf_prediction",
    Kind::Choice(&["adaptive", "mean", "linear"]),
    DefaultValue::Text("adaptive"),
    "prediction of a leaf: mean, linear model, or the one with the smaller recent errors (adaptive)",
);
pub const N_BINS: Parameter = Parameter::new(
    "n_bins",
    Kind::Integer { low: 2, high: 4096 },
    DefaultValue::Integer(64),
    "maximum number of bins in the histogram of a numeric feature; splits lie between bins",
);
pub const LEARNING_RATE: Parameter = Parameter::new(
    "learning_rate",
    Kind::Float(Bounds::FRACTION),
    DefaultValue::Float(0.1),
    "fraction of its error that a leaf's linear model corrects with one example",
);
pub const MIN_SAMPLES_SPLIT: Parameter = Parameter::new(
    "min_samples_split",
    Kind::Float(Bounds::POSITIVE),
    DefaultValue::Float(5.0),
    "minimum weight of examples in at least two branches of a split",
);

impl RegressionSettings {
    pub fn new(arguments: &Arguments<'_>) -> Result<Self> {
        let max_bytes = arguments.value("max_bytes")?.as_u64();
        let max_depth = arguments.value("max_depth")?.as_u64();
        Ok(RegressionSettings {
            grace_period: arguments.integer("grace_period")? as f64,
            delta: arguments.float("delta")?,
            tau: arguments.float("tau")?,
            max_depth: max_depth.map_or(u32::MAX, |depth| depth as u32),
            leaf_prediction: match arguments.text("leaf_prediction")? {
                "mean" => LeafRegressor::Mean,
                "linear" => LeafRegressor::Linear,
                _ => LeafRegressor::Adaptive,
            },
            n_bins: arguments.size("n_bins")?,
            learning_rate: arguments.float("learning_rate")?,
            binary_split: arguments.boolean("binary_split")?,
            min_samples_split: arguments.float("min_samples_split")?,
            max_bytes: max_bytes.map_or(usize::MAX, |bytes| bytes as usize),
        })
    }
}
