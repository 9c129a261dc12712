//! The Cholesky factor of a Gram matrix that gains and loses points: K = L Lᵀ.
//!
//! For kernel values k = (k(xᵢ, x))ᵢ, u = L⁻¹k are the coordinates of φ(x) in an orthonormal basis of the span of the
//! points, which does not change when a point is added; a = L⁻ᵀu are the coefficients of its projection, and
//! k(x, x) − |u|² is the squared distance from the span. The papers keep K⁻¹ and update that, which loses digits
//! with the square of the condition number and for ever; forward and backward substitution cost the same and are
//! backward stable, and taking a point out is an update by a sum, which cannot fail (Golub and Van Loan, section 6.5.4).

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;
use crate::numeric::dot;
use crate::row::all_finite;

/// A point nearer to the span than this fraction of its length is in the span, up to rounding.
pub const LEAST_FRACTION: f64 = 1e-10;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GrowingCholesky {
    /// The rows of L up to the diagonal, one after the other: row i has i + 1 numbers.
    rows: Vec<f64>,
    /// Index of the point of each row.
    #[serde(rename = "places")]
    pub indices: Vec<u32>,
}

fn start(row: usize) -> usize {
    row * (row + 1) / 2
}

impl GrowingCholesky {
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.rows[start(row)..start(row) + row + 1]
    }

    /// u = L⁻¹k of kernel values by index; returns k(x, x) − |u|².
    pub fn forward(&self, kernel: &[f64], itself: f64, u: &mut Vec<f64>) -> f64 {
        u.clear();
        for (row, &index) in self.indices.iter().enumerate() {
            let factors = self.row(row);
            let rest = kernel[index as usize] - dot(&factors[..row], u);
            u.push(rest / factors[row]);
        }
        itself - dot(u, u)
    }

    /// u becomes L⁻ᵀu, by row.
    pub fn backward(&self, u: &mut [f64]) {
        for row in (0..self.len()).rev() {
            let factors = self.row(row);
            let value = u[row] / factors[row];
            u[row] = value;
            u[..row].iter_mut().zip(factors).for_each(|(u, factor)| *u -= value * factor);
        }
    }

    /// A point at `index` with u = L⁻¹k and the squared distance from the span, which is positive.
    pub fn push(&mut self, index: usize, u: &[f64], distance: f64) {
        self.rows.extend_from_slice(u);
        self.rows.push(distance.sqrt());
        self.indices.push(index as u32);
    }

    pub fn pop(&mut self) {
        if self.indices.pop().is_some() {
            self.rows.truncate(start(self.len()));
        }
    }

    /// Take the point at `index` out. With the column c that its row leaves behind, the rows below become the factor
    /// of L Lᵀ + c cᵀ, row by row; `turns` is for the rotations.
    pub fn remove(&mut self, index: usize, turns: &mut Vec<(f64, f64)>) {
        let Some(gone) = self.indices.iter().position(|&other| other as usize == index) else { return };
        turns.clear();
        for row in gone + 1..self.len() {
            let from = start(row);
            let mut rest = self.rows[from + gone];
            self.rows.copy_within(from + gone + 1..from + row + 1, from + gone);
            let factors = &mut self.rows[from + gone..from + row];
            for (factor, &(cosine, sine)) in factors.iter_mut().zip(turns.iter()) {
                let turned = cosine * *factor + sine * rest;
                rest = cosine * rest - sine * *factor;
                *factor = turned;
            }
            let last = row - gone - 1;
            let length = factors[last].hypot(rest);
            turns.push((factors[last] / length, rest / length));
            factors[last] = length;
        }
        // Row i lost its number at `gone` and is now row i − 1.
        let mut to = start(gone);
        for row in gone + 1..self.len() {
            let from = start(row);
            self.rows.copy_within(from..from + row, to);
            to += row;
        }
        self.indices.remove(gone);
        self.rows.truncate(start(self.len()));
    }

    pub fn copy_from(&mut self, other: &GrowingCholesky) {
        self.rows.clone_from(&other.rows);
        self.indices.clone_from(&other.indices);
    }

    pub fn finite(&self) -> bool {
        all_finite(&self.rows) && (0..self.len()).all(|row| self.row(row)[row] > 0.0)
    }

    /// Whether the row that was pushed last can be computed with.
    pub fn finite_last(&self) -> bool {
        self.len().checked_sub(1).is_none_or(|row| all_finite(self.row(row)) && self.row(row)[row] > 0.0)
    }

    /// Refuse what is not the factor of so many points.
    pub fn validate(&self, who: &str, points: usize) -> Result<()> {
        require(who, self.len() == points && self.rows.len() == start(points), "a factor of the wrong size")?;
        let mut seen = vec![false; points];
        for &index in &self.indices {
            let fresh = seen.get_mut(index as usize).is_some_and(|seen| !std::mem::replace(seen, true));
            require(who, fresh, "a point is out of place")?;
        }
        require(who, self.finite(), "a factor is not finite")
    }

    pub fn memory(&self) -> usize {
        8 * self.rows.capacity() + 4 * self.indices.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(gram: &[[f64; 4]; 4], indices: &[usize]) -> GrowingCholesky {
        let (mut factor, mut u) = (GrowingCholesky::default(), Vec::new());
        for &index in indices {
            let distance = factor.forward(&gram[index], gram[index][index], &mut u);
            factor.push(index, &u, distance);
        }
        factor
    }

    /// K = [4 2; 2 5] = L Lᵀ with L = [2 0; 1 2]. k = (2, 5): u = (1, 2), a = (0, 1): x is the second point itself.
    #[test]
    fn two_points_by_hand() {
        let gram = [[4.0, 2.0, 0.0, 0.0], [2.0, 5.0, 0.0, 0.0], [0.0; 4], [0.0; 4]];
        let factor = factor(&gram, &[0, 1]);
        assert_eq!(factor.rows, [2.0, 1.0, 2.0]);
        let mut u = Vec::new();
        assert_eq!(factor.forward(&[2.0, 5.0], 5.0, &mut u), 0.0);
        factor.backward(&mut u);
        assert_eq!(u, [0.0, 1.0]);
    }

    #[test]
    fn a_factor_without_a_point_is_that_of_the_others() {
        let gram = [[2.0, 0.5, 0.3, 0.1], [0.5, 1.5, 0.2, 0.4], [0.3, 0.2, 1.0, 0.6], [0.1, 0.4, 0.6, 3.0]];
        for gone in 0..4 {
            let mut some = factor(&gram, &[0, 1, 2, 3]);
            some.remove(gone, &mut Vec::new());
            let others: Vec<usize> = (0..4).filter(|&index| index != gone).collect();
            let wanted = factor(&gram, &others);
            assert_eq!(some.indices, wanted.indices);
            for (got, wanted) in some.rows.iter().zip(&wanted.rows) {
                assert!((got - wanted).abs() < 1e-14, "{some:?} is not {wanted:?}");
            }
        }
    }
}
