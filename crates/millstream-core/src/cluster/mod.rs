//! Clusterers: they assign rows to clusters that they learn without targets.

pub(crate) mod lloyd;

mod centres;
mod coordinate_rows;
pub mod k_means;
pub mod mini_batch_k_means;
mod online;
mod reseeding;
