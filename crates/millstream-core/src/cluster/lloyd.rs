//! K-means of rows in memory: k-means++ seeds (Arthur and Vassilvitskii, 2007, "k-means++: the advantages of careful
//! seeding", section 2.2) and the iterations of Lloyd (1982). A centroid has the most frequent value of each nominal
//! feature (k-prototypes: Huang, 1998).
//!
//! The online clusterers start with it, and the drift detector by clusters fits its reference with it.

use crate::numeric::random::Random;

/// Squared distances between rows.
pub trait Geometry {
    fn distance(&self, a: &[f64], b: &[f64]) -> f64;
    /// The distance, or anything beyond the limit if it is beyond.
    fn distance_within(&self, a: &[f64], b: &[f64], _limit: f64) -> f64 {
        self.distance(a, b)
    }
    /// Whether a slot has codes, which have no mean.
    fn is_nominal(&self, _slot: usize) -> bool {
        false
    }
}

/// Rows of equal width, concatenated, with weights; all 1 if there are none.
#[derive(Clone, Copy)]
pub struct WeightedRows<'a> {
    pub values: &'a [f64],
    pub width: usize,
    pub weights: Option<&'a [f64]>,
}

impl WeightedRows<'_> {
    fn len(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    fn at(&self, row: usize) -> &[f64] {
        self.values.get(row * self.width..(row + 1) * self.width).unwrap_or_default()
    }

    fn weight(&self, row: usize) -> f64 {
        self.weights.and_then(|weights| weights.get(row)).map_or(1.0, |&weight| weight)
    }
}

/// The number of clusters, and how to find them.
#[derive(Clone, Copy)]
pub struct Search {
    pub most: usize,
    /// Number of rows that are drawn for each seed, of which the one that lowers the sum of squares most is used.
    pub candidates: usize,
    pub rounds: usize,
}

#[derive(Clone, Debug, Default)]
pub struct KMeans {
    width: usize,
    /// Concatenated.
    centroids: Vec<f64>,
    /// The cluster of each row of the last `fit`.
    owner: Vec<usize>,
}

impl KMeans {
    pub fn len(&self) -> usize {
        self.centroids.len() / self.width.max(1)
    }

    pub fn centroid(&self, cluster: usize) -> &[f64] {
        self.centroids.get(cluster * self.width..(cluster + 1) * self.width).unwrap_or_default()
    }

    pub fn owner(&self) -> &[usize] {
        &self.owner
    }

    /// The nearest cluster, the first in a tie, and its distance.
    pub fn nearest(&self, space: &impl Geometry, x: &[f64]) -> (usize, f64) {
        let best = self.nearest_of(0..self.len(), space, x, (0, f64::INFINITY));
        if best.1.is_finite() {
            best
        } else {
            (0, 0.0)
        }
    }

    /// The nearest of some clusters and the best one so far.
    fn nearest_of(
        &self,
        clusters: impl Iterator<Item = usize>,
        space: &impl Geometry,
        x: &[f64],
        mut best: (usize, f64),
    ) -> (usize, f64) {
        for cluster in clusters {
            let distance = space.distance_within(self.centroid(cluster), x, best.1);
            if distance < best.1 || (distance == best.1 && cluster < best.0) {
                best = (cluster, distance);
            }
        }
        best
    }

    /// The nearest cluster after some have moved, given the one before. Clusters that have not moved are as far as they
    /// were: they are compared only if the nearest one has moved away.
    fn nearest_after_move(
        &self,
        space: &impl Geometry,
        x: &[f64],
        before: (usize, f64),
        moved: &[usize],
    ) -> (usize, f64) {
        let (cluster, least) = before;
        let distance = space.distance(self.centroid(cluster), x);
        match least.is_finite() && distance.is_finite() {
            true if distance <= least => self.nearest_of(moved.iter().copied(), space, x, (cluster, distance)),
            true => self.nearest_of(0..self.len(), space, x, (cluster, distance)),
            false => self.nearest_of(0..self.len(), space, x, (0, f64::INFINITY)),
        }
    }

