//! Learners that are linear in their parameters.

mod coordinates;
mod covariance;
mod hyperplane;
mod linear;
pub mod linear_regression;
pub mod logistic_regression;
pub mod rls;
pub mod softmax_regression;

pub use coordinates::Coordinates;
pub use hyperplane::{Hyperplane, Settings};
pub use linear::Linear;
