//! Features made of other features. Words of texts: `text::vocabulary`.

pub mod aggregate;
pub mod polynomial_extender;
