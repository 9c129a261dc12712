//! Adaptive random forest for regression (Gomes, Barddal, Ferreira and Bifet, 2018, "Adaptive random forests for data
//! stream regression", ESANN): the forest of `arf_classifier` with regression trees (FIMT-DD).
//!
//! The detectors receive the position of a tree's absolute error among its previous errors: 0 and 1 are three standard
//! deviations from their mean (`Spread`). So the unit of the target does not matter, and the input of ADWIN is bounded.
//!
//! Departures from the paper: predictions are weighted by the inverse of the mean absolute error of their tree, unless
//! disabled; an unlearned tree has no vote; and as in the classifier, errors are those before a row is learned, a
//! decrease of errors is no drift, and a background tree keeps its own record.

use std::sync::Arc;

use crate::declaration::{Built, Declaration, Role};
use crate::ensemble::aggregation::{Aggregation, AGGREGATION};
use crate::ensemble::bagging::{poisson_rate, N_MODELS, SEED};
use crate::ensemble::combined::Ensemble;
use crate::ensemble::threads::{self, N_THREADS};
use crate::merging::Merge;
use crate::parameter::Default as DefaultValue;
use crate::tree::{hoeffding_tree_regressor, regression_settings, settings, RegressionLeaf, RegressionSettings};

use super::arf_classifier::{tree, Forest, DISABLE_WEIGHTED_VOTE, DRIFT_DETECTOR, WARNING_DETECTOR};
use super::max_features::MAX_FEATURES;
use super::member::ForestSettings;
use super::EACH_TREE;

const NAME: &str = "forest.ARFRegressor";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "Adaptive random forest regressor: trees on random features and rows, replaced when their errors grow",
    merge: Merge::TREE,
    parameters: &[
        N_MODELS,
        MAX_FEATURES,
        AGGREGATION,
        poisson_rate(6.0),
        DRIFT_DETECTOR,
        WARNING_DETECTOR,
        DISABLE_WEIGHTED_VOTE,
        settings::GRACE_PERIOD.with_default(DefaultValue::Integer(50)),
        settings::DELTA.with_default(DefaultValue::Float(0.01)),
        settings::TAU,
        settings::MAX_DEPTH,
        regression_settings::LEAF_PREDICTION,
        regression_settings::N_BINS,
        regression_settings::LEARNING_RATE,
        settings::BINARY_SPLIT.with_default(DefaultValue::Boolean(true)),
        regression_settings::MIN_SAMPLES_SPLIT,
        settings::MAX_BYTES.with_words(EACH_TREE),
        SEED,
        N_THREADS,
    ],
    build: |arguments| {
        let settings = RegressionSettings::new(arguments)?;
        let members = ForestSettings::<RegressionLeaf>::new(NAME, arguments, settings)?.members(arguments)?;
        let tree = Arc::new(tree(arguments, &hoeffding_tree_regressor::DECLARATION)?);
        let aggregation = Aggregation::named(arguments.text("aggregation")?);
        let forest = Ensemble::new(members, Forest { name: NAME, tree }, aggregation, threads::count(arguments)?);
        Ok(Built::Regressor(Box::new(forest)))
    },
};
