//! The declarations of streaming random patches; see `patches`.

use std::sync::Arc;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::task::{Classes, Numbers};

use super::aggregation::{Aggregation, AGGREGATION};
use super::bagged::{Detector, Resampling};
use super::bagging::{poisson_rate, N_MODELS, SEED};
use super::combined::Ensemble;
use super::learner::MemberLearner;
use super::leveraging_bagging::adwin;
use super::patches::{Patch, PatchSettings, Patches};
use super::poisson::Poisson;
use super::subspace::Size;
use super::threads::{self, N_THREADS};
use super::vote_shares::VoteShares;

/// Trees that split early: a bad split costs one vote of many until its member is replaced (section IV of the paper).
const EARLY: &[(&str, f64)] = &[("grace_period", 50.0), ("delta", 0.01)];

const CLASSIFIER: Parameter = Parameter::new(
    "model",
    Kind::Part(&[Role::Classifier]),
    DefaultValue::Tuned("tree.HoeffdingTreeClassifier", EARLY),
    "classifier to copy for each member",
);

const REGRESSOR: Parameter = Parameter::new(
    "model",
    Kind::Part(&[Role::Regressor]),
    DefaultValue::Tuned("tree.HoeffdingTreeRegressor", EARLY),
    "regressor to copy for each member",
);

const SUBSPACE_SIZE: Parameter = Parameter::new(
    "subspace_size",
    Kind::Float(Bounds::POSITIVE),
    DefaultValue::Float(0.6),
    "number of features of each model: a fraction up to 1, or a number above 1",
);

const TRAINING_METHOD: Parameter = Parameter::new(
    "training_method",
    Kind::Choice(&["patches", "resampling", "subspaces"]),
    DefaultValue::Text("patches"),
    "how models differ: by features (subspaces), by row weights (resampling), or by both (patches)",
);

const DRIFT_DETECTOR: Parameter = Parameter::new(
    "drift_detector",
    Kind::Optional(&Kind::Part(&[Role::DriftDetector])),
    DefaultValue::Null,
    "drift detector that triggers the replacement of a model; null for ADWIN with a significance of 0.00001",
);

const WARNING_DETECTOR: Parameter = Parameter::new(
    "warning_detector",
    Kind::Optional(&Kind::Part(&[Role::DriftDetector])),
    DefaultValue::Null,
    "drift detector that starts a background model; null for ADWIN with a significance of 0.0001",
);

const DISABLE_DETECTOR: Parameter = Parameter::new(
    "disable_detector",
    Kind::Choice(&["off", "drift", "warning"]),
    DefaultValue::Text("off"),
    "off to use both detectors; drift to use none; warning to train no background models",
);

const DISABLE_WEIGHTED_VOTE: Parameter = Parameter::new(
    "disable_weighted_vote",
    Kind::Boolean,
    DefaultValue::Boolean(false),
    "weight all models equally instead of by their performance",
);

pub static CLASSIFIER_PATCHES: Declaration = Declaration {
    name: "ensemble.SRPClassifier",
    role: Role::Classifier,
    words: "Streaming random patches: classifiers on random features and rows, replaced when their errors grow",
    merge: Merge::ENSEMBLE,
    parameters: &[
        CLASSIFIER,
        N_MODELS,
        SUBSPACE_SIZE,
        TRAINING_METHOD,
        poisson_rate(6.0),
        DRIFT_DETECTOR,
        WARNING_DETECTOR,
        DISABLE_DETECTOR,
        DISABLE_WEIGHTED_VOTE,
        SEED,
        N_THREADS,
    ],
    build: |arguments| {
        let settings = settings(CLASSIFIER_PATCHES.name, arguments, arguments.learner::<Classes>("model")?)?;
        let (members, threads) = (members(arguments, &settings)?, threads::count(arguments)?);
        Ok(Built::Classifier(Box::new(Ensemble::new(members, Patches(settings), VoteShares::default(), threads))))
    },
};

pub static REGRESSOR_PATCHES: Declaration = Declaration {
    name: "ensemble.SRPRegressor",
    role: Role::Regressor,
    words: "Streaming random patches: regressors on random features and rows, replaced when their errors grow",
    merge: Merge::ENSEMBLE,
    parameters: &[
        REGRESSOR,
        N_MODELS,
        SUBSPACE_SIZE,
        TRAINING_METHOD,
        poisson_rate(6.0),
        DRIFT_DETECTOR,
        WARNING_DETECTOR,
        DISABLE_DETECTOR,
        DISABLE_WEIGHTED_VOTE,
        AGGREGATION,
        SEED,
        N_THREADS,
    ],
    build: |arguments| {
        let settings = settings(REGRESSOR_PATCHES.name, arguments, arguments.learner::<Numbers>("model")?)?;
        let (members, threads) = (members(arguments, &settings)?, threads::count(arguments)?);
        let aggregation = Aggregation::named(arguments.text("aggregation")?);
        Ok(Built::Regressor(Box::new(Ensemble::new(members, Patches(settings), aggregation, threads))))
    },
};

fn members<L: MemberLearner>(
    arguments: &Arguments<'_>,
    settings: &Arc<PatchSettings<L>>,
) -> Result<Vec<Patch<L>>> {
    let seed = arguments.integer("seed")? as u64;
    Ok((0..arguments.size("n_models")?).map(|index| Patch::new(settings.clone(), seed, index)).collect())
}

fn settings<L: MemberLearner>(
    name: &'static str,
    arguments: &Arguments<'_>,
    learner: L,
) -> Result<Arc<PatchSettings<L>>> {
    let method = arguments.text("training_method")?;
    let size = match method {
        "resampling" => Size::All,
        _ => Size::Some(arguments.float("subspace_size")?),
    };
    let resampling = match method {
        "subspaces" => None,
        _ => Some(Resampling::Poisson(Poisson::new(arguments.float("poisson_rate")?))),
    };
    let disabled = arguments.text("disable_detector")?;
    let drift = match disabled {
        "drift" => None,
        _ => {
            Some(Detector::given(arguments, "drift_detector")?.map_or_else(|| adwin(1e-5), Ok)?.without_warnings())
        }
    };
    let warning = match disabled {
        "off" => Some(
            Detector::given(arguments, "warning_detector")?.map_or_else(|| adwin(1e-4), Ok)?.without_warnings(),
        ),
        _ => None,
    };
    let weighted = !arguments.boolean("disable_weighted_vote")?;
    Ok(Arc::new(PatchSettings { name, learner, size, resampling, drift, warning, weighted }))
}
