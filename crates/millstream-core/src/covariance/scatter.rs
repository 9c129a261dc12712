//! The exact scatter matrix of complete rows, S = Σ w (x − m)(x − m)ᵀ.
//!
//! Welford's recursion with weights: δ = x − m, m ← m + δ w / W, S ← S + g gᵀ with g = δ √(w Wₒ / W), where Wₒ is the weight
//! before the row. Two parts of a stream merge with δ = m₂ − m₁ and w = W₂ (Chan, Golub and LeVeque, 1983). A row is
//! removed by the same formula backwards.

use pulp::Arch;
use serde::{Deserialize, Serialize};

use super::validity::{bound, check_products};
use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::linear_algebra::packed_triangle::{add_products, triangle};
use crate::row::all_finite;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Scatter {
    pub weight: f64,
    pub means: Vec<f64>,
    /// The lower triangle of S, row by row.
    pub sums: Vec<f64>,
}

/// Buffers of an update.
#[derive(Clone)]
pub struct Work {
    pub delta: Vec<f64>,
    arch: Arch,
}

impl Default for Work {
    fn default() -> Self {
        Work { delta: Vec::new(), arch: Arch::new() }
    }
}

impl Work {
    pub fn memory(&self) -> usize {
        8 * self.delta.capacity()
    }
}

impl Scatter {
    pub fn width(&self) -> usize {
        self.means.len()
    }

    /// Add features that had these values in all rows so far.
    pub fn widen(&mut self, values: &[f64]) {
        self.means.extend_from_slice(values);
        self.sums.resize(triangle(self.means.len()), 0.0);
    }

    /// The differences between a row without missing numbers and the means, in `work.delta`.
    pub fn centre(&self, x: &[f64], work: &mut Work) {
        work.delta.clear();
        work.delta.extend(x.iter().zip(&self.means).map(|(x, mean)| x - mean));
    }

    /// Whether the sums stay finite after the row whose differences are in `work.delta`: those of squares bound the others.
    pub fn admits(&self, w: f64, work: &Work) -> bool {
        let all = self.weight + w;
        let factor = w * (self.weight / all);
        let mut largest = 0.0f64;
        for (i, &delta) in work.delta.iter().enumerate() {
            largest = largest.max(self.sums[triangle(i) + i] + delta * delta * factor);
            if delta.is_nan() {
                return false;
            }
        }
        all.is_finite() && largest.is_finite() && largest < 1e300
    }

    /// Add the row whose differences are in `work.delta`, which are lost.
    pub fn add(&mut self, w: f64, work: &mut Work) {
        let before = self.weight;
        self.weight += w;
        let (fraction, factor) = (w / self.weight, (w * (before / self.weight)).sqrt());
        for (mean, delta) in self.means.iter_mut().zip(&mut work.delta) {
            *mean += *delta * fraction;
            *delta *= factor;
        }
        self.add_square(work);
    }

    fn add_square(&mut self, work: &mut Work) {
        let width = self.width();
        if width > 0 {
            work.delta.resize(width.next_multiple_of(4), 0.0);
            add_products(work.arch, &mut self.sums, &work.delta, width);
        }
    }

    /// Remove a row that was added before.
    pub fn remove(&mut self, who: &str, x: &[f64], w: f64, work: &mut Work) -> Result<()> {
        let rest = self.weight - w;
        if rest < -1e-9 * w {
            return Err(Fault::value(format!("{who}: cannot remove a row that was never added")));
        }
        if rest <= 1e-12 * self.weight {
            let width = self.width();
            *self = Scatter::default();
            self.widen(&vec![0.0; width]);
            return Ok(());
        }
        self.centre(x, work);
        let (fraction, factor) = (w / rest, w * (self.weight / rest));
        for (i, &delta) in work.delta.iter().enumerate() {
            for (j, other) in work.delta.iter().enumerate().take(i + 1) {
                let sum = &mut self.sums[triangle(i) + j];
                *sum -= factor * delta * other;
                if i == j {
                    *sum = sum.max(0.0);
                }
            }
        }
        // The differences of large sums may leave a product that is larger than the squares allow.
        for i in 0..self.width() {
            for j in 0..i {
                let bound = bound(self.sums[triangle(i) + i], self.sums[triangle(j) + j]);
                let sum = &mut self.sums[triangle(i) + j];
                *sum = sum.clamp(-bound, bound);
            }
        }
        for (mean, delta) in self.means.iter_mut().zip(&work.delta) {
            *mean -= delta * fraction;
        }
        self.weight = rest;
        Ok(())
    }

