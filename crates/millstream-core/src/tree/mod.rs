//! Decision trees that grow from a stream: Hoeffding trees and their kin.
//!
//! | you look for | it is in |
//! |---|---|
//! | nodes, and the way of a row through them | `nodes` |
//! | what a leaf knows, predicts and learns | `leaf` |
//! | where a leaf could be split, and how good that is | `candidates`, `criterion` |
//! | whether it is split | `decision`, and early: `prospects` |
//! | a limit of memory | `budget` |
//! | nodes and leaves together: grow, save, check, show | `growth`, `saved`, `shown` |
//! | errors watched, alternates grown and swapped | `adaptive`, `adaptive_saved` |
//! | splits reconsidered | `anytime`, `anytime_saved` |
//! | what was changed, and taking out what hangs no more | `changes`, `compaction` |
//! | whole or nothing where an example is learned in several places | `certainty` |
//! | what can be set | `settings` |
//! | the same for numbers | `regression_growth`, `regression_leaf`, `linear_leaf`, `histogram`, `target`, `regression_settings` |

mod adaptive;
mod adaptive_saved;
mod anytime;
mod anytime_saved;
mod budget;
mod candidates;
mod certainty;
mod changes;
mod class_counts;
mod compaction;
mod criterion;
mod decision;
pub mod extremely_fast_decision_tree_classifier;
pub mod growth;
mod histogram;
pub mod hoeffding_adaptive_tree_classifier;
pub mod hoeffding_tree_classifier;
pub mod hoeffding_tree_regressor;
mod leaf;
mod linear_leaf;
mod listing;
mod nodes;
mod prospects;
pub mod regression_growth;
mod regression_leaf;
pub mod regression_settings;
mod saved;
pub mod settings;
mod shape;
mod shown;
mod target;

pub use growth::Tree;
pub use settings::Settings;
