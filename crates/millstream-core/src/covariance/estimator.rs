//! What covariance estimators have in common: how a row is completed, and the inverse of a matrix.

use crate::fault::{Fault, Result};
use crate::linear_algebra::cholesky;

/// The largest number of features: the matrix of so many has 67 MB.
pub const MOST_FEATURES: usize = 4096;

/// Refuse a row with too many features.
pub fn check_width(who: &str, width: usize) -> Result<()> {
    match width <= MOST_FEATURES {
        true => Ok(()),
        false => Err(Fault::value(format!("{who}: supports up to {MOST_FEATURES} features, got {width}"))),
    }
}

/// A row without missing numbers: each is replaced by the mean so far, or by 0 before the first number of a feature. In
/// `new`, the values of features that this row is the first to have.
pub fn complete(x: &[f64], means: &[f64], filled: &mut Vec<f64>, new: &mut Vec<f64>) {
    filled.clear();
    filled.extend(means.iter().enumerate().map(|(i, &mean)| match x.get(i) {
        Some(&x) if !x.is_nan() => x,
        _ => mean,
    }));
    new.clear();
    new.extend(x.iter().skip(means.len()).map(|&x| if x.is_nan() { 0.0 } else { x }));
    filled.extend_from_slice(new);
}

/// The inverse of a positive definite matrix; NaN if it is singular.
pub fn inverse(mut matrix: Vec<f64>, width: usize) -> Vec<f64> {
    // Scaled to a unit diagonal, so that features of different size do not look singular.
    let scales: Vec<f64> = (0..width).map(|i| matrix[i * width + i].sqrt()).collect();
    let sound = scales.iter().all(|&scale| scale > 0.0 && scale.is_finite());
    for i in 0..width {
        for j in 0..width {
            matrix[i * width + j] /= scales[i] * scales[j];
        }
    }
    if !(sound && cholesky::factorise(&mut matrix, width, 0.0)) {
        return vec![f64::NAN; width * width];
    }
    let mut inverse = vec![0.0; width * width];
    let mut column = vec![0.0; width];
    for i in 0..width {
        column.fill(0.0);
        column[i] = 1.0;
        cholesky::solve(&matrix, &mut column);
        for (j, &value) in column.iter().enumerate().take(i + 1) {
            let value = value / (scales[i] * scales[j]);
            inverse[i * width + j] = value;
            inverse[j * width + i] = value;
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // [[4, 2], [2, 5]] has the determinant 16: its inverse is [[5, −2], [−2, 4]] / 16.
        let found = inverse(vec![4.0, 2.0, 2.0, 5.0], 2);
        let expected = [5.0, -2.0, -2.0, 4.0].map(|x: f64| x / 16.0);
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15));
        assert!(inverse(vec![1.0, 1.0, 1.0, 1.0], 2).iter().all(|x| x.is_nan()));
        let (mut filled, mut new) = (Vec::new(), Vec::new());
        complete(&[1.0, f64::NAN, 3.0, f64::NAN], &[7.0, 8.0], &mut filled, &mut new);
        assert_eq!((filled, new), (vec![1.0, 8.0, 3.0, 0.0], vec![3.0, 0.0]));
    }
}
