//! Anomaly detectors: they learn what is normal, without targets, and score how unusual a row is.
//!
//! A higher score is more anomalous. Filters put a threshold on the score of a detector.

mod filter;
pub mod gaussian_scorer;
pub mod half_space_trees;
mod mass_trees;
pub mod quantile_filter;
pub mod threshold_filter;
