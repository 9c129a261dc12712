//! Transformers that prepare features for learners.

pub mod count_encoder;
pub mod feature_hasher;
pub mod imputer;
pub mod key_columns;
pub mod max_abs_scaler;
pub mod min_max_scaler;
pub mod one_hot_encoder;
pub mod ordinal_encoder;
pub mod random_projection;
pub mod standard_scaler;
pub mod target_encoder;
mod tokens;

pub use tokens::{hash_64, Tokens};
