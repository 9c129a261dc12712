//! The step length of IRMA for any convex loss.
//!
//! The functional λ/2 ΔᵀA Δ + w/2 ℓ(y, (θ + Δ)ᵀφ) has its minimum at Δ = a A⁻¹φ, where with z = θᵀφ, s = φᵀA⁻¹φ
//! and κ = w / 2λ
//!
//! ```text
//! a = −κ ℓ′(y, u),  u = z + s a,  so that  u + κ s ℓ′(y, u) = z
//! ```
//! The left side rises with u, so there is one solution. u lies between z and the minimum of the loss: the loss at
//! the example never rises. For losses made of straight lines and parabolas it is in closed form; for the others it
//! is a root between known bounds.

use crate::losses::{sigmoid, Loss};

/// Enough to halve any bracket down to neighbouring numbers.
const MOST_ROUNDS: usize = 1100;

/// a, given `hardness` = λ / w = 1 / 2κ.
#[inline]
pub fn step(loss: &Loss, y: f64, z: f64, s: f64, hardness: f64) -> f64 {
    if s == 0.0 {
        // All functions are 0 here: no change has an effect.
        return 0.0;
    }
    let kappa = (0.5 / hardness).min(1e300);
    let r = y - z;
    match *loss {
        Loss::Squared => r / (hardness + s),
        Loss::Absolute => (r / s).clamp(-kappa, kappa),
        Loss::Quantile { q } => (r / s).clamp((q - 1.0) * kappa, q * kappa),
        Loss::Expectile { q } => r / (hardness / if r > 0.0 { q } else { 1.0 - q } + s),
        Loss::EpsilonInsensitive { epsilon } => ((r.abs() - epsilon).max(0.0) / s).min(kappa).copysign(r),
        Loss::Huber { epsilon } => (r / (2.0 * hardness + s)).clamp(-kappa * epsilon, kappa * epsilon),
        Loss::Poisson => poisson(y, z, s, kappa),
        Loss::Logistic => y * logistic(y * z, s, kappa),
        Loss::FocalStar { gamma, beta } => y * logistic(gamma * (y * z) + beta, gamma * s, kappa),
        Loss::Hinge { margin } => y * ((margin - y * z).max(0.0) / s).min(kappa),
        Loss::SquaredHinge => y * ((1.0 - y * z).max(0.0) / (hardness + s)),
        Loss::ModifiedHuber => y * ((1.0 - y * z).max(0.0) / (hardness + s)).min(4.0 * kappa),
        // Not convex unless γ = 0, and refused before.
        Loss::Focal { .. } => y * logistic(y * z, s, kappa),
    }
}

/// Whether a loss is convex in the score.
pub fn is_convex(loss: &Loss) -> bool {
    !matches!(loss, Loss::Focal { gamma } if *gamma > 0.0)
}

/// κ σ(−v) at the root of v − m = κ s σ(−v).
#[inline]
fn logistic(m: f64, s: f64, kappa: f64) -> f64 {
    let tau = (kappa * s).min(1e300);
    // Beyond ln τ the right side is below 1.
    let most = (m + tau * sigmoid(-m)).min((m + 1.0).max(tau.ln()));
    let v = root(m, most, |v| {
        let p = sigmoid(-v);
        (v - m - tau * p, 1.0 + tau * p * (1.0 - p))
    });
    kappa * sigmoid(-v)
}

/// (u − z) / s at the root of u + κ s (e^u − y) = z.
fn poisson(y: f64, z: f64, s: f64, kappa: f64) -> f64 {
    let tau = (kappa * s).min(1e300);
    let c = z + tau * y;
    // For u ≥ 0, τ e^u ≤ c.
    let most = c.min((c / tau).max(1.0).ln());
    let least = c - tau * most.exp();
    let u = root(least, most, |u| {
        let mean = tau * u.exp();
        (u + mean - c, 1.0 + mean)
    });
    (u - z) / s
}

