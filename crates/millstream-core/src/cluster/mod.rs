//! Clusterers: they assign rows to clusters that they learn without targets.

pub(crate) mod centres;
pub(crate) mod coordinate_rows;
pub(crate) mod lloyd;

pub mod k_means;
pub mod mini_batch_k_means;
mod online;
mod reseeding;
