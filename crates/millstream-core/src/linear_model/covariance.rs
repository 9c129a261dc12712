//! A covariance matrix P = U D Uᵀ and its update by one example, in factors that stay positive definite.
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
//! An update must be atomic. Checking every number of U for overflow costs a third of the update, so a bound on them is
//! kept: from the bound and f, v, α follows how large they can become. Where that is far from overflow, U is updated in
//! place; the bound grows, and every few hundred examples it is recomputed.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;
use crate::row::all_finite;

use crate::linear_algebra::tiled_triangle::{
    groups, index, padded, strands, tiles, total, turn, Four, Strands, Tile, LANES,
};

/// A variance of 0 would never grow again, and its inverse would overflow.
pub const LEAST_VARIANCE: f64 = 1e-100;

/// Numbers up to this can be multiplied and added without overflow checks.
pub const SURE: f64 = 1e150;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Packed", into = "Packed")]
pub struct Covariance {
    width: usize,
    /// U in the layout of tiled_triangle.rs.
    upper: Vec<Tile>,
    /// D, filled up to a multiple of four.
    diagonal: Vec<Four>,
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
        let above = |j: usize| (0..j).map(move |i| (i, j));
        let upper =
            (0..covariance.width).flat_map(above).map(|(i, j)| covariance.numbers()[index(i, j)]).collect();
        Packed { upper, diagonal: covariance.d().to_vec() }
    }
}

impl TryFrom<Packed> for Covariance {
    type Error = &'static str;

    fn try_from(packed: Packed) -> std::result::Result<Self, Self::Error> {
        let n = packed.diagonal.len();
        if packed.upper.len() != n.saturating_mul(n.saturating_sub(1)) / 2 {
            return Err("a covariance is not a triangle");
        }
        let mut covariance = Covariance::default();
        covariance.grow(n, 0.0);
        covariance.diagonal.as_flattened_mut()[..n].copy_from_slice(&packed.diagonal);
        let above = (0..n).flat_map(|j| (0..j).map(move |i| index(i, j)));
        let numbers = covariance.upper.as_flattened_mut().as_flattened_mut();
        above.zip(packed.upper).for_each(|(index, saved)| numbers[index] = saved);
        covariance.bound = covariance.largest();
        Ok(covariance)
    }
}

/// Buffers of an update, kept so that nothing is allocated per example.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// Number of coordinates of the values below.
    width: usize,
    /// The example; behind it are zeros up to a multiple of four.
    pub x: Vec<f64>,
    groups: Vec<Group>,
    upper: Vec<Tile>,
    /// P x, filled up like x.
    pub gain: Vec<f64>,
    /// No number of P x is larger.
    pub reach: f64,
    /// No number of U is larger after the update.
    bound: f64,
    /// α₀
    noise: f64,
    /// 1 / α₀
    first: f64,
}

/// What concerns four columns.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    strands: Strands,
    /// −f
    fall: Four,
    /// v
    along: Four,
    alpha: Four,
    /// 1 / α
    inverse: Four,
    /// D before the update, inflated.
    diagonal: Four,
}

impl Work {
    pub fn memory(&self) -> usize {
        8 * (self.x.capacity() + self.gain.capacity())
            + self.groups.capacity() * size_of::<Group>()
            + self.upper.capacity() * size_of::<Tile>()
    }

    fn resize(&mut self, n: usize) {
        self.groups.clear();
        self.groups.resize(groups(n), Group::default());
        self.gain.clear();
        self.gain.resize(padded(n), 0.0);
        self.width = n;
    }

    /// Update the columns of U; P x is then in `gain`.
    #[inline]
    fn turn(width: usize, upper: &mut [Tile], groups: &[Group], first: f64, gain: &mut [f64]) {
        // Of the column before.
        let mut inverse = first;
        turn(upper, width, gain.as_chunks_mut().0, |group| {
            let Group { fall, along, inverse: inverses, .. } = &groups[group];
            let factor = [fall[0] * inverse, fall[1] * inverses[0], fall[2] * inverses[1], fall[3] * inverses[2]];
            inverse = inverses[3];
            (factor, *along)
        });
    }

    /// D after the update, dⱼ αⱼ₋₁ / αⱼ. Separate from the rest: by now α is in memory and
    /// can be read at an offset of one without a stall.
    #[inline]
    fn shrink(diagonal: &mut [Four], groups: &[Group], noise: f64) {
        let n = diagonal.len().min(groups.len());
        let (diagonal, groups, mut before) = (&mut diagonal[..n], &groups[..n], noise);
        for g in 0..n {
            let (variances, group) = (&mut diagonal[g], &groups[g]);
            let alpha = [before, group.alpha[0], group.alpha[1], group.alpha[2]];
            let (inflated, inverse) = (group.diagonal, group.inverse);
            for lane in 0..LANES {
                let shrunk = inflated[lane] * (alpha[lane] * inverse[lane]);
                variances[lane] = if shrunk > LEAST_VARIANCE { shrunk } else { LEAST_VARIANCE };
            }
            before = group.alpha[3];
        }
    }
}

