//! Metrics of predictions: functions of weighted sums, over the whole stream, over a window, or fading.
//!
//! Each metric keeps sums of weights, so that a window can remove an outcome and fading can give new outcomes
//! larger weights. Each sum has a count: when its last outcome is removed, the sum is exactly 0 again, without
//! rounding errors. All values are finite, and 0 (0.5 for `ROCAUC`) before the first outcome. `held::Metric`
//! assigns class codes to the labels of a stream.

mod areas;
mod confusion;
mod fading;
mod kappa_temporal;
mod means;
mod partition;
mod positive;
mod r2;
mod rolling;
mod score_histogram;
mod sums;

pub use areas::{PRAUC, ROCAUC};
pub use confusion::{
    BALANCED_ACCURACY, COHEN_KAPPA, CONFUSION_MATRIX, F1, FBETA, KAPPA_M, MACRO_F1, MACRO_FBETA, MACRO_PRECISION,
    MACRO_RECALL, MICRO_F1, MICRO_FBETA, MICRO_PRECISION, MICRO_RECALL, PRECISION, RECALL, WEIGHTED_F1,
    WEIGHTED_FBETA, WEIGHTED_PRECISION, WEIGHTED_RECALL,
};
pub use fading::FADING;
pub use kappa_temporal::KAPPA_TEMPORAL;
pub use means::{ACCURACY, BRIER, LOG_LOSS, MAE, MAPE, MSE, RMSE, SILHOUETTE, SMAPE};
pub use partition::{
    ADJUSTED_RAND, COMPLETENESS, FOWLKES_MALLOWS, HOMOGENEITY, NORMALIZED_MUTUAL_INFO, RAND, V_MEASURE,
};
pub use positive::{PositiveClass, PositiveTracker};
pub use r2::R2;
pub use rolling::ROLLING;

use crate::fault::{Fault, FaultKind};

fn overflow(who: &str) -> Fault {
    Fault::new(
        FaultKind::Overflow,
        format!("{who}: this outcome would make the sums overflow; it was not counted"),
    )
}

pub(crate) fn wants_numbers(who: &str) -> Fault {
    Fault::wrong_type(format!("{who}: scores numbers, got a class label"))
}

pub(crate) fn wants_labels(who: &str) -> Fault {
    Fault::wrong_type(format!("{who}: scores class labels, got a number"))
}
