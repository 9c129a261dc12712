//! Features made of other features. Words of texts: `text::vocabulary`.

pub mod aggregate;
mod output_name;
pub mod polynomial_extender;

pub use aggregate::time_features;
