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
        // The diagonal that is left, in pivot order, and the columns of L. A column is computed when its turn comes:
        // half the work of updating all that is left at each pivot, with the same operations on each number.
        let mut diagonal: Vec<f64> = (0..n).map(|i| (matrix[i * n + i] * scales[i]) * scales[i]).collect();
        let mut columns: Vec<f64> = Vec::with_capacity(n * n);
        let mut factors = Vec::with_capacity(n);
        let mut rank = 0;
        while rank < n {
            let pivot = (rank..n).fold(rank, |best, i| if diagonal[i] > diagonal[best] { i } else { best });
            let unexplained = diagonal[pivot];
            if unexplained <= tolerance || unexplained.is_nan() {
                break;
            }
            order.swap(rank, pivot);
            diagonal.swap(rank, pivot);
            columns.chunks_exact_mut(n).for_each(|column| column.swap(rank, pivot));
            factors.clear();
            factors.extend(columns.chunks_exact(n).map(|column| column[rank]));
            let start = columns.len();
            columns.resize(start + rank, 0.0);
            columns.push(unexplained);
            columns.extend(order[rank + 1..].iter().map(|&i| {
                let (high, low) = (i.max(order[rank]), i.min(order[rank]));
                (matrix[high * n + low] * scales[high]) * scales[low]
            }));
            let (before, column) = columns.split_at_mut(start);
            subtract(before, n, &factors, &mut column[rank + 1..]);
            let root = unexplained.sqrt();
            for (left, c) in diagonal[rank..].iter_mut().zip(&mut column[rank..]) {
                *c /= root;
                *left -= *c * *c;
            }
            rank += 1;
        }
        let mut lower = vec![0.0; n * n];
        for (k, column) in columns.chunks_exact(n.max(1)).enumerate() {
            column.iter().enumerate().skip(k).for_each(|(i, &c)| lower[i * n + k] = c);
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

/// Subtract the columns, each times its factor, from the end of a column: one after the other, four in one pass.
fn subtract(columns: &[f64], n: usize, factors: &[f64], out: &mut [f64]) {
    let from = n - out.len();
    let column = |k: usize| &columns[k * n + from..(k + 1) * n];
    let fours = factors.chunks_exact(4);
    let rest = factors.len() - fours.remainder().len();
    for (four, f) in fours.enumerate() {
        let k = 4 * four;
        let columns = column(k).iter().zip(column(k + 1)).zip(column(k + 2)).zip(column(k + 3));
        for (x, (((a, b), c), d)) in out.iter_mut().zip(columns) {
            *x = *x - a * f[0] - b * f[1] - c * f[2] - d * f[3];
        }
    }
    for (k, factor) in factors.iter().enumerate().skip(rest) {
        out.iter_mut().zip(column(k)).for_each(|(x, c)| *x -= c * factor);
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

    /// The columns of L give the matrix again, also where some are subtracted four at a time and some one by one.
    #[test]
    fn columns_of_eleven_features() {
        let n = 11;
        let number = |i: usize, j: usize| ((7 * i + 13 * j) % 10) as f64 - if i == j { 20.0 } else { 4.5 };
        let product = |i: usize, j: usize| (0..n).map(|k| number(i, k) * number(j, k)).sum::<f64>();
        let matrix: Vec<f64> = (0..n * n).map(|at| product(at / n, at % n)).collect();
        let cholesky = PivotedCholesky::new(&matrix, n, 1e-12);
        assert_eq!(cholesky.rank, n);
        let columns: Vec<Vec<f64>> = cholesky.columns().collect();
        let again = |at: usize| columns.iter().map(|column| column[at / n] * column[at % n]).sum::<f64>();
        assert!((0..n * n).all(|at| (again(at) - matrix[at]).abs() < 1e-9 * matrix[0].abs()));
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
