//! The largest eigenvalues of a symmetric matrix and their eigenvectors.
//!
//! The matrix A is reduced to a tridiagonal one by Householder reflections, A = Q T Qᵀ (Golub and Van Loan,
//! "Matrix computations", algorithm 8.3.1). T is diagonalised by QL steps with Wilkinson's implicit shift
//! (Dubrulle, Martin and Wilkinson, 1968), and Q is applied to the wanted eigenvectors alone. A is scaled to a
//! largest entry of 1 first, so that no square overflows.
//!
//! Additions, multiplications, divisions and square roots in a fixed order are all there is, so the result has the
//! same bits on every processor and for every instruction set that it is compiled for.

use pulp::{Arch, Simd, WithSimd};

use crate::numeric::dot;

/// QL steps per eigenvalue. Three are common, and no matrix is known that needs thirty.
const MOST_STEPS: usize = 60;

/// The result, and buffers that are kept from one matrix to the next.
#[derive(Clone, Debug, Default)]
pub struct SymmetricEigen {
    /// All eigenvalues, the largest first.
    pub values: Vec<f64>,
    /// The first eigenvectors, of length 1, one after the other.
    pub vectors: Vec<f64>,
    matrix: Vec<f64>,
    /// Of length 1 in the first entry; reflection k starts at entry k · n.
    reflections: Vec<f64>,
    betas: Vec<f64>,
    diagonal: Vec<f64>,
    /// Entry i couples i and i + 1.
    beside: Vec<f64>,
    /// Eigenvectors of T, one after the other.
    rotated: Vec<f64>,
    order: Vec<usize>,
    along: Vec<f64>,
}

impl SymmetricEigen {
    /// Decompose a matrix of `n` rows, of which the lower triangle is read, and keep `count` eigenvectors.
    pub fn compute(&mut self, matrix: &[f64], n: usize, count: usize) {
        let largest = matrix.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
        let scale = if largest > 0.0 { largest } else { 1.0 };
        self.matrix.clear();
        self.matrix.extend(matrix[..n * n].iter().map(|x| x / scale));
        Arch::new().dispatch(Diagonalise { eigen: self, n });
        let SymmetricEigen { values, vectors, diagonal, order, rotated, reflections, betas, .. } = self;
        order.clear();
        order.extend(0..n);
        order.sort_by(|&a, &b| diagonal[b].total_cmp(&diagonal[a]));
        values.clear();
        values.extend(order.iter().map(|&index| diagonal[index] * scale));
        vectors.clear();
        for &index in order.iter().take(count) {
            let start = vectors.len();
            vectors.extend_from_slice(&rotated[index * n..(index + 1) * n]);
            let vector = &mut vectors[start..];
            for k in (0..n.saturating_sub(2)).rev() {
                let reflection = &reflections[k * n..k * n + n - 1 - k];
                let factor = -betas[k] * dot(reflection, &vector[k + 1..]);
                add(&mut vector[k + 1..], factor, reflection);
            }
        }
    }

    pub fn memory(&self) -> usize {
        let SymmetricEigen {
            values,
            vectors,
            matrix,
            reflections,
            betas,
            diagonal,
            beside,
            rotated,
            order,
            along,
        } = self;
        let numbers = [values, vectors, matrix, reflections, betas, diagonal, beside, rotated, along];
        8 * (numbers.iter().map(|numbers| numbers.capacity()).sum::<usize>() + order.capacity())
    }

    #[inline(always)]
    fn tridiagonalise(&mut self, n: usize) {
        let SymmetricEigen { matrix, reflections, betas, diagonal, beside, along, .. } = self;
        for (numbers, length) in [(&mut *reflections, n * n), (betas, n), (diagonal, n), (beside, n), (along, n)] {
            numbers.clear();
            numbers.resize(length, 0.0);
        }
        for k in 0..n.saturating_sub(2) {
            let m = n - 1 - k;
            let v = &mut reflections[k * n..k * n + m];
            for (i, v) in v.iter_mut().enumerate() {
                *v = matrix[(k + 1 + i) * n + k];
            }
            let (first, tail) = (v[0], dot(&v[1..], &v[1..]));
            if tail == 0.0 {
                self.beside[k] = first;
                v.fill(0.0);
                v[0] = 1.0;
                continue;
            }
            // The sign that avoids cancellation.
            let norm = (first * first + tail).sqrt();
            let reflected = if first > 0.0 { -norm } else { norm };
            let head = first - reflected;
            v.iter_mut().skip(1).for_each(|v| *v /= head);
            v[0] = 1.0;
            let beta = 2.0 / (1.0 + tail / (head * head));
            self.beside[k] = reflected;
            self.betas[k] = beta;
            // p = β A v by one pass over the lower triangle, w = p − (β pᵀv / 2) v, A ← A − v wᵀ − w vᵀ.
            let p = &mut self.along[..m];
            p.fill(0.0);
            for i in 0..m {
                let row = &matrix[(k + 1 + i) * n + k + 1..(k + 1 + i) * n + k + 1 + i];
                p[i] += dot(row, &v[..i]) + matrix[(k + 1 + i) * n + k + 1 + i] * v[i];
                add(&mut p[..i], v[i], row);
            }
            p.iter_mut().for_each(|p| *p *= beta);
            let half = 0.5 * beta * dot(p, v);
            add(p, -half, v);
            for i in 0..m {
                let row = &mut matrix[(k + 1 + i) * n + k + 1..(k + 1 + i) * n + k + 2 + i];
                let (v_i, p_i) = (v[i], p[i]);
                for ((entry, v), p) in row.iter_mut().zip(&*v).zip(&*p) {
                    *entry -= v_i * p + p_i * v;
                }
            }
        }
        for i in 0..n {
            self.diagonal[i] = matrix[i * n + i];
        }
        if n > 1 {
            self.beside[n - 2] = matrix[(n - 1) * n + n - 2];
        }
    }

