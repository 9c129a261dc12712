//! How a component declares itself: its name, role, parameters and builder.

use crate::detector::{DriftDetector, FeatureDriftDetector};
use crate::fault::Result;
use crate::generator::Generator;
use crate::kernel::Kernel;
use crate::learner::Learner;
use crate::losses::Loss;
use crate::metric::Metric;
use crate::optim::{Optimizer, Schedule, Whole};
use crate::parameter::{Arguments, Parameter};
use crate::statistic::Statistic;
use crate::task::{Classes, Numbers};
use crate::transformer::Transformer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Classifier,
    Regressor,
    Transformer,
    Metric,
    Statistic,
    DriftDetector,
    FeatureDriftDetector,
    Optimizer,
    Loss,
    Schedule,
    /// Measures how similar two examples are.
    Kernel,
    /// An endless stream of examples.
    Generator,
    /// Takes the role of what it wraps (a pipeline).
    Wrapper,
}

impl Role {
    pub const ALL: [Role; 13] = [
        Role::Classifier,
        Role::Regressor,
        Role::Transformer,
        Role::Metric,
        Role::Statistic,
        Role::DriftDetector,
        Role::FeatureDriftDetector,
        Role::Optimizer,
        Role::Loss,
        Role::Schedule,
        Role::Kernel,
        Role::Generator,
        Role::Wrapper,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Role::Classifier => "classifier",
            Role::Regressor => "regressor",
            Role::Transformer => "transformer",
            Role::Metric => "metric",
            Role::Statistic => "statistic",
            Role::DriftDetector => "drift_detector",
            Role::FeatureDriftDetector => "feature_drift_detector",
            Role::Optimizer => "optimizer",
            Role::Loss => "loss",
            Role::Schedule => "schedule",
            Role::Kernel => "kernel",
            Role::Generator => "generator",
            Role::Wrapper => "wrapper",
        }
    }
}

/// A component that was built from its description.
pub enum Built {
    Classifier(Box<dyn Learner<Classes>>),
    Regressor(Box<dyn Learner<Numbers>>),
    Transformer(Box<dyn Transformer>),
    Metric(Box<dyn Metric>),
    Statistic(Box<dyn Statistic>),
    DriftDetector(Box<dyn DriftDetector>),
    FeatureDriftDetector(Box<dyn FeatureDriftDetector>),
    Optimizer(Optimizer),
    /// An optimiser too, one that updates all weights at once.
    Whole(Whole),
    Loss(Loss),
    Schedule(Schedule),
    Kernel(Kernel),
    Generator(Box<dyn Generator>),
}

pub struct Declaration {
    /// The one name: of the file, the Python class, the saved model, the command line.
    pub name: &'static str,
    pub role: Role,
    /// One line for lists; the whole story is in the Python docstring.
    pub words: &'static str,
    pub parameters: &'static [Parameter],
    pub build: fn(&Arguments<'_>) -> Result<Built>,
}
