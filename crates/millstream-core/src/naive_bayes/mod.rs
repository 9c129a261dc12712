//! Bayes with features taken as independent given the class.

pub mod bernoulli_nb;
pub mod categorical_nb;
mod category_counts;
mod class_prior;
pub mod class_statistics;
pub mod class_table;
pub mod complement_nb;
mod count_table;
mod event_model;
pub mod gaussian_nb;
mod gaussians;
mod likelihood;
mod log_table;
pub mod multinomial_nb;
mod posterior;
mod sparse_class_table;
mod word_counts;
