//! The digamma function, the derivative of the logarithm of the gamma function.

use super::elementary::ln;

/// ψ(x) for x above 0: ψ(x) = ψ(x + 1) − 1/x up to 8, and from there the asymptotic series (NIST 5.11.2).
pub fn digamma(x: f64) -> f64 {
    // Below this, 1/x alone has all digits, and it would overflow for the smallest numbers.
    if x < 1e-300 {
        return -1e300;
    }
    let (mut x, mut below) = (x, 0.0);
    while x < 8.0 {
        below += 1.0 / x;
        x += 1.0;
    }
    let r = 1.0 / x;
    let square = r * r;
    let tail = 1.0 / 240.0 - square * (1.0 / 132.0 - square * (691.0 / 32760.0 - square / 12.0));
    let series = square * (1.0 / 12.0 - square * (1.0 / 120.0 - square * (1.0 / 252.0 - square * tail)));
    ln(x) - 0.5 * r - series - below
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ψ(1) = −γ, ψ(½) = −γ − 2 ln 2, ψ(n) = −γ + Σ 1/k.
    #[test]
    fn known_values() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        assert!((digamma(1.0) + EULER).abs() < 1e-14);
        assert!((digamma(0.5) + EULER + 2.0 * std::f64::consts::LN_2).abs() < 1e-14);
        let harmonic: f64 = (1..100).map(|k| 1.0 / f64::from(k)).sum();
        assert!((digamma(100.0) - harmonic + EULER).abs() < 1e-14);
        assert!((digamma(1e-5) + 1e5 + EULER).abs() < 1e-4);
        assert!(digamma(0.0).is_finite() && digamma(1e300).is_finite());
    }
}
