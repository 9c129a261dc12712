//! Adaptive random forest (Gomes, Bifet, Read, Barddal, Enembreck, Pfahringer, Holmes and Abdessalem, 2017, "Adaptive
//! random forests for evolving data stream classification", Machine Learning 106, algorithms 1 and 2).
//!
//! Hoeffding trees whose leaves look at random features, and which learn each row k times, k from the Poisson
//! distribution of mean 6. The errors of each tree go to two detectors. When the more nervous one warns, another tree
//! begins to learn in the background; when the other finds a change, that tree takes the place of the first. Votes weigh
//! as much as their tree was right since it began.
//!
//! Nominal features are split into one value and the rest. A branch for each value looks good by chance, the more so as
//! the bound takes a row that is learned six times for six rows: after 8 rows, 20 values make pure branches.
//!
//! Three steps away from the paper's program. The errors are those before a row is learned, which the votes have told
//! anyway. A detector that finds that errors have become fewer changes nothing. And a tree that comes from the
//! background brings its own record, instead of none.

use std::sync::Arc;

use serde_json::{json, Map, Value as Json};

use crate::declaration::{Built, Declaration, Role};
use crate::ensemble::bagging::{poisson_rate, N_MODELS, SEED};
use crate::ensemble::combined::{Ensemble, Rule};
use crate::ensemble::engine::Coupling;
use crate::ensemble::threads::{self, N_THREADS};
use crate::ensemble::vote_shares::VoteShares;
use crate::fault::Result;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::tree::{hoeffding_tree_classifier, regression_settings, settings, Leaf, Settings, TreeLeaf};

use super::max_features::MAX_FEATURES;
use super::member::{ForestMember, Plan};
use super::EACH_TREE;

const NAME: &str = "forest.ARFClassifier";

pub const DRIFT_DETECTOR: Parameter = Parameter::new(
    "drift_detector",
    Kind::Optional(&Kind::Part(&[Role::DriftDetector])),
    DefaultValue::Tuned("drift.ADWIN", &[("delta", 0.001)]),
    "finds when a tree is replaced; null for never",
);

pub const WARNING_DETECTOR: Parameter = Parameter::new(
    "warning_detector",
    Kind::Optional(&Kind::Part(&[Role::DriftDetector])),
    DefaultValue::Tuned("drift.ADWIN", &[("delta", 0.01)]),
    "finds when a tree begins in the background; null for the warnings of the other detector, if it has any",
);

pub const DISABLE_WEIGHTED_VOTE: Parameter = Parameter::new(
    "disable_weighted_vote",
    Kind::Boolean,
    DefaultValue::Boolean(false),
    "whether all votes weigh the same, however well a tree has done",
);

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Adaptive random forest: trees of random features and rows, replaced when their errors grow",
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
        let members = Plan::<Leaf>::new(NAME, arguments, Settings::new(arguments)?)?.members(arguments)?;
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

/// The description of one of the trees, for those who want it as a model of its own.
pub fn tree(arguments: &Arguments<'_>, declared: &Declaration) -> Result<Json> {
    let set = declared.parameters.iter().map(|parameter| parameter.name);
    let parameters: Result<Map<String, Json>> =
        set.map(|name| Ok((name.into(), arguments.value(name)?.clone()))).collect();
    Ok(json!({ "name": declared.name, "parameters": parameters? }))
}

/// The trees have nothing to do with each other but the vote.
#[derive(Clone)]
pub struct Forest {
    pub name: &'static str,
    pub tree: Arc<Json>,
}

impl<L: TreeLeaf> Coupling<ForestMember<L>> for Forest {}

impl<L: TreeLeaf> Rule<ForestMember<L>> for Forest {
    fn name(&self) -> &'static str {
        self.name
    }

    fn member_description(&self) -> Option<Json> {
        Some((*self.tree).clone())
    }
}
