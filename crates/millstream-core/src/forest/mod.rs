//! Forests: trees on random features and randomly weighted rows, replaced when their errors grow.
//!
//! `member` is one tree of a forest with its detectors; the engine of `ensemble` passes rows to the members.

pub mod arf_classifier;
pub mod arf_regressor;
mod max_features;
mod member;

/// Of `max_bytes`.
const EACH_TREE: &str =
    "maximum memory of each tree in bytes, background trees included: the least promising leaves discard their statistics; null for no limit";
