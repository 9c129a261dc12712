//! Bayes with features taken as independent given the class.

pub mod class_statistics;
pub mod class_table;
pub mod gaussian_nb;
mod gaussians;
mod likelihood;
mod sparse_class_table;
