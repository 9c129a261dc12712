//! Transformers that prepare features for learners.

pub mod feature_hasher;
pub mod imputer;
pub mod max_abs_scaler;
pub mod min_max_scaler;
pub mod one_hot_encoder;
pub mod random_projection;
pub mod standard_scaler;
mod tokens;

pub use tokens::{hash_64, Tokens};
