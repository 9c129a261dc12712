//! Bagging with drift detection: ADWIN bagging and leveraging bagging.
//!
//! ADWIN bagging (Bifet, Holmes, Pfahringer, Kirkby and Gavaldà, 2009, "New ensemble methods for evolving data streams",
//! section 3): each member's errors go to an ADWIN; when one detects an increase, the member with the largest
//! estimated error is replaced by a new one. Leveraging bagging (Bifet, Holmes and Pfahringer, 2010, "Leveraging bagging
//! for evolving data streams", algorithm 1) draws weights from the Poisson distribution of mean 6, or resamples in one
//! of the ways of its section 3.1, and may use random output codes (see `output_codes`).
//!
//! Departures from MOA and River: the detectors receive the errors before a row is learned, which the votes give anyway,
//! and not the optimistic errors after it. ADWIN keeps the newer side of a cut, as in its paper: an empty window would
//! estimate the error from a single row, and make its member the best or the worst.

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::merging::Merge;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::registry;
use crate::task::Classes;

use super::bagged::{members, Detector, Resampling};
use super::bagging::{poisson_rate, CLASSIFIER, N_MODELS, SEED};
use super::combined::Ensemble;
use super::output_codes::Coded;
use super::poisson::Poisson;
use super::threads::{self, N_THREADS};
use super::vote_shares::VoteShares;

const SIGNIFICANCE: Parameter = Parameter::new(
    "significance",
    Kind::Float(Bounds::OPEN_UNIT),
    DefaultValue::Float(0.002),
    "significance level of the ADWIN of each model",
)
.formerly(&["delta"]);

pub static ADWIN_BAGGING: Declaration = Declaration {
    name: "ensemble.ADWINBagging",
    role: Role::Classifier,
    words: "Online bagging that replaces its worst model when the errors of a model grow",
    merge: Merge::ENSEMBLE,
    parameters: &[CLASSIFIER, N_MODELS, poisson_rate(1.0), SIGNIFICANCE, SEED, N_THREADS],
    build: |arguments| {
        let resampling = Resampling::Poisson(Poisson::new(arguments.float("poisson_rate")?));
        build(ADWIN_BAGGING.name, arguments, resampling, false)
    },
};

pub static LEVERAGING_BAGGING: Declaration = Declaration {
    name: "ensemble.LeveragingBagging",
    role: Role::Classifier,
    words: "Online bagging with more resampling, which replaces its worst model when the errors of a model grow",
    merge: Merge::ENSEMBLE,
    parameters: &[
        CLASSIFIER,
        N_MODELS,
        poisson_rate(6.0),
        SIGNIFICANCE,
        Parameter::new(
            "bagging_method",
            Kind::Choice(&["bag", "me", "half", "wt", "subag"]),
            DefaultValue::Text("bag"),
            "how the number of times a model learns a row is drawn",
        ),
        Parameter::new(
            "output_codes",
            Kind::Boolean,
            DefaultValue::Boolean(false),
            "train each model on two random halves of the classes",
        ),
        SEED,
        N_THREADS,
    ],
    build: |arguments| {
        let resampling = match arguments.text("bagging_method")? {
            "me" => Resampling::Mistakes,
            "half" => Resampling::Half,
            "wt" => Resampling::AtLeastOnce(Poisson::new(1.0)),
            "subag" => Resampling::AtMostOnce(Poisson::new(1.0)),
            _ => Resampling::Poisson(Poisson::new(arguments.float("poisson_rate")?)),
        };
        build(LEVERAGING_BAGGING.name, arguments, resampling, arguments.boolean("output_codes")?)
    },
};

fn build(name: &'static str, arguments: &Arguments<'_>, resampling: Resampling, codes: bool) -> Result<Built> {
    let (model, threads) = (arguments.learner::<Classes>("model")?, threads::count(arguments)?);
    let detector = Some(adwin(arguments.float("significance")?)?);
    if codes {
        let (members, rule) = members(name, arguments, Coded::new(model), resampling, detector, usize::MAX)?;
        return Ok(Built::Classifier(Box::new(Ensemble::new(members, rule, VoteShares::default(), threads))));
    }
    let most = model.abilities().max_classes;
    let (members, rule) = members(name, arguments, model, resampling, detector, most)?;
    Ok(Built::Classifier(Box::new(Ensemble::new(members, rule, VoteShares::default(), threads))))
}

/// ADWIN as in its paper, with this significance level.
pub fn adwin(significance: f64) -> Result<Detector> {
    let parameters = serde_json::json!({ "significance": significance, "restart": false });
    let description = registry::resolve(&serde_json::json!({ "name": "drift.ADWIN", "parameters": parameters }))?;
    match registry::build_resolved(&description)? {
        Built::DriftDetector(detector) => Ok(Detector(detector).without_warnings()),
        _ => Err(Fault::value("drift.ADWIN: is not a detector")),
    }
}
