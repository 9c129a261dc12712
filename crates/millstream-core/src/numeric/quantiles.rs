//! Two-sided quantiles of the normal distribution and of Student's t, and the one-sided normal quantile.
//!
//! The two-sided ones are found by Newton's method on the logarithm of what lies outside, which is nearly straight over the logarithm
//! of the distance where tails are heavy.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use crate::numeric::elementary;
use crate::numeric::error_function::complement;

/// From so many degrees of freedom on, the expansion about the normal quantile has an error below 1e-12.
const MANY: f64 = 1000.0;

/// z with P(|Z| ≤ z) = coverage; coverage in (0, 1).
pub fn normal(coverage: f64) -> f64 {
    let outside = 1.0 - coverage;
    // Abramowitz and Stegun 26.2.23, good to 5e-4.
    let t = (-2.0 * (0.5 * outside).ln()).sqrt();
    let start =
        t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
    let mut z = start.max(0.0);
    for _ in 0..4 {
        let step = (outside_normal(z) - outside) / (2.0 * density(z));
        // Halley's correction: the slope changes by −z.
        z += step / (1.0 - 0.5 * z * step).max(0.5);
    }
    z.max(0.0)
}

/// Coefficients of numerator and denominator, from the highest power, near the centre and in the tails.
const CENTRE: [[f64; 8]; 2] = [
    [
        2509.0809287301227,
        33430.57558358813,
        67265.7709270087,
        45921.95393154987,
        13731.69376550946,
        1971.5909503065513,
        133.14166789178438,
        3.3871328727963666,
    ],
    [
        5226.495278852854,
        28729.085735721943,
        39307.89580009271,
        21213.794301586597,
        5394.196021424751,
        687.1870074920579,
        42.31333070160091,
        1.0,
    ],
];
const TAIL: [[f64; 8]; 2] = [
    [
        7.745450142783414e-4,
        2.2723844989269184e-2,
        2.417807251774506e-1,
        1.2704582524523684,
        3.6478483247632045,
        5.769497221460691,
        4.630337846156546,
        1.4234371107496835,
    ],
    [
        1.0507500716444169e-9,
        5.475938084995345e-4,
        1.5198666563616457e-2,
        1.4810397642748007e-1,
        6.897673349851e-1,
        1.6763848301838038,
        2.053191626637759,
        1.0,
    ],
];

/// z with P(Z ≤ z) = p, for p in [1e-10, 1 − 1e-10], by the rational functions of Wichura (1988, algorithm AS 241); right
/// to about 1e-15, and the same bits on every platform.
pub fn normal_below(p: f64) -> f64 {
    let ratio = |[above, below]: &[[f64; 8]; 2], r: f64| {
        let polynomial = |numbers: &[f64; 8]| numbers.iter().fold(0.0, |sum, number| sum * r + number);
        polynomial(above) / polynomial(below)
    };
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(&CENTRE, 0.180625 - q * q);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    ratio(&TAIL, (-elementary::ln(tail)).sqrt() - 1.6).copysign(q)
}

/// P(|Z| > z) for z that is not negative.
pub fn outside_normal(z: f64) -> f64 {
    complement(z * FRAC_1_SQRT_2)
}

/// t with P(|T| ≤ t) = coverage for Student's T with `degrees` of freedom, which need not be whole; at most e^600.
pub fn student(coverage: f64, degrees: f64) -> f64 {
    let z = normal(coverage);
    if degrees > MANY {
        // Abramowitz and Stegun 26.7.5.
        let s = z * z;
        let terms = [
            (s + 1.0) / 4.0,
            ((5.0 * s + 16.0) * s + 3.0) / 96.0,
            (((3.0 * s + 19.0) * s + 17.0) * s - 15.0) / 384.0,
            ((((79.0 * s + 776.0) * s + 1482.0) * s - 1920.0) * s - 945.0) / 92160.0,
        ];
        return z * (1.0 + terms.iter().rev().fold(0.0, |sum, term| (sum + term) / degrees));
    }
    let wanted = (1.0 - coverage).ln();
    let mut log = z.max(1e-300).ln();
    for _ in 0..100 {
        let (outside, slope) = outside_student(log, degrees);
        let step = (wanted - outside) / slope;
        log = (log + step.clamp(-50.0, 50.0)).min(600.0);
        if step.abs() < 1e-13 || log == 600.0 {
            break;
        }
    }
    log.exp()
}

