//! erf, for the integrals of bell curves: what lies between two points, and what lies outside.

use std::f64::consts::{FRAC_1_SQRT_2, PI};
use std::sync::OnceLock;

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

/// Points of the table of `normal_below` to a unit, and where it ends: beyond, the tail is below 1e-17.
const STEPS: f64 = 64.0;
const FAR: f64 = 8.5;

/// By point: the probability beyond it, and the density.
#[inline(always)]
fn table() -> &'static [[f64; 2]] {
    static TABLE: OnceLock<Vec<[f64; 2]>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let point = |step: usize| {
            let z = step as f64 / STEPS;
            [0.5 * complement(z * FRAC_1_SQRT_2), (-0.5 * z * z).exp() / (2.0 * PI).sqrt()]
        };
        (0..=(FAR * STEPS) as usize + 1).map(point).collect()
    })
}

/// How far `roughly_below` is off at most: (max |φ′| = 0.242) / 8 of a step squared is 7.4e-6.
pub const ROUGHLY: f64 = 1e-5;

/// The standard normal distribution function at `z`, by linear interpolation in the table.
#[inline]
pub fn roughly_below(z: f64) -> f64 {
    let position = z.abs() * STEPS;
    if position >= FAR * STEPS || position.is_nan() {
        return if z < 0.0 { 0.0 } else { 1.0 };
    }
    let (table, point) = (table(), position as usize);
    let (a, b) = (table[point][0], table[point + 1][0]);
    let tail = a + (position - point as f64) * (b - a);
    if z < 0.0 {
        tail
    } else {
        1.0 - tail
    }
}

/// The standard normal distribution function at `z`, to about 1e-15: Taylor's series around the nearest point of
/// a table, whose derivatives are φ(z), −z φ(z), (z² − 1) φ(z), …. For frequent calls.
pub fn normal_below(z: f64) -> f64 {
    let far = z.abs();
    let nearest = (far * STEPS).round();
    // The probability beyond |z|, and the density.
    let Some(&[beyond, density]) = table().get(nearest as usize).filter(|_| far < FAR) else {
        return if z < 0.0 { 0.0 } else { 1.0 };
    };
    let (a, h) = (nearest / STEPS, far - nearest / STEPS);
    let square = a * a;
    // Hermite's polynomials of a, for the derivatives of the density.
    let two = square - 1.0;
    let three = a * (square - 3.0);
    let four = (square - 6.0) * square + 3.0;
    let five = a * ((square - 10.0) * square + 15.0);
    let series =
        h * (1.0 + h * (-a / 2.0 + h * (two / 6.0 + h * (-three / 24.0 + h * (four / 120.0 - h * five / 720.0)))));
    let tail = beyond - density * series;
    if z < 0.0 {
        tail
    } else {
        1.0 - tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_gives_what_the_series_gives() {
        for step in -4000..=4000 {
            let z = f64::from(step) * 0.002_173;
            let expected = match z < 0.0 {
                true => 0.5 * complement(-z * FRAC_1_SQRT_2),
                false => 1.0 - 0.5 * complement(z * FRAC_1_SQRT_2),
            };
            assert!((normal_below(z) - expected).abs() < 1e-15, "{z}");
            assert!((roughly_below(z) - expected).abs() < 0.75 * ROUGHLY, "{z}");
        }
        assert_eq!([-1e308, 1e308].map(normal_below), [0.0, 1.0]);
        assert_eq!([-1e308, 1e308, f64::NAN].map(roughly_below), [0.0, 1.0, 1.0]);
    }

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
