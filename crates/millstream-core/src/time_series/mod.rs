//! Forecasters of one series: exponential smoothing and the seasonal naive baseline.

pub mod holt_winters;
pub mod seasonal_naive;

use crate::parameter::Kind;

/// Bounds of a period: memory grows with it, and a year of seconds is the longest season in use.
const fn period(low: i64) -> Kind {
    Kind::Integer { low, high: 100_000_000 }
}
