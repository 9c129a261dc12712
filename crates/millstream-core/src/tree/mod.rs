//! Decision trees that grow from a stream: Hoeffding trees and their kin.
//!
//! | you look for | it is in |
//! |---|---|
//! | nodes, and the way of a row through them | `nodes` |
//! | nodes in a file and for people | `node_serde`, `node_report` |
//! | nodes and leaves together: how a tree grows | `growth` |
//! | what a tree asks of leaves and of what they say | `tree_leaf`, `answer` |
//! | trees of every kind as parts of models | `tree_model` |
//! | the examples that each node received | `tally` |
//! | a limit of memory | `budget` |
//! | features drawn for the leaves of a forest | `subspace` |
//! | what a leaf of classes knows, predicts and learns | `leaf`, `leaf_in_tree` |
//! | where it could be split, how good that is, and whether it is | `candidates`, `criterion`, `decision`, `early_stop` |
//! | a classification tree in a file and for people | `saved`, `tree_report` |
//! | errors watched, alternates grown and swapped | `hat`, `hat_saved`, `hat_settings` |
//! | splits reconsidered | `efdt`, `efdt_budget`, `efdt_saved` |
//! | what was changed, and taking out what hangs no more | `changes`, `compaction` |
//! | whole or nothing where an example is learned in several places | `overflow_limits` |
//! | what can be set | `settings` |
//! | a leaf of numbers | `regression_leaf`, `linear_leaf`, `histogram`, `target`, `regression_leaf_in_tree` |
//! | the same as above for numbers | `regression_candidates`, `regression_saved`, `regression_settings` |

mod answer;
mod budget;
mod candidates;
mod changes;
mod class_counts;
mod compaction;
mod criterion;
mod decision;
mod early_stop;
mod efdt;
mod efdt_budget;
mod efdt_saved;
pub mod extremely_fast_decision_tree_classifier;
pub mod growth;
mod hat;
mod hat_saved;
mod hat_settings;
mod histogram;
pub mod hoeffding_adaptive_tree_classifier;
pub mod hoeffding_adaptive_tree_regressor;
pub mod hoeffding_tree_classifier;
pub mod hoeffding_tree_regressor;
mod leaf;
mod leaf_in_tree;
mod linear_leaf;
mod node_report;
mod node_serde;
mod nodes;
mod overflow_limits;
mod regression_candidates;
mod regression_leaf;
mod regression_leaf_in_tree;
mod regression_saved;
pub mod regression_settings;
mod saved;
pub mod settings;
pub mod subspace;
mod tally;
mod target;
mod tree_leaf;
mod tree_model;
mod tree_report;

pub use answer::{Answer, Number};
pub use growth::Tree;
pub use leaf::Leaf;
pub use regression_leaf::RegressionLeaf;
pub use regression_settings::RegressionSettings;
pub use settings::Settings;
pub use tree_leaf::{Target, TaskOf, TreeLeaf, Want};
pub use tree_model::TreeModel;