    #[inline(always)]
    fn diagonalise(&mut self, n: usize) {
        let SymmetricEigen { diagonal: d, beside: e, rotated, .. } = self;
        rotated.clear();
        rotated.resize(n * n, 0.0);
        (0..n).for_each(|i| rotated[i * n + i] = 1.0);
        for first in 0..n {
            for _ in 0..MOST_STEPS {
                let last = (first..n - 1).find(|&i| decoupled(d[i], e[i], d[i + 1])).unwrap_or(n - 1);
                if last == first {
                    break;
                }
                ql_step(first, last, d, e, rotated, n);
            }
        }
    }
}

#[inline(always)]
fn decoupled(upper: f64, beside: f64, lower: f64) -> bool {
    beside.abs() <= f64::EPSILON * (upper.abs() + lower.abs()) || beside.abs() < 1e-300
}

struct Diagonalise<'a> {
    eigen: &'a mut SymmetricEigen,
    n: usize,
}

impl WithSimd for Diagonalise<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        self.eigen.tridiagonalise(self.n);
        self.eigen.diagonalise(self.n);
    }
}

/// One QL step on the block from `first` to `last`, with rotations of the eigenvectors.
#[inline(always)]
fn ql_step(first: usize, last: usize, d: &mut [f64], e: &mut [f64], rotated: &mut [f64], n: usize) {
    let half = (d[first + 1] - d[first]) / (2.0 * e[first]);
    let root = (half * half + 1.0).sqrt();
    let signed = if half < 0.0 { half - root } else { half + root };
    let mut g = d[last] - d[first] + e[first] / signed;
    let (mut sine, mut cosine, mut p) = (1.0, 1.0, 0.0);
    for i in (first..last).rev() {
        let (f, b) = (sine * e[i], cosine * e[i]);
        let r = (f * f + g * g).sqrt();
        e[i + 1] = r;
        if r == 0.0 {
            // An underflow: the block falls apart here.
            d[i + 1] -= p;
            e[last] = 0.0;
            return;
        }
        (sine, cosine) = (f / r, g / r);
        g = d[i + 1] - p;
        let step = (d[i] - g) * sine + 2.0 * cosine * b;
        p = sine * step;
        d[i + 1] = g + p;
        g = cosine * step - b;
        let (upper, lower) = rotated[i * n..(i + 2) * n].split_at_mut(n);
        rotate(upper, lower, cosine, sine);
    }
    d[first] -= p;
    e[first] = g;
    e[last] = 0.0;
}

/// (a, b) ← (c a − s b, s a + c b)
#[inline(always)]
pub fn rotate(a: &mut [f64], b: &mut [f64], cosine: f64, sine: f64) {
    for (a, b) in a.iter_mut().zip(b) {
        (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
    }
}

/// a ← a + factor · b
#[inline(always)]
pub fn add(a: &mut [f64], factor: f64, b: &[f64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += factor * b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::random::Random;

    /// [2 1; 1 2] has the eigenvalues 3 and 1 with (1, 1)/√2 and (1, −1)/√2.
    #[test]
    fn two_by_two_by_hand() {
        let mut eigen = SymmetricEigen::default();
        eigen.compute(&[2.0, 9.0, 1.0, 2.0], 2, 1);
        assert!((eigen.values[0] - 3.0).abs() < 1e-15 && (eigen.values[1] - 1.0).abs() < 1e-15);
        assert_eq!(eigen.vectors.len(), 2);
        let half = 0.5f64.sqrt();
        assert!(eigen.vectors.iter().all(|x| (x.abs() - half).abs() < 1e-15));
        assert!(eigen.vectors[0] * eigen.vectors[1] > 0.0);
    }

    /// A v = λ v and VᵀV = I, for random matrices, for equal eigenvalues, for gaps of many magnitudes, and for
    /// zeros.
    #[test]
    fn the_equations_hold() {
        let mut random = Random::new(3, 0);
        let mut eigen = SymmetricEigen::default();
        for n in [1, 2, 3, 4, 7, 20, 51] {
            for kind in 0..5 {
                let mut matrix = vec![0.0; n * n];
                for i in 0..n {
                    for j in 0..=i {
                        let entry = match kind {
                            0 => random.gaussian(),
                            1 => f64::from(u8::from(i == j)) + 1.0,
                            2 => random.gaussian() * 10f64.powi(-((i + j) as i32)),
                            3 => f64::from(u8::from(i == j)) * (i / 2) as f64 * 1e200,
                            _ => 0.0,
                        };
                        (matrix[i * n + j], matrix[j * n + i]) = (entry, entry);
                    }
                }
                eigen.compute(&matrix, n, n);
                let norm = matrix.iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs())) * n as f64;
                assert!(eigen.values.is_sorted_by(|a, b| a >= b));
                for (k, vector) in eigen.vectors.chunks_exact(n).enumerate() {
                    for i in 0..n {
                        let error = dot(&matrix[i * n..(i + 1) * n], vector) - eigen.values[k] * vector[i];
                        assert!(error.abs() <= 1e-14 * norm, "{n} {kind}: {error}");
                    }
                    for (j, other) in eigen.vectors.chunks_exact(n).enumerate() {
                        let expected = f64::from(u8::from(j == k));
                        assert!((dot(vector, other) - expected).abs() < 1e-13, "{n} {kind}");
                    }
                }
            }
        }
    }
}
