//! A symmetric matrix that is positive semidefinite, perhaps of less than full rank, as L Lᵀ.
//!
//! Rows and columns are first scaled so that the diagonal is 1, which makes all that follows independent of the units of
//! features; then the largest diagonal that is left is taken next (Golub and Van Loan, Matrix Computations, 4.2.8). What
//! is left below a tolerance is taken for a combination of what came before: from there on L has no columns.

/// L of P S A S Pᵀ, S the scales and P the order.
#[derive(Clone, Debug, Default)]
pub struct PivotedCholesky {
    pub rank: usize,
    /// The coordinate at each position.
    pub order: Vec<usize>,
    /// By coordinate: 1 / √aᵢᵢ, or 0 where there is nothing.
    scales: Vec<f64>,
    /// Row by row, n to a row, of which the first `rank` count.
    lower: Vec<f64>,
}

impl PivotedCholesky {
    /// Of a matrix that is given row by row, of which the lower triangle is read.
    pub fn new(matrix: &[f64], n: usize, tolerance: f64) -> Self {
        let scale = |i: usize| Some(matrix[i * n + i]).filter(|a| *a > 0.0).map_or(0.0, |a| 1.0 / a.sqrt());
        let scales: Vec<f64> = (0..n).map(scale).map(|s| if s.is_finite() { s } else { 0.0 }).collect();
        let mut order: Vec<usize> = (0..n).collect();
        // The symmetric matrix that is left, in pivot order.
        let mut left = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let entry = (matrix[i * n + j] * scales[i]) * scales[j];
                (left[i * n + j], left[j * n + i]) = (entry, entry);
            }
        }
        let mut lower = vec![0.0; n * n];
        let mut rank = 0;
        while rank < n {
            let pivot =
                (rank..n).fold(rank, |best, i| if left[i * n + i] > left[best * n + best] { i } else { best });
            let unexplained = left[pivot * n + pivot];
            if unexplained <= tolerance || unexplained.is_nan() {
                break;
            }
            order.swap(rank, pivot);
            swap_rows(&mut lower, n, rank, pivot);
            swap_rows(&mut left, n, rank, pivot);
            for row in left.chunks_exact_mut(n) {
                row.swap(rank, pivot);
            }
            let root = left[rank * n + rank].sqrt();
            let column: Vec<f64> = (rank..n).map(|i| left[i * n + rank] / root).collect();
            for (i, &c) in (rank..n).zip(&column) {
                lower[i * n + rank] = c;
                left[i * n + rank..(i + 1) * n].iter_mut().zip(&column).for_each(|(a, other)| *a -= c * other);
            }
            rank += 1;
        }
        PivotedCholesky { rank, order, scales, lower }
    }

    fn width(&self) -> usize {
        self.order.len()
    }

    /// Row `index` of L, as far as it counts.
    fn row(&self, index: usize) -> &[f64] {
        &self.lower[index * self.width()..][..self.rank]
    }

    /// Vectors rₖ with Σ rₖ rₖᵀ = A, each by coordinate: the columns of L without the scales.
    pub fn columns(&self) -> impl Iterator<Item = Vec<f64>> + '_ {
        (0..self.rank).map(|k| {
            let mut column = vec![0.0; self.width()];
            for (index, &i) in self.order.iter().enumerate() {
                column[i] = if self.scales[i] > 0.0 { self.row(index)[k] / self.scales[i] } else { 0.0 };
            }
            column
        })
    }

    /// t with Σ tₖ rₖ = b for a `b` that is such a sum: L t = P S b, of which the first `rank` rows are enough.
    pub fn coefficients(&self, b: &[f64]) -> Vec<f64> {
        let mut t = Vec::with_capacity(self.rank);
        for index in 0..self.rank {
            let i = self.order[index];
            let row = self.row(index);
            let sum: f64 = row.iter().zip(&t).map(|(l, t)| l * t).sum();
            t.push((b[i] * self.scales[i] - sum) / row[index]);
        }
        t
    }

    /// w with A w = b; where A is singular, of all that come nearest the one whose numbers, each times the square
    /// root of its diagonal in A, are the smallest in sum of squares.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let (n, rank) = (self.width(), self.rank);
        let mut t = if rank == n { self.coefficients(b) } else { self.least(b) };
        let u = match rank == n {
            true => {
                for index in (0..n).rev() {
                    let sum: f64 = (index + 1..n).map(|other| self.row(other)[index] * t[other]).sum();
                    t[index] = (t[index] - sum) / self.row(index)[index];
                }
                t
            }
            false => (0..n).map(|index| self.row(index).iter().zip(&t).map(|(l, t)| l * t).sum()).collect(),
        };
        let mut w = vec![0.0; n];
        for (&i, u) in self.order.iter().zip(u) {
            w[i] = u * self.scales[i];
        }
        w
    }

    /// For L of n rows and fewer columns the least solution is L (LᵀL)⁻² Lᵀ b; here (LᵀL)⁻² Lᵀ b.
    fn least(&self, b: &[f64]) -> Vec<f64> {
        let (n, rank) = (self.width(), self.rank);
        let mut square = vec![0.0; rank * rank];
        let mut t = vec![0.0; rank];
        for (index, &i) in self.order.iter().enumerate().take(n) {
            let row = self.row(index);
            for (k, &l) in row.iter().enumerate() {
                t[k] += l * b[i] * self.scales[i];
                square[k * rank..(k + 1) * rank].iter_mut().zip(row).for_each(|(s, other)| *s += l * other);
            }
        }
        // Of full rank, and as well conditioned as the part of A that counts.
        let inner = PivotedCholesky::new(&square, rank, 0.0);
        if inner.rank < rank {
            return vec![0.0; rank];
        }
        let once = inner.solve(&t);
        inner.solve(&once)
    }
}

