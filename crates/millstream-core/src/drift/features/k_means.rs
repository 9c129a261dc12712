//! Clusters of rows by k-means with k-means++ seeds (Lloyd, 1982; Arthur and Vassilvitskii, 2007); a centroid
//! has the most frequent value of each nominal feature (k-prototypes: Huang, 1998).

use crate::numeric::random::Random;

use super::feature_space::FeatureSpace;

/// Clusters converge long before.
const ROUNDS: usize = 30;

/// Random stream of the initial centroids.
const SEEDS: u64 = 0x4b4d_4541;

#[derive(Clone, Debug, Default)]
pub struct KMeans {
    width: usize,
    /// Concatenated.
    centroids: Vec<f64>,
}

impl KMeans {
    pub fn len(&self) -> usize {
        self.centroids.len() / self.width.max(1)
    }

    pub fn centroid(&self, cluster: usize) -> &[f64] {
        self.centroids.get(cluster * self.width..(cluster + 1) * self.width).unwrap_or_default()
    }

    /// The nearest cluster, the first in a tie, and its distance.
    pub fn nearest(&self, space: &FeatureSpace, x: &[f64]) -> (usize, f64) {
        let mut best = (0, f64::INFINITY);
        for (cluster, centroid) in self.centroids.chunks_exact(self.width.max(1)).enumerate() {
            let distance = space.distance(centroid, x);
            if distance < best.1 {
                best = (cluster, distance);
            }
        }
        if best.1.is_finite() {
            best
        } else {
            (0, 0.0)
        }
    }

    /// Fit standardized rows, concatenated. There are fewer than `most` clusters if there are fewer distinct rows.
    pub fn fit(&mut self, space: &FeatureSpace, rows: &[f64], width: usize, most: usize, seed: u64) {
        self.width = width;
        self.centroids.clear();
        if width == 0 || rows.is_empty() {
            return;
        }
        let mut random = Random::new(seed, SEEDS);
        let count = rows.len() / width;
        let row = |at: usize| rows.get(at * width..(at + 1) * width).unwrap_or_default();
        let mut nearest = vec![f64::INFINITY; count];
        let mut next = random.below(count as u32) as usize;
        while self.len() < most {
            self.centroids.extend_from_slice(row(next));
            for (at, nearest) in nearest.iter_mut().enumerate() {
                *nearest = nearest.min(space.distance(row(next), row(at)));
            }
            // Rows are drawn with probability proportional to their squared distance.
            let mut left = random.unit() * nearest.iter().sum::<f64>();
            let Some(drawn) = nearest.iter().position(|&distance| {
                left -= distance;
                distance > 0.0 && left < 0.0
            }) else {
                break;
            };
            next = drawn;
        }
        let mut owner = vec![usize::MAX; count];
        for _ in 0..ROUNDS {
            let mut moved = false;
            for (at, owner) in owner.iter_mut().enumerate() {
                let (cluster, _) = self.nearest(space, row(at));
                moved |= *owner != cluster;
                *owner = cluster;
            }
            if !moved {
                break;
            }
            for cluster in 0..self.len() {
                let members = || owner.iter().enumerate().filter(|(_, &of)| of == cluster).map(|(at, _)| row(at));
                if members().next().is_some() {
                    for slot in 0..width {
                        let values = members().map(|row| row[slot]).filter(|x| !x.is_nan());
                        self.centroids[cluster * width + slot] = match space.is_nominal(slot) {
                            true => most_frequent(values),
                            false => mean(values),
                        };
                    }
                }
            }
        }
    }

    pub fn memory(&self) -> usize {
        self.centroids.capacity() * 8
    }
}

/// The mean; NaN, for missing, if there are no values.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
    sum / count
}

fn most_frequent(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let runs = sorted.chunk_by(|a, b| a == b);
    // The first in a tie.
    runs.rev().max_by_key(|run| run.len()).and_then(|run| run.first()).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::super::row_window::RowWindow;
    use super::*;
    use crate::schema::FeatureKind;

    /// Two pairs of rows, far apart, whatever the seed: two clusters in the middle of each.
    #[test]
    fn worked_by_hand() {
        let mut reference = RowWindow::default();
        reference.widen(1);
        [0.0, 1.0, 10.0, 11.0].iter().for_each(|&x| reference.push(&[x], 4));
        let space = FeatureSpace::new(&reference, &[FeatureKind::Number]);
        let (mut rows, mut standardized) = (Vec::new(), Vec::new());
        for row in reference.iter() {
            space.standardize(row, &mut standardized);
            rows.extend_from_slice(&standardized);
        }
        for seed in 0..5 {
            let mut clusters = KMeans::default();
            clusters.fit(&space, &rows, 1, 2, seed);
            let mut centres: Vec<f64> = (0..2).map(|cluster| clusters.centroid(cluster)[0]).collect();
            centres.sort_unstable_by(f64::total_cmp);
            assert!((centres[0] - 0.5 * (rows[0] + rows[1])).abs() < 1e-12);
            assert!((centres[1] - 0.5 * (rows[2] + rows[3])).abs() < 1e-12);
        }
        let mut alike = KMeans::default();
        alike.fit(&space, &[3.0, 3.0, 3.0], 1, 5, 0);
        assert_eq!(alike.len(), 1);
        assert_eq!(most_frequent([2.0, 1.0, 1.0, 2.0].into_iter()), 1.0);
    }
}
