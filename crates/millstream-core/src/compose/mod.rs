//! Models made of models.

pub mod pipeline;
