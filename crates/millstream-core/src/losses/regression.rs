//! The declarations of the losses for numbers.

use crate::declaration::{Built, Declaration, Role};
use crate::merging::Merge;
use crate::parameter::{Bounds, Default, Kind, Parameter};

use super::Loss;

pub static SQUARED: Declaration = Declaration {
    name: "losses.Squared",
    role: Role::Loss,
    words: "Squared error; its minimiser is the mean",
    merge: Merge::SETTING,
    parameters: &[],
    build: |_| Ok(Built::Loss(Loss::Squared)),
};

pub static ABSOLUTE: Declaration = Declaration {
    name: "losses.Absolute",
    role: Role::Loss,
    words: "Absolute error; its minimiser is the median",
    merge: Merge::SETTING,
    parameters: &[],
    build: |_| Ok(Built::Loss(Loss::Absolute)),
};

pub static HUBER: Declaration = Declaration {
    name: "losses.Huber",
    role: Role::Loss,
    words: "Huber loss: squared for small errors, absolute for large ones",
    merge: Merge::SETTING,
    parameters: &[Parameter::new(
        "epsilon",
        Kind::Float(Bounds::POSITIVE),
        Default::Float(0.1),
        "error at which the loss changes from squared to absolute",
    )],
    build: |arguments| Ok(Built::Loss(Loss::Huber { epsilon: arguments.float("epsilon")? })),
};

pub static QUANTILE: Declaration = Declaration {
    name: "losses.Quantile",
    role: Role::Loss,
    words: "Pinball loss; its minimiser is the q-quantile",
    merge: Merge::SETTING,
    parameters: &[Parameter::new(
        "q",
        Kind::Float(Bounds::OPEN_UNIT),
        Default::Float(0.5),
        "quantile to predict: the fraction of targets below the prediction",
    )
    .formerly(&["alpha"])],
    build: |arguments| Ok(Built::Loss(Loss::Quantile { q: arguments.float("q")? })),
};

pub static EXPECTILE: Declaration = Declaration {
    name: "losses.Expectile",
    role: Role::Loss,
    words: "Asymmetric squared error; its minimiser is the q-expectile",
    merge: Merge::SETTING,
    parameters: &[Parameter::new(
        "q",
        Kind::Float(Bounds::OPEN_UNIT),
        Default::Float(0.5),
        "expectile to predict; above 0.5, predictions below the target cost more",
    )],
    build: |arguments| Ok(Built::Loss(Loss::Expectile { q: arguments.float("q")? })),
};

pub static EPSILON_INSENSITIVE: Declaration = Declaration {
    name: "losses.EpsilonInsensitive",
    role: Role::Loss,
    words: "Absolute error beyond a margin, as in support vector regression",
    merge: Merge::SETTING,
    parameters: &[Parameter::new(
        "epsilon",
        Kind::Float(Bounds::NOT_NEGATIVE),
        Default::Float(0.1),
        "errors up to this have no loss",
    )],
    build: |arguments| Ok(Built::Loss(Loss::EpsilonInsensitive { epsilon: arguments.float("epsilon")? })),
};

pub static POISSON: Declaration = Declaration {
    name: "losses.Poisson",
    role: Role::Loss,
    words: "Poisson loss for counts; the score is the log of the mean",
    merge: Merge::SETTING,
    parameters: &[],
    build: |_| Ok(Built::Loss(Loss::Poisson)),
};
