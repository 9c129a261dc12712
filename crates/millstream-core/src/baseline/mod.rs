//! Baselines: the simplest predictors, to compare others with.

mod class_counts;
pub mod majority_class;
pub mod no_change;
pub mod prior;
pub mod target_mean;
