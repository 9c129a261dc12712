//! Importance-aware steps: how far a score moves if it follows the gradient flow of its loss instead of one gradient
//! step.
//!
//! A gradient step of rate η and importance h moves the score z by −h η c ∂ℓ/∂z, where c = xᵀ D x says how far a
//! step along D x moves it. For a large h it overshoots: the slope is that of the beginning. An example of
//! importance h ought to be h small examples one after the other; in the limit of ever smaller ones the score
//! follows
//! ```text
//! dz/dτ = −∂ℓ/∂z   from τ = 0 to τ = h η c
//! ```
//! (Karampatziakis and Langford, 2011, "Online importance weight aware updates", theorem 1). It stops where the
//! loss is least, and τ₁ followed by τ₂ is τ₁ + τ₂. The table 1 of the paper gives it in closed form with
//! Lambert's W for the logistic loss; here its equation is solved in the change of the margin, which keeps all
//! digits of a small change.

use super::Loss;

impl Loss {
    /// How much the score changes when it goes from `z` down the slope for a time of `tau` ≥ 0.
    ///
    /// The focal loss has no closed form; its step is the plain one.
    pub fn flow(&self, y: f64, z: f64, tau: f64) -> f64 {
        let (r, m) = (z - y, y * z);
        match *self {
            Loss::Squared => r * (-2.0 * tau).exp_m1(),
            Loss::Absolute => towards(-r, tau),
            Loss::Quantile { q } => towards(-r, tau * if r > 0.0 { 1.0 - q } else { q }),
            // The error shrinks exponentially and so keeps its sign, and with it the factor.
            Loss::Expectile { q } => r * (-2.0 * tau * if r > 0.0 { 1.0 - q } else { q }).exp_m1(),
            Loss::EpsilonInsensitive { epsilon } => towards(-r, tau.min((r.abs() - epsilon).max(0.0))),
            Loss::Huber { epsilon } => {
                // At full slope until the error is ε, from there on it shrinks exponentially.
                let far = (r.abs() - epsilon).max(0.0);
                let straight = far.min(epsilon * tau);
                let left = if epsilon > 0.0 { (tau - far / epsilon).max(0.0) } else { 0.0 };
                -(straight - r.abs().min(epsilon) * (-left).exp_m1()).copysign(r)
            }
            Loss::Poisson => {
                // u = e^−z follows du/dτ = 1 − y u.
                let shrunk = (-y * tau).exp();
                let grown = if y > 0.0 { -(-y * tau).exp_m1() / y } else { tau };
                -(shrunk + z.exp() * grown).ln()
            }
            Loss::Logistic => y * logistic(m, tau),
            Loss::FocalStar { gamma, beta } => y * logistic(gamma * m + beta, gamma * tau) / gamma,
            Loss::Hinge { margin } => y * tau.min((margin - m).max(0.0)),
            Loss::SquaredHinge => -y * (1.0 - m).max(0.0) * (-2.0 * tau).exp_m1(),
            Loss::ModifiedHuber => {
                let far = (-1.0 - m).max(0.0);
                let straight = far.min(4.0 * tau);
                let left = (tau - far / 4.0).max(0.0);
                y * (straight - (1.0 - m).clamp(0.0, 2.0) * (-2.0 * left).exp_m1())
            }
            Loss::Focal { .. } => -tau * self.slope(y, z),
        }
    }
}

/// At most `most` of the way `distance`.
fn towards(distance: f64, most: f64) -> f64 {
    distance.abs().min(most).copysign(distance)
}

/// The change d of a margin m with dm/dτ = 1 / (1 + e^m): d + e^m (e^d − 1) = τ.
///
/// The left side is convex in d, and both first guesses lie above the root, so that Newton's steps come down to it
/// without overshooting. Without the second guess they would be many where the change is large.
fn logistic(m: f64, tau: f64) -> f64 {
    let scale = m.exp();
    if scale.is_infinite() {
        return 0.0;
    }
    let ratio = tau / scale;
    let mut d = (tau / (1.0 + scale)).min(if ratio < f64::INFINITY { ratio.ln_1p() } else { tau.ln() - m });
    for _ in 0..50 {
        let grown = grown(m, scale, d);
        let step = (d + grown - tau) / (1.0 + scale + grown);
        d -= step;
        // The last step is of the size of the rounding, or the bend that it left out is.
        if step <= 1e-9 * d || !step.is_finite() {
            break;
        }
    }
    d
}

/// e^m (e^d − 1), where e^m is `scale`: d is small, or m + d is where neither factor may be.
fn grown(m: f64, scale: f64, d: f64) -> f64 {
    if d < 1.0 {
        scale * d.exp_m1()
    } else {
        (m + d).exp() - scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Loss; 12] = [
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
        Loss::FocalStar { gamma: 2.0, beta: 1.0 },
    ];

    #[test]
    fn a_flow_in_two_parts_is_the_whole() {
        for loss in ALL {
            for y in [-1.0, 1.0] {
                let y = if loss.for_counts() { y + 1.0 } else { y };
                for z in [-40.0, -3.0, -1.02, -0.4, 0.0, 0.9, 1.4, 5.0, 30.0] {
                    for (first, second) in [(0.1, 0.2), (1.0, 30.0), (5.0, 1e-3), (1e-9, 1e-9)] {
                        let half = z + loss.flow(y, z, first);
                        let parts = half - z + loss.flow(y, half, second);
                        let whole = loss.flow(y, z, first + second);
                        let close = (parts - whole).abs() <= 1e-12 * (1.0 + z.abs());
                        assert!(close, "{loss:?} at y={y}, z={z}: {parts}, not {whole}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_short_flow_is_a_gradient_step() {
        for loss in ALL {
            for z in [-2.53, -0.51, 0.12, 2.04] {
                let (tau, y) = (1e-7, 1.0);
                let (moved, step) = (loss.flow(y, z, tau), -tau * loss.slope(y, z));
                assert!((moved - step).abs() <= 2e-6 * step.abs(), "{loss:?} at z={z}: {moved}, not {step}");
            }
        }
    }

    #[test]
    fn no_flow_goes_too_far() {
        // With all the time there is, the squared loss ends at its target, the hinge at its margin.
        assert_eq!(Loss::Squared.flow(3.0, -1.0, 1e9), 4.0);
        assert_eq!(Loss::Hinge { margin: 1.0 }.flow(-1.0, 4.0, 1e9), -5.0);
        assert_eq!(Loss::Quantile { q: 0.1 }.flow(2.0, 5.0, 1e300), -3.0);
        for m in [-700.0, -30.0, 0.0, 5.0, 40.0, 700.0, 1e4] {
            for tau in [1e-300, 1e-9, 1.0, 1e3, 1e9, 1e300] {
                let d = logistic(m, tau);
                let end = grown(m, m.exp(), d) + d;
                // Changes that are 0, or have few digits left, as all numbers of this size.
                let lost = m > 709.0 || d < 1e-300;
                assert!(d >= 0.0 && (lost || (end - tau).abs() <= 1e-9 * tau), "m={m}, tau={tau}: {d}");
            }
        }
    }

    #[test]
    fn logistic_by_hand() {
        // From m = 0 to m = 1: d + e⁰ (e¹ − 1) = τ, so τ = e.
        assert!((Loss::Logistic.flow(-1.0, 0.0, 1f64.exp()) + 1.0).abs() < 1e-15);
        // Poisson, y = 0: e^−z grows by τ: from z = 0, τ = 1 to −ln 2.
        assert!((Loss::Poisson.flow(0.0, 0.0, 1.0) + 2f64.ln()).abs() < 1e-15);
    }
}
