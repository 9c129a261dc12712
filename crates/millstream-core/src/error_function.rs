//! erf, for the integrals of bell curves: what lies between two points, and what lies outside.

use std::f64::consts::PI;

/// 2/√π ∫ e^(−t²) from `a` to `b`, without cancellation where both are far from 0 on one side.
pub fn between(a: f64, b: f64) -> f64 {
    if a > 0.0 && b > 0.0 {
        complement(a) - complement(b)
    } else if a < 0.0 && b < 0.0 {
        complement(-b) - complement(-a)
    } else {
        erf(b) - erf(a)
    }
}

/// By the series 2/√π e^(−x²) Σ 2ⁿ x^(2n+1) / (1·3·…·(2n+1)), whose terms have one sign.
fn erf(x: f64) -> f64 {
    if x.abs() > 2.5 {
        return (1.0 - complement(x.abs())).copysign(x);
    }
    let (mut term, mut sum, mut n) = (x, x, 0.0);
    while sum + term != sum {
        n += 1.0;
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}

/// 1 − erf of a number that is not negative, far out by Laplace's continued fraction.
pub fn complement(x: f64) -> f64 {
    if x <= 2.5 {
        return 1.0 - erf(x);
    }
    let mut rest = x;
    for n in (1..=150).rev() {
        rest = x + 0.5 * f64::from(n) / rest;
    }
    (-x * x).exp() / (PI.sqrt() * rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of tables: Abramowitz and Stegun, 7.1, with more digits.
    #[test]
    fn known_values() {
        let near = |a: f64, b: f64| assert!((a - b).abs() <= 2e-15 * b.abs(), "{a} {b}");
        near(between(0.0, 0.5), 0.520_499_877_813_046_5);
        near(between(0.0, 1.0), 0.842_700_792_949_714_9);
        near(between(-2.0, 2.0), 2.0 * 0.995_322_265_018_952_7);
        near(between(3.0, 40.0), 2.209_049_699_858_544e-5);
        near(between(-40.0, -3.0), 2.209_049_699_858_544e-5);
        assert_eq!(between(1.0, 1.0), 0.0);
    }
}
