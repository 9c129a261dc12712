//! The declarations of the losses for classes.

use crate::declaration::{Built, Declaration, Role};
use crate::parameter::{Bounds, Default, Kind, Parameter};

use super::Loss;

pub static LOGISTIC: Declaration = Declaration {
    name: "losses.Logistic",
    role: Role::Loss,
    words: "The logistic loss, whose minimiser is the log odds",
    parameters: &[],
    build: |_| Ok(Built::Loss(Loss::Logistic)),
};

pub static HINGE: Declaration = Declaration {
    name: "losses.Hinge",
    role: Role::Loss,
    words: "The hinge of support vector machines, or the perceptron's with threshold 0",
    parameters: &[Parameter::new(
        "threshold",
        Kind::Float(Bounds::NOT_NEGATIVE),
        Default::Float(1.0),
        "the margin from which an example costs nothing",
    )],
    build: |arguments| Ok(Built::Loss(Loss::Hinge { threshold: arguments.float("threshold")? })),
};

pub static SQUARED_HINGE: Declaration = Declaration {
    name: "losses.SquaredHinge",
    role: Role::Loss,
    words: "The squared hinge, which grows with the square of what the margin lacks",
    parameters: &[],
    build: |_| Ok(Built::Loss(Loss::SquaredHinge)),
};

pub static MODIFIED_HUBER: Declaration = Declaration {
    name: "losses.ModifiedHuber",
    role: Role::Loss,
    words: "The squared hinge made linear for gross errors: tolerant of outliers, with probabilities",
    parameters: &[],
    build: |_| Ok(Built::Loss(Loss::ModifiedHuber)),
};

pub static FOCAL: Declaration = Declaration {
    name: "losses.Focal",
    role: Role::Loss,
    words: "The logistic loss with less weight on examples that are already right",
    parameters: &[Parameter::new(
        "gamma",
        Kind::Float(Bounds::NOT_NEGATIVE),
        Default::Float(2.0),
        "how much less they weigh; 0 is the logistic loss",
    )],
    build: |arguments| Ok(Built::Loss(Loss::Focal { gamma: arguments.float("gamma")? })),
};

pub static FOCAL_STAR: Declaration = Declaration {
    name: "losses.FocalStar",
    role: Role::Loss,
    words: "The focal loss in the simpler form of its paper's appendix",
    parameters: &[
        Parameter::new("gamma", Kind::Float(Bounds::POSITIVE), Default::Float(2.0), "how steep it is"),
        Parameter::new("beta", Kind::Float(Bounds::ANY), Default::Float(1.0), "how far it is shifted"),
    ],
    build: |arguments| {
        Ok(Built::Loss(Loss::FocalStar { gamma: arguments.float("gamma")?, beta: arguments.float("beta")? }))
    },
};
