//! One coordinate, one step: each optimiser as the rule that its paper gives.
//!
//! A coordinate is a weight `w` and at most two numbers of memory, `a` and `b`. `g` is the gradient, `rate`
//! the learning rate of this step.

use crate::fault::Result;
use crate::parameter::{Arguments, Bounds, Default, Kind, Parameter};
use crate::registry::{Built, Declaration, Role};

use super::Optimizer;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    Sgd,
    Momentum { rho: f64 },
    Nesterov { rho: f64 },
    AdaGrad { epsilon: f64 },
    AdaDelta { rho: f64, epsilon: f64 },
    RmsProp { rho: f64, epsilon: f64 },
    Adam { beta_1: f64, beta_2: f64, epsilon: f64 },
    FtrlProximal { alpha: f64, beta: f64, l1: f64, l2: f64 },
}

/// A weight with its memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    pub w: f64,
    pub a: f64,
    pub b: f64,
}

/// A rule with all that is fixed during one step, so that the kernel is compiled for each.
pub trait Update: Copy {
    /// How many numbers of memory a coordinate has.
    const MEMORY: usize;
    fn apply(&self, cell: Cell, g: f64) -> Cell;
}

/// w ← w − η g (Robbins and Monro, 1951)
#[derive(Clone, Copy)]
pub struct Sgd {
    pub rate: f64,
}

impl Update for Sgd {
    const MEMORY: usize = 0;
    #[inline(always)]
    fn apply(&self, cell: Cell, g: f64) -> Cell {
        Cell { w: cell.w - self.rate * g, ..cell }
    }
}

fn optimizer(arguments: &Arguments<'_>, rule: Rule) -> Result<Built> {
    Ok(Built::Optimizer(Optimizer { rule, rate: arguments.rate("learning_rate")? }))
}

const fn learning_rate(default: f64) -> Parameter {
    Parameter::new(
        "learning_rate",
        Kind::Rate(Bounds::POSITIVE),
        Default::Float(default),
        "the size of a step: a number, or a schedule",
    )
}

pub static SGD: Declaration = Declaration {
    name: "optim.SGD",
    role: Role::Optimizer,
    words: "Stochastic gradient descent",
    parameters: &[learning_rate(0.01)],
    build: |arguments| optimizer(arguments, Rule::Sgd),
};
