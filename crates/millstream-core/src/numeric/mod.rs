//! Scalar functions, scalar products and random numbers that give the same bits on every platform.
//!
//! | topic | module |
//! |---|---|
//! | the scalar product of dense vectors | `dot` |
//! | the exponential of the digamma function | `digamma` |
//! | exponential, logarithm, sine, tanh | `elementary` |
//! | the error function, the normal distribution | `error_function` |
//! | the tail of the chi-square distribution | `incomplete_gamma` |
//! | quantiles of the normal and of Student's t distribution | `quantiles` |
//! | randomness from a seed | `random` |
//! | a seeded 64-bit hash of bytes | `xxh64` |

pub mod digamma;
mod dot;
pub mod elementary;
pub mod error_function;
pub mod incomplete_gamma;
pub mod quantiles;
pub mod random;
pub mod xxh64;

pub use dot::dot;
