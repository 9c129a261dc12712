//! Transformers that make features fit for learners.

pub mod standard_scaler;
