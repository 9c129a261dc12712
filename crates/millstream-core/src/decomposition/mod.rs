//! Transformers that describe rows by a few components.
//!
//! | component | what it stores | when it changes |
//! |---|---|---|
//! | `pca` | the covariance of all features | every block of rows; eigenvectors at an interval |
//! | `ccipca` | one vector per component | with each row |
//! | `incremental_pca`, `incremental_svd` | a truncated decomposition | with each batch of rows |
//! | `frequent_directions` | a sketch with a bound | when its buffer is full |
//! | `dictionary_learning`, `nmf`, `lda` | atoms, parts or topics | with each batch of rows |
//!
//! `decomposer` turns each of them, a `Method`, into a transformer: it maps features to coordinates, keeps rows
//! that wait for their batch, and undoes. `components` has the rules of signs and the projection.

pub mod ccipca;
mod components;
mod decomposer;
pub mod dictionary_learning;
pub mod frequent_directions;
pub mod incremental_pca;
pub mod incremental_svd;
pub mod lda;
pub mod nmf;
pub mod pca;
mod truncated;
mod waiting_rows;