impl Covariance {
    /// U in its layout, see `index`.
    fn numbers(&self) -> &[f64] {
        self.upper.as_flattened().as_flattened()
    }

    /// D
    fn d(&self) -> &[f64] {
        &self.diagonal.as_flattened()[..self.width]
    }

    /// New coordinates, independent of the others and with this variance.
    pub fn grow(&mut self, width: usize, variance: f64) {
        let before = self.width;
        if width <= before {
            return;
        }
        self.width = width;
        self.diagonal.resize(groups(width), [0.0; LANES]);
        self.diagonal.as_flattened_mut()[before..width].fill(variance);
        self.upper.resize(tiles(groups(width)), [[0.0; LANES]; LANES]);
        for j in before..width {
            self.upper.as_flattened_mut().as_flattened_mut()[index(j, j)] = 1.0;
        }
        self.bound = self.bound.max(1.0);
    }

    pub fn shrink(&mut self, width: usize) {
        if width >= self.width {
            return;
        }
        self.upper.truncate(tiles(groups(width)));
        self.diagonal.truncate(groups(width));
        for j in width..padded(width) {
            self.diagonal[j / LANES][j % LANES] = 0.0;
            self.upper[tiles(j / LANES)..].iter_mut().for_each(|tile| tile[j % LANES] = [0.0; LANES]);
        }
        self.width = width;
    }

    /// All variances times `factor`.
    pub fn multiply(&mut self, factor: f64) {
        self.diagonal.as_flattened_mut().iter_mut().for_each(|d| *d *= factor);
    }

    /// xᵀP x; `x` has as many numbers as there are coordinates, or zeros up to a multiple of four behind them.
    pub fn variance(&self, x: &[f64]) -> f64 {
        let (x, rest) = x.as_chunks::<LANES>();
        let mut last = [0.0; LANES];
        last[..rest.len()].copy_from_slice(rest);
        let (mut sum, mut upper) = (0.0, &self.upper[..]);
        for (g, variances) in self.diagonal.iter().enumerate() {
            let (own, after) = upper.split_at(g + 1);
            upper = after;
            let f = match own.get(x.len()) {
                None => strands(own, x),
                Some(tile) => {
                    let (above, end) = (strands(own, x), strands(&[*tile], &[last]));
                    std::array::from_fn(|c| [above[c][0] + end[c][0], above[c][1] + end[c][1]])
                }
            };
            for (d, [even, odd]) in variances.iter().zip(f) {
                sum += d * (even + odd) * (even + odd);
            }
        }
        sum
    }

