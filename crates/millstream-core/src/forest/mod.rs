//! Forests: trees that look at random features, learn random rows, and are replaced when they grow old.
//!
//! `member` is one tree of a forest with all that is its own; the engine of `ensemble` takes members through rows.

pub mod arf_classifier;
pub mod arf_regressor;
mod max_features;
mod member;

/// Of `max_bytes`.
const EACH_TREE: &str =
    "the most memory each tree may take, one in the background as well: leaves that promise least give up their statistics";
