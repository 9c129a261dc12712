//! Adaptive resonance theory: categories are boxes that grow until a match criterion, the vigilance, forbids it.

mod categories;
mod coding;
pub mod fuzzy_art;
pub mod fuzzy_artmap;
