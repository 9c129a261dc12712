//! Optimisers, built from small parts: a rule for one coordinate, a schedule for the rate, and one kernel
//! that carries any rule through a dense or sparse example.
//!
//! A coordinate takes a step when its feature is present and not 0. So a dense row and the same row written
//! sparsely give the same weights for every rule, and a step costs what the example holds. For rules with
//! memory (momentum, Adam) this is their lazy form. Optimisers that must see the whole example are in whole.rs.

mod optimizers;
mod paired;
mod pairs;
mod rules;
mod schedules;
mod weights;
mod whole;

pub use optimizers::{ADAM, ADA_DELTA, ADA_GRAD, FTRL_PROXIMAL, MOMENTUM, NESTEROV, RMS_PROP, SGD};
pub use rules::{Penalty, Rule, Step};
pub use schedules::{Schedule, CONSTANT, INVERSE_SCALING, INVERSE_SQUARE_ROOT, OPTIMAL};
pub use weights::{dot, Features, Weights};
pub use whole::{Whole, ADAPTIVE, COIN_BETTING, ONLINE_NEWTON_STEP};

/// A rule and its learning rate. The state it works on is in `Weights`.
#[derive(Clone, Debug)]
pub struct Optimizer {
    pub rule: Rule,
    pub rate: Schedule,
}
