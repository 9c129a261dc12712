//! Running statistics of weighted numbers: a number of weight 2 counts as two.
//!
//! `get` is NaN while a statistic is undefined. `merge` combines the statistics of two streams where the result is
//! that of the concatenated stream.

mod exponential;
mod extremes;
mod moments;
mod pairs;
mod quantile;
mod rolling;
mod running_quantile;
mod totals;
mod window;

pub use exponential::{EW_MEAN, EW_VAR};
pub use extremes::{MAX, MIN};
pub use moments::{KURTOSIS, MEAN, SKEW, VAR};
pub use pairs::{COV, PEARSON_CORR};
pub use quantile::QUANTILE;
pub use rolling::ROLLING;
pub use running_quantile::RunningQuantile;
pub use totals::{COUNT, SUM};
pub use window::{Item, Window};

use crate::fault::{Fault, FaultKind};

fn overflow(who: &str) -> Fault {
    Fault::new(
        FaultKind::Overflow,
        format!("{who}: this number would make the state overflow; it was not counted"),
    )
}

fn never_told(who: &str) -> Fault {
    Fault::value(format!("{who}: cannot remove a number that was never added"))
}
