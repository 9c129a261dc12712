//! Bayes with features taken as independent given the class.

mod class_statistics;
pub mod gaussian_nb;
mod gaussians;
mod product;
mod thin;
