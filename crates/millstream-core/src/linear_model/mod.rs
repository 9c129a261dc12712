//! Learners that are linear in their parameters.

mod coordinates;
mod linear;
pub mod logistic_regression;

pub use coordinates::Coordinates;
pub use linear::{Linear, LINEAR_PARAMETERS};