    /// The variance of each coordinate.
    pub fn variances(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.width];
        for (j, d) in self.d().iter().enumerate() {
            for (i, sum) in sums.iter_mut().enumerate().take(j + 1) {
                let u = self.numbers()[index(i, j)];
                *sum += d * u * u;
            }
        }
        sums
    }

    /// The inverse of P, row by row: with W = U⁻¹ it is Wᵀ D⁻¹ W.
    pub fn information(&self) -> Vec<f64> {
        let n = self.width;
        // Row i of W, from the last up: wᵢ = eᵢ − Σ uᵢⱼ wⱼ over j > i.
        let mut inverse = vec![0.0; n * n];
        for i in (0..n).rev() {
            let (rows, after) = inverse.split_at_mut((i + 1) * n);
            let row = &mut rows[i * n..];
            row[i] = 1.0;
            for j in i + 1..n {
                let u = self.numbers()[index(i, j)];
                let other = &after[(j - i - 1) * n..(j - i) * n];
                row[j..].iter_mut().zip(&other[j..]).for_each(|(w, o)| *w -= u * o);
            }
        }
        let mut information = vec![0.0; n * n];
        for (k, d) in self.d().iter().enumerate() {
            let row = &inverse[k * n..(k + 1) * n];
            for i in k..n {
                let fraction = row[i] / d;
                information[i * n..(i + 1) * n].iter_mut().zip(row).for_each(|(sum, w)| *sum += fraction * w);
            }
        }
        information
    }

    fn largest(&self) -> f64 {
        self.numbers().iter().fold(1.0, |most: f64, u| most.max(u.abs()))
    }

    /// Compute f, v, α and the new D for the example in `work.x`; `inflation` and `ceiling` as for `propose`. Returns
    /// αₙ, or None on overflow. Then call either `update`, if `work.reach` and the like are below `SURE`, or
    /// `propose`.
    #[inline]
    pub fn prepare(&mut self, noise: f64, inflation: f64, ceiling: f64, work: &mut Work) -> Option<f64> {
        let alpha = self.measure(noise, inflation, ceiling, work)?;
        let sure = work.bound < SURE;
        if !sure && self.bound > 1.0 {
            let before = self.bound;
            self.bound = self.largest();
            let fraction = self.bound / before;
            work.reach *= fraction;
            work.bound *= fraction;
        }
        Some(alpha)
    }

    #[inline]
    fn measure(&self, noise: f64, inflation: f64, ceiling: f64, work: &mut Work) -> Option<f64> {
        let n = self.width;
        if work.width != n {
            work.resize(n);
        }
        work.x.resize(padded(n), 0.0);
        let x = work.x.as_chunks::<LANES>().0;
        let n = self.diagonal.len().min(work.groups.len());
        let (variances, groups, mut upper) = (&self.diagonal[..n], &mut work.groups[..n], &self.upper[..]);
        for (g, group) in groups.iter_mut().enumerate() {
            let (own, after) = upper.split_at(g + 1);
            upper = after;
            group.strands = strands(own, x);
        }
        // In four partial sums, like all sums here. A sum of absolute values is no less than the largest of them, and
        // infinite or NaN if one of them is.
        let (mut most, mut sum) = ([0.0; LANES], noise);
        for g in 0..n {
            let group = &mut groups[g];
            let (mut f, mut d, mut along) = ([0.0; LANES], variances[g], [0.0; LANES]);
            let strands = group.strands;
            for lane in 0..LANES {
                f[lane] = strands[lane][0] + strands[lane][1];
            }
            group.fall = [-f[0], -f[1], -f[2], -f[3]];
            for lane in 0..LANES {
                let inflated = d[lane] * inflation;
                d[lane] = if inflated < ceiling { inflated } else { ceiling };
                along[lane] = d[lane] * f[lane];
                most[lane] += along[lane].abs();
            }
            (group.diagonal, group.along) = (d, along);
            // α first within the group: from one group to the next is then one addition. It never falls, rounded or not.
            let one = f[0] * along[0];
            let two = one + f[1] * along[1];
            let three = two + f[2] * along[2];
            let four = three + f[3] * along[3];
            group.alpha = [sum + one, sum + two, sum + three, sum + four];
            sum = group.alpha[3];
        }
        // No slope −f / α within a group is larger than with the α before the group.
        let first = 1.0 / noise;
        let (mut steepest, mut inverse) = ([0.0; LANES], first);
        for group in groups {
            let (fall, alpha, mut inverses) = (group.fall, group.alpha, [0.0; LANES]);
            for lane in 0..LANES {
                inverses[lane] = 1.0 / alpha[lane];
                steepest[lane] += fall[lane].abs() * inverse;
            }
            group.inverse = inverses;
            inverse = group.inverse[3];
        }
        let (most, steepest) = (total(most), total(steepest));
        (work.noise, work.first) = (noise, first);
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
        Work::turn(self.width, &mut self.upper, &work.groups, work.first, &mut work.gain);
        Work::shrink(&mut self.diagonal, &work.groups, work.noise);
        self.bound = work.bound;
    }

    /// Compute the update by `x` with noise of variance `noise`, after all variances were multiplied by `inflation` and
    /// limited to `ceiling`. Returns αₙ, or None on overflow; nothing changes here.
    pub fn propose(&self, x: &[f64], noise: f64, inflation: f64, ceiling: f64, work: &mut Work) -> Option<f64> {
        work.x.clear();
        work.x.extend_from_slice(x);
        let alpha = self.measure(noise, inflation, ceiling, work)?;
        work.upper.clear();
        work.upper.extend_from_slice(&self.upper);
        Work::turn(self.width, &mut work.upper, &work.groups, work.first, &mut work.gain);
        (all_finite(work.upper.as_flattened().as_flattened()) && all_finite(&work.gain)).then_some(alpha)
    }

    pub fn commit(&mut self, work: &mut Work) {
        std::mem::swap(&mut self.upper, &mut work.upper);
        Work::shrink(&mut self.diagonal, &work.groups, work.noise);
        self.bound = if work.bound < SURE { work.bound } else { self.largest() };
    }

    pub fn validate(&self, who: &str, width: usize) -> Result<()> {
        let sized = self.width == width && self.upper.len() == tiles(groups(width));
        require(who, sized, "the covariance and the weights differ in size")?;
        let positive = self.d().iter().all(|d| *d > 0.0 && d.is_finite());
        require(who, positive && all_finite(self.numbers()), "the covariance is not positive definite")
    }

    pub fn memory(&self) -> usize {
        self.upper.capacity() * size_of::<Tile>() + self.diagonal.capacity() * size_of::<Four>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P as a matrix.
    fn matrix(covariance: &Covariance) -> Vec<Vec<f64>> {
        let n = covariance.width;
        let u = |i: usize, j: usize| if i <= j { covariance.numbers()[index(i, j)] } else { 0.0 };
        let d = covariance.d();
        let entry = |i: usize, j: usize| (0..n).map(|k| u(i, k) * d[k] * u(j, k)).sum();
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
        assert_eq!((covariance.diagonal[0][0], covariance.numbers()[index(0, 1)]), (0.5, -1.0));
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
        assert_eq!(covariance.upper, other.upper);
        assert_eq!(covariance.d(), other.d());
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
        assert_eq!(again.upper, covariance.upper);
        assert_eq!(again.d(), covariance.d());
        assert!(Covariance::try_from(Packed { upper: vec![0.0; 2], diagonal: vec![1.0; 2] }).is_err());
    }
}
