//! Anomaly detectors, which learn from rows without targets and score how unusual a row is.
//!
//! A higher score is more anomalous. Filters apply a threshold to the score of a detector.

mod filter;
pub mod gaussian_scorer;
pub mod half_space_trees;
mod mass_trees;
pub mod quantile_filter;
pub mod threshold_filter;
