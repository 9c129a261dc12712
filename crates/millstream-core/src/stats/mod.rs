//! Running statistics of weighted numbers: a number of weight 2 counts as two.
//!
//! `get` is NaN while a statistic is undefined. `merge` combines the statistics of two streams where the result is
//! that of the concatenated stream.

mod auto_corr;
mod chi_squared;
mod entropy;
mod exponential;
mod extremes;
mod kolmogorov_smirnov;
mod mode;
mod moments;
mod pairs;
mod peak_to_peak;
mod quantile;
mod rolling;
mod running_quantile;
mod shift;
mod sorted_window;
mod spread;
mod time_rolling;
mod totals;
mod value_counts;
mod window;

pub use auto_corr::AUTO_CORR;
pub use chi_squared::CHI_SQUARED;
pub use entropy::ENTROPY;
pub use exponential::{EW_COV, EW_MEAN, EW_VAR};
pub use extremes::{ABS_MAX, MAX, MIN};
pub use kolmogorov_smirnov::KOLMOGOROV_SMIRNOV;
pub use mode::MODE;
pub use moments::{BAYESIAN_MEAN, KURTOSIS, MEAN, SEM, SKEW, VAR};
pub use pairs::{COV, PEARSON_CORR};
pub use peak_to_peak::PEAK_TO_PEAK;
pub use quantile::QUANTILE;
pub use rolling::ROLLING;
pub use running_quantile::RunningQuantile;
pub use shift::{LINK, SHIFT};
pub use spread::{IQR, MAD};
pub use time_rolling::TIME_ROLLING;
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