fn swap_rows(matrix: &mut [f64], n: usize, a: usize, b: usize) {
    if a != b {
        let (low, high) = matrix.split_at_mut(a.max(b) * n);
        low[a.min(b) * n..][..n].swap_with_slice(&mut high[..n]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {expected:?}");
    }

    /// A = [[4, 2], [2, 10]], b = (10, 23): w = (3/2, 2), since 4 · 1.5 + 2 · 2 = 10 and 2 · 1.5 + 10 · 2 = 23.
    #[test]
    fn a_solution_by_hand() {
        let cholesky = PivotedCholesky::new(&[4.0, 2.0, 2.0, 10.0], 2, 1e-12);
        assert_eq!(cholesky.rank, 2);
        near(&cholesky.solve(&[10.0, 23.0]), &[1.5, 2.0]);
    }

    /// A = a aᵀ with a = (1, 2, 0) and b = 10 a: every w with aᵀw = 10 solves it. Scaled by √aᵢᵢ the coordinates count
    /// the same, so each gives half: w = (5, 5/2, 0).
    #[test]
    fn the_least_of_many_solutions() {
        let a = [1.0, 2.0, 0.0, 2.0, 4.0, 0.0, 0.0, 0.0, 0.0];
        let cholesky = PivotedCholesky::new(&a, 3, 1e-12);
        assert_eq!(cholesky.rank, 1);
        near(&cholesky.solve(&[10.0, 20.0, 0.0]), &[5.0, 2.5, 0.0]);
        near(&cholesky.columns().next().unwrap(), &[1.0, 2.0, 0.0]);
        near(&cholesky.coefficients(&[10.0, 20.0, 0.0]), &[10.0]);
    }

    /// Units do not matter, up to what they do to the weights.
    #[test]
    fn scales_from_1e_100_to_1e100() {
        let (p, q) = (1e100, 1e-100);
        let cholesky = PivotedCholesky::new(&[4.0 * p * p, 2.0, 2.0, 10.0 * q * q], 2, 1e-12);
        let w = cholesky.solve(&[10.0 * p, 23.0 * q]);
        near(&[w[0] * p, w[1] * q], &[1.5, 2.0]);
    }
}
