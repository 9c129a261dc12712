//! Small neural networks: approximators whose parameters do not enter linearly.

pub mod irma_regressor;
mod functional;
mod region;
pub mod mlp_regressor;
mod network;
mod quasi_random;
