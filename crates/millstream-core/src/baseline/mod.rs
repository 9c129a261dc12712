//! The simplest predictors, which any other must beat.

mod class_counts;
pub mod majority_class;
pub mod no_change;
pub mod prior;
pub mod target_mean;
