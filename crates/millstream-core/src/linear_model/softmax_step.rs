//! The step of IRMA for several classes and the softmax loss −ln p_y, exactly.
//!
//! With a function z_k for each class, the minimum of λ/2 Σ_k ∫ (Δ_k)² + w/2 ℓ is at a_k = κ ([k = y] − p_k), where p is
//! the softmax of u_k = z_k + s a_k. So with τ = κ s, c_k = z_k + τ [k = y] and the normaliser q = ln Σ e^(u_k)
//!
//! ```text
//! ln p_k + τ p_k = c_k − q,  Σ p_k = 1
//! ```
//! Each p_k falls with q, so that q is one root between known bounds, whatever the number of classes. One against the
//! rest would need as many roots, and its probabilities would not be those of the loss.

use super::proximal::root;

/// p of the scores after the step.
pub fn probabilities(scores: &[f64], y: usize, tau: f64, out: &mut Vec<f64>) {
    let tau = tau.min(1e300);
    let c = |k: usize| scores[k] + if k == y { tau } else { 0.0 };
    let greatest = (0..scores.len()).map(c).fold(f64::NEG_INFINITY, f64::max);
    let count = scores.len() as f64;
    // At the lower bound the largest alone is 1, at the upper one none is above 1 / count. The function is
    // written to rise.
    let q = root(greatest - tau, greatest - tau / count + count.ln(), |q| {
        let (mut sum, mut slope) = (0.0, 0.0);
        for k in 0..scores.len() {
            let p = probability(c(k) - q, tau);
            sum += p;
            slope += p / (1.0 + tau * p);
        }
        (1.0 - sum, slope)
    });
    out.clear();
    out.extend((0..scores.len()).map(|k| probability(c(k) - q, tau)));
    let sum: f64 = out.iter().sum();
    out.iter_mut().for_each(|p| *p /= sum);
}

/// p in ln p + τ p = x: Newton's steps on v + ln v = x + ln τ with v = τ p, which converge from either side.
fn probability(x: f64, tau: f64) -> f64 {
    let target = x + tau.ln();
    if target < -30.0 || tau == 0.0 {
        // v is below 1e-13: one term of its series is left.
        let p = x.min(700.0).exp();
        return p / (1.0 + tau * p);
    }
    let mut v = if target > 1.0 { target - target.ln() } else { 1.0 / (1.0 + (-target).exp()) };
    for _ in 0..12 {
        let next = v * (1.0 + target - v.ln()) / (1.0 + v);
        let done = (next - v).abs() <= 4.0 * f64::EPSILON * v;
        v = next;
        if done {
            break;
        }
    }
    v / tau
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_slope_vanishes(
            scores in proptest::collection::vec(-20.0..20.0f64, 2..6), y in 0..2usize, tau in -4.0..4.0f64,
        ) {
            let tau = 10f64.powf(tau);
            let mut p = Vec::new();
            probabilities(&scores, y, tau, &mut p);
            let u: Vec<f64> =
                (0..p.len()).map(|k| scores[k] + tau * (f64::from(u8::from(k == y)) - p[k])).collect();
            let most = u.iter().copied().fold(f64::MIN, f64::max);
            let sum: f64 = u.iter().map(|u| (u - most).exp()).sum();
            for (u, p) in u.iter().zip(&p) {
                let wanted = (u - most).exp() / sum;
                prop_assert!((wanted - p).abs() < 1e-9 * (1.0 + 1.0 / (1.0 + tau)), "{wanted} {p} {tau}");
            }
            // Local convergence (12), divided by w: λ/w s Σ a² = Σ (τ ([k = y] − p))² / 2τ.
            let log_loss = |z: &[f64]| {
                let most = z.iter().copied().fold(f64::MIN, f64::max);
                z.iter().map(|z| (z - most).exp()).sum::<f64>().ln() + most - z[y]
            };
            let change: f64 = u.iter().zip(&scores).map(|(u, z)| (u - z).powi(2)).sum::<f64>() / (2.0 * tau);
            let (old, new) = (log_loss(&scores), log_loss(&u));
            prop_assert!(change + new <= old * (1.0 + 1e-9) + 1e-9, "{change} {new} {old}");
        }
    }

    /// Two classes with opposite scores: u₁ − u₀ moves by τ · 2 (1 − p₁), which is the logistic step with 2τ.
    #[test]
    fn two_classes_are_the_logistic_step() {
        let mut p = Vec::new();
        probabilities(&[-0.3, 0.3], 1, 0.7, &mut p);
        let v = root(0.6, 3.0, |v| {
            let q = 1.0 / (1.0 + v.exp());
            (v - 0.6 - 1.4 * q, 1.0 + 1.4 * q * (1.0 - q))
        });
        assert!((p[0] - 1.0 / (1.0 + v.exp())).abs() < 1e-14);
    }
}
