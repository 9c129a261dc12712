//! Losses: ℓ(y, z) of a target and a linear score, with the slope ∂ℓ/∂z that a gradient step needs.
//!
//! Classification losses take y = ±1 and define how a score becomes a probability; m = y z is the margin.
//! Regression losses define how a score becomes a prediction. All accept every finite y and z: overflow gives
//! infinity, never NaN, and slopes are clipped by the caller.

mod classification;
mod flow;
mod regression;

pub use classification::{FOCAL, FOCAL_STAR, HINGE, LOGISTIC, MODIFIED_HUBER, SQUARED_HINGE};
pub use regression::{ABSOLUTE, EPSILON_INSENSITIVE, EXPECTILE, HUBER, POISSON, QUANTILE, SQUARED};

use crate::declaration::Built;
use crate::fault::{Fault, Result};
use crate::registry;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// (z − y)², without a factor of one half
    Squared,
    /// |z − y|
    Absolute,
    /// r²/2 for |r| ≤ ε, else ε |r| − ε²/2, with r = z − y (Huber, 1964)
    Huber { epsilon: f64 },
    /// q (y − z) below the target, (1 − q) (z − y) above it (Koenker and Bassett, 1978)
    Quantile { q: f64 },
    /// q (y − z)² below the target, (1 − q) (z − y)² above it (Newey and Powell, 1987)
    Expectile { q: f64 },
    /// max(0, |z − y| − ε) (Vapnik, 1995)
    EpsilonInsensitive { epsilon: f64 },
    /// e^z − y z; the prediction is e^z
    Poisson,
    /// ln(1 + e^(−m))
    Logistic,
    /// max(0, margin − m)
    Hinge { margin: f64 },
    /// max(0, 1 − m)²
    SquaredHinge,
    /// max(0, 1 − m)² for m ≥ −1, else −4 m (Zhang, 2004)
    ModifiedHuber,
    /// −(1 − p)^γ ln p, with p = σ(m) the probability of the truth (Lin et al., 2017, eq. 4)
    Focal { gamma: f64 },
    /// −ln σ(γ m + β) / γ (Lin et al., 2017, appendix A)
    FocalStar { gamma: f64, beta: f64 },
}

impl Loss {
    /// The loss that a description in JSON describes.
    pub fn described(description: &str) -> Result<Self> {
        let description = serde_json::from_str(description)
            .map_err(|error| Fault::value(format!("millstream: not a description: {error}")))?;
        match registry::build_resolved(&registry::resolve(&description)?)? {
            Built::Loss(loss) => Ok(loss),
            _ => Err(Fault::wrong_type("millstream: not the description of a loss")),
        }
    }

    /// ℓ(y, z)
    pub fn value(&self, y: f64, z: f64) -> f64 {
        let (r, m) = (z - y, y * z);
        match *self {
            Loss::Squared => r * r,
            Loss::Absolute => r.abs(),
            Loss::Huber { epsilon } if r.abs() <= epsilon => 0.5 * r * r,
            Loss::Huber { epsilon } => epsilon * (r.abs() - 0.5 * epsilon),
            Loss::Quantile { q } => (if r > 0.0 { 1.0 - q } else { q }) * r.abs(),
            Loss::Expectile { q } => (if r > 0.0 { 1.0 - q } else { q }) * (r * r),
            Loss::EpsilonInsensitive { epsilon } => (r.abs() - epsilon).max(0.0),
            Loss::Poisson => poisson(y, z),
            Loss::Logistic => log_1p_exp(-m),
            Loss::Hinge { margin } => (margin - m).max(0.0),
            Loss::SquaredHinge => (1.0 - m).max(0.0).powi(2),
            Loss::ModifiedHuber if m < -1.0 => -4.0 * m,
            Loss::ModifiedHuber => (1.0 - m).max(0.0).powi(2),
            Loss::Focal { gamma } => sigmoid(-m).powf(gamma) * log_1p_exp(-m),
            Loss::FocalStar { gamma, beta } => log_1p_exp(-(gamma * m + beta)) / gamma,
        }
    }

    /// ∂ℓ/∂z. Where the loss has a kink, one of the slopes beside it: at z = y that of z < y, and at the
    /// margin of the hinge −y, as River and scikit-learn have it.
    #[inline]
    pub fn slope(&self, y: f64, z: f64) -> f64 {
        match *self {
            Loss::Logistic => logistic_slope(y, z),
            Loss::Squared => 2.0 * (z - y),
            Loss::Absolute => sign(z > y),
            Loss::Huber { epsilon } => (z - y).clamp(-epsilon, epsilon),
            Loss::Quantile { q } => (if z > y { 1.0 } else { 0.0 }) - q,
            Loss::Expectile { q } => 2.0 * (if z > y { 1.0 - q } else { q }) * (z - y),
            Loss::EpsilonInsensitive { epsilon } if (z - y).abs() <= epsilon => 0.0,
            Loss::EpsilonInsensitive { .. } => sign(z > y),
            Loss::Poisson => z.exp() - y,
            Loss::Hinge { margin } if y * z <= margin => -y,
            Loss::Hinge { .. } => 0.0,
            Loss::SquaredHinge => -2.0 * y * (1.0 - y * z).max(0.0),
            Loss::ModifiedHuber => -2.0 * y * (1.0 - y * z).clamp(0.0, 2.0),
            Loss::Focal { gamma } => {
                let (p, rest) = (sigmoid(y * z), sigmoid(-y * z));
                y * rest.powf(gamma) * (gamma * (p * -log_1p_exp(-y * z)) - rest)
            }
            Loss::FocalStar { gamma, beta } => -y * sigmoid(-(gamma * (y * z) + beta)),
        }
    }

