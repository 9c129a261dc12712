//! Cholesky's factor L of a Gram matrix A = L Lᵀ, and ψ = L⁻¹ φ.
//!
//! A row of L starts where the row of A does, so that the factor of a banded matrix (splines, a grid) stays banded.

/// A function of which less than this fraction is independent of the earlier ones counts as dependent.
const LEAST_FRACTION: f64 = 1e-10;

#[derive(Clone, Debug)]
pub struct BandedCholesky {
    /// Where each row begins, by column and in `entries`.
    rows: Vec<(usize, usize)>,
    /// The rows up to the diagonal, of which the inverse is kept.
    entries: Vec<f64>,
}

impl BandedCholesky {
    /// The factor of a symmetric matrix given by rows; the index of the first function that depends on those before
    /// it if the matrix is not positive definite.
    pub fn new(matrix: &[f64], size: usize) -> Result<Self, usize> {
        let mut factor = BandedCholesky { rows: Vec::with_capacity(size), entries: Vec::new() };
        for i in 0..size {
            let row = &matrix[i * size..(i + 1) * size];
            let first = row.iter().position(|&entry| entry != 0.0).unwrap_or(i).min(i);
            let start = factor.entries.len();
            let mut rest = row[i];
            for (j, &target) in row.iter().enumerate().take(i).skip(first) {
                let (other, at) = factor.rows[j];
                let from = first.max(other);
                let own = &factor.entries[start + from - first..];
                let theirs = &factor.entries[at + from - other..at + j - other];
                let sum: f64 = theirs.iter().zip(own).map(|(a, b)| a * b).sum();
                let entry = (target - sum) * factor.entries[at + j - other];
                rest -= entry * entry;
                factor.entries.push(entry);
            }
            if rest.is_nan() || rest <= LEAST_FRACTION * row[i] || rest == f64::INFINITY {
                return Err(i);
            }
            factor.entries.push(1.0 / rest.sqrt());
            factor.rows.push((first, start));
        }
        Ok(factor)
    }

    /// φ becomes ψ.
    pub fn solve(&self, phi: &mut [f64]) {
        for (i, &(first, start)) in self.rows.iter().enumerate() {
            let (before, rest) = phi.split_at_mut(i);
            let row = &self.entries[start..start + i - first];
            let sum: f64 = row.iter().zip(&before[first..]).map(|(l, psi)| l * psi).sum();
            rest[0] = (rest[0] - sum) * self.entries[start + i - first];
        }
    }

    /// L⁻¹, a lower triangle by rows.
    pub fn inverse(&self) -> Vec<f64> {
        let size = self.rows.len();
        let mut triangle = vec![0.0; size * (size + 1) / 2];
        let mut column = vec![0.0; size];
        for j in 0..size {
            column.fill(0.0);
            column[j] = 1.0;
            self.solve(&mut column);
            for (i, &entry) in column.iter().enumerate().skip(j) {
                triangle[i * (i + 1) / 2 + j] = entry;
            }
        }
        triangle
    }

    pub fn memory(&self) -> usize {
        self.rows.capacity() * 16 + self.entries.capacity() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A = [[4, 2], [2, 5]]: L = [[2, 0], [1, 2]], so φ = (2, 5) gives ψ = (1, (5 − 1)/2) = (1, 2), and
    /// L⁻¹ = [[1/2], [−1/4, 1/2]].
    #[test]
    fn by_hand() {
        let factor = BandedCholesky::new(&[4.0, 2.0, 2.0, 5.0], 2).unwrap();
        let mut phi = [2.0, 5.0];
        factor.solve(&mut phi);
        assert_eq!(phi, [1.0, 2.0]);
        assert_eq!(factor.inverse(), [0.5, -0.25, 0.5]);
        assert_eq!(BandedCholesky::new(&[1.0, 1.0, 1.0, 1.0], 2).unwrap_err(), 1);
        assert_eq!(BandedCholesky::new(&[0.0], 1).unwrap_err(), 0);
    }

    #[test]
    fn a_banded_matrix_keeps_its_band() {
        let size = 6;
        let matrix: Vec<f64> = (0..36usize)
            .map(|at| match (at / size).abs_diff(at % size) {
                0 => 4.0,
                1 => 1.0,
                _ => 0.0,
            })
            .collect();
        let factor = BandedCholesky::new(&matrix, size).unwrap();
        assert_eq!(factor.entries.len(), 11);
        // L⁻¹ A L⁻ᵀ = I
        let inverse = factor.inverse();
        let c = |i: usize, j: usize| if j <= i { inverse[i * (i + 1) / 2 + j] } else { 0.0 };
        for i in 0..size {
            for j in 0..size {
                let mut sum = 0.0;
                for k in 0..size {
                    for l in 0..size {
                        sum += c(i, k) * matrix[k * size + l] * c(j, l);
                    }
                }
                assert!((sum - f64::from(u8::from(i == j))).abs() < 1e-15);
            }
        }
    }
}
