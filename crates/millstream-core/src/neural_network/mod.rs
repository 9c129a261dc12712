//! Small neural networks.

mod functional;
pub mod irma_regressor;
pub mod mlp_regressor;
mod network;
mod quasi_random;
