//! The singular values and right singular vectors of a matrix of few rows or few columns.
//!
//! A matrix with more rows than columns is first reduced to a triangle by Householder reflections, which keeps
//! both. The rows are then turned by the eigenvectors of their Gram matrix, which makes them nearly orthogonal,
//! and one-sided Jacobi rotations (Hestenes, 1958) do the rest. The Gram matrix alone would square the condition
//! number; with the rotations, which usually take one or two sweeps, small singular values are as accurate as the
//! matrix. Rows that are orthogonal are σᵢ vᵢ, so the left vectors are not needed.
//!
//! As in `symmetric_eigen`, the result has the same bits on every processor.

use super::symmetric_eigen::{add, rotate, SymmetricEigen};
use crate::numeric::dot;

const MOST_SWEEPS: usize = 40;
/// Rows whose cosine is below this are orthogonal.
const ORTHOGONAL: f64 = 1e-15;

/// The result, and buffers that are kept from one matrix to the next.
#[derive(Clone, Debug, Default)]
pub struct ThinSvd {
    /// The singular values above rounding errors, the largest first.
    pub values: Vec<f64>,
    /// Their right singular vectors, one after the other.
    pub vectors: Vec<f64>,
    rows: Vec<f64>,
    turned: Vec<f64>,
    gram: Vec<f64>,
    order: Vec<usize>,
    squares: Vec<f64>,
    eigen: SymmetricEigen,
}

impl ThinSvd {
    /// Decompose a matrix of rows of `width` numbers.
    pub fn compute(&mut self, matrix: &[f64], width: usize) {
        self.values.clear();
        self.vectors.clear();
        let scale = matrix.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
        if scale == 0.0 || width == 0 {
            return;
        }
        let mut count = matrix.len() / width;
        let longer = count.max(width) as f64;
        if count > width {
            self.reduce(matrix, count, width, scale);
            count = width;
        } else {
            self.rows.clear();
            self.rows.extend(matrix.iter().map(|x| x / scale));
        }
        self.turn(count, width);
        self.orthogonalise(count, width);
        let ThinSvd { values, vectors, turned, order, squares, .. } = self;
        order.clear();
        order.extend(0..count);
        order.sort_by(|&a, &b| squares[b].total_cmp(&squares[a]));
        let least = squares[order[0]].sqrt() * f64::EPSILON * longer;
        for &index in order.iter() {
            let value = squares[index].sqrt();
            if value > least {
                values.push(value * scale);
                vectors.extend(turned[index * width..(index + 1) * width].iter().map(|x| x / value));
            }
        }
    }

    pub fn memory(&self) -> usize {
        let ThinSvd { values, vectors, rows, turned, gram, order, squares, eigen } = self;
        let numbers = [values, vectors, rows, turned, gram, squares];
        8 * (numbers.iter().map(|numbers| numbers.capacity()).sum::<usize>() + order.capacity()) + eigen.memory()
    }

    /// R of the QR decomposition, by rows.
    fn reduce(&mut self, matrix: &[f64], count: usize, width: usize, scale: f64) {
        // By columns, since reflections run along them.
        let columns = &mut self.turned;
        columns.clear();
        for j in 0..width {
            columns.extend((0..count).map(|i| matrix[i * width + j] / scale));
        }
        self.rows.clear();
        self.rows.resize(width * width, 0.0);
        for j in 0..width {
            let (before, after) = columns.split_at_mut((j + 1) * count);
            let v = &mut before[j * count + j..];
            let (first, tail) = (v[0], dot(&v[1..], &v[1..]));
            let norm = (first * first + tail).sqrt();
            let reflected = if first > 0.0 { -norm } else { norm };
            self.rows[j * width + j] = reflected;
            let head = first - reflected;
            if head == 0.0 {
                after.chunks_exact(count).zip(j + 1..).for_each(|(c, k)| self.rows[j * width + k] = c[j]);
                continue;
            }
            v[0] = head;
            let factor = 2.0 / (head * head + tail);
            for (column, k) in after.chunks_exact_mut(count).zip(j + 1..) {
                let along = dot(v, &column[j..]);
                add(&mut column[j..], -factor * along, v);
                self.rows[j * width + k] = column[j];
            }
        }
    }

