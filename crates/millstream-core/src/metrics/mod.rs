//! How good predictions are: functions of weighted sums, plain, rolling or fading.
//!
//! Each metric keeps sums of weights, so a window can take an outcome back and fading can make new outcomes
//! heavier. Counts go beside the sums: when the last outcome of a sum is taken back, the sum is exactly 0
//! again, whatever rounding left. All values are finite, and 0 (0.5 for `ROCAUC`) before there is anything
//! to say. `held::Metric` codes the labels of a stream.

mod areas;
mod confusion;
mod fading;
mod kappa_temporal;
mod means;
mod positive;
mod r2;
mod rolling;
mod scores;
mod sums;

pub use areas::{PRAUC, ROCAUC};
pub use confusion::{
    BALANCED_ACCURACY, COHEN_KAPPA, CONFUSION_MATRIX, F1, FBETA, KAPPA_M, MACRO_F1, MACRO_FBETA, MACRO_PRECISION,
    MACRO_RECALL, MICRO_F1, MICRO_FBETA, MICRO_PRECISION, MICRO_RECALL, PRECISION, RECALL, WEIGHTED_F1,
    WEIGHTED_FBETA, WEIGHTED_PRECISION, WEIGHTED_RECALL,
};
pub use fading::FADING;
pub use kappa_temporal::KAPPA_TEMPORAL;
pub use means::{ACCURACY, BRIER, LOG_LOSS, MAE, MAPE, MSE, RMSE, SMAPE};
pub use positive::{Positive, PositiveClass};
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
