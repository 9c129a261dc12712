//! Compression of the long-term memory of SAM-kNN: the rows of each class become half as many centroids of k-means++.

use crate::cluster::lloyd::{Geometry, KMeans, Search, WeightedRows};
use crate::numeric::random::Random;

use super::memory::Memory;

/// Lloyd iterations of a compression.
const ROUNDS: usize = 10;
/// Columns of a distance between two looks at the limit.
const STEP: usize = 4;

/// A memory with half as many rows, or with `most` if these are fewer. `inverse` is 1 / scale by column, and empty if nothing
/// is scaled.
pub fn compressed(memory: &Memory, inverse: &[f64], classes: usize, most: usize, random: &mut Random) -> Memory {
    let width = memory.points.width();
    let mut compressed = Memory { points: memory.points.emptied(), classes: Vec::new(), weights: Vec::new() };
    let geometry = Scaled {
        inverse: (0..width).map(|column| inverse.get(column).copied().unwrap_or(1.0)).collect(),
        nominal: memory.points.nominal(),
        is_plain: memory.points.is_plain(),
    };
    let (mut values, mut weights, mut row) = (Vec::new(), Vec::new(), Vec::new());
    let (mut counts, mut means): (Vec<usize>, Vec<f64>) = (Vec::new(), Vec::new());
    for class in 0..classes as u32 {
        values.clear();
        weights.clear();
        for place in (0..memory.len()).filter(|&place| memory.classes[place] == class) {
            memory.points.copy_row(place, &mut row);
            values.extend_from_slice(&row);
            weights.push(memory.weights[place]);
        }
        let rows = WeightedRows { values: &values, width, weights: None };
        let search = Search { most: weights.len().div_ceil(2), candidates: 1, rounds: ROUNDS };
        let mut clusters = KMeans::default();
        clusters.fit(&geometry, rows, search, random);
        counts.clear();
        counts.resize(clusters.len(), 0);
        clusters.owner().iter().for_each(|&cluster| counts[cluster] += 1);
        means.clear();
        means.resize(clusters.len(), 0.0);
        for (&cluster, w) in clusters.owner().iter().zip(&weights) {
            means[cluster] += w / counts[cluster] as f64;
        }
        for cluster in (0..clusters.len()).filter(|&cluster| counts[cluster] > 0) {
            let centroid = clusters.centroid(cluster);
            if centroid.iter().all(|x| !x.is_infinite()) {
                compressed.push(centroid, &[], class, means[cluster]);
            }
        }
    }
    // Many classes of single rows cannot be halved; the oldest go.
    let excess = compressed.len().saturating_sub(most);
    if excess > 0 {
        let kept: Vec<usize> = (excess..compressed.len()).collect();
        compressed.keep(&kept);
    }
    compressed
}

/// Squared Euclidean distances in units of the scales, with overlap of nominal values, over what both rows have.
struct Scaled<'a> {
    inverse: Vec<f64>,
    nominal: &'a [bool],
    /// All values are numbers, and none is missing.
    is_plain: bool,
}

impl Scaled<'_> {
    fn partial(&self, a: &[f64], b: &[f64]) -> f64 {
        let (mut sum, mut shared) = (0.0, 0usize);
        for (column, (a, b)) in a.iter().zip(b).enumerate() {
            let difference = a - b;
            if difference.is_nan() {
                continue;
            }
            shared += 1;
            sum += match self.nominal[column] {
                true => f64::from(u8::from(difference != 0.0)),
                false => square(difference * self.inverse[column]),
            };
        }
        match shared {
            0 => f64::MAX,
            _ => (sum * (a.len() as f64 / shared as f64)).min(f64::MAX),
        }
    }
}

impl Geometry for Scaled<'_> {
    fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        self.distance_within(a, b, f64::INFINITY)
    }

    #[inline]
    fn distance_within(&self, a: &[f64], b: &[f64], limit: f64) -> f64 {
        if !self.is_plain {
            return self.partial(a, b);
        }
        let mut sum = 0.0;
        for ((a, b), inverse) in a.chunks(STEP).zip(b.chunks(STEP)).zip(self.inverse.chunks(STEP)) {
            for ((a, b), inverse) in a.iter().zip(b).zip(inverse) {
                sum += square((a - b) * inverse);
            }
            if sum > limit {
                return sum;
            }
        }
        // The difference of two infinities is not counted.
        match sum.is_nan() {
            true => self.partial(a, b),
            false => sum.min(f64::MAX),
        }
    }

    fn is_nominal(&self, slot: usize) -> bool {
        self.nominal[slot]
    }
}

#[inline(always)]
fn square(x: f64) -> f64 {
    x * x
}
