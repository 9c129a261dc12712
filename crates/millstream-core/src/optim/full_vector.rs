//! Optimisers that use all features of an example at once: their scale, the importance of the example, or the
//! correlation of features.
//!
//! They are not per-coordinate rules, so the kernel of `weights.rs` cannot run them; their arithmetic is in
//! linear_model/full_vector, one file each. They treat the intercept like any other coordinate.

use crate::declaration::{Built, Declaration, Role};
use crate::merging::Merge;
use crate::parameter::{Bounds, Default, Kind, Parameter};

use super::{Penalty, Schedule};

#[derive(Clone, Copy, Debug)]
pub enum FullVectorOptimizer {
    Adaptive { rate: f64, power: f64, penalty: Penalty },
    CoinBetting { wealth: f64 },
    OnlineNewtonStep { rate: Schedule, epsilon: f64 },
    FullAdaGrad { rate: Schedule, epsilon: f64 },
}

impl FullVectorOptimizer {
    pub fn name(&self) -> &'static str {
        match self {
            FullVectorOptimizer::Adaptive { .. } => "optim.Adaptive",
            FullVectorOptimizer::CoinBetting { .. } => "optim.CoinBetting",
            FullVectorOptimizer::OnlineNewtonStep { .. } => "optim.OnlineNewtonStep",
            FullVectorOptimizer::FullAdaGrad { .. } => "optim.AdaGrad(full=True)",
        }
    }
}

pub static ADAPTIVE: Declaration = Declaration {
    name: "optim.Adaptive",
    role: Role::Optimizer,
    words: "Scale-free, importance-aware steps as in VW; needs no tuning",
    merge: Merge::FULL_VECTOR,
    parameters: &[
        Parameter::new(
            "learning_rate",
            Kind::Float(Bounds::POSITIVE),
            Default::Float(0.5),
            "initial learning rate; results depend little on it",
        ),
        Parameter::new(
            "power",
            Kind::Float(Bounds::UNIT),
            Default::Float(0.5),
            "power of the sum of squared gradients by which the rate of a weight falls; 0 for constant rates",
        ),
        Parameter::new(
            "l1",
            Kind::Float(Bounds::NOT_NEGATIVE),
            Default::Float(0.0),
            "L1 penalty, in addition to that of the learner",
        ),
        Parameter::new(
            "l2",
            Kind::Float(Bounds::NOT_NEGATIVE),
            Default::Float(0.0),
            "L2 penalty, in addition to that of the learner",
        ),
    ],
    build: |arguments| {
        Ok(Built::FullVectorOptimizer(FullVectorOptimizer::Adaptive {
            rate: arguments.float("learning_rate")?,
            power: arguments.float("power")?,
            penalty: Penalty { l1: arguments.float("l1")?, l2: arguments.float("l2")? },
        }))
    },
};

pub static COIN_BETTING: Declaration = Declaration {
    name: "optim.CoinBetting",
    role: Role::Optimizer,
    words: "Parameter-free steps: each weight bets on the sign of its gradients",
    merge: Merge::FULL_VECTOR,
    parameters: &[Parameter::new(
        "wealth",
        Kind::Float(Bounds::POSITIVE),
        Default::Float(1.0),
        "initial wealth of the weights of an example, in units of loss; results depend little on it",
    )],
    build: |arguments| {
        Ok(Built::FullVectorOptimizer(FullVectorOptimizer::CoinBetting { wealth: arguments.float("wealth")? }))
    },
};

pub static ONLINE_NEWTON_STEP: Declaration = Declaration {
    name: "optim.OnlineNewtonStep",
    role: Role::Optimizer,
    words: "Steps scaled by the inverse of the summed outer products of gradients; logarithmic regret",
    merge: Merge::FULL_VECTOR,
    parameters: &[
        Parameter::new(
            "learning_rate",
            Kind::Rate(Bounds::POSITIVE),
            Default::Float(1.0),
            "learning rate, 1 / γ in the paper: a number, or a schedule",
        ),
        Parameter::new(
            "epsilon",
            Kind::Float(Bounds::POSITIVE),
            Default::Float(1.0),
            "initial diagonal of the matrix",
        ),
    ],
    build: |arguments| {
        Ok(Built::FullVectorOptimizer(FullVectorOptimizer::OnlineNewtonStep {
            rate: arguments.rate("learning_rate")?,
            epsilon: arguments.float("epsilon")?,
        }))
    },
};