/// ln P(|T| > e^log), and its slope over `log`.
fn outside_student(log: f64, degrees: f64) -> (f64, f64) {
    let half = 0.5 * degrees;
    // x = ν / (ν + t²), written so that neither it nor 1 − x loses digits; of a huge t² only the logarithm is left.
    let ratio = 2.0 * log - degrees.ln();
    let (log_x, log_rest) = (-soft_plus(ratio), -soft_plus(-ratio));
    let beta = ln_gamma(half) + 0.5 * PI.ln() - ln_gamma(half + 0.5);
    // x^a (1 − x)^b / B(a, b)
    let log_front = half * log_x + 0.5 * log_rest - beta;
    let x = log_x.exp();
    let outside = if x < (half + 1.0) / (half + 2.5) {
        log_front - half.ln() - fraction(half, 0.5, x).ln()
    } else {
        let inside = log_front.exp() / (0.5 * fraction(0.5, half, log_rest.exp()));
        (-inside).ln_1p()
    };
    // The density of |T| at t, times t, is twice the front.
    (outside, -2.0 * (log_front - outside).exp())
}

/// ln(1 + e^x)
fn soft_plus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// The continued fraction of the incomplete beta function, 1 + d₁ / (1 + d₂ / (1 + …)), NIST 8.17.22, by Lentz.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let (mut up, mut down, mut value) = (1.0, 0.0, 1.0);
    for k in 1..2000 {
        let m = f64::from(k / 2);
        let d = if k % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        let away = |number: f64| if number.abs() < 1e-300 { 1e-300 } else { number };
        down = 1.0 / away(1.0 + d * down);
        up = away(1.0 + d / up);
        value *= up * down;
        if (up * down - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

/// The logarithm of the gamma function for positive numbers, by Stirling's series beyond 16.
pub fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut product) = (x, 1.0);
    while x < 16.0 {
        product *= x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0];
    let rest = series.iter().rev().fold(0.0, |sum, term| sum * square + term) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + rest - product.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-10, "{found} {expected}");
    }

    /// Of the tables; with one degree of freedom it is tan(π c / 2), with two c √(2 / (1 − c²)).
    #[test]
    fn quantiles_of_the_tables() {
        for (coverage, expected) in [(0.5, 0.674489750196082), (0.9, 1.64485362695147), (0.95, 1.95996398454005)] {
            near(normal(coverage), expected);
        }
        near(normal(0.999999), 4.89163847569766);
        for coverage in [0.01f64, 0.5, 0.9, 0.99, 0.999999] {
            near(student(coverage, 1.0), (0.5 * PI * coverage).tan());
            near(student(coverage, 2.0), coverage * (2.0 / (1.0 - coverage * coverage)).sqrt());
        }
        near(student(0.9, 10.0), 1.81246112281168);
        near(student(0.95, 120.0), 1.97993040508248);
        // Where the expansion takes over, they agree.
        near(student(0.99, 999.999), student(0.99, 1000.001) * (1.0 + 3.8239e-9));
    }

    #[test]
    fn the_one_sided_quantile_is_half_of_the_two_sided() {
        for coverage in [0.01, 0.3, 0.84, 0.86, 0.99, 0.9999999] {
            near(normal_below(0.5 + 0.5 * coverage), normal(coverage));
            near(normal_below(0.5 - 0.5 * coverage), -normal(coverage));
        }
        assert_eq!(normal_below(0.5), 0.0);
        near(normal_below(1e-7), -5.199337582192817);
    }

    #[test]
    fn extremes_are_finite() {
        for coverage in [1e-300, 1e-10, 0.5, 1.0 - 1e-16] {
            for degrees in [1e-300, 1e-10, 0.01, 3.0, 1e6, 1e300] {
                assert!(student(coverage, degrees).is_finite(), "{coverage} {degrees}");
            }
        }
    }
}
