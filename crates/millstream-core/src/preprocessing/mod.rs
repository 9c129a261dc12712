//! Transformers that prepare features for learners.

pub mod imputer;
pub mod max_abs_scaler;
pub mod min_max_scaler;
pub mod one_hot_encoder;
pub mod standard_scaler;
