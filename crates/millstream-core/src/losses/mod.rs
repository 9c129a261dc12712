//! Losses: ℓ(y, z) of a target and a linear score, with the slope ∂ℓ/∂z that a gradient step needs.
//!
//! Losses for classification take y = ±1 and know how a score becomes a probability.

use crate::registry::{Built, Declaration, Role};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// ln(1 + e^(−yz))
    Logistic,
}

impl Loss {
    /// ∂ℓ/∂z
    #[inline]
    pub fn slope(&self, y: f64, z: f64) -> f64 {
        match self {
            Loss::Logistic => -y / (1.0 + (y * z).exp()),
        }
    }

    /// The probability of the class +1 at score `z`.
    #[inline]
    pub fn probability(&self, z: f64) -> f64 {
        match self {
            Loss::Logistic => 1.0 / (1.0 + (-z).exp()),
        }
    }

    /// Whether the target is a class (±1) or a number.
    pub fn for_classes(&self) -> bool {
        matches!(self, Loss::Logistic)
    }
}

pub static LOGISTIC: Declaration = Declaration {
    name: "losses.Logistic",
    role: Role::Loss,
    words: "The logistic loss, whose minimiser is the log odds",
    parameters: &[],
    build: |_| Ok(Built::Loss(Loss::Logistic)),
};