    /// Turn the rows by the eigenvectors of their Gram matrix.
    fn turn(&mut self, count: usize, width: usize) {
        let ThinSvd { rows, turned, gram, eigen, .. } = self;
        gram.clear();
        gram.resize(count * count, 0.0);
        for i in 0..count {
            for j in 0..=i {
                gram[i * count + j] = dot(&rows[i * width..(i + 1) * width], &rows[j * width..(j + 1) * width]);
            }
        }
        eigen.compute(gram, count, count);
        turned.clear();
        turned.resize(count * width, 0.0);
        for (row, vector) in turned.chunks_exact_mut(width).zip(eigen.vectors.chunks_exact(count)) {
            for (factor, other) in vector.iter().zip(rows.chunks_exact(width)) {
                add(row, *factor, other);
            }
        }
    }

    fn orthogonalise(&mut self, count: usize, width: usize) {
        let ThinSvd { turned, squares, .. } = self;
        for _ in 0..MOST_SWEEPS {
            let mut rotated = false;
            squares.clear();
            squares.extend(turned.chunks_exact(width).map(|row| dot(row, row)));
            for i in 0..count {
                for j in i + 1..count {
                    let (upper, lower) = turned.split_at_mut(j * width);
                    let (a, b) = (&mut upper[i * width..(i + 1) * width], &mut lower[..width]);
                    let product = dot(a, b);
                    if product.abs() <= ORTHOGONAL * (squares[i] * squares[j]).sqrt() {
                        continue;
                    }
                    rotated = true;
                    let half = (squares[j] - squares[i]) / (2.0 * product);
                    let root = (half * half + 1.0).sqrt();
                    let tangent = if half < 0.0 { 1.0 / (half - root) } else { 1.0 / (half + root) };
                    let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
                    rotate(a, b, cosine, cosine * tangent);
                    squares[i] = dot(a, a);
                    squares[j] = dot(b, b);
                }
            }
            if !rotated {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::random::Random;

    /// (3, 0), (0, −2), (0, 0): the singular values 3 and 2 with the axes.
    #[test]
    fn axes_by_hand() {
        let mut svd = ThinSvd::default();
        svd.compute(&[3.0, 0.0, 0.0, -2.0, 0.0, 0.0], 2);
        assert!(svd.values.iter().zip([3.0, 2.0]).all(|(a, b)| (a - b).abs() < 1e-15), "{:?}", svd.values);
        assert!((svd.vectors[0].abs() - 1.0).abs() < 1e-15 && (svd.vectors[3].abs() - 1.0).abs() < 1e-15);
        svd.compute(&[0.0; 6], 2);
        assert!(svd.values.is_empty());
        // A row and its double: one singular value, √5 · 5.
        svd.compute(&[3.0, 4.0, 6.0, 8.0], 2);
        assert_eq!(svd.values.len(), 1);
        assert!((svd.values[0] - 125f64.sqrt()).abs() < 1e-13);
    }

    /// ‖A v‖ = σ and orthonormal v, also where the singular values span fourteen magnitudes.
    #[test]
    fn the_equations_hold() {
        let mut random = Random::new(5, 0);
        let mut svd = ThinSvd::default();
        for (count, width) in [(1, 1), (3, 8), (8, 3), (20, 20), (60, 11), (11, 60)] {
            for kind in 0..2 {
                let spread = |i: usize| if kind == 0 { 1.0 } else { 10f64.powf(-14.0 * i as f64 / count as f64) };
                let matrix: Vec<f64> =
                    (0..count * width).map(|at| random.gaussian() * spread(at / width) * 1e120).collect();
                svd.compute(&matrix, width);
                let square: f64 = matrix.iter().map(|x| x * 1e-120 * (x * 1e-120)).sum();
                let found: f64 = svd.values.iter().map(|x| x * 1e-120 * (x * 1e-120)).sum();
                assert!((square - found).abs() < 1e-13 * square);
                for (k, vector) in svd.vectors.chunks_exact(width).enumerate() {
                    let along: f64 =
                        matrix.chunks_exact(width).map(|row| (dot(row, vector) * 1e-120).powi(2)).sum();
                    let expected = svd.values[k] * 1e-120;
                    // Small singular values to a fraction of themselves, not of the largest.
                    assert!((along.sqrt() - expected).abs() < 1e-12 * svd.values[0] * 1e-120 + 1e-3 * expected);
                    for (j, other) in svd.vectors.chunks_exact(width).enumerate() {
                        let one = f64::from(u8::from(j == k));
                        assert!((dot(vector, other) - one).abs() < 1e-13, "{count} {width} {kind} {j} {k}");
                    }
                }
            }
        }
    }
}
