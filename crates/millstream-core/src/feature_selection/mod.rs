//! Transformers that drop features.
//!
//! A feature keeps its slot, also while it is dropped, so that the learner behind finds the weight of each feature
//! where it was. A dropped feature is missing in a dense row and not listed in a sparse one.

mod mask;
pub mod poisson_inclusion;
pub mod select_k_best;
pub mod variance_threshold;
