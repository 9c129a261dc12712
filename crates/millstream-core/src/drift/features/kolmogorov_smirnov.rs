//! The two-sample Kolmogorov-Smirnov statistic and its distribution.
//!
//! D is the maximum distance of two empirical distribution functions. Its p-value is computed exactly if both samples
//! are small: lattice paths from (0, 0) to (n, m) that stay nearer to the diagonal than D (Hodges, 1958, "The significance
//! probability of the Smirnov two-sample test", Arkiv för Matematik 3). Otherwise it is Kolmogorov's limit, which is up to
//! 30 % above the exact one, and so keeps the significance level.

/// Maximum count of pairs of numbers for the exact p-value.
const EXACT: usize = 1 << 14;

/// The maximum distance of the distributions of two sorted samples, neither of them empty.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    let (n, m) = (a.len(), b.len());
    let (mut i, mut j) = (0, 0);
    let mut greatest = 0;
    while i < n && j < m {
        let x = if a[i] <= b[j] { a[i] } else { b[j] };
        while i < n && a[i] <= x {
            i += 1;
        }
        while j < m && b[j] <= x {
            j += 1;
        }
        greatest = greatest.max((i * m).abs_diff(j * n));
    }
    greatest as f64 / (n * m) as f64
}

/// P(D ≥ distance) for samples of these sizes from one continuous distribution.
pub fn tail(distance: f64, n: usize, m: usize) -> f64 {
    if n == 0 || m == 0 || distance <= 0.0 {
        return 1.0;
    }
    if n * m <= EXACT {
        return exact(distance, n.max(m), n.min(m));
    }
    let x = distance * ((n as f64 * m as f64) / (n + m) as f64).sqrt();
    limit(x)
}

/// P(K > x) in Kolmogorov's limit: 2 Σ (−1)^(k−1) e^(−2 k² x²), or for small x the same by theta functions.
fn limit(x: f64) -> f64 {
    use std::f64::consts::PI;
    if x < 1.0 {
        let inside: f64 = (0..4)
            .map(|k| {
                let odd = f64::from(2 * k + 1);
                (-odd * odd * PI * PI / (8.0 * x * x)).exp()
            })
            .sum();
        return (1.0 - (2.0 * PI).sqrt() / x * inside).clamp(0.0, 1.0);
    }
    let mut sum = 0.0;
    for k in (1..=8).rev() {
        let k = f64::from(k);
        sum = (-2.0 * k * k * x * x).exp() - sum;
    }
    (2.0 * sum).clamp(0.0, 1.0)
}

/// The fraction of paths that reach the distance at some point. Row by row, `outside[j]` is the probability that a path
/// through (i, j) has done so; a path comes to (i, j) from (i − 1, j) with probability i / (i + j).
fn exact(distance: f64, n: usize, m: usize) -> f64 {
    // A distance is a multiple of 1 / (n m).
    let reach = (distance * (n * m) as f64).round() as usize;
    let mut outside = [0.0f64; 1 + 128];
    let mut many = Vec::new();
    let outside = if m < outside.len() {
        &mut outside[..=m]
    } else {
        many.resize(m + 1, 0.0);
        &mut many[..]
    };
    for i in 0..=n {
        for j in 0..=m {
            outside[j] = if (i * m).abs_diff(j * n) >= reach {
                1.0
            } else if i == 0 || j == 0 {
                // On an edge there is only one predecessor.
                match (i, j) {
                    (0, 0) => 0.0,
                    (0, _) => outside[j - 1],
                    _ => outside[0],
                }
            } else {
                (i as f64 * outside[j] + j as f64 * outside[j - 1]) / (i + j) as f64
            };
        }
    }
    outside[m].clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 1, 2 | 3: the distribution of the first is 1 before that of the second has begun: D = 1. Of the three orders
    /// of two a and one b, it is 1 in aab and baa: two in three. For two against two, D = 1 in aabb and bbaa of six.
    #[test]
    fn worked_by_hand() {
        assert_eq!(distance(&[1.0, 2.0], &[3.0]), 1.0);
        assert_eq!(distance(&[1.0, 3.0], &[2.0, 4.0]), 0.5);
        assert_eq!(distance(&[1.0, 1.0], &[1.0]), 0.0);
        assert!((tail(1.0, 2, 1) - 2.0 / 3.0).abs() < 1e-15);
        assert!((tail(1.0, 2, 2) - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!(tail(0.5, 2, 2), 1.0);
        assert_eq!(tail(0.0, 50, 50), 1.0);
        // Kolmogorov's table: P(K > 1.3581) = 0.05, P(K > 1.9495) = 0.001; the two series meet.
        assert!((limit(1.358_098_639_322_591) - 0.05).abs() < 1e-12);
        assert!((limit(1.949_474_689_812_612) - 0.001).abs() < 1e-9);
        assert!((limit(1.0 - 1e-12) - limit(1.0)).abs() < 1e-11);
        assert_eq!((limit(1e-3), limit(40.0)), (1.0, 0.0));
    }
}
