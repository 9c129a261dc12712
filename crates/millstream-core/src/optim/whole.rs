//! Optimisers that look at the whole example before they step: at the scale of its features, at its importance, or
//! at how the features go together.
//!
//! They are not a rule for one coordinate, so the kernel of `weights.rs` cannot carry them; their arithmetic is in
//! linear_model/whole, one file each. The constant term is a coordinate like the others to them.

use crate::declaration::{Built, Declaration, Role};
use crate::parameter::{Bounds, Default, Kind, Parameter};

use super::Schedule;

#[derive(Clone, Copy, Debug)]
pub enum Whole {
    Adaptive { rate: f64 },
    CoinBetting { wealth: f64 },
    OnlineNewtonStep { rate: Schedule, epsilon: f64 },
    FullAdaGrad { rate: Schedule, epsilon: f64 },
}

impl Whole {
    pub fn name(&self) -> &'static str {
        match self {
            Whole::Adaptive { .. } => "optim.Adaptive",
            Whole::CoinBetting { .. } => "optim.CoinBetting",
            Whole::OnlineNewtonStep { .. } => "optim.OnlineNewtonStep",
            Whole::FullAdaGrad { .. } => "optim.AdaGrad(full=True)",
        }
    }
}

pub static ADAPTIVE: Declaration = Declaration {
    name: "optim.Adaptive",
    role: Role::Optimizer,
    words: "Scale-free, importance-aware steps in the manner of VW; nothing needs tuning",
    parameters: &[Parameter::new(
        "learning_rate",
        Kind::Float(Bounds::POSITIVE),
        Default::Float(0.5),
        "how far the first steps go; it matters little",
    )],
    build: |arguments| Ok(Built::Whole(Whole::Adaptive { rate: arguments.float("learning_rate")? })),
};

pub static COIN_BETTING: Declaration = Declaration {
    name: "optim.CoinBetting",
    role: Role::Optimizer,
    words: "Parameter-free steps: each weight is a bet on the sign of its gradients",
    parameters: &[Parameter::new(
        "wealth",
        Kind::Float(Bounds::POSITIVE),
        Default::Float(1.0),
        "what the weights of an example have to bet at first, in units of loss; it matters little",
    )],
    build: |arguments| Ok(Built::Whole(Whole::CoinBetting { wealth: arguments.float("wealth")? })),
};

pub static ONLINE_NEWTON_STEP: Declaration = Declaration {
    name: "optim.OnlineNewtonStep",
    role: Role::Optimizer,
    words: "Steps by the inverse of the sum of outer products of gradients; logarithmic regret",
    parameters: &[
        Parameter::new(
            "learning_rate",
            Kind::Rate(Bounds::POSITIVE),
            Default::Float(1.0),
            "the size of a step, 1 / γ of the paper: a number, or a schedule",
        ),
        Parameter::new(
            "epsilon",
            Kind::Float(Bounds::POSITIVE),
            Default::Float(1.0),
            "the diagonal of the matrix before anything is learned",
        ),
    ],
    build: |arguments| {
        Ok(Built::Whole(Whole::OnlineNewtonStep {
            rate: arguments.rate("learning_rate")?,
            epsilon: arguments.float("epsilon")?,
        }))
    },
};
