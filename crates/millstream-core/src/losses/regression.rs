//! The declarations of the losses for numbers.

use crate::declaration::{Built, Declaration, Role};
use crate::parameter::{Bounds, Default, Kind, Parameter};

use super::Loss;

pub static SQUARED: Declaration = Declaration {
    name: "losses.Squared",
    role: Role::Loss,
    words: "The squared error, whose minimiser is the mean",
    parameters: &[],
    build: |_| Ok(Built::Loss(Loss::Squared)),
};

pub static ABSOLUTE: Declaration = Declaration {
    name: "losses.Absolute",
    role: Role::Loss,
    words: "The absolute error, whose minimiser is the median",
    parameters: &[],
    build: |_| Ok(Built::Loss(Loss::Absolute)),
};

pub static HUBER: Declaration = Declaration {
    name: "losses.Huber",
    role: Role::Loss,
    words: "Squared for small errors, absolute for large ones",
    parameters: &[Parameter::new(
        "epsilon",
        Kind::Float(Bounds::POSITIVE),
        Default::Float(0.1),
        "the error at which it turns from squared to absolute",
    )],
    build: |arguments| Ok(Built::Loss(Loss::Huber { epsilon: arguments.float("epsilon")? })),
};

pub static QUANTILE: Declaration = Declaration {
    name: "losses.Quantile",
    role: Role::Loss,
    words: "The pinball loss, whose minimiser is a quantile",
    parameters: &[Parameter::new(
        "alpha",
        Kind::Float(Bounds::OPEN_UNIT),
        Default::Float(0.5),
        "the share of targets that should lie below the prediction",
    )],
    build: |arguments| Ok(Built::Loss(Loss::Quantile { alpha: arguments.float("alpha")? })),
};

pub static EPSILON_INSENSITIVE: Declaration = Declaration {
    name: "losses.EpsilonInsensitive",
    role: Role::Loss,
    words: "The absolute error beyond a margin, as in support vector regression",
    parameters: &[Parameter::new(
        "epsilon",
        Kind::Float(Bounds::NOT_NEGATIVE),
        Default::Float(0.1),
        "errors up to this cost nothing",
    )],
    build: |arguments| Ok(Built::Loss(Loss::EpsilonInsensitive { epsilon: arguments.float("epsilon")? })),
};

pub static POISSON: Declaration = Declaration {
    name: "losses.Poisson",
    role: Role::Loss,
    words: "For counts: the score is the log of the mean",
    parameters: &[],
    build: |_| Ok(Built::Loss(Loss::Poisson)),
};
