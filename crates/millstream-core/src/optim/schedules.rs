//! Learning rates over time. `t` counts steps from 1.

use serde_json::Value;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::merging::Merge;
use crate::parameter::{Arguments, Bounds, Default, Kind, Parameter};
use crate::registry::{build_resolved, resolve};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    Constant(f64),
    /// η / √t (Zinkevich, 2003)
    InverseSquareRoot(f64),
    /// η / t^power
    InverseScaling {
        rate: f64,
        power: f64,
    },
    /// 1 / (α (t₀ + t − 1)) (Bottou, 2012)
    Optimal {
        alpha: f64,
        start: f64,
    },
}

impl Schedule {
    /// The schedule that a description in JSON describes, or the constant one of a number.
    pub fn described(description: &str) -> Result<Self> {
        let described: Value = serde_json::from_str(description)
            .map_err(|error| Fault::value(format!("millstream: not a description: {error}")))?;
        match described.as_f64() {
            Some(rate) => Ok(Schedule::Constant(rate)),
            None => match build_resolved(&resolve(&described)?)? {
                Built::Schedule(schedule) => Ok(schedule),
                _ => Err(Fault::wrong_type("millstream: not the description of a schedule")),
            },
        }
    }

    #[inline]
    pub fn at(&self, t: f64) -> f64 {
        match *self {
            Schedule::Constant(rate) => rate,
            Schedule::InverseSquareRoot(rate) => rate / t.sqrt(),
            Schedule::InverseScaling { rate, power } => rate / t.powf(power),
            Schedule::Optimal { alpha, start } => 1.0 / (alpha * (start + (t - 1.0))),
        }
    }
}

impl Arguments<'_> {
    /// A parameter that is a number or a schedule.
    pub fn rate(&self, name: &str) -> Result<Schedule> {
        match self.value(name)? {
            Value::Number(number) => Ok(Schedule::Constant(number.as_f64().unwrap_or(0.0))),
            part => match build_resolved(part)? {
                Built::Schedule(schedule) => Ok(schedule),
                _ => Err(self.absent(name)),
            },
        }
    }
}

const LEARNING_RATE: Parameter = Parameter::new(
    "learning_rate",
    Kind::Float(Bounds::POSITIVE),
    Default::Float(0.01),
    "learning rate at the first step",
);

pub static CONSTANT: Declaration = Declaration {
    name: "optim.Constant",
    role: Role::Schedule,
    words: "The same learning rate at every step",
    merge: Merge::SETTING,
    parameters: &[LEARNING_RATE],
    build: |arguments| Ok(Built::Schedule(Schedule::Constant(arguments.float("learning_rate")?))),
};

pub static INVERSE_SQUARE_ROOT: Declaration = Declaration {
    name: "optim.InverseSquareRoot",
    role: Role::Schedule,
    words: "A learning rate that falls as 1/sqrt(t), as in the regret bound of online gradient descent",
    merge: Merge::SETTING,
    parameters: &[LEARNING_RATE],
    build: |arguments| Ok(Built::Schedule(Schedule::InverseSquareRoot(arguments.float("learning_rate")?))),
};

pub static INVERSE_SCALING: Declaration = Declaration {
    name: "optim.InverseScaling",
    role: Role::Schedule,
    words: "A learning rate that falls as 1/t^power",
    merge: Merge::SETTING,
    parameters: &[
        LEARNING_RATE,
        Parameter::new("power", Kind::Float(Bounds::NOT_NEGATIVE), Default::Float(0.5), "exponent of the decay"),
    ],
    build: |arguments| {
        Ok(Built::Schedule(Schedule::InverseScaling {
            rate: arguments.float("learning_rate")?,
            power: arguments.float("power")?,
        }))
    },
};

pub static OPTIMAL: Declaration = Declaration {
    name: "optim.Optimal",
    role: Role::Schedule,
    words: "Bottou's learning rate 1 / (l2 (t0 + t - 1)), for a problem with an L2 penalty",
    merge: Merge::SETTING,
    parameters: &[Parameter::new(
        "l2",
        Kind::Float(Bounds::POSITIVE),
        Default::Float(0.0001),
        "L2 penalty of the problem",
    )
    .formerly(&["alpha"])],
    build: |arguments| {
        let alpha = arguments.float("l2")?;
        // Bottou's heuristic: the first step is as large as typical weights, (1/√α)^½. It divides by the
        // slope of the loss there, which is at most 1 for the losses of classification.
        let typical = (1.0 / alpha.sqrt()).sqrt();
        Ok(Built::Schedule(Schedule::Optimal { alpha, start: 1.0 / (alpha * typical) }))
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_by_hand() {
        assert_eq!(Schedule::Constant(0.1).at(9.0), 0.1);
        assert_eq!(Schedule::InverseSquareRoot(0.3).at(9.0), 0.3 / 3.0);
        assert_eq!(Schedule::InverseScaling { rate: 0.8, power: 2.0 }.at(2.0), 0.2);
        // α = 1e-4: typical = (1/0.01)^½ = 10, so the first rate is 1 / (1e-4 · 1000) = 10.
        let first = Schedule::Optimal { alpha: 1e-4, start: 1000.0 }.at(1.0);
        assert!((first - 10.0).abs() < 1e-12);
    }
}
