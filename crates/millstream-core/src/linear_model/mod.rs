//! Learners that are linear in their parameters.

pub mod alma;
pub mod arow;
mod cells;
pub mod confidence_weighted;
mod coordinates;
mod covariance;
pub mod ellipsoid;
mod engine;
mod gathered;
pub mod gaussian_herding;
mod hyperplane;
mod incremental_risk;
pub mod irma;
mod linear;
pub mod linear_regression;
pub mod lms;
pub mod logistic_regression;
pub mod margin;
mod names;
pub mod passive_aggressive;
pub mod perceptron;
pub mod plane;
mod proximal;
pub mod residual;
pub mod rls;
pub mod romma;
pub mod softmax_regression;
pub mod svm;
mod whole;

pub use coordinates::Coordinates;
pub use engine::Engine;
pub use hyperplane::{Hyperplane, Settings};
pub use incremental_risk::{Stiffness, GROWTH, SCHEDULE, STIFFNESS};
pub use linear::Linear;
pub use names::named;
pub use whole::Whole;
