//! Means and the scatter matrix Σ w (z − z̄)(z − z̄)ᵀ of vectors that may become longer, one at a time and merged.
//!
//! ```text
//! δ = z − z̄,  W ← W + w,  z̄ ← z̄ + δ w / W,  S ← S + (w Wₒ / W) δ δᵀ        Welford (1962), with weights
//! S = S₁ + S₂ + (W₁ W₂ / W) δ δᵀ,  δ = z̄₂ − z̄₁                            Chan, Golub and LeVeque (1983)
//! ```
//! About the mean and not about 0: a column of 1e9 ± 1 keeps its digits, at the same cost. Where there is to be no
//! constant term the sums are about 0, and the mean stays 0. A coordinate that comes late was 0 before.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;
use crate::row::all_finite;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Scatter {
    pub weight: f64,
    pub mean: Vec<f64>,
    /// The lower triangle row by row: row i has i + 1 numbers.
    sums: Vec<f64>,
}

impl Scatter {
    pub fn width(&self) -> usize {
        self.mean.len()
    }

    pub fn grow(&mut self, width: usize) {
        self.mean.resize(width, 0.0);
        self.sums.resize(row(width), 0.0);
    }

    pub fn shrink(&mut self, width: usize) {
        self.mean.truncate(width);
        self.sums.truncate(row(width));
    }

    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.sums[row(i.max(j)) + i.min(j)]
    }

    /// Take a vector, which becomes δ; false if something would overflow, and then nothing here has changed.
    pub fn add(&mut self, z: &mut [f64], w: f64, centred: bool) -> bool {
        let (before, weight) = (self.weight, self.weight + w);
        let fraction = w / weight;
        let factor = if centred { before * fraction } else { w };
        if centred {
            z.iter_mut().zip(&self.mean).for_each(|(z, mean)| *z -= mean);
        }
        // |sᵢⱼ| is at most the larger of sᵢᵢ and sⱼⱼ: the diagonal says whether all of them hold.
        let holds = |(i, z): (usize, &f64)| self.sums[row(i) + i] + factor * z * z < f64::MAX && z * z < f64::MAX;
        if !(weight < f64::MAX && z.iter().enumerate().all(holds)) {
            return false;
        }
        self.weight = weight;
        if centred {
            self.mean.iter_mut().zip(&*z).for_each(|(mean, z)| *mean += fraction * z);
        }
        self.spread(z, factor);
        true
    }

    /// S ← S + factor · δ δᵀ
    #[inline]
    fn spread(&mut self, delta: &[f64], factor: f64) {
        let mut rest = self.sums.as_mut_slice();
        for i in 0..delta.len() {
            let (sums, after) = rest.split_at_mut(i + 1);
            rest = after;
            let (scaled, delta) = (factor * delta[i], &delta[..=i]);
            for (sum, d) in sums.iter_mut().zip(delta) {
                *sum += scaled * d;
            }
        }
    }

    /// Multiply all weights; by -1 for what is to be removed.
    pub fn multiply(&mut self, factor: f64) {
        self.weight *= factor;
        self.sums.iter_mut().for_each(|sum| *sum *= factor);
    }

    /// Merge another, whose coordinate i is coordinate `indices[i]` here; false if something would overflow.
    pub fn merge(&mut self, other: &Scatter, indices: &[usize], centred: bool) -> bool {
        for (i, &a) in indices.iter().enumerate() {
            for (j, &b) in indices.iter().enumerate().take(i + 1) {
                self.sums[row(a.max(b)) + a.min(b)] += other.get(i, j);
            }
        }
        let weight = self.weight + other.weight;
        if centred && weight > 0.0 {
            let mut delta: Vec<f64> = self.mean.iter().map(|mean| -mean).collect();
            indices.iter().zip(&other.mean).for_each(|(&index, mean)| delta[index] += mean);
            let fraction = other.weight / weight;
            self.spread(&delta, self.weight * fraction);
            self.mean.iter_mut().zip(&delta).for_each(|(mean, d)| *mean += fraction * d);
        }
        self.weight = weight;
        weight.is_finite() && all_finite(&self.mean) && all_finite(&self.sums)
    }

    pub fn validate(&self, who: &str, width: usize) -> Result<()> {
        let sized = self.width() == width && self.sums.len() == row(width);
        require(who, sized, "sums and coordinates differ in number")?;
        let finite = all_finite(&self.mean) && all_finite(&self.sums) && self.weight.is_finite();
        let positive = self.weight >= 0.0 && (0..width).all(|i| self.get(i, i) >= 0.0);
        require(who, finite && positive, "a sum is not finite, or a square is negative")
    }

    pub fn memory(&self) -> usize {
        8 * (self.mean.capacity() + self.sums.capacity())
    }
}

/// Start of row `i`.
fn row(i: usize) -> usize {
    i * (i + 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scatter(rows: &[[f64; 2]]) -> Scatter {
        let mut scatter = Scatter::default();
        scatter.grow(2);
        rows.iter().for_each(|row| assert!(scatter.add(&mut row.clone(), 1.0, true)));
        scatter
    }

    /// (1, 10), (3, 20), (5, 60): means 3 and 30; squares 4 + 0 + 4 = 8 and 400 + 100 + 900 = 1400; products
    /// −2 · −20 + 0 + 2 · 30 = 100. From the first two and the last, merged, the same.
    #[test]
    fn by_hand() {
        let whole = scatter(&[[1.0, 10.0], [3.0, 20.0], [5.0, 60.0]]);
        let mut halves = scatter(&[[1.0, 10.0], [3.0, 20.0]]);
        // The other half met them in the other order.
        assert!(halves.merge(&scatter(&[[60.0, 5.0]]), &[1, 0], true));
        for scatter in [whole, halves] {
            assert_eq!(scatter.mean, [3.0, 30.0]);
            let found = [scatter.get(0, 0), scatter.get(1, 0), scatter.get(1, 1)];
            assert!(found.iter().zip([8.0, 100.0, 1400.0]).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        }
    }
}
