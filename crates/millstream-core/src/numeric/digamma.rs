//! The exponential of the digamma function ψ, the derivative of the logarithm of the gamma function.

use super::elementary::exp_negative;

/// exp(ψ(x)) for x above 0, to eleven digits and more.
///
/// ψ(x) = ψ(x + 10) − Σ 1/(x + i) over i below 10, and exp(ψ(y + ½)) = y + 1/(24 y) − 37/(5760 y³) + 10313/(2903040 y⁵)
/// − …, so no logarithm is needed. The sum is the quotient of the derivative of x (x + 1) … (x + 9) and that product:
/// one division. Without a branch, so that a loop of it runs in vector registers.
#[inline(always)]
pub fn exp_digamma(x: f64) -> f64 {
    // Beyond this the sum is nothing beside the rest, and its product would overflow.
    let near = if x < 1e20 { x } else { 1e20 };
    let (mut product, mut derivative, mut shift) = (near, 1.0, 1.0);
    while shift < 10.0 {
        let factor = near + shift;
        derivative = derivative * factor + product;
        product *= factor;
        shift += 1.0;
    }
    let y = x + 9.5;
    let r = 1.0 / y;
    let square = r * r;
    let tail = 10_313.0 / 2_903_040.0 - square * (5_509_121.0 / 1_393_459_200.0);
    let series = y + r * (1.0 / 24.0 - square * (37.0 / 5_760.0 - square * tail));
    series * exp_negative(derivative / product)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ψ(1) = −γ, ψ(½) = −γ − 2 ln 2, ψ(100) = −γ + Σ 1/k for k below 100.
    #[test]
    fn known_values() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        let harmonic: f64 = (1..100).map(|k| 1.0 / f64::from(k)).sum();
        let known = [(1.0, -EULER), (0.5, -EULER - 2.0 * std::f64::consts::LN_2), (100.0, harmonic - EULER)];
        for (x, expected) in known {
            assert!((exp_digamma(x) / expected.exp() - 1.0).abs() < 1e-11, "{x}");
        }
        // ψ(x + 1) = ψ(x) + 1/x.
        for step in 1..400 {
            let x = 0.02 * f64::from(step);
            let ratio = exp_digamma(x + 1.0) / (exp_digamma(x) * (1.0 / x).exp());
            assert!((ratio - 1.0).abs() < 1e-10, "{x}: {ratio}");
        }
        assert!((exp_digamma(1e200) / 1e200 - 1.0).abs() < 1e-15);
        assert!([1e-308, 5e-324, 0.0].map(exp_digamma).iter().all(|x| x.is_finite() && *x >= 0.0));
    }
}
