//! Covariance and precision matrices of the features of a stream: empirical, shrunk and exponentially weighted.

mod empirical;
mod estimator;
mod exponential;
mod scatter;
mod shrunk;
mod validity;

pub use empirical::{EMPIRICAL_COVARIANCE, EMPIRICAL_PRECISION};
pub use estimator::inverse;
pub use exponential::{EWA_COVARIANCE, EWA_PRECISION};
pub use shrunk::{LEDOIT_WOLF, OAS, SHRUNK_COVARIANCE};
