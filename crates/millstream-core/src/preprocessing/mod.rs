//! Transformers that prepare features for learners, and wrappers that prepare targets.

pub mod adaptive_standard_scaler;
pub mod binarizer;
mod column_names;
pub mod count_encoder;
pub mod feature_hasher;
pub mod imputer;
pub mod key_columns;
pub mod max_abs_scaler;
pub mod min_max_scaler;
pub mod normalizer;
pub mod one_hot_encoder;
pub mod ordinal_encoder;
mod per_feature;
pub mod pred_clipper;
mod quantile_summary;
pub mod quantile_transformer;
pub mod random_projection;
pub mod robust_scaler;
pub mod standard_scaler;
pub mod target_encoder;
pub mod target_min_max_scaler;
pub mod target_standard_scaler;
pub(crate) mod tokens;
pub mod transformed_target;
mod two_stacks;
mod windowed;

pub use column_names::{ColumnNames, NAMES};
pub use tokens::{hash_64, Tokens};
