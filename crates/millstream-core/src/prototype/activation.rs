//! The cost of a row in generalized learning vector quantization, by its relative distance
//!
//! ```text
//! μ = (d₁ − d₂) / (d₁ + d₂)
//! ```
//!
//! with the squared distances d₁ and d₂ to the nearest prototypes of its class and of all others (Sato and Yamada, 1996,
//! "Generalized learning vector quantization", eq. 4). μ is in [−1, 1], and negative where the row is classified correctly.

use crate::fault::Result;
use crate::numeric::elementary::exp;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};

pub const ACTIVATION: Parameter = Parameter::new(
    "activation",
    Kind::Choice(&["identity", "sigmoid"]),
    DefaultValue::Text("identity"),
    "function of the relative distance that is minimised",
);
pub const STEEPNESS: Parameter = Parameter::new(
    "steepness",
    Kind::Float(Bounds::new(0.0, false, 1000.0, true)),
    DefaultValue::Float(2.0),
    "steepness of the sigmoid: the larger, the less rows far from the class boundary count",
);

#[derive(Clone, Copy, Debug)]
pub enum Activation {
    Identity,
    /// 1 / (1 + e^(−steepness · μ))
    Sigmoid(f64),
}

/// The derivatives of the cost with respect to d₁ and d₂; that of d₂ is not positive.
#[derive(Clone, Copy, Debug)]
pub struct Slopes {
    pub own: f64,
    pub other: f64,
}

impl Activation {
    pub fn new(arguments: &Arguments<'_>) -> Result<Self> {
        Ok(match arguments.text("activation")? {
            "sigmoid" => Activation::Sigmoid(arguments.float("steepness")?),
            _ => Activation::Identity,
        })
    }

    /// f'(μ) ∂μ/∂d₁ = f'(μ) 2 d₂ / (d₁ + d₂)² and f'(μ) ∂μ/∂d₂ = −f'(μ) 2 d₁ / (d₁ + d₂)². None if both distances are 0, where
    /// μ is not defined. Quotients first: the square may overflow.
    #[inline]
    pub fn slopes(self, own: f64, other: f64) -> Option<Slopes> {
        let sum = own + other;
        if sum == 0.0 {
            return None;
        }
        let slope = match self {
            Activation::Identity => 1.0,
            Activation::Sigmoid(steepness) => {
                let f = 1.0 / (1.0 + exp(-steepness * (own - other) / sum));
                steepness * f * (1.0 - f)
            }
        };
        Some(Slopes { own: slope * (2.0 * other / sum) / sum, other: -(slope * (2.0 * own / sum) / sum) })
    }

    #[cfg(test)]
    pub fn cost(self, own: f64, other: f64) -> f64 {
        let relative = (own - other) / (own + other);
        match self {
            Activation::Identity => relative,
            Activation::Sigmoid(steepness) => 1.0 / (1.0 + exp(-steepness * relative)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// d₁ = 1 and d₂ = 3: ∂μ/∂d₁ = 2 · 3 / 16 and ∂μ/∂d₂ = −2 / 16. A sigmoid of steepness 2 at μ = −1/2 is 1/(1 + e).
    #[test]
    fn slopes_worked_by_hand() {
        let slopes = Activation::Identity.slopes(1.0, 3.0).unwrap();
        assert_eq!((slopes.own, slopes.other), (0.375, -0.125));
        let f = 1.0 / (1.0 + 1f64.exp());
        let slopes = Activation::Sigmoid(2.0).slopes(1.0, 3.0).unwrap();
        assert!((slopes.own - 2.0 * f * (1.0 - f) * 0.375).abs() < 1e-15);
        assert!(Activation::Identity.slopes(0.0, 0.0).is_none());
        let slopes = Activation::Identity.slopes(1e200, 1e200).unwrap();
        assert!(slopes.own > 0.0 && slopes.other < 0.0);
    }

    #[test]
    fn slopes_are_finite_differences_of_the_cost() {
        for activation in [Activation::Identity, Activation::Sigmoid(2.0), Activation::Sigmoid(10.0)] {
            for (own, other) in [(1.0, 3.0), (5.0, 0.7), (0.01, 2.0)] {
                let step = 1e-6;
                let slopes = activation.slopes(own, other).unwrap();
                let by_own =
                    (activation.cost(own + step, other) - activation.cost(own - step, other)) / (2.0 * step);
                let by_other =
                    (activation.cost(own, other + step) - activation.cost(own, other - step)) / (2.0 * step);
                assert!((slopes.own - by_own).abs() < 1e-6 && (slopes.other - by_other).abs() < 1e-6);
            }
        }
    }
}
