//! Elementary functions that give the same bits on every platform.
//!
//! `f64::exp` and its like are the platform's own, and differ in the last place from one to the next. What must be
//! the same everywhere (a generated stream) uses these: argument reduction and a series, in which there is nothing
//! but additions, multiplications and divisions, which IEEE 754 fixes to the last bit. They are right to a few
//! units in the last place for arguments of moderate size, and no slower than twice the platform's.

use std::f64::consts::{FRAC_PI_2, LN_2, PI, SQRT_2};

/// ln 2 in two parts: the first has 32 bits, so that its product with an exponent is exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// π in two parts, the second being what the first lacks.
const PI_LOW: f64 = 1.224_646_799_147_353_2e-16;

/// What each term of a series is to the one before: 1/1, 1/2, …; 1/(2·3), 1/(4·5), …; and 1/1, 1/3, … themselves.
const EXP: [f64; 13] = coefficients(0.0, 1.0, 0.0);
const SIN: [f64; 11] = coefficients(4.0, 2.0, 0.0);
const LN: [f64; 12] = coefficients(0.0, 2.0, -1.0);

/// 1 / (a n² + b n + c) for n = 1, 2, ….
const fn coefficients<const N: usize>(a: f64, b: f64, c: f64) -> [f64; N] {
    let mut coefficients = [0.0; N];
    let mut index = 0;
    while index < N {
        let n = (index + 1) as f64;
        coefficients[index] = 1.0 / (a * n * n + b * n + c);
        index += 1;
    }
    coefficients
}

/// e to the power of `x`, by 2^k · e^r with |r| <= ln 2 / 2; 0 below -708 and infinite above 709.
pub fn exp(x: f64) -> f64 {
    if x < -708.0 {
        return 0.0;
    }
    if x > 709.0 {
        return f64::INFINITY;
    }
    let k = (x / LN_2).round();
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let sum = EXP.iter().rev().fold(1.0, |sum, coefficient| 1.0 + sum * r * coefficient);
    sum * f64::from_bits(((k as i64 + 1023) as u64) << 52)
}

/// The natural logarithm of a positive, normal number, by 2 artanh((m - 1) / (m + 1)) of its mantissa.
pub fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mut mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    if mantissa > SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let sum = LN.iter().rev().fold(0.0, |sum, coefficient| sum * square + coefficient);
    let k = exponent as f64;
    k * LN_2_HIGH + (2.0 * s * sum + k * LN_2_LOW)
}

/// ln(1 + x) for x > -1, also right for a tiny x: the rounding of 1 + x cancels between the two factors (Kahan).
pub fn ln_1p(x: f64) -> f64 {
    let sum = 1.0 + x;
    if sum == 1.0 {
        x
    } else {
        ln(sum) * (x / (sum - 1.0))
    }
}

/// e^x - 1, also right for a tiny x.
pub fn exp_m1(x: f64) -> f64 {
    if x.abs() > 0.3 {
        return exp(x) - 1.0;
    }
    // x + x²/2! + …, from the smallest term.
    EXP.iter().skip(1).rev().fold(1.0, |sum, coefficient| 1.0 + sum * x * coefficient) * x
}

/// The sine, for arguments up to some thousands.
pub fn sin(x: f64) -> f64 {
    let k = (x / PI).round();
    let r = (x - k * PI) - k * PI_LOW;
    let square = r * r;
    let sum = SIN.iter().rev().fold(1.0, |sum, coefficient| 1.0 - sum * square * coefficient);
    let sine = r * sum;
    if k as i64 % 2 == 0 {
        sine
    } else {
        -sine
    }
}

/// The hyperbolic tangent to an absolute error of a few units in the last place of 1, by (e^2x − 1) / (e^2x + 1).
///
/// Without a branch or a conversion, so that a loop of it runs in vector registers: half of it, added to 2⁵², leaves a
/// whole number in the last bits of a float.
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    const ROUND: f64 = 6_755_399_441_055_744.0;
    // Beyond 20 it is 1 to the last bit.
    let x = if x > -20.0 { x } else { -20.0 };
    let y = 2.0 * (if x < 20.0 { x } else { 20.0 });
    let shifted = y * (1.0 / LN_2) + ROUND;
    let k = shifted - ROUND;
    let r = (y - k * LN_2_HIGH) - k * LN_2_LOW;
    let mut sum = 1.0;
    let mut index = EXP.len();
    while index > 0 {
        index -= 1;
        sum = 1.0 + sum * r * EXP[index];
    }
    let power = sum * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    (power - 1.0) / (power + 1.0)
}

/// e to the power of `−x` for x of at least 0, or infinite; where that is below e^−700, it is e^−700. Without a branch, as
/// `tanh`.
#[inline(always)]
pub fn exp_negative(x: f64) -> f64 {
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let y = -(if x < 700.0 { x } else { 700.0 });
    let shifted = y * (1.0 / LN_2) + ROUND;
    let k = shifted - ROUND;
    let r = (y - k * LN_2_HIGH) - k * LN_2_LOW;
    let mut sum = 1.0;
    let mut index = EXP.len();
    while index > 0 {
        index -= 1;
        sum = 1.0 + sum * r * EXP[index];
    }
    sum * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

pub fn cos(x: f64) -> f64 {
    sin(x + FRAC_PI_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_agree_with_the_platform() {
        for step in -2000..=2000 {
            let x = f64::from(step) * 0.01;
            assert!((exp(x) - x.exp()).abs() <= 4.0 * f64::EPSILON * x.exp(), "exp({x})");
            assert!((sin(x) - x.sin()).abs() < 2e-15, "sin({x})");
            assert!((cos(x) - x.cos()).abs() < 4e-15, "cos({x})");
            assert!((tanh(x) - x.tanh()).abs() < 4e-16, "tanh({x})");
            let y = x.exp();
            assert!((ln(y) - y.ln()).abs() <= 4.0 * f64::EPSILON * y.ln().abs().max(1.0), "ln({y})");
        }
        for power in 1..=40 {
            for x in [10f64.powi(-power / 2), -0.9 * 10f64.powi(-power / 2)] {
                assert!((ln_1p(x) - x.ln_1p()).abs() <= 4.0 * f64::EPSILON * x.abs().max(x.ln_1p().abs()), "{x}");
                assert!((exp_m1(x) - x.exp_m1()).abs() <= 4.0 * f64::EPSILON * x.abs().max(x.exp_m1()), "{x}");
            }
        }
        for step in 0..=7000 {
            let x = f64::from(step) * 0.1;
            assert!((exp_negative(x) - (-x).exp()).abs() <= 4.0 * f64::EPSILON * (-x).exp(), "exp(-{x})");
        }
        assert_eq!(
            [0.0, 1e9, f64::INFINITY, f64::NAN].map(exp_negative),
            [1.0, exp(-700.0), exp(-700.0), exp(-700.0)]
        );
        assert_eq!((exp(0.0), ln(1.0), sin(0.0)), (1.0, 0.0, 0.0));
        assert_eq!((exp(-1e9), exp(1e9)), (0.0, f64::INFINITY));
        assert_eq!([0.0, 1e300, -1e300, f64::INFINITY].map(tanh), [0.0, 1.0, -1.0, 1.0]);
    }
}
