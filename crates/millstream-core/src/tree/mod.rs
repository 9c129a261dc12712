//! Decision trees that grow from a stream: Hoeffding trees and their kin.
//!
//! | you look for | it is in |
//! |---|---|
//! | nodes, and the way of a row through them | `nodes` |
//! | what a leaf knows, predicts and learns | `leaf` |
//! | where a leaf could be split, and how good that is | `candidates`, `criterion` |
//! | whether it is split | `decision` |
//! | a limit of memory | `budget` |
//! | nodes and leaves together: grow, save, check, show | `growth`, `saved`, `shown` |
//! | what can be set | `settings` |

mod budget;
mod candidates;
mod criterion;
mod decision;
pub mod growth;
pub mod hoeffding_tree_classifier;
mod leaf;
mod nodes;
mod saved;
pub mod settings;
mod shown;

pub use growth::Tree;
pub use settings::Settings;
