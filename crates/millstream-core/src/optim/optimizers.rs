//! The declarations of the optimisers: parameters, bounds, defaults. The defaults are River's.

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::parameter::{Arguments, Bounds, Default, Kind, Parameter};

use super::{Optimizer, Rule, Schedule, Whole};

fn built(arguments: &Arguments<'_>, rule: Rule) -> Result<Built> {
    Ok(Built::Optimizer(Optimizer { rule, rate: arguments.rate("learning_rate")? }))
}

/// For the rules whose steps have no rate; it is 1 for what multiplies it.
fn built_without_rate(rule: Rule) -> Result<Built> {
    Ok(Built::Optimizer(Optimizer { rule, rate: Schedule::Constant(1.0) }))
}

const fn learning_rate(default: f64) -> Parameter {
    Parameter::new(
        "learning_rate",
        Kind::Rate(Bounds::POSITIVE),
        Default::Float(default),
        "the size of a step: a number, or a schedule",
    )
}

const fn share(name: &'static str, default: f64, words: &'static str) -> Parameter {
    Parameter::new(name, Kind::Float(Bounds::DECAY), Default::Float(default), words)
}

const EPSILON: Parameter = Parameter::new(
    "epsilon",
    Kind::Float(Bounds::POSITIVE),
    Default::Float(1e-8),
    "added where it keeps a division from being by 0",
);

const VELOCITY: Parameter = share("rho", 0.9, "the share of the last step that goes on");

pub static SGD: Declaration = Declaration {
    name: "optim.SGD",
    role: Role::Optimizer,
    words: "Stochastic gradient descent",
    parameters: &[learning_rate(0.01)],
    build: |arguments| built(arguments, Rule::Sgd),
};

pub static MOMENTUM: Declaration = Declaration {
    name: "optim.Momentum",
    role: Role::Optimizer,
    words: "Gradient descent with a velocity that outlives the step",
    parameters: &[learning_rate(0.1), VELOCITY],
    build: |arguments| built(arguments, Rule::Momentum { rho: arguments.float("rho")? }),
};

pub static NESTEROV: Declaration = Declaration {
    name: "optim.Nesterov",
    role: Role::Optimizer,
    words: "Momentum with the gradient taken where the velocity leads",
    parameters: &[learning_rate(0.1), VELOCITY],
    build: |arguments| built(arguments, Rule::Nesterov { rho: arguments.float("rho")? }),
};

pub static ADA_GRAD: Declaration = Declaration {
    name: "optim.AdaGrad",
    role: Role::Optimizer,
    words: "A rate for each weight that falls with the squares of its gradients",
    parameters: &[
        learning_rate(0.1),
        EPSILON,
        Parameter::new(
            "full",
            Kind::Boolean,
            Default::Boolean(false),
            "whether to take the root of the whole matrix of products of gradients, and not of its diagonal",
        ),
    ],
    build: |arguments| {
        let epsilon = arguments.float("epsilon")?;
        match arguments.boolean("full")? {
            false => built(arguments, Rule::AdaGrad { epsilon }),
            true => Ok(Built::Whole(Whole::FullAdaGrad { rate: arguments.rate("learning_rate")?, epsilon })),
        }
    },
};

pub static ADA_DELTA: Declaration = Declaration {
    name: "optim.AdaDelta",
    role: Role::Optimizer,
    words: "Steps as large as recent steps, in units of recent gradients; has no learning rate",
    parameters: &[share("rho", 0.95, "the share of the past in the running means of squares"), EPSILON],
    build: |arguments| {
        built_without_rate(Rule::AdaDelta { rho: arguments.float("rho")?, epsilon: arguments.float("epsilon")? })
    },
};

pub static RMS_PROP: Declaration = Declaration {
    name: "optim.RMSProp",
    role: Role::Optimizer,
    words: "A rate for each weight by the running mean of its squared gradients",
    parameters: &[
        learning_rate(0.1),
        share("rho", 0.9, "the share of the past in the running mean of squares"),
        EPSILON,
    ],
    build: |arguments| {
        let rule = Rule::RmsProp { rho: arguments.float("rho")?, epsilon: arguments.float("epsilon")? };
        built(arguments, rule)
    },
};

pub static ADAM: Declaration = Declaration {
    name: "optim.Adam",
    role: Role::Optimizer,
    words: "Running means of gradients and of their squares, corrected for their start",
    parameters: &[
        learning_rate(0.1),
        share("beta_1", 0.9, "the share of the past in the running mean of gradients"),
        share("beta_2", 0.999, "the share of the past in the running mean of squares"),
        EPSILON,
    ],
    build: |arguments| {
        let rule = Rule::Adam {
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
    words: "Follow the proximally regularised leader, for sparse weights of many features",
    parameters: &[
        Parameter::new(
            "alpha",
            Kind::Float(Bounds::POSITIVE),
            Default::Float(0.05),
            "the learning rate, before it is divided for each weight",
        ),
        Parameter::new(
            "beta",
            Kind::Float(Bounds::POSITIVE),
            Default::Float(1.0),
            "holds back the first steps of each weight",
        ),
        Parameter::new(
            "l1",
            Kind::Float(Bounds::NOT_NEGATIVE),
            Default::Float(0.0),
            "pull of weights to exactly 0",
        ),
        Parameter::new("l2", Kind::Float(Bounds::NOT_NEGATIVE), Default::Float(1.0), "pull of weights towards 0"),
    ],
    build: |arguments| {
        built_without_rate(Rule::FtrlProximal {
            alpha: arguments.float("alpha")?,
            beta: arguments.float("beta")?,
            l1: arguments.float("l1")?,
            l2: arguments.float("l2")?,
        })
    },
};
