//! The declarations of the losses for classes.

use crate::declaration::{Built, Declaration, Role};
use crate::merging::Merge;
use crate::parameter::{Bounds, Default, Kind, Parameter};

use super::Loss;

pub static LOGISTIC: Declaration = Declaration {
    name: "losses.Logistic",
    role: Role::Loss,
    words: "Logistic loss; its minimiser is the log-odds",
    merge: Merge::SETTING,
    parameters: &[],
    build: |_| Ok(Built::Loss(Loss::Logistic)),
};

pub static HINGE: Declaration = Declaration {
    name: "losses.Hinge",
    role: Role::Loss,
    words: "Hinge loss of support vector machines; with margin 0, of the perceptron",
    merge: Merge::SETTING,
    parameters: &[Parameter::new(
        "margin",
        Kind::Float(Bounds::NOT_NEGATIVE),
        Default::Float(1.0),
        "margin above which the loss is 0",
    )
    .formerly(&["threshold"])],
    build: |arguments| Ok(Built::Loss(Loss::Hinge { margin: arguments.float("margin")? })),
};

pub static SQUARED_HINGE: Declaration = Declaration {
    name: "losses.SquaredHinge",
    role: Role::Loss,
    words: "Squared hinge loss: the square of the missing margin",
    merge: Merge::SETTING,
    parameters: &[],
    build: |_| Ok(Built::Loss(Loss::SquaredHinge)),
};

pub static MODIFIED_HUBER: Declaration = Declaration {
    name: "losses.ModifiedHuber",
    role: Role::Loss,
    words: "Squared hinge loss, linear for large errors: robust to outliers, with probabilities",
    merge: Merge::SETTING,
    parameters: &[],
    build: |_| Ok(Built::Loss(Loss::ModifiedHuber)),
};

pub static FOCAL: Declaration = Declaration {
    name: "losses.Focal",
    role: Role::Loss,
    words: "Logistic loss with less weight on well-classified examples",
    merge: Merge::SETTING,
    parameters: &[Parameter::new(
        "focusing",
        Kind::Float(Bounds::NOT_NEGATIVE),
        Default::Float(2.0),
        "how strongly well-classified examples are down-weighted; 0 gives the logistic loss",
    )
    .formerly(&["gamma"])],
    build: |arguments| Ok(Built::Loss(Loss::Focal { gamma: arguments.float("focusing")? })),
};

pub static FOCAL_STAR: Declaration = Declaration {
    name: "losses.FocalStar",
    role: Role::Loss,
    words: "Focal loss in the simplified form of the paper's appendix",
    merge: Merge::SETTING,
    parameters: &[
        Parameter::new("steepness", Kind::Float(Bounds::POSITIVE), Default::Float(2.0), "steepness of the loss")
            .formerly(&["gamma"]),
        Parameter::new("shift", Kind::Float(Bounds::ANY), Default::Float(1.0), "shift of the margin")
            .formerly(&["beta"]),
    ],
    build: |arguments| {
        Ok(Built::Loss(Loss::FocalStar { gamma: arguments.float("steepness")?, beta: arguments.float("shift")? }))
    },
};
