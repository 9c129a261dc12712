//! Declarations of components: name, role, parameters and builder.

use crate::bandit::contextual::{explore::Explorer, Policy as ContextualPolicy};
use crate::continual::buffer::Settings as Buffer;
use crate::covariance_estimator::CovarianceEstimator;
use crate::detector::{DriftDetector, FeatureDriftDetector};
use crate::fault::Result;
use crate::forecaster::Forecaster;
use crate::generator::Generator;
use crate::held::Estimator;
use crate::kernel::Kernel;
use crate::learner::Learner;
use crate::losses::Loss;
use crate::merging::Merge;
use crate::metric::Metric;
use crate::neighbors::hnsw::Settings as SearchEngine;
use crate::optim::{FullVectorOptimizer, Optimizer, Schedule};
use crate::parameter::{Arguments, Parameter};
use crate::policy::Policy;
use crate::policy_evaluation::role::PolicyEstimator;
use crate::sampler::Sampler;
use crate::sketch::role::Sketch;
use crate::statistic::Statistic;
use crate::task::{Anomalies, Classes, Clusters, Numbers};
use crate::transformer::Transformer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Classifier,
    Regressor,
    /// Scores how unusual an example is; learns without targets.
    AnomalyDetector,
    /// Assigns an example to a cluster; learns without targets.
    Clusterer,
    Transformer,
    /// Forecasts the next values of a series.
    Forecaster,
    /// Chooses actions and learns from their rewards.
    Policy,
    /// Keeps a random sample of the rows of a stream.
    Sampler,
    Metric,
    Statistic,
    /// Estimates the covariances of the features.
    CovarianceEstimator,
    /// Estimates the value of a policy from the log of another one.
    PolicyEstimator,
    /// Summarises numbers or keys in little memory.
    Sketch,
    DriftDetector,
    FeatureDriftDetector,
    Optimizer,
    Loss,
    Schedule,
    /// How a contextual policy explores.
    Explorer,
    /// Measures how similar two examples are.
    Kernel,
    /// Finds nearest neighbours.
    SearchEngine,
    /// Stores rows of a stream, to be learned again.
    Buffer,
    /// An endless stream of examples.
    Generator,
    /// Has the role of the component that it wraps (a pipeline).
    Wrapper,
}

impl Role {
    pub const ALL: [Role; 24] = [
        Role::Classifier,
        Role::Regressor,
        Role::AnomalyDetector,
        Role::Clusterer,
        Role::Transformer,
        Role::Forecaster,
        Role::Policy,
        Role::Sampler,
        Role::Metric,
        Role::Statistic,
        Role::CovarianceEstimator,
        Role::PolicyEstimator,
        Role::Sketch,
        Role::DriftDetector,
        Role::FeatureDriftDetector,
        Role::Optimizer,
        Role::Loss,
        Role::Schedule,
        Role::Explorer,
        Role::Kernel,
        Role::SearchEngine,
        Role::Buffer,
        Role::Generator,
        Role::Wrapper,
    ];

    /// The roles of pipeline steps.
    pub const STEPS: [Role; 5] =
        [Role::Transformer, Role::Classifier, Role::Regressor, Role::AnomalyDetector, Role::Clusterer];

    /// Whether its models predict numbers.
    pub fn predicts_numbers(self) -> bool {
        matches!(self, Role::Regressor | Role::AnomalyDetector)
    }

    pub fn word(self) -> &'static str {
        match self {
            Role::Classifier => "classifier",
            Role::Regressor => "regressor",
            Role::AnomalyDetector => "anomaly_detector",
            Role::Clusterer => "clusterer",
            Role::Transformer => "transformer",
            Role::Forecaster => "forecaster",
            Role::Policy => "policy",
            Role::Sampler => "sampler",
            Role::Metric => "metric",
            Role::Statistic => "statistic",
            Role::CovarianceEstimator => "covariance_estimator",
            Role::PolicyEstimator => "policy_estimator",
            Role::Sketch => "sketch",
            Role::DriftDetector => "drift_detector",
            Role::FeatureDriftDetector => "feature_drift_detector",
            Role::Optimizer => "optimizer",
            Role::Loss => "loss",
            Role::Schedule => "schedule",
            Role::Explorer => "explorer",
            Role::Kernel => "kernel",
            Role::SearchEngine => "search_engine",
            Role::Buffer => "buffer",
            Role::Generator => "generator",
            Role::Wrapper => "wrapper",
        }
    }
}

/// A component built from its description.
pub enum Built {
    Classifier(Box<dyn Learner<Classes>>),
    Regressor(Box<dyn Learner<Numbers>>),
    AnomalyDetector(Box<dyn Learner<Anomalies>>),
    Clusterer(Box<dyn Learner<Clusters>>),
    Transformer(Box<dyn Transformer>),
    Forecaster(Box<dyn Forecaster>),
    Policy(Box<dyn Policy>),
    ContextualPolicy(Box<ContextualPolicy>),
    Sampler(Box<dyn Sampler>),
    Metric(Box<dyn Metric>),
    Statistic(Box<dyn Statistic>),
    CovarianceEstimator(Box<dyn CovarianceEstimator>),
    PolicyEstimator(Box<dyn PolicyEstimator>),
    Sketch(Box<dyn Sketch>),
    DriftDetector(Box<dyn DriftDetector>),
    FeatureDriftDetector(Box<dyn FeatureDriftDetector>),
    Optimizer(Optimizer),
    /// An optimiser too, one that updates all weights at once.
    FullVectorOptimizer(FullVectorOptimizer),
    Loss(Loss),
    Schedule(Schedule),
    Explorer(Explorer),
    Kernel(Kernel),
    SearchEngine(SearchEngine),
    Buffer(Buffer),
    Generator(Box<dyn Generator>),
}

impl Built {
    /// The root of a model; None for roles with verbs of their own, and for components without a state.
    pub fn estimator(self) -> Option<Estimator> {
        match self {
            Built::Classifier(part) => Some(Estimator::Classifier(part)),
            Built::Regressor(part) => Some(Estimator::Regressor(part)),
            Built::AnomalyDetector(part) => Some(Estimator::AnomalyDetector(part)),
            Built::Clusterer(part) => Some(Estimator::Clusterer(part)),
            Built::Transformer(part) => Some(Estimator::Transformer(part)),
            Built::Forecaster(_)
            | Built::Policy(_)
            | Built::ContextualPolicy(_)
            | Built::Sampler(_)
            | Built::Metric(_)
            | Built::Statistic(_)
            | Built::CovarianceEstimator(_)
            | Built::PolicyEstimator(_)
            | Built::Sketch(_)
            | Built::DriftDetector(_)
            | Built::FeatureDriftDetector(_)
            | Built::Optimizer(_)
            | Built::FullVectorOptimizer(_)
            | Built::Loss(_)
            | Built::Schedule(_)
            | Built::Explorer(_)
            | Built::Kernel(_)
            | Built::SearchEngine(_)
            | Built::Buffer(_)
            | Built::Generator(_) => None,
        }
    }
}

pub struct Declaration {
    /// The name in files, in Python, in saved models and on the command line.
    pub name: &'static str,
    pub role: Role,
    /// One line for lists; the full description is the Python docstring.
    pub words: &'static str,
    /// How exactly models of parts of a stream can be merged.
    pub merge: Merge,
    pub parameters: &'static [Parameter],
    pub build: fn(&Arguments<'_>) -> Result<Built>,
}
