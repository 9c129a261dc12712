//! The incomplete gamma function, for the tails of chi-square distributions.

use crate::numeric::quantiles::ln_gamma;

/// Far beyond what any shape needs within the range that is asked for; a bound all the same.
const MOST_TERMS: usize = 100_000;

/// P(X > x) for X with a chi-square distribution of so many degrees of freedom, above 0; 1 for x that is not above 0.
pub fn chi_square_tail(x: f64, degrees: f64) -> f64 {
    upper(0.5 * degrees, 0.5 * x)
}

/// Q(a, x) = Γ(a, x) / Γ(a), by the series of what lies below (NIST 8.11.4) or the continued fraction of what lies
/// above (NIST 8.9.2), whichever is the smaller, so that no digits are lost by a difference.
fn upper(a: f64, x: f64) -> f64 {
    if x <= 0.0 || x.is_nan() {
        return 1.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for n in 1..MOST_TERMS {
            term *= x / (a + n as f64);
            sum += term;
            if term <= sum * 1e-17 {
                break;
            }
        }
        return (1.0 - front * sum).clamp(0.0, 1.0);
    }
    // Lentz's method, as modified by Thompson and Barnett.
    let tiny = 1e-300;
    let mut b = x + 1.0 - a;
    let (mut up, mut down) = (1.0 / tiny, 1.0 / b);
    let mut value = down;
    for n in 1..MOST_TERMS {
        let n = n as f64;
        let coefficient = -n * (n - a);
        b += 2.0;
        down = coefficient * down + b;
        down = 1.0 / if down.abs() < tiny { tiny } else { down };
        up = b + coefficient / up;
        up = if up.abs() < tiny { tiny } else { up };
        value *= down * up;
        if (down * up - 1.0).abs() < 1e-16 {
            break;
        }
    }
    (front * value).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
    }

    /// With two degrees of freedom it is e^(−x/2), with four e^(−x/2) (1 + x/2); with one, of a square of a normal
    /// number.
    #[test]
    fn known_values() {
        for x in [0.01, 0.5, 3.0, 40.0, 700.0] {
            near(chi_square_tail(x, 2.0), (-0.5 * x).exp());
            near(chi_square_tail(x, 4.0), (-0.5 * x).exp() * (1.0 + 0.5 * x));
            near(chi_square_tail(x, 1.0), crate::numeric::quantiles::outside_normal(x.sqrt()));
        }
        // Tables of the quantiles for 0.05 and 0.001.
        assert!((chi_square_tail(16.918_977_604_620_45, 9.0) - 0.05).abs() < 1e-14);
        assert!((chi_square_tail(27.877_164_871_256_57, 9.0) - 0.001).abs() < 1e-15);
        assert_eq!(chi_square_tail(0.0, 3.0), 1.0);
        assert_eq!(chi_square_tail(1e9, 3.0), 0.0);
    }
}
