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
//!
//! An update must not be half made. To look at every number of U for an overflow costs a third of the update, so a
//! bound on them is kept: from the bound and f, v, α follows how large they can become. Where that is far from what a
//! number can hold, U is updated in place; the bound grows, and every few hundred examples it is worked out anew.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::row::all_finite;
use crate::state::require;

use super::triangle::{dot, multiply, padded, start, turn, LANES};

/// A variance that has shrunk to nothing would never grow again, and its inverse would overflow.
pub const LEAST_VARIANCE: f64 = 1e-100;

/// Numbers up to this can be multiplied and added up without a look at each of them.
pub const SURE: f64 = 1e150;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Packed", into = "Packed")]
pub struct Covariance {
    /// U as triangle.rs has it.
    columns: Vec<f64>,
    diagonal: Vec<f64>,
    /// No number of U is larger.
    bound: f64,
}

/// As it is saved.
#[derive(Serialize, Deserialize)]
struct Packed {
    /// The columns of U above the diagonal, one after the other: column j has j numbers.
    upper: Vec<f64>,
    diagonal: Vec<f64>,
}

impl From<Covariance> for Packed {
    fn from(covariance: Covariance) -> Self {
        let above = |j: usize| covariance.columns[start(j)..start(j) + j].iter().copied();
        let upper = (0..covariance.width()).flat_map(above).collect();
        Packed { upper, diagonal: covariance.diagonal }
    }
}

impl TryFrom<Packed> for Covariance {
    type Error = &'static str;

    fn try_from(packed: Packed) -> std::result::Result<Self, Self::Error> {
        let n = packed.diagonal.len();
        if packed.upper.len() != n.saturating_mul(n.saturating_sub(1)) / 2 {
            return Err("a covariance is not a triangle");
        }
        let mut covariance = Covariance { columns: vec![0.0; start(n)], diagonal: packed.diagonal, bound: 0.0 };
        let mut upper = packed.upper.into_iter();
        for j in 0..n {
            let column = &mut covariance.columns[start(j)..][..=j];
            column[j] = 1.0;
            column[..j].iter_mut().zip(&mut upper).for_each(|(u, saved)| *u = saved);
        }
        covariance.bound = covariance.largest();
        Ok(covariance)
    }
}

/// What an update needs beside the factors; kept so that nothing is allocated per example.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// Of how many coordinates the numbers below are; behind them are zeros up to a multiple of four.
    width: usize,
    /// The example.
    pub x: Vec<f64>,
    f: Vec<f64>,
    v: Vec<f64>,
    factor: Vec<f64>,
    alpha: Vec<f64>,
    diagonal: Vec<f64>,
    columns: Vec<f64>,
    /// P x.
    pub gain: Vec<f64>,
    /// No number of P x is larger.
    pub reach: f64,
    /// No number of U is larger after the update.
    bound: f64,
}

impl Work {
    pub fn memory(&self) -> usize {
        let Work { x, f, v, factor, alpha, diagonal, columns, gain, .. } = self;
        8 * [x, f, v, factor, alpha, diagonal, columns, gain].map(Vec::capacity).iter().sum::<usize>()
    }

    fn resize(&mut self, n: usize) {
        let Work { x, f, v, factor, alpha, diagonal, gain, .. } = self;
        for buffer in [f, v, factor, alpha, diagonal] {
            buffer.clear();
            buffer.resize(padded(n), 0.0);
        }
        x.resize(padded(n), 0.0);
        gain.resize(padded(n), 0.0);
        self.width = n;
    }
}

impl Covariance {
    pub fn width(&self) -> usize {
        self.diagonal.len()
    }

    /// New coordinates, independent of the others and with this variance.
    pub fn grow(&mut self, width: usize, variance: f64) {
        let before = self.width();
        if width <= before {
            return;
        }
        self.diagonal.resize(width, variance);
        self.columns.resize(start(width), 0.0);
        for j in before..width {
            self.columns[start(j) + j] = 1.0;
        }
        self.bound = self.bound.max(1.0);
    }

    /// All variances times `factor`.
    pub fn multiply(&mut self, factor: f64) {
        self.diagonal.iter_mut().for_each(|d| *d *= factor);
    }