    /// The probability of the class +1 at score `z`.
    ///
    /// Both squared hinges are minimal at z = 2 P(+1) − 1, which is inverted. The plain hinge does not estimate
    /// probabilities; as in River, the logistic function is used, which preserves their order.
    #[inline]
    pub fn probability(&self, z: f64) -> f64 {
        match self {
            Loss::SquaredHinge | Loss::ModifiedHuber => 0.5 * (z.clamp(-1.0, 1.0) + 1.0),
            _ => sigmoid(z),
        }
    }

    /// The predicted number at score `z`.
    #[inline]
    pub fn mean(&self, z: f64) -> f64 {
        match self {
            Loss::Poisson => z.exp(),
            _ => z,
        }
    }

    /// Whether the target is a class (±1) or a number.
    pub fn for_classes(&self) -> bool {
        matches!(
            self,
            Loss::Logistic
                | Loss::Hinge { .. }
                | Loss::SquaredHinge
                | Loss::ModifiedHuber
                | Loss::Focal { .. }
                | Loss::FocalStar { .. }
        )
    }

    /// Whether the loss requires nonnegative targets.
    pub fn for_counts(&self) -> bool {
        *self == Loss::Poisson
    }
}

fn sign(positive: bool) -> f64 {
    if positive {
        1.0
    } else {
        -1.0
    }
}

/// The slope of the logistic loss.
#[inline(always)]
pub fn logistic_slope(y: f64, z: f64) -> f64 {
    -y / (1.0 + (y * z).exp())
}

/// 1 / (1 + e^−x); a large exponent becomes infinite and the result 0.
#[inline]
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// ln(1 + e^x) without overflow.
fn log_1p_exp(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// e^z − y z, infinite where either part is, and not their difference.
fn poisson(y: f64, z: f64) -> f64 {
    let mean = z.exp();
    if mean.is_infinite() {
        mean
    } else {
        mean - y * z
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Loss; 14] = [
        Loss::Squared,
        Loss::Absolute,
        Loss::Huber { epsilon: 0.7 },
        Loss::Quantile { q: 0.8 },
        Loss::Expectile { q: 0.8 },
        Loss::EpsilonInsensitive { epsilon: 0.3 },
        Loss::Poisson,
        Loss::Logistic,
        Loss::Hinge { margin: 1.0 },
        Loss::SquaredHinge,
        Loss::ModifiedHuber,
        Loss::Focal { gamma: 0.0 },
        Loss::Focal { gamma: 2.0 },
        Loss::FocalStar { gamma: 2.0, beta: 1.0 },
    ];

    #[test]
    fn slopes_are_the_derivatives() {
        for loss in ALL {
            for y in [-1.0, 1.0] {
                for k in -30..30 {
                    // Off the kinks, which lie at multiples of 0.1.
                    let (z, h) = (f64::from(k) * 0.1 + 0.053, 1e-6);
                    let numeric = (loss.value(y, z + h) - loss.value(y, z - h)) / (2.0 * h);
                    let slope = loss.slope(y, z);
                    assert!((numeric - slope).abs() < 1e-7, "{loss:?} at y={y}, z={z}: {slope}, not {numeric}");
                }
            }
        }
    }

    #[test]
    fn nothing_is_nan_for_numbers_of_any_size() {
        let sizes = [0.0, 1e-308, 1.0, 709.0, 710.0, 1e10, 1e308, f64::MAX];
        let numbers: Vec<f64> = sizes.iter().flat_map(|&size| [size, -size]).collect();
        for loss in ALL {
            let targets: &[f64] = if loss.for_classes() { &[-1.0, 1.0] } else { &numbers };
            for &y in targets {
                for &z in &numbers {
                    assert!(!loss.value(y, z).is_nan(), "{loss:?}: value at y={y}, z={z}");
                    assert!(!loss.slope(y, z).is_nan(), "{loss:?}: slope at y={y}, z={z}");
                    assert!((0.0..=1.0).contains(&loss.probability(z)), "{loss:?} at z={z}");
                }
            }
        }
    }

    #[test]
    fn some_by_hand() {
        // Huber, ε = 0.5: r = 2 is beyond ε: 0.5 · (2 − 0.25) = 0.875, slope 0.5.
        let huber = Loss::Huber { epsilon: 0.5 };
        assert_eq!((huber.value(1.0, 3.0), huber.slope(1.0, 3.0)), (0.875, 0.5));
        // Modified Huber at m = −2: 8; at m = 0.5: 0.25 and slope −2 · 0.5.
        assert_eq!(Loss::ModifiedHuber.value(-1.0, 2.0), 8.0);
        assert_eq!(Loss::ModifiedHuber.slope(1.0, 0.5), -1.0);
        assert_eq!(Loss::ModifiedHuber.probability(0.5), 0.75);
        // Focal, γ = 2, at z = 0: p = 1/2, (1/2)² ln 2.
        let focal = Loss::Focal { gamma: 2.0 }.value(1.0, 0.0);
        assert!((focal - 0.25 * 2f64.ln()).abs() < 1e-16);
        // Quantile, q = 0.8: below the target a unit costs 0.8, above it 0.2.
        // Expectile, q = 0.75: 2 below the target costs 0.75 · 4 with slope −3, 2 above it 0.25 · 4 with slope 1.
        let expectile = Loss::Expectile { q: 0.75 };
        assert_eq!((expectile.value(3.0, 1.0), expectile.slope(3.0, 1.0)), (3.0, -3.0));
        assert_eq!((expectile.value(1.0, 3.0), expectile.slope(1.0, 3.0)), (1.0, 1.0));
        let quantile = Loss::Quantile { q: 0.8 };
        assert!((quantile.value(1.0, 0.0) - 0.8).abs() < 1e-16 && (quantile.value(0.0, 1.0) - 0.2).abs() < 1e-15);
    }
}
