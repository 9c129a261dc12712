//! Whether a saved matrix can be one of sums of squares and products.
//!
//! Products are bounded by squares (Cauchy and Schwarz), also if each pair of features has the moments of its own rows,
//! since a part of the rows has smaller sums of squares than all. A matrix of complete rows is positive semidefinite
//! besides. Both hold up to rounding, and so are checked with a tolerance.

use crate::fault::Result;
use crate::held::state::require;
use crate::linear_algebra::cholesky;

/// Rounding errors of entries and of weights, relative to their bounds.
const TOLERANCE: f64 = 1e-6;
/// Squares of tiny numbers lose their digits.
const TINY: f64 = 1e-290;
/// The most features of a matrix that is factorised: more would take seconds.
const MOST_FACTORISED: usize = 1024;

/// The largest absolute value of a product, given the two sums of squares.
#[inline]
pub fn bound(first: f64, second: f64) -> f64 {
    first.sqrt() * second.sqrt()
}

/// Refuse a product that is larger than the squares allow. `entry` is called for the lower triangle.
pub fn check_products(who: &str, width: usize, entry: impl Fn(usize, usize) -> f64) -> Result<()> {
    let is_bounded =
        |i: usize, j: usize| entry(i, j).abs() <= bound(entry(i, i), entry(j, j)) * (1.0 + TOLERANCE) + TINY;
    let sound = (0..width).all(|i| entry(i, i) >= 0.0 && (0..i).all(|j| is_bounded(i, j)));
    require(who, sound, "a covariance is larger than the variances allow")
}

/// Refuse a matrix that is not positive semidefinite. `entry` is called for the lower triangle, which `check_products`
/// has checked.
pub fn check_semidefinite(who: &str, width: usize, entry: impl Fn(usize, usize) -> f64) -> Result<()> {
    if width > MOST_FACTORISED {
        return Ok(());
    }
    // Correlations, so that features of different size count alike. A feature that has not varied has none.
    let mut correlations = vec![0.0; width * width];
    for i in 0..width {
        for j in 0..i {
            let bound = bound(entry(i, i), entry(j, j));
            correlations[i * width + j] = if bound > TINY { entry(i, j) / bound } else { 0.0 };
        }
        correlations[i * width + i] = 1.0;
    }
    let sound = cholesky::factorise(&mut correlations, width, width as f64 * TOLERANCE);
    require(who, sound, "the matrix is not positive semidefinite")
}

/// Refuse a pair of features that was seen more often than one of them.
pub fn check_weights(who: &str, width: usize, entry: impl Fn(usize, usize) -> f64) -> Result<()> {
    let fits = |pair: f64, one: f64| pair >= 0.0 && pair <= one * (1.0 + TOLERANCE) + TOLERANCE;
    let sound =
        (0..width).all(|i| entry(i, i) >= 0.0 && (0..i).all(|j| fits(entry(i, j), entry(i, i).min(entry(j, j)))));
    require(who, sound, "a weight is negative, or a pair of features has more than one of them")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_matrices_are_refused() {
        let of = |matrix: [[f64; 3]; 3]| {
            let entry = move |i: usize, j: usize| matrix[i][j];
            (check_products("a.B", 3, entry).is_ok(), check_semidefinite("a.B", 3, entry).is_ok())
        };
        assert_eq!(of([[4.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), (true, true));
        // The product 2.1 of the squares 4 and 1 is above √4 · √1 = 2.
        assert!(!of([[4.0, 0.0, 0.0], [2.1, 1.0, 0.0], [0.0, 0.0, 0.0]]).0);
        assert!(!of([[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).0);
        // Correlations −0.9 of all pairs: 1ᵀ R 1 = 3 − 6 · 0.9 < 0.
        assert_eq!(of([[1.0, 0.0, 0.0], [-0.9, 1.0, 0.0], [-0.9, -0.9, 1.0]]), (true, false));
        let weights = |pair: f64| check_weights("a.B", 2, move |i, j| if i == j { 2.0 } else { pair }).is_ok();
        assert!(weights(2.0) && weights(0.0) && !weights(3.0) && !weights(-1.0));
    }
}
