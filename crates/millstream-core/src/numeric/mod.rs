//! Scalar functions, scalar products and random numbers that give the same bits on every platform.
//!
//! | topic | module |
//! |---|---|
//! | the scalar product of dense vectors | `dot` |
//! | the exponential of the digamma function | `digamma` |
//! | exponential, logarithm, sine, tanh | `elementary` |
//! | the error function, the normal distribution | `error_function` |
//! | the tail of the chi-square distribution | `incomplete_gamma` |
//! | the largest numbers whose powers are summed | `magnitude` |
//! | quantiles of the normal and of Student's t distribution | `quantiles` |
//! | randomness from a seed | `random` |
//! | a seeded 64-bit hash of bytes | `xxh64` |

pub mod digamma;
mod dot;
pub mod elementary;
pub mod error_function;
pub mod incomplete_gamma;
pub mod magnitude;
pub mod quantiles;
pub mod random;
pub mod xxh64;

pub use dot::dot;

/// The position of the quantile `q` among ranks from 0 to `last`: a whole number where only rounding keeps it from one, so
/// that equal numbers have equal quantiles.
#[inline]
pub fn quantile_position(q: f64, last: f64) -> f64 {
    let position = q * last;
    let whole = position.round();
    if (position - whole).abs() <= 1e-14 * last {
        whole
    } else {
        position
    }
}

/// From `a` to `b`, which is not smaller, by the fraction `t`.
#[inline]
pub fn interpolate(a: f64, b: f64, t: f64) -> f64 {
    let step = b - a;
    if step == f64::INFINITY {
        a * (1.0 - t) + b * t
    } else if t < 0.5 {
        a + step * t
    } else {
        b - step * (1.0 - t)
    }
}
