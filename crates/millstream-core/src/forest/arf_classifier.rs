//! Adaptive random forest (Gomes, Bifet, Read, Barddal, Enembreck, Pfahringer, Holmes and Abdessalem, 2017, "Adaptive
//! random forests for evolving data stream classification", Machine Learning 106, algorithms 1 and 2).
//!
//! Hoeffding trees whose leaves consider random features, and which learn each row k times, k from the Poisson
//! distribution of mean 6. Two detectors receive the errors of each tree. When the more sensitive one warns, a
//! background tree starts training; when the other finds a change, that tree replaces the first. Votes are weighted by
//! the accuracy of their tree since it started.
//!
//! Nominal features are split into one value and the rest. With a branch for each value, splits look good by chance,
//! the more so as the bound counts a row that is learned six times as six rows: after 8 rows, 20 values make pure
//! branches.
//!
//! Departures from MOA: errors are those before a row is learned, which the votes give anyway. A decrease of errors
//! changes nothing. A background tree keeps its own record when it replaces another.

use std::sync::Arc;

use serde_json::{json, Map, Value as Json};

use crate::declaration::{Built, Declaration, Role};
use crate::ensemble::bagging::{poisson_rate, N_MODELS, SEED};
use crate::ensemble::combined::{Ensemble, EnsembleRule};
use crate::ensemble::engine::Coupling;
use crate::ensemble::threads::{self, N_THREADS};
use crate::ensemble::vote_shares::VoteShares;
use crate::fault::Result;
use crate::merging::Merge;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::tree::{
    hoeffding_tree_classifier, regression_settings, settings, ClassificationSettings, Leaf, TreeLeaf,
};

use super::max_features::MAX_FEATURES;
use super::member::{ForestMember, ForestSettings};
use super::EACH_TREE;

const NAME: &str = "forest.ARFClassifier";

pub const DRIFT_DETECTOR: Parameter = Parameter::new(
    "drift_detector",
    Kind::Optional(&Kind::Part(&[Role::DriftDetector])),
    DefaultValue::Tuned("drift.ADWIN", &[("significance", 0.001)]),
    "drift detector that triggers the replacement of a tree; null for none",
);

pub const WARNING_DETECTOR: Parameter = Parameter::new(
    "warning_detector",
    Kind::Optional(&Kind::Part(&[Role::DriftDetector])),
    DefaultValue::Tuned("drift.ADWIN", &[("significance", 0.01)]),
    "drift detector that starts a background tree; null to use the warnings of drift_detector",
);

pub const DISABLE_WEIGHTED_VOTE: Parameter = Parameter::new(
    "disable_weighted_vote",
    Kind::Boolean,
    DefaultValue::Boolean(false),
    "weight all trees equally instead of by their performance",
);

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Adaptive random forest: trees on random features and rows, replaced when their errors grow",
    merge: Merge::TREE,
    parameters: &[
        N_MODELS,
        MAX_FEATURES,
        poisson_rate(6.0),
        DRIFT_DETECTOR,
        WARNING_DETECTOR,
        DISABLE_WEIGHTED_VOTE,
        settings::GRACE_PERIOD.with_default(DefaultValue::Integer(50)),
        settings::DELTA.with_default(DefaultValue::Float(0.01)),
        settings::TAU,
        settings::MAX_DEPTH,
        settings::SPLIT_CRITERION,
        settings::LEAF_PREDICTION,
        settings::N_SPLITS,
        settings::SPLITTER,
        regression_settings::N_BINS,
        settings::BINARY_SPLIT.with_default(DefaultValue::Boolean(true)),
        settings::MIN_BRANCH_FRACTION,
        settings::MAX_SHARE_TO_SPLIT,
        settings::MERIT_PREPRUNE,
        settings::MAX_BYTES.with_words(EACH_TREE),
        SEED,
        N_THREADS,
    ],
    build: |arguments| {
        let members = ForestSettings::<Leaf>::new(NAME, arguments, ClassificationSettings::new(arguments)?)?
            .members(arguments)?;
        let forest =
            Forest { name: NAME, tree: Arc::new(tree(arguments, &hoeffding_tree_classifier::DECLARATION)?) };
        Ok(Built::Classifier(Box::new(Ensemble::new(
            members,
            forest,
            VoteShares::default(),
            threads::count(arguments)?,
        ))))
    },
};

/// The description of a single tree, for extracting it as a model.
pub fn tree(arguments: &Arguments<'_>, declared: &Declaration) -> Result<Json> {
    let set = declared.parameters.iter().map(|parameter| parameter.name);
    let parameters: Result<Map<String, Json>> =
        set.map(|name| Ok((name.into(), arguments.value(name)?.clone()))).collect();
    Ok(json!({ "name": declared.name, "parameters": parameters? }))
}

/// The trees affect each other only through the vote.
#[derive(Clone)]
pub struct Forest {
    pub name: &'static str,
    pub tree: Arc<Json>,
}

impl<L: TreeLeaf> Coupling<ForestMember<L>> for Forest {}

impl<L: TreeLeaf> EnsembleRule<ForestMember<L>> for Forest {
    fn name(&self) -> &'static str {
        self.name
    }

    fn member_description(&self) -> Option<Json> {
        Some((*self.tree).clone())
    }
}
