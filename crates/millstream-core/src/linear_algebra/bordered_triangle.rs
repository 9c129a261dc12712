//! A symmetric positive definite matrix A with right-hand sides B, eliminated together: A = RᵀR and M = R⁻ᵀB, so that
//! xᵀA⁻¹B = (R⁻ᵀx)ᵀM.
//!
//! Row p is the entries of B in row p, then those of A up to its diagonal. Rows are eliminated from the last to the first, so
//! that every row operation is one on the beginnings of two rows, and R is lower triangular. Four rows are subtracted at a
//! time: each number is then read and written once for four products. Compiled for several instruction sets; every operation
//! rounds as IEEE 754 says, so the results are the same with all of them.

use pulp::{Arch, Simd, WithSimd};

use super::packed_triangle::triangle;

/// Number of rows that are subtracted together.
const BLOCK: usize = 4;

#[derive(Clone, Debug, Default)]
pub struct BorderedTriangle {
    /// Number of right-hand sides, and of rows.
    sides: usize,
    width: usize,
    rows: Vec<f64>,
    /// 1 / Rₚₚ
    reciprocals: Vec<f64>,
}

impl BorderedTriangle {
    /// Set the size; all entries are 0.
    pub fn reset(&mut self, width: usize, sides: usize) {
        (self.sides, self.width) = (sides, width);
        self.rows.clear();
        self.rows.resize(self.start(width), 0.0);
        self.reciprocals.clear();
        self.reciprocals.resize(width, 0.0);
    }

    #[inline(always)]
    fn start(&self, row: usize) -> usize {
        row * self.sides + triangle(row)
    }

    /// The entries of the right-hand sides in a row, and those of the triangle up to the diagonal.
    pub fn row_mut(&mut self, row: usize) -> (&mut [f64], &mut [f64]) {
        let (start, end) = (self.start(row), self.start(row + 1));
        self.rows[start..end].split_at_mut(self.sides)
    }

    pub fn row(&self, row: usize) -> (&[f64], &[f64]) {
        self.rows[self.start(row)..self.start(row + 1)].split_at(self.sides)
    }

    /// Replace A by R and B by M; false if A is not positive definite.
    pub fn eliminate(&mut self, arch: Arch) -> bool {
        arch.dispatch(Eliminate(self))
    }

    /// `numbers` holds a 0 for each right-hand side and then x; the zeros become −xᵀA⁻¹B, and x is overwritten.
    pub fn project(&self, arch: Arch, numbers: &mut [f64]) {
        arch.dispatch(Project(self, numbers));
    }

    /// A⁻¹B = R⁻¹M, side after side.
    pub fn solution(&self) -> Vec<f64> {
        let (sides, width) = (self.sides, self.width);
        let mut solved = vec![0.0; sides * width];
        for (p, reciprocal) in self.reciprocals.iter().enumerate() {
            let (right, row) = self.row(p);
            for (side, right) in right.iter().enumerate() {
                let known = &solved[side * width..side * width + p];
                let sum: f64 = row.iter().zip(known).map(|(r, x)| r * x).sum();
                solved[side * width + p] = (right - sum) * reciprocal;
            }
        }
        solved
    }

    pub fn memory(&self) -> usize {
        8 * (self.rows.capacity() + self.reciprocals.capacity())
    }
}

/// row ← row − Σ factor · other, of the beginnings of the others. Without closures and adaptors, which might not be inlined
/// into a function that is compiled for another instruction set.
#[inline(always)]
fn subtract_four(row: &mut [f64], others: [&[f64]; BLOCK], factors: [f64; BLOCK]) {
    let n = row.len();
    let (a, b, c, d) = (&others[0][..n], &others[1][..n], &others[2][..n], &others[3][..n]);
    for i in 0..n {
        row[i] = (((row[i] - factors[0] * a[i]) - factors[1] * b[i]) - factors[2] * c[i]) - factors[3] * d[i];
    }
}

#[inline(always)]
fn subtract(row: &mut [f64], other: &[f64], factor: f64) {
    let other = &other[..row.len()];
    for i in 0..row.len() {
        row[i] -= factor * other[i];
    }
}

struct Eliminate<'a>(&'a mut BorderedTriangle);

impl WithSimd for Eliminate<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> bool {
        let BorderedTriangle { sides, width, rows, reciprocals } = self.0;
        let sides = *sides;
        let start = |row: usize| row * sides + triangle(row);
        let mut end = *width;
        while end > 0 {
            let begin = end.saturating_sub(BLOCK);
            let (above, block) = rows.split_at_mut(start(begin));
            for k in (begin..end).rev() {
                let (lower, upper) = block.split_at_mut(start(k + 1) - start(begin));
                let row = &mut lower[start(k) - start(begin)..];
                for j in (k + 1..end).rev() {
                    let other = &upper[start(j) - start(k + 1)..][..row.len()];
                    subtract(row, other, other[sides + k]);
                }
                let pivot = row[sides + k];
                if !(pivot > 0.0 && pivot.is_finite()) {
                    return false;
                }
                let root = pivot.sqrt();
                let reciprocal = 1.0 / root;
                for x in row.iter_mut() {
                    *x *= reciprocal;
                }
                (row[sides + k], reciprocals[k]) = (root, reciprocal);
            }
            if begin > 0 {
                // Only the first rows are fewer than a block.
                let first = start(begin);
                let (a, b) = (&block[start(begin + 3) - first..], &block[start(begin + 2) - first..]);
                let (c, d) = (&block[start(begin + 1) - first..], &block[..]);
                for i in 0..begin {
                    let (row, at) = (&mut above[start(i)..start(i + 1)], sides + i);
                    subtract_four(row, [a, b, c, d], [a[at], b[at], c[at], d[at]]);
                }
            }
            end = begin;
        }
        true
    }
}