    /// Fit rows. There are fewer than `most` clusters if there are fewer distinct rows.
    pub fn fit(&mut self, space: &impl Geometry, rows: WeightedRows<'_>, search: Search, random: &mut Random) {
        self.width = rows.width;
        self.centroids.clear();
        self.owner.clear();
        if rows.width == 0 || rows.values.is_empty() {
            return;
        }
        let (mut owner, mut least) = (std::mem::take(&mut self.owner), Vec::new());
        self.seed(space, rows, search, random, &mut owner, &mut least);
        let mut moved = Vec::new();
        for round in 0..search.rounds {
            let mut changed = round == 0;
            // The seeds come with the clusters of the first round.
            for at in if round == 0 { 0..0 } else { 0..rows.len() } {
                let nearest = self.nearest_after_move(space, rows.at(at), (owner[at], least[at]), &moved);
                changed |= owner[at] != nearest.0;
                (owner[at], least[at]) = nearest;
            }
            if !changed {
                break;
            }
            self.centre(space, rows, &owner, &mut moved);
        }
        self.owner = owner;
    }

    /// The weighted sum of squared distances of rows to their centroids.
    pub fn inertia(&self, space: &impl Geometry, rows: WeightedRows<'_>) -> f64 {
        (0..rows.len()).map(|row| rows.weight(row) * self.nearest(space, rows.at(row)).1).sum()
    }

    /// Draw the seeds: rows with a probability proportional to their squared distance from the seeds so far. Writes the
    /// nearest seed of each row, and its distance.
    fn seed(
        &mut self,
        space: &impl Geometry,
        rows: WeightedRows<'_>,
        search: Search,
        random: &mut Random,
        owner: &mut Vec<usize>,
        nearest: &mut Vec<f64>,
    ) {
        let count = rows.len();
        owner.resize(count, 0);
        nearest.resize(count, f64::INFINITY);
        let mut closer = vec![0.0; count];
        let mut next = random.below(count as u32) as usize;
        while self.len() < search.most {
            let seed = self.len();
            self.centroids.extend_from_slice(rows.at(next));
            for (at, (owner, nearest)) in owner.iter_mut().zip(nearest.iter_mut()).enumerate() {
                let distance = space.distance_within(rows.at(next), rows.at(at), *nearest);
                if distance < *nearest {
                    (*owner, *nearest) = (seed, distance);
                }
            }
            let mut best: Option<(usize, f64)> = None;
            for _ in 0..search.candidates {
                let total: f64 = nearest.iter().enumerate().map(|(at, near)| rows.weight(at) * near).sum();
                let mut left = random.unit() * total;
                let Some(drawn) = nearest.iter().enumerate().position(|(at, &distance)| {
                    left -= rows.weight(at) * distance;
                    distance > 0.0 && left < 0.0
                }) else {
                    continue;
                };
                if search.candidates == 1 {
                    best = Some((drawn, 0.0));
                    break;
                }
                for (at, closer) in closer.iter_mut().enumerate() {
                    *closer = nearest[at].min(space.distance(rows.at(drawn), rows.at(at)));
                }
                let sum = closer.iter().enumerate().map(|(at, near)| rows.weight(at) * near).sum();
                if best.is_none_or(|(_, least)| sum < least) {
                    best = Some((drawn, sum));
                }
            }
            match best {
                Some((drawn, _)) => next = drawn,
                None => break,
            }
        }
    }

