//! The Hoeffding tree, VFDT (Domingos and Hulten, 2000, "Mining high-speed data streams", table 1).
//!
//! A leaf gathers statistics of its examples. Every `grace_period` examples, its candidate splits are compared. If the
//! best one is significantly better by Hoeffding's bound (`decision`), the leaf becomes a node with new leaves.

use crate::declaration::{Built, Declaration, Role};
use crate::merging::Merge;

use super::growth::Tree;
use super::leaf::Leaf;
use super::regression_settings;
use super::settings::{self, ClassificationSettings};
use super::tree_model::TreeModel;

const NAME: &str = "tree.HoeffdingTreeClassifier";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "A decision tree that grows from a stream and splits when Hoeffding's bound is met",
    merge: Merge::TREE,
    parameters: &[
        settings::GRACE_PERIOD,
        settings::DELTA,
        settings::TAU,
        settings::MAX_DEPTH,
        settings::SPLIT_CRITERION,
        settings::LEAF_PREDICTION,
        settings::N_SPLITS,
        settings::SPLITTER,
        regression_settings::N_BINS,
        settings::BINARY_SPLIT,
        settings::MIN_BRANCH_FRACTION,
        settings::MAX_SHARE_TO_SPLIT,
        settings::MERIT_PREPRUNE,
        settings::MAX_BYTES,
    ],
    build: |arguments| {
        let tree = Tree::<Leaf>::new(NAME, ClassificationSettings::new(arguments)?, None);
        Ok(Built::Classifier(Box::new(TreeModel(tree))))
    },
};
