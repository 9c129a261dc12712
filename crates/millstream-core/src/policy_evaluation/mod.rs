//! Off-policy evaluation: what a policy is worth, from a log of the rounds of another one.
//!
//! | question | file |
//! |---|---|
//! | what must an estimator do, and how is it held? | `role` |
//! | which estimators are there, with their formulas? | `estimator` |
//! | which interval is valid at all times at once? | `sequence` |
//! | how are the normal and the bootstrap interval computed? | `sums` |
//! | do the logged probabilities fit the log? | `weights` |
//!
//! An estimator has a role of its own and is not a `Statistic`: it receives a round of six numbers, of which some may be
//! absent, and answers with a value, three kinds of intervals and a check of its weights.

pub mod estimator;
pub mod role;
pub mod sequence;
pub mod sums;
pub mod weights;