/// The root of a rising function between two bounds: Newton's steps, halving where one leaves the bracket or does
/// not halve it.
pub fn root(low: f64, high: f64, f: impl Fn(f64) -> (f64, f64)) -> f64 {
    let (mut low, mut high) = (low.min(high), low.max(high));
    let mut u = low + 0.5 * (high - low);
    let mut width = high - low;
    for _ in 0..MOST_ROUNDS {
        let (value, slope) = f(u);
        if value == 0.0 {
            return u;
        }
        if value > 0.0 {
            high = u;
        } else {
            low = u;
        }
        let newton = u - value / slope;
        let next = if newton > low && newton < high && (newton - u).abs() < 0.5 * width {
            newton
        } else {
            low + 0.5 * (high - low)
        };
        width = (next - u).abs();
        // A NaN in the function ends here too; the caller finds it in the result.
        if width.is_nan() || width <= f64::EPSILON * 0.5 * u.abs() || !value.is_finite() {
            return if value.is_nan() { f64::NAN } else { next };
        }
        u = next;
    }
    u
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub const CONVEX: [Loss; 13] = [
        Loss::Squared,
        Loss::Absolute,
        Loss::Huber { epsilon: 0.7 },
        Loss::Quantile { q: 0.8 },
        Loss::Expectile { q: 0.8 },
        Loss::EpsilonInsensitive { epsilon: 0.3 },
        Loss::Poisson,
        Loss::Logistic,
        Loss::Hinge { margin: 1.0 },
        Loss::Hinge { margin: 0.0 },
        Loss::SquaredHinge,
        Loss::ModifiedHuber,
        Loss::FocalStar { gamma: 2.0, beta: 1.0 },
    ];

    /// λ = 1, w = 1, so the hardness is 1 and κ = 1/2; z = 0, s = 1.
    /// Squared, y = 3: 3 / 2. Absolute: at most 1/2. Huber, ε = 1: 3 / 3 would leave an error of 2, so κ ε = 1/2;
    /// y = 0.9: 0.9 / 3. Hinge: min(1, 1/2). Squared hinge: 1/2. Quantile 0.8: at most 0.4 up and 0.1 down.
    #[test]
    fn by_hand() {
        let at = |loss: Loss, y: f64| step(&loss, y, 0.0, 1.0, 1.0);
        assert_eq!(at(Loss::Squared, 3.0), 1.5);
        assert_eq!(at(Loss::Absolute, 3.0), 0.5);
        assert_eq!(at(Loss::Absolute, 0.25), 0.25);
        assert_eq!(at(Loss::Huber { epsilon: 1.0 }, 3.0), 0.5);
        assert!((at(Loss::Huber { epsilon: 1.0 }, 0.9) - 0.3).abs() < 1e-16);
        assert_eq!(at(Loss::Hinge { margin: 1.0 }, -1.0), -0.5);
        assert_eq!(at(Loss::SquaredHinge, -1.0), -0.5);
        assert_eq!(at(Loss::Quantile { q: 0.8 }, 3.0), 0.4);
        assert!((at(Loss::Quantile { q: 0.8 }, -3.0) + 0.1).abs() < 1e-16);
        assert_eq!(at(Loss::EpsilonInsensitive { epsilon: 0.5 }, 0.75), 0.25);
        // Logistic: v = σ(−v) / 2 at v = 0.222…: ln(1/2v − 1) = v.
        let a = at(Loss::Logistic, 1.0);
        assert!(((0.5 / a - 1.0).ln() - a).abs() < 1e-14, "{a}");
    }

    proptest! {
        /// The stationary condition holds: −a / κ is between the slopes of the loss on both sides of u.
        #[test]
        fn the_slope_vanishes(
            which in 0..CONVEX.len(), positive: bool, target in -20.0..20.0f64, z in -30.0..30.0f64,
            s in -3.0..3.0f64, hardness in -4.0..4.0f64,
        ) {
            let loss = CONVEX[which];
            let y = match loss.for_classes() {
                true => if positive { 1.0 } else { -1.0 },
                false => if loss.for_counts() { target.abs() } else { target },
            };
            let (s, hardness) = (10f64.powf(s), 10f64.powf(hardness));
            let a = step(&loss, y, z, s, hardness);
            let u = z + s * a;
            let near = 1e-9 * (1.0 + u.abs());
            let (below, above) = (loss.slope(y, u - near), loss.slope(y, u + near));
            let slope = -2.0 * hardness * a;
            let slack = 1e-6 * (1.0 + slope.abs());
            prop_assert!(below - slack <= slope && slope <= above + slack, "{loss:?} {below} {slope} {above}");
            // Local convergence (12): what the change over Ω costs is paid by the loss.
            let (old, new) = (loss.value(y, z), loss.value(y, u));
            prop_assert!(hardness * s * a * a + new <= old * (1.0 + 1e-9) + 1e-9, "{loss:?} {old} {new} {a}");
        }

        #[test]
        fn nothing_is_nan(
            which in 0..CONVEX.len(), y in -100.0..100.0f64, z in -100.0..100.0f64, sign: bool,
            s in -100.0..100.0f64, hardness in -100.0..100.0f64,
        ) {
            let loss = CONVEX[which];
            let size = |e: f64| 10f64.powf(e.abs()).copysign(e);
            let y = match (loss.for_classes(), loss.for_counts()) {
                (true, _) => if sign { 1.0 } else { -1.0 },
                (_, true) => size(y).abs(),
                _ => size(y),
            };
            let a = step(&loss, y, size(z), 10f64.powf(s), 10f64.powf(hardness));
            prop_assert!(!a.is_nan(), "{loss:?}");
        }
    }
}
