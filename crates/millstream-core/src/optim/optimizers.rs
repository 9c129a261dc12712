//! The declarations of the optimisers: parameters, bounds, defaults. The defaults are River's.

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::merging::{Merge, BY_COUNT, BY_CURVATURE};
use crate::parameter::{Arguments, Bounds, Default, Kind, Parameter};

use super::{CoordinateRule, FullVectorOptimizer, Optimizer, Schedule};

fn built(arguments: &Arguments<'_>, rule: CoordinateRule) -> Result<Built> {
    Ok(Built::Optimizer(Optimizer { rule, rate: arguments.rate("learning_rate")? }))
}

/// For rules without a learning rate, which is then 1.
fn built_without_rate(rule: CoordinateRule) -> Result<Built> {
    Ok(Built::Optimizer(Optimizer { rule, rate: Schedule::Constant(1.0) }))
}

const fn learning_rate(default: f64) -> Parameter {
    Parameter::new(
        "learning_rate",
        Kind::Rate(Bounds::POSITIVE),
        Default::Float(default),
        "learning rate: a number, or a schedule",
    )
}

const fn fraction(name: &'static str, default: f64, words: &'static str) -> Parameter {
    Parameter::new(name, Kind::Float(Bounds::DECAY), Default::Float(default), words)
}

const EPSILON: Parameter = Parameter::new(
    "epsilon",
    Kind::Float(Bounds::POSITIVE),
    Default::Float(1e-8),
    "constant that avoids division by 0",
);

const MOMENTUM_FACTOR: Parameter =
    fraction("momentum", 0.9, "momentum: fraction of the previous step that is kept").formerly(&["rho"]);

pub static SGD: Declaration = Declaration {
    name: "optim.SGD",
    role: Role::Optimizer,
    words: "Stochastic gradient descent",
    merge: Merge::approximate(BY_COUNT),
    parameters: &[learning_rate(0.01)],
    build: |arguments| built(arguments, CoordinateRule::Sgd),
};

pub static MOMENTUM: Declaration = Declaration {
    name: "optim.Momentum",
    role: Role::Optimizer,
    words: "Stochastic gradient descent with momentum",
    merge: Merge::approximate(BY_COUNT),
    parameters: &[learning_rate(0.1), MOMENTUM_FACTOR],
    build: |arguments| built(arguments, CoordinateRule::Momentum { rho: arguments.float("momentum")? }),
};

pub static NESTEROV: Declaration = Declaration {
    name: "optim.Nesterov",
    role: Role::Optimizer,
    words: "Nesterov momentum: the gradient is taken at the anticipated weights",
    merge: Merge::approximate(BY_COUNT),
    parameters: &[learning_rate(0.1), MOMENTUM_FACTOR],
    build: |arguments| built(arguments, CoordinateRule::Nesterov { rho: arguments.float("momentum")? }),
};

pub static ADA_GRAD: Declaration = Declaration {
    name: "optim.AdaGrad",
    role: Role::Optimizer,
    words: "One learning rate per weight that falls with the sum of its squared gradients",
    merge: Merge::approximate(BY_CURVATURE),
    parameters: &[
        learning_rate(0.1),
        EPSILON,
        Parameter::new(
            "full",
            Kind::Boolean,
            Default::Boolean(false),
            "whether to use the full matrix of products of gradients instead of its diagonal",
        ),
    ],
    build: |arguments| {
        let epsilon = arguments.float("epsilon")?;
        match arguments.boolean("full")? {
            false => built(arguments, CoordinateRule::AdaGrad { epsilon }),
            true => Ok(Built::FullVectorOptimizer(FullVectorOptimizer::FullAdaGrad {
                rate: arguments.rate("learning_rate")?,
                epsilon,
            })),
        }
    },
};

pub static ADA_DELTA: Declaration = Declaration {
    name: "optim.AdaDelta",
    role: Role::Optimizer,
    words: "Steps scaled by running means of squared steps and gradients; no learning rate",
    merge: Merge::approximate(BY_COUNT),
    parameters: &[fraction("rho", 0.95, "decay of the running means of squares"), EPSILON],
    build: |arguments| {
        built_without_rate(CoordinateRule::AdaDelta {
            rho: arguments.float("rho")?,
            epsilon: arguments.float("epsilon")?,
        })
    },
};

pub static RMS_PROP: Declaration = Declaration {
    name: "optim.RMSProp",
    role: Role::Optimizer,
    words: "One learning rate per weight by the running mean of its squared gradients",
    merge: Merge::approximate(BY_COUNT),
    parameters: &[
        learning_rate(0.1),
        fraction("rho", 0.9, "decay of the running mean of squared gradients"),
        EPSILON,
    ],
    build: |arguments| {
        let rule = CoordinateRule::RmsProp { rho: arguments.float("rho")?, epsilon: arguments.float("epsilon")? };
        built(arguments, rule)
    },
};

pub static ADAM: Declaration = Declaration {
    name: "optim.Adam",
    role: Role::Optimizer,
    words: "Running means of gradients and of their squares, with bias correction",
    merge: Merge::approximate(BY_COUNT),
    parameters: &[
        learning_rate(0.1),
        fraction("beta_1", 0.9, "decay of the running mean of gradients"),
        fraction("beta_2", 0.999, "decay of the running mean of squared gradients"),
        EPSILON,
    ],
    build: |arguments| {
        let rule = CoordinateRule::Adam {
            beta_1: arguments.float("beta_1")?,
            beta_2: arguments.float("beta_2")?,
            epsilon: arguments.float("epsilon")?,
        };
        built(arguments, rule)
    },
};

pub static FTRL_PROXIMAL: Declaration = Declaration {
    name: "optim.FTRLProximal",
    role: Role::Optimizer,
    words: "Follow the regularised leader (FTRL-Proximal), for sparse weights of many features",
    merge: Merge::approximate(BY_CURVATURE),
    parameters: &[
        Parameter::new(
            "learning_rate",
            Kind::Float(Bounds::POSITIVE),
            Default::Float(0.05),
            "learning rate, before the scaling per weight",
        )
        .formerly(&["alpha"]),
        Parameter::new(
            "rate_offset",
            Kind::Float(Bounds::POSITIVE),
            Default::Float(1.0),
            "dampens the first steps of each weight",
        )
        .formerly(&["beta"]),
        Parameter::new(
            "l1",
            Kind::Float(Bounds::NOT_NEGATIVE),
            Default::Float(0.0),
            "L1 penalty: shrinks weights to exactly 0",
        ),
        Parameter::new(
            "l2",
            Kind::Float(Bounds::NOT_NEGATIVE),
            Default::Float(1.0),
            "L2 penalty: shrinks weights towards 0",
        ),
    ],
    build: |arguments| {
        built_without_rate(CoordinateRule::FtrlProximal {
            alpha: arguments.float("learning_rate")?,
            beta: arguments.float("rate_offset")?,
            l1: arguments.float("l1")?,
            l2: arguments.float("l2")?,
        })
    },
};
