//! The Cholesky factor of a matrix that is used once: computed in place, then used to solve.

use crate::numeric::dot;

/// Replace the lower triangle of A + raise · I by its Cholesky factor; false if it is not positive definite.
pub fn factorise(lower: &mut [f64], size: usize, raise: f64) -> bool {
    for p in 0..size {
        let (above, rest) = lower.split_at_mut(p * size);
        let row = &mut rest[..=p];
        row[p] += raise;
        for q in 0..p {
            let other = &above[q * size..=q * size + q];
            row[q] = (row[q] - dot(&row[..q], &other[..q])) / other[q];
        }
        let square = row[p] - dot(&row[..p], &row[..p]);
        if !(square > 0.0 && square.is_finite()) {
            return false;
        }
        row[p] = square.sqrt();
    }
    true
}

/// Replace b by the solution x of L Lᵀ x = b.
pub fn solve(factor: &[f64], b: &mut [f64]) {
    let size = b.len();
    for p in 0..size {
        let row = &factor[p * size..=p * size + p];
        b[p] = (b[p] - dot(&row[..p], &b[..p])) / row[p];
    }
    for p in (0..size).rev() {
        let row = &factor[p * size..=p * size + p];
        let x = b[p] / row[p];
        b[p] = x;
        b[..p].iter_mut().zip(row).for_each(|(b, l)| *b -= x * l);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_solved() {
        // [[4, 2], [2, 5]] x = (8, 12): x = (1, 2).
        let mut factor = vec![4.0, 0.0, 2.0, 5.0];
        assert!(factorise(&mut factor, 2, 0.0));
        let mut x = vec![8.0, 12.0];
        solve(&factor, &mut x);
        assert!((x[0] - 1.0).abs() < 1e-15 && (x[1] - 2.0).abs() < 1e-15);
        assert!(!factorise(&mut [1.0, 0.0, 2.0, 3.0], 2, 0.0), "1 · 3 < 2²");
    }
}