    /// xᵀP x
    pub fn variance(&self, x: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (j, d) in self.diagonal.iter().enumerate() {
            let f = dot(&self.columns[start(j)..start(j) + j + 1], &x[..=j]);
            sum += d * f * f;
        }
        sum
    }

    /// The variance of each coordinate.
    pub fn variances(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.width()];
        for (j, d) in self.diagonal.iter().enumerate() {
            let column = &self.columns[start(j)..start(j) + j + 1];
            sums.iter_mut().zip(column).for_each(|(sum, u)| *sum += d * u * u);
        }
        sums
    }

    /// The inverse of P, row by row: with W = U⁻¹ it is Wᵀ D⁻¹ W.
    pub fn information(&self) -> Vec<f64> {
        let n = self.width();
        // Row i of W, from the last up: wᵢ = eᵢ − Σ uᵢⱼ wⱼ over j > i.
        let mut inverse = vec![0.0; n * n];
        for i in (0..n).rev() {
            let (rows, after) = inverse.split_at_mut((i + 1) * n);
            let row = &mut rows[i * n..];
            row[i] = 1.0;
            for j in i + 1..n {
                let u = self.columns[start(j) + i];
                let other = &after[(j - i - 1) * n..(j - i) * n];
                row[j..].iter_mut().zip(&other[j..]).for_each(|(w, o)| *w -= u * o);
            }
        }
        let mut information = vec![0.0; n * n];
        for (k, d) in self.diagonal.iter().enumerate() {
            let row = &inverse[k * n..(k + 1) * n];
            for i in k..n {
                let share = row[i] / d;
                information[i * n..(i + 1) * n].iter_mut().zip(row).for_each(|(sum, w)| *sum += share * w);
            }
        }
        information
    }

    pub fn shrink(&mut self, width: usize) {
        self.diagonal.truncate(width);
        self.columns.truncate(start(self.width()));
    }

    fn largest(&self) -> f64 {
        self.columns.iter().fold(1.0, |most: f64, u| most.max(u.abs()))
    }

    /// Work out f, v, α and the new D for the example in `work.x`; `inflation` and `ceiling` as for `propose`. Gives αₙ,
    /// or None if something would overflow. Then either `update`, which is for where `work.reach` and the like are
    /// below `SURE`, or `propose`.
    #[inline]
    pub fn prepare(&mut self, noise: f64, inflation: f64, ceiling: f64, work: &mut Work) -> Option<f64> {
        let alpha = self.measure(noise, inflation, ceiling, work)?;
        let sure = work.bound < SURE;
        if !sure && self.bound > 1.0 {
            let before = self.bound;
            self.bound = self.largest();
            let share = self.bound / before;
            work.reach *= share;
            work.bound *= share;
        }
        Some(alpha)
    }

    #[inline]
    fn measure(&self, noise: f64, inflation: f64, ceiling: f64, work: &mut Work) -> Option<f64> {
        let n = self.width();
        if work.width != n {
            work.resize(n);
        }
        work.x.resize(padded(n), 0.0);
        let Work { x, f, v, factor, alpha, diagonal, .. } = work;
        multiply(&self.columns, x, &mut f[..n]);
        diagonal[..n].copy_from_slice(&self.diagonal);
        let (f, v, factor) =
            (f.as_chunks::<LANES>().0, v.as_chunks_mut::<LANES>().0, factor.as_chunks_mut::<LANES>().0);
        let (alpha, diagonal) = (alpha.as_chunks_mut::<LANES>().0, diagonal.as_chunks_mut::<LANES>().0);
        let groups = f.len();
        let (v, factor, alpha, diagonal) =
            (&mut v[..groups], &mut factor[..groups], &mut alpha[..groups], &mut diagonal[..groups]);
        // In four strands, like all sums here. A sum of absolute values is no less than the largest of them, and infinite
        // or NaN if one of them is.
        let (mut most, mut steepest, mut sum) = ([0.0; LANES], [0.0; LANES], noise);
        for g in 0..groups {
            let (f, mut d, mut along) = (f[g], diagonal[g], [0.0; LANES]);
            for lane in 0..LANES {
                let inflated = d[lane] * inflation;
                d[lane] = if inflated < ceiling { inflated } else { ceiling };
                along[lane] = d[lane] * f[lane];
                most[lane] += along[lane].abs();
            }
            (diagonal[g], v[g]) = (d, along);
            let mut before = [sum; LANES];
            for lane in 0..LANES {
                before[lane] = sum;
                sum += f[lane] * along[lane];
                alpha[g][lane] = sum;
            }
            factor[g] = before;
        }
        for g in 0..groups {
            let (f, before, after, mut d) = (f[g], factor[g], alpha[g], diagonal[g]);
            let (mut ratio, mut slope) = ([0.0; LANES], [0.0; LANES]);
            for lane in 0..LANES {
                ratio[lane] = before[lane] / after[lane];
            }
            for lane in 0..LANES {
                slope[lane] = -f[lane] / before[lane];
            }
            for lane in 0..LANES {
                let shrunk = d[lane] * ratio[lane];
                d[lane] = if shrunk > LEAST_VARIANCE { shrunk } else { LEAST_VARIANCE };
                steepest[lane] += slope[lane].abs();
            }
            (diagonal[g], factor[g]) = (d, slope);
        }
        let (most, steepest): (f64, f64) = (most.iter().sum(), steepest.iter().sum());
        work.reach = self.bound * most;
        work.bound = self.bound + steepest * work.reach;
        (sum.is_finite() && most.is_finite() && steepest.is_finite()).then_some(sum)
    }

    /// Whether `update` may be called.
    #[inline]
    pub fn sure(&self, work: &Work) -> bool {
        work.bound < SURE && work.reach < SURE
    }

    /// Make the update that was prepared; P x is then in `work.gain`.
    #[inline]
    pub fn update(&mut self, work: &mut Work) {
        let Work { factor, v, gain, diagonal, .. } = work;
        gain.fill(0.0);
        let n = self.width();
        turn(&mut self.columns, &factor[..n], &v[..n], gain);
        self.diagonal.copy_from_slice(&diagonal[..n]);
        self.bound = work.bound;
    }

    /// Work out the update by `x` seen through noise of variance `noise`, after all variances were multiplied by
    /// `inflation` and held to `ceiling`. Returns αₙ, or None if something would overflow; nothing here changes.
    pub fn propose(&self, x: &[f64], noise: f64, inflation: f64, ceiling: f64, work: &mut Work) -> Option<f64> {
        work.x.clear();
        work.x.extend_from_slice(x);
        work.x.resize(padded(self.width()), 0.0);
        let alpha = self.measure(noise, inflation, ceiling, work)?;
        let Work { factor, v, gain, columns, .. } = work;
        columns.clear();
        columns.extend_from_slice(&self.columns);
        gain.fill(0.0);
        let n = self.width();
        turn(columns, &factor[..n], &v[..n], gain);
        (all_finite(columns) && all_finite(gain)).then_some(alpha)
    }

    pub fn commit(&mut self, work: &mut Work) {
        std::mem::swap(&mut self.columns, &mut work.columns);
        let n = self.width();
        self.diagonal.copy_from_slice(&work.diagonal[..n]);
        self.bound = if work.bound < SURE { work.bound } else { self.largest() };
    }

    pub fn validate(&self, who: &str, width: usize) -> Result<()> {
        let sized = self.width() == width && self.columns.len() == start(width);
        require(who, sized, "the covariance and the weights differ in size")?;
        let positive = self.diagonal.iter().all(|d| *d > 0.0 && d.is_finite());
        require(who, positive && all_finite(&self.columns), "the covariance is not positive definite")
    }

    pub fn memory(&self) -> usize {
        8 * (self.columns.capacity() + self.diagonal.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::super::triangle::length;
    use super::*;

    /// P as a matrix.
    fn matrix(covariance: &Covariance) -> Vec<Vec<f64>> {
        let n = covariance.width();
        let u = |i: usize, j: usize| if i < length(j) { covariance.columns[start(j) + i] } else { 0.0 };
        let entry = |i: usize, j: usize| (0..n).map(|k| u(i, k) * covariance.diagonal[k] * u(j, k)).sum();
        (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
    }

    fn near(found: &[f64], expected: &[f64], error: f64) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= error * (1.0 + expected.abs()), "{found} {expected}");
        }
    }

    /// P = I, x = (1, 2), r = 1: xᵀPx = 5, α = 6, K = x / 6, P ← I − x xᵀ / 6 = [[5/6, −2/6], [−2/6, 2/6]].
    /// In factors: α₁ = 1 + 1 = 2, d₁ = 1 / 2; α₂ = 2 + 4 = 6, d₂ = 2 / 6; u₁₂ = 0 − (2 / 2) · 1 = −1; indeed
    /// 1/2 + 1/3 = 5/6. Its inverse is I + x xᵀ = [[2, 2], [2, 5]].
    #[test]
    fn one_update_by_hand() {
        let mut covariance = Covariance::default();
        covariance.grow(2, 1.0);
        let mut work = Work::default();
        assert_eq!(covariance.variance(&[1.0, 2.0]), 5.0);
        assert_eq!(covariance.propose(&[1.0, 2.0], 1.0, 1.0, 1.0, &mut work), Some(6.0));
        assert_eq!(work.gain, [1.0, 2.0, 0.0, 0.0]);
        covariance.commit(&mut work);
        assert_eq!((covariance.diagonal[0], covariance.columns[start(1)]), (0.5, -1.0));
        near(&matrix(&covariance).concat(), &[5.0 / 6.0, -2.0 / 6.0, -2.0 / 6.0, 2.0 / 6.0], 1e-15);
        near(&covariance.information(), &[2.0, 2.0, 2.0, 5.0], 1e-15);
        near(&covariance.variances(), &[5.0 / 6.0, 2.0 / 6.0], 1e-15);
    }

    /// Eleven coordinates: two groups of four columns and three by themselves. In place and by proposal, the factors
    /// are the same bits, and their inverse is I + Σ x xᵀ.
    #[test]
    fn in_place_is_the_proposal() {
        let n = 11;
        let (mut covariance, mut other) = (Covariance::default(), Covariance::default());
        covariance.grow(n, 1.0);
        other.grow(5, 1.0);
        other.grow(n, 1.0);
        let (mut work, mut spare) = (Work::default(), Work::default());
        let mut sums: Vec<f64> = (0..n * n).map(|at| f64::from(u8::from(at % (n + 1) == 0))).collect();
        for t in 0..500u64 {
            let x: Vec<f64> = (0..n as u64).map(|i| ((t * 31 + i * i * 17) % 101) as f64 / 50.0 - 1.0).collect();
            work.x.clear();
            work.x.extend_from_slice(&x);
            let alpha = covariance.prepare(1.0, 1.0, f64::MAX, &mut work);
            assert!(covariance.sure(&work));
            covariance.update(&mut work);
            assert_eq!(alpha, other.propose(&x, 1.0, 1.0, f64::MAX, &mut spare));
            other.commit(&mut spare);
            assert_eq!(work.gain, spare.gain);
            for (at, sum) in sums.iter_mut().enumerate() {
                *sum += x[at / n] * x[at % n];
            }
        }
        assert_eq!(covariance.columns, other.columns);
        assert_eq!(covariance.diagonal, other.diagonal);
        assert!(covariance.largest() <= covariance.bound);
        near(&covariance.information(), &sums, 1e-10);
    }

    #[test]
    fn saved_without_ones_and_zeros() {
        let mut covariance = Covariance::default();
        covariance.grow(6, 2.0);
        let mut work = Work::default();
        covariance.propose(&[1.0, 2.0, -1.0, 0.5, 3.0, 1.0], 1.0, 1.0, 9.0, &mut work).unwrap();
        covariance.commit(&mut work);
        let packed = Packed::from(covariance.clone());
        assert_eq!(packed.upper.len(), 15);
        let again = Covariance::try_from(packed).unwrap();
        assert_eq!((again.columns, again.diagonal), (covariance.columns, covariance.diagonal));
        assert!(Covariance::try_from(Packed { upper: vec![0.0; 2], diagonal: vec![1.0; 2] }).is_err());
    }
}
