//! Gauss–Legendre quadrature: exact for polynomials up to order 2n − 1.

/// The nodes in [−1, 1] and their weights, by Newton's method from the roots of Chebyshev polynomials.
pub fn gauss_legendre(count: usize) -> Vec<(f64, f64)> {
    let n = count as f64;
    (0..count)
        .map(|i| {
            let mut t = -(std::f64::consts::PI * (i as f64 + 0.75) / (n + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..10 {
                let (mut before, mut p) = (1.0, t);
                for k in 1..count {
                    let k = k as f64;
                    (before, p) = (p, ((2.0 * k + 1.0) * t * p - k * before) / (k + 1.0));
                }
                slope = n * (t * p - before) / (t * t - 1.0);
                t -= p / slope;
            }
            (t, 2.0 / ((1.0 - t * t) * slope * slope))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ∫ t^k over [−1, 1] is 2 / (k + 1) for even k and 0 for odd.
    #[test]
    fn exact_for_polynomials() {
        for count in 1..12 {
            let nodes = gauss_legendre(count);
            for power in 0..2 * count as i32 {
                let sum: f64 = nodes.iter().map(|(t, w)| w * t.powi(power)).sum();
                let wanted = if power % 2 == 0 { 2.0 / f64::from(power + 1) } else { 0.0 };
                assert!((sum - wanted).abs() < 1e-14, "{count} {power}: {sum}");
            }
        }
    }
}
