//! Optimisers, built from small components: a rule for one coordinate, a learning rate schedule, and one kernel
//! that applies any rule to a dense or sparse example.
//!
//! A coordinate is updated when its feature is present and not 0. A dense row and its sparse form therefore give
//! the same weights for every rule, and the cost of a step depends on the features present. For rules with
//! memory (momentum, Adam) this is their lazy form. Optimisers that need all features at once are in
//! full_vector.rs.

mod full_vector;
mod optimizers;
mod paired;
mod pairs;
mod rules;
mod schedules;
mod weights;

pub use full_vector::{FullVectorOptimizer, ADAPTIVE, COIN_BETTING, ONLINE_NEWTON_STEP};
pub use optimizers::{ADAM, ADA_DELTA, ADA_GRAD, FTRL_PROXIMAL, MOMENTUM, NESTEROV, RMS_PROP, SGD};
pub use rules::{shrunk, CoordinateRule, Penalty, Step};
pub use schedules::{Schedule, CONSTANT, INVERSE_SCALING, INVERSE_SQUARE_ROOT, OPTIMAL};
pub use weights::{dot, Features, Weights};

/// A rule and its learning rate. Its state is in `Weights`.
#[derive(Clone, Debug)]
pub struct Optimizer {
    pub rule: CoordinateRule,
    pub rate: Schedule,
}
