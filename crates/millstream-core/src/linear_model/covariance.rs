//! A covariance matrix P = U D Uᵀ and its update by one example, in factors that stay positive.
//!
//! U is upper triangular with ones on its diagonal, D diagonal. Bierman (1976), "Measurement updating using the
//! U-D factorization", Automatica 12, updates the factors without forming P: D is a product of positive numbers, so P
//! stays positive definite however long the stream is and however badly scaled or collinear its features are,
//! where the textbook's P ← P − K xᵀP loses that to rounding.
//!
//! With f = Uᵀx, v = D f and noise r, going over columns j = 1 … n:
//! ```text
//! α₀ = r,  αⱼ = αⱼ₋₁ + fⱼ vⱼ,  dⱼ ← dⱼ αⱼ₋₁ / αⱼ,  uⱼ ← uⱼ − (fⱼ / αⱼ₋₁) k,  k ← k + vⱼ (old uⱼ)
//! ```
//! where k begins at 0 and ends as P x; the gain is k / αₙ, and αₙ = r + xᵀP x.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::row::all_finite;
use crate::state::require;

/// A variance that has shrunk to nothing would never grow again, and its inverse would overflow.
pub const LEAST_VARIANCE: f64 = 1e-100;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Covariance {
    /// The columns of U above the diagonal, one after the other: column j has j numbers.
    upper: Vec<f64>,
    diagonal: Vec<f64>,
}

/// What an update needs beside the factors; kept so that nothing is allocated per example.
#[derive(Clone, Debug, Default)]
pub struct Work {
    next: Covariance,
    f: Vec<f64>,
    v: Vec<f64>,
    /// P x.
    pub gain: Vec<f64>,
}

impl Work {
    pub fn memory(&self) -> usize {
        self.next.memory() + 8 * (self.f.capacity() + self.v.capacity() + self.gain.capacity())
    }
}

impl Covariance {
    pub fn width(&self) -> usize {
        self.diagonal.len()
    }

    /// New coordinates, independent of the others and with this variance.
    pub fn grow(&mut self, width: usize, variance: f64) {
        self.diagonal.resize(width.max(self.width()), variance);
        self.upper.resize(place(self.width()), 0.0);
    }

    /// All variances times `factor`.
    pub fn multiply(&mut self, factor: f64) {
        self.diagonal.iter_mut().for_each(|d| *d *= factor);
    }

    /// xᵀP x
    pub fn variance(&self, x: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (j, d) in self.diagonal.iter().enumerate() {
            let f = x[j] + dot(&self.upper[place(j)..place(j) + j], &x[..j]);
            sum += d * f * f;
        }
        sum
    }

    pub fn shrink(&mut self, width: usize) {
        self.diagonal.truncate(width);
        self.upper.truncate(place(width));
    }

    /// Work out the update by `x` seen through noise of variance `noise`, after all variances were multiplied by
    /// `inflation` and held to `ceiling`. Returns αₙ, or None if something would overflow; nothing here changes.
    #[inline]
    pub fn propose(&self, x: &[f64], noise: f64, inflation: f64, ceiling: f64, work: &mut Work) -> Option<f64> {
        let n = self.width();
        let Work { next, f, v, gain } = work;
        for buffer in [&mut next.diagonal, &mut *f, &mut *v, &mut *gain] {
            buffer.resize(n, 0.0);
        }
        next.upper.resize(self.upper.len(), 0.0);
        let mut alpha = noise;
        let mut start = 0;
        for j in 0..n {
            let d = (self.diagonal[j] * inflation).min(ceiling);
            f[j] = x[j] + dot(&self.upper[start..start + j], &x[..j]);
            v[j] = d * f[j];
            next.diagonal[j] = d;
            start += j;
        }
        start = 0;
        for j in 0..n {
            let before = alpha;
            alpha += f[j] * v[j];
            next.diagonal[j] = (next.diagonal[j] * (before / alpha)).max(LEAST_VARIANCE);
            let (along, factor) = (v[j], -f[j] / before);
            let old = &self.upper[start..start + j];
            let new = &mut next.upper[start..start + j];
            for ((new, &old), k) in new.iter_mut().zip(old).zip(gain[..j].iter_mut()) {
                *new = old + factor * *k;
                *k += along * old;
            }
            gain[j] = along;
            start += j;
        }
        let sound = alpha.is_finite() && all_finite(&next.diagonal) && all_finite(&next.upper) && all_finite(gain);
        sound.then_some(alpha)
    }

    #[inline]
    pub fn commit(&mut self, work: &mut Work) {
        std::mem::swap(&mut self.upper, &mut work.next.upper);
        std::mem::swap(&mut self.diagonal, &mut work.next.diagonal);
    }

    pub fn validate(&self, who: &str, width: usize) -> Result<()> {
        let sized = self.width() == width && self.upper.len() == place(width);
        require(who, sized, "the covariance and the weights differ in size")?;
        let positive = self.diagonal.iter().all(|d| *d > 0.0 && d.is_finite());
        require(who, positive && all_finite(&self.upper), "the covariance is not positive definite")
    }

    pub fn memory(&self) -> usize {
        8 * (self.upper.capacity() + self.diagonal.capacity())
    }
}

/// Where column `j` begins.
fn place(j: usize) -> usize {
    j * j.saturating_sub(1) / 2
}

/// Added up in four strands, which the processor works on side by side.
#[inline]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (left, right) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = left.remainder().iter().zip(right.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in left.zip(right) {
        for place in 0..4 {
            sums[place] += a[place] * b[place];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P as a matrix.
    fn matrix(covariance: &Covariance) -> Vec<Vec<f64>> {
        let n = covariance.width();
        let u = |i: usize, j: usize| match i.cmp(&j) {
            std::cmp::Ordering::Less => covariance.upper[place(j) + i],
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater => 0.0,
        };
        let entry = |i: usize, j: usize| (0..n).map(|k| u(i, k) * covariance.diagonal[k] * u(j, k)).sum();
        (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
    }

    /// P = I, x = (1, 2), r = 1: xᵀPx = 5, α = 6, K = x / 6, P ← I − x xᵀ / 6 = [[5/6, −2/6], [−2/6, 2/6]].
    /// In factors: α₁ = 1 + 1 = 2, d₁ = 1 / 2; α₂ = 2 + 4 = 6, d₂ = 2 / 6; u₁₂ = 0 − (2 / 2) · 1 = −1; indeed
    /// 1/2 + 1/3 = 5/6.
    #[test]
    fn one_update_by_hand() {
        let mut covariance = Covariance::default();
        covariance.grow(2, 1.0);
        let mut work = Work::default();
        assert_eq!(covariance.variance(&[1.0, 2.0]), 5.0);
        assert_eq!(covariance.propose(&[1.0, 2.0], 1.0, 1.0, 1.0, &mut work), Some(6.0));
        assert_eq!(work.gain, [1.0, 2.0]);
        covariance.commit(&mut work);
        assert_eq!((covariance.diagonal[0], covariance.upper[0]), (0.5, -1.0));
        let expected = [[5.0 / 6.0, -2.0 / 6.0], [-2.0 / 6.0, 2.0 / 6.0]];
        for (row, expected) in matrix(&covariance).iter().zip(expected) {
            for (found, expected) in row.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-15);
            }
        }
    }
}