    /// Merge another part of the stream with the same features in the same order.
    pub fn merge(&mut self, other: &Scatter, work: &mut Work) {
        if other.weight <= 0.0 {
            return;
        }
        if self.weight <= 0.0 {
            self.clone_from(other);
            return;
        }
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| *sum += other);
        self.centre(&other.means, work);
        self.add(other.weight, work);
    }

    /// The same with feature i at index `slots[i]`, for as many features.
    pub fn permuted(&self, slots: &[usize]) -> Scatter {
        let mut next = self.clone();
        for (i, &a) in slots.iter().enumerate() {
            next.means[a] = self.means[i];
            for (j, &b) in slots.iter().enumerate().take(i + 1) {
                next.sums[triangle(a.max(b)) + a.min(b)] = self.sums[triangle(i) + j];
            }
        }
        next
    }

    /// S divided by a number, as a full matrix.
    pub fn divided(&self, divisor: f64) -> Vec<f64> {
        full(self.width(), |i, j| self.sums[triangle(i) + j] / divisor)
    }

    pub fn trace(&self) -> f64 {
        (0..self.width()).map(|i| self.sums[triangle(i) + i]).sum()
    }

    pub fn is_finite(&self) -> bool {
        self.weight.is_finite() && all_finite(&self.means) && all_finite(&self.sums)
    }

    pub fn validate(&self, who: &str) -> Result<()> {
        let width = self.width();
        require(who, self.sums.len() == triangle(width), "sums of the wrong length")?;
        let diagonal = (0..width).all(|i| self.sums[triangle(i) + i] >= 0.0);
        require(who, self.is_finite() && diagonal, "a sum is not finite, or a square is negative")?;
        require(who, self.weight >= 0.0, "a weight is negative")?;
        check_products(who, width, |i, j| self.sums[triangle(i) + j])
    }

    pub fn memory(&self) -> usize {
        8 * (self.means.capacity() + self.sums.capacity())
    }
}

/// A symmetric matrix, row by row, from the entries of its lower triangle.
pub fn full(width: usize, entry: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let mut matrix = vec![0.0; width * width];
    for i in 0..width {
        for j in 0..=i {
            let value = entry(i, j);
            matrix[i * width + j] = value;
            matrix[j * width + i] = value;
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // (1, 2), (2, 6), (6, 4): means 3 and 4, squares 4 + 1 + 9 = 14 and 4 + 4 = 8, products 4 − 2 + 0 = 2.
        let mut scatter = Scatter::default();
        scatter.widen(&[0.0, 0.0]);
        let mut work = Work::default();
        let add = |scatter: &mut Scatter, x: &[f64], work: &mut Work| {
            scatter.centre(x, work);
            assert!(scatter.admits(1.0, work));
            scatter.add(1.0, work);
        };
        for x in [[1.0, 2.0], [2.0, 6.0], [6.0, 4.0]] {
            add(&mut scatter, &x, &mut work);
        }
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-14);
        assert!(near(&scatter.means, &[3.0, 4.0]) && near(&scatter.sums, &[14.0, 2.0, 8.0]));
        // Another one comes and goes.
        let before = scatter.clone();
        add(&mut scatter, &[7.0, -3.0], &mut work);
        scatter.remove("test", &[7.0, -3.0], 1.0, &mut work).expect("it was added");
        assert!(near(&scatter.means, &before.means));
        assert!(scatter.sums.iter().zip(&before.sums).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