struct Project<'a>(&'a BorderedTriangle, &'a mut [f64]);

impl WithSimd for Project<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Project(BorderedTriangle { sides, width, rows, reciprocals }, numbers) = self;
        let sides = *sides;
        let row = |k: usize| &rows[k * sides + triangle(k)..];
        let mut end = *width;
        while end >= BLOCK {
            let begin = end - BLOCK;
            let mut z = [0.0; BLOCK];
            for k in (0..BLOCK).rev() {
                let mut x = numbers[sides + begin + k];
                for j in (k + 1..BLOCK).rev() {
                    x -= z[j] * row(begin + j)[sides + begin + k];
                }
                z[k] = x * reciprocals[begin + k];
            }
            let others = [row(begin + 3), row(begin + 2), row(begin + 1), row(begin)];
            subtract_four(&mut numbers[..sides + begin], others, [z[3], z[2], z[1], z[0]]);
            end = begin;
        }
        for k in (0..end).rev() {
            let z = numbers[sides + k] * reciprocals[k];
            subtract(&mut numbers[..sides + k], row(k), z);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A = [[4, 2], [2, 5]], B = (8, 12): R₁₁² = 5 and R₁₀ = 2/√5, R₀₀² = 4 − 4/5, and A⁻¹B = (1, 2). For x = (3, 1),
    /// xᵀA⁻¹B = 5.
    #[test]
    fn two_rows_by_hand() {
        let mut matrix = BorderedTriangle::default();
        matrix.reset(2, 1);
        for (p, (right, row)) in [(8.0, &[4.0][..]), (12.0, &[2.0, 5.0])].into_iter().enumerate() {
            let (sides, triangle) = matrix.row_mut(p);
            sides[0] = right;
            triangle.copy_from_slice(row);
        }
        assert!(matrix.eliminate(Arch::new()));
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-14, "{a} {b}");
        near(matrix.row(1).1[1], 5f64.sqrt());
        near(matrix.row(1).1[0], 2.0 / 5f64.sqrt());
        near(matrix.row(0).1[0], 3.2f64.sqrt());
        matrix.solution().iter().zip([1.0, 2.0]).for_each(|(a, b)| near(*a, b));
        let mut numbers = [0.0, 3.0, 1.0];
        matrix.project(Arch::new(), &mut numbers);
        near(numbers[0], -5.0);
    }

    /// Every size around the blocks: A X = B, and the projection of x is −xᵀX.
    #[test]
    fn all_sizes_solve_their_system() {
        for width in 0..14usize {
            for sides in 0..3usize {
                let entry = |i: usize, j: usize| {
                    let numbers =
                        |k: usize| (((i + 1) * (k + 2)) as f64).sin() * (((j + 1) * (k + 2)) as f64).sin();
                    (0..20).map(numbers).sum::<f64>() + f64::from(u8::from(i == j))
                };
                let right = |i: usize, side: usize| ((i * 3 + side * 5) as f64).cos();
                let mut matrix = BorderedTriangle::default();
                matrix.reset(width, sides);
                for i in 0..width {
                    let (b, a) = matrix.row_mut(i);
                    b.iter_mut().enumerate().for_each(|(side, b)| *b = right(i, side));
                    a.iter_mut().enumerate().for_each(|(j, a)| *a = entry(i, j));
                }
                assert!(matrix.eliminate(Arch::new()));
                let solved = matrix.solution();
                let x: Vec<f64> = (0..width).map(|i| (i as f64 * 0.7).cos()).collect();
                let mut numbers = vec![0.0; sides];
                numbers.extend_from_slice(&x);
                matrix.project(Arch::new(), &mut numbers);
                for side in 0..sides {
                    let found = &solved[side * width..(side + 1) * width];
                    for i in 0..width {
                        let product: f64 = (0..width).map(|j| entry(i.max(j), i.min(j)) * found[j]).sum();
                        assert!((product - right(i, side)).abs() < 1e-10, "{width} {sides}");
                    }
                    let wanted: f64 = x.iter().zip(found).map(|(x, s)| x * s).sum();
                    assert!((numbers[side] + wanted).abs() < 1e-10, "{width} {sides}");
                }
            }
        }
    }

    #[test]
    fn an_indefinite_matrix_is_found() {
        let mut matrix = BorderedTriangle::default();
        matrix.reset(2, 0);
        matrix.row_mut(0).1.copy_from_slice(&[1.0]);
        matrix.row_mut(1).1.copy_from_slice(&[2.0, 3.0]);
        assert!(!matrix.eliminate(Arch::new()), "1 · 3 < 2²");
    }
}
