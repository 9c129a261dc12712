//! Decision trees that grow from a stream: Hoeffding trees and their relatives.
//!
//! | you look for | it is in |
//! |---|---|
//! | nodes, and the route of a row through them | `nodes` |
//! | nodes in files and reports | `node_serde`, `node_report` |
//! | nodes and leaves together: how a tree grows | `growth` |
//! | the traits of leaves and predictions | `tree_leaf`, `tree_prediction` |
//! | trees of every kind as components of models | `tree_model` |
//! | the examples that each node received | `tally` |
//! | a memory limit | `budget` |
//! | random features for the leaves of a forest | `subspace` |
//! | a leaf of a classification tree | `leaf`, `leaf_in_tree` |
//! | its candidate splits, their merits, and the decision to split | `candidates`, `criterion`, `decision`, `early_stop` |
//! | a classification tree in files and reports | `saved`, `tree_report` |
//! | the adaptive tree: monitors and alternates | `hat`, `hat_saved`, `hat_settings` |
//! | the anytime tree: splits that are reevaluated | `efdt`, `efdt_budget`, `efdt_saved` |
//! | lists of changes, and removal of unreachable nodes | `changes`, `compaction` |
//! | atomic learning at several nodes | `overflow_limits` |
//! | parameters | `settings` |
//! | a leaf of a regression tree | `regression_leaf`, `linear_leaf`, `histogram`, `target`, `regression_leaf_in_tree` |
//! | the same as above for regression | `regression_candidates`, `regression_saved`, `regression_settings` |

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
mod tree_prediction;
mod tree_report;

pub use growth::Tree;
pub use leaf::Leaf;
pub use regression_leaf::RegressionLeaf;
pub use regression_settings::RegressionSettings;
pub use settings::ClassificationSettings;
pub use tree_leaf::{Target, TaskOf, TreeLeaf, Want};
pub use tree_model::TreeModel;
pub use tree_prediction::{NumberPrediction, TreePrediction};
