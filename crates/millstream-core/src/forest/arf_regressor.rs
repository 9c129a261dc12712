//! Adaptive random forest for numbers (Gomes, Barddal, Ferreira and Bifet, 2018, "Adaptive random forests for data stream
//! regression", ESANN): the forest of `arf_classifier` over regression trees (FIMT-DD).
//!
//! The detectors are told where the absolute error of a tree lies among its errors before: 0 and 1 are three deviations
//! from their mean (`Spread`), so that a target's unit does not matter, and so that what ADWIN is given is bounded.
//!
//! Away from the paper: numbers weigh what one over the mean absolute error of their tree is, unless told otherwise; a
//! tree that has learned nothing has no say; and as in the forest for classes, errors are those before a row is
//! learned, fewer errors are no drift, and a tree from the background brings its own record.

use std::sync::Arc;

use crate::declaration::{Built, Declaration, Role};
use crate::ensemble::aggregation::{Aggregation, AGGREGATION};
use crate::ensemble::bagging::{poisson_rate, N_MODELS, SEED};
use crate::ensemble::combined::Ensemble;
use crate::ensemble::threads::{self, N_THREADS};
use crate::parameter::Default as DefaultValue;
use crate::tree::{hoeffding_tree_regressor, regression_settings, settings, RegressionLeaf, RegressionSettings};

use super::arf_classifier::{tree, Forest, DISABLE_WEIGHTED_VOTE, DRIFT_DETECTOR, WARNING_DETECTOR};
use super::max_features::MAX_FEATURES;
use super::member::Plan;
use super::EACH_TREE;

const NAME: &str = "forest.ARFRegressor";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "Adaptive random forest for numbers: regression trees of random features and rows, replaced when errors grow",
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
        let members = Plan::<RegressionLeaf>::new(NAME, arguments, settings)?.members(arguments)?;
        let tree = Arc::new(tree(arguments, &hoeffding_tree_regressor::DECLARATION)?);
        let aggregation = Aggregation::named(arguments.text("aggregation")?);
        let forest = Ensemble::new(members, Forest { name: NAME, tree }, aggregation, threads::count(arguments)?);
        Ok(Built::Regressor(Box::new(forest)))
    },
};
