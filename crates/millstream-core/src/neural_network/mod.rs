//! Small neural networks.

pub mod classifier_network;
pub mod echo_state;
pub mod embeddings;
mod functional;
pub mod gradient;
pub mod irma_regressor;
pub mod layers;
pub mod mlp_classifier;
pub mod mlp_regressor;
mod network;
pub mod oselm;
mod quasi_random;