    /// Move each centroid to the middle of its rows, and list those that have moved, ascending.
    fn centre(&mut self, space: &impl Geometry, rows: WeightedRows<'_>, owner: &[usize], moved: &mut Vec<usize>) {
        moved.clear();
        let width = self.width;
        let (mut sums, mut weights) = (vec![0.0; self.centroids.len()], vec![0.0; self.centroids.len()]);
        let mut members = vec![false; self.len()];
        for (at, &cluster) in owner.iter().enumerate() {
            members[cluster] = true;
            let (w, from) = (rows.weight(at), cluster * width);
            for (slot, &x) in rows.at(at).iter().enumerate() {
                if !x.is_nan() {
                    sums[from + slot] += w * x;
                    weights[from + slot] += w;
                }
            }
        }
        for cluster in (0..self.len()).filter(|&cluster| members[cluster]) {
            let mut has_moved = false;
            for slot in 0..width {
                let place = cluster * width + slot;
                let middle = match space.is_nominal(slot) {
                    true => most_frequent(
                        (owner.iter().enumerate().filter(|(_, &of)| of == cluster))
                            .map(|(at, _)| rows.at(at)[slot])
                            .filter(|x| !x.is_nan()),
                    ),
                    // NaN, for missing, if there are no values.
                    false => sums[place] / weights[place],
                };
                has_moved |= middle.to_bits() != self.centroids[place].to_bits();
                self.centroids[place] = middle;
            }
            if has_moved {
                moved.push(cluster);
            }
        }
    }

    pub fn memory(&self) -> usize {
        (self.centroids.capacity() + self.owner.capacity()) * 8
    }
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
    use super::*;

    struct Plane;

    impl Geometry for Plane {
        fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
            a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
        }
    }

    const SEARCH: Search = Search { most: 2, candidates: 1, rounds: 30 };

    /// Two pairs of rows, far apart, whatever the seed: two clusters in the middle of each.
    #[test]
    fn worked_by_hand() {
        let values = [0.0, 1.0, 10.0, 11.0];
        for (seed, candidates) in [(0, 1), (1, 1), (2, 1), (3, 3), (4, 3)] {
            let mut clusters = KMeans::default();
            let rows = WeightedRows { values: &values, width: 1, weights: None };
            clusters.fit(&Plane, rows, Search { candidates, ..SEARCH }, &mut Random::new(seed, 0));
            let mut centres: Vec<f64> = (0..2).map(|cluster| clusters.centroid(cluster)[0]).collect();
            centres.sort_unstable_by(f64::total_cmp);
            assert_eq!(centres, [0.5, 10.5]);
            assert_eq!(clusters.owner()[0], clusters.owner()[1]);
        }
    }

    /// A weight of 3 counts as three rows: (3 · 0 + 1) / 4 = 0.25.
    #[test]
    fn weights_count_as_repeated_rows() {
        let rows = WeightedRows { values: &[0.0, 1.0, 10.0], width: 1, weights: Some(&[3.0, 1.0, 1.0]) };
        let mut clusters = KMeans::default();
        clusters.fit(&Plane, rows, SEARCH, &mut Random::new(0, 0));
        let mut centres: Vec<f64> = (0..2).map(|cluster| clusters.centroid(cluster)[0]).collect();
        centres.sort_unstable_by(f64::total_cmp);
        assert_eq!(centres, [0.25, 10.0]);
    }

    /// Clusters that have not moved are not compared again, which must not change the nearest one.
    #[test]
    fn every_row_ends_in_its_nearest_cluster() {
        let mut random = Random::new(7, 0);
        let values: Vec<f64> = (0..600).map(|_| (random.unit() * 8.0).round()).collect();
        for most in [2, 10, 100] {
            let mut clusters = KMeans::default();
            let rows = WeightedRows { values: &values, width: 2, weights: None };
            clusters.fit(&Plane, rows, Search { most, candidates: 1, rounds: 1000 }, &mut random);
            let nearest: Vec<usize> = (0..300).map(|row| clusters.nearest(&Plane, rows.at(row)).0).collect();
            assert_eq!(clusters.owner(), nearest);
        }
    }

    #[test]
    fn equal_rows_give_one_cluster() {
        let rows = WeightedRows { values: &[3.0, 3.0, 3.0], width: 1, weights: None };
        let mut alike = KMeans::default();
        alike.fit(&Plane, rows, Search { most: 5, ..SEARCH }, &mut Random::new(0, 0));
        assert_eq!(alike.len(), 1);
        assert_eq!(most_frequent([2.0, 1.0, 1.0, 2.0].into_iter()), 1.0);
    }
}
