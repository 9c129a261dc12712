//! Dead centres: those that receive almost no rows, because they started badly or the data left them.
//!
//! Every `PERIOD` rows per centre, a centre whose rows weigh less than `ratio` times those of the mean centre moves to a row
//! of a uniform sample of these rows: the one that lowers the sum of squared distances of the sample most, as the greedy
//! k-means++ chooses its seeds. The sample is drawn by Algorithm L (Li, 1994, "Reservoir-sampling algorithms of time
//! complexity O(n(1 + log(N/n)))"), whose skips are part of the state.

use serde::{Deserialize, Serialize};

use crate::cluster::centres::Centres;
use crate::cluster::coordinate_rows::{partial_distance, widen_row};
use crate::linear_model::Coordinates;
use crate::numeric::elementary::{exp, ln};
use crate::numeric::random::Random;

/// Number of rows per centre between checks.
const PERIOD: u64 = 100;
/// Number of rows in the sample.
const SAMPLE: usize = 100;

/// Random stream of the sample.
const DRAWS: u64 = 0x5245_5345;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reseeding {
    /// Rows and their weight since the last check.
    rows: u64,
    weight: f64,
    /// Weight by centre since the last check.
    won: Vec<f64>,
    sample: Vec<Vec<f64>>,
    /// Number of rows of the sample that are from this period; the others are spare.
    filled: usize,
    /// The next row that enters a full sample, and the largest of the random keys of Algorithm L.
    next: u64,
    key: f64,
    random: Random,
    /// Number of centres that were moved since the start.
    pub moved: u64,
}

impl Reseeding {
    pub fn new(seed: u64) -> Self {
        Reseeding {
            rows: 0,
            weight: 0.0,
            won: Vec::new(),
            sample: Vec::new(),
            filled: 0,
            next: 0,
            key: 1.0,
            random: Random::new(seed, DRAWS),
            moved: 0,
        }
    }

    /// Count a row of a centre.
    #[inline]
    pub fn observe(&mut self, cluster: usize, x: &[f64], w: f64) {
        if cluster >= self.won.len() {
            self.won.resize(cluster + 1, 0.0);
        }
        self.won[cluster] += w;
        self.weight += w;
        if self.rows >= self.next {
            self.draw(x);
        }
        self.rows += 1;
    }

    #[cold]
    fn draw(&mut self, x: &[f64]) {
        let place = match self.filled < SAMPLE {
            true => self.filled,
            false => self.random.below(SAMPLE as u32) as usize,
        };
        match self.sample.get_mut(place) {
            Some(row) => {
                row.clear();
                row.extend_from_slice(x);
            }
            None => self.sample.push(x.to_vec()),
        }
        self.filled = self.filled.max(place + 1);
        if self.filled < SAMPLE {
            return;
        }
        // 1 − u is never 0.
        self.key *= exp(ln(1.0 - self.random.unit()) / SAMPLE as f64);
        let skipped = ln(1.0 - self.random.unit()) / ln(1.0 - self.key);
        // A cast of an infinite number saturates; so does the sum.
        self.next = self.rows.saturating_add(1).saturating_add(skipped as u64);
    }

    #[inline]
    pub fn is_due(&self, centres: &Centres) -> bool {
        self.rows >= PERIOD * centres.len() as u64
    }

    /// Move dead centres, and start the next period. `unit` is the weight of a row of weight 1 in the weights of the centres.
    #[cold]
    pub fn check(&mut self, centres: &mut Centres, ratio: f64, unit: f64) {
        self.won.resize(centres.len(), 0.0);
        let least = ratio * self.weight / centres.len().max(1) as f64;
        let is_dead = |cluster: &usize| self.won[*cluster] < least;
        let dead: Vec<usize> = (0..centres.len()).filter(is_dead).collect();
        if !dead.is_empty() {
            let sample = &self.sample[..self.filled];
            let mut centre = Vec::new();
            let mut nearest = vec![f64::INFINITY; sample.len()];
            for cluster in (0..centres.len()).filter(|cluster| !dead.contains(cluster)) {
                centres.copy_to(cluster, &mut centre);
                lower(&mut nearest, sample, &centre);
            }
            for cluster in dead {
                let gain = |row: &Vec<f64>| -> f64 {
                    let gains =
                        sample.iter().zip(&nearest).map(|(other, near)| near - near.min(distance(row, other)));
                    gains.filter(|gain| gain.is_finite()).sum()
                };
                let mut best: Option<(usize, f64)> = None;
                for (index, row) in sample.iter().enumerate() {
                    let gain = gain(row);
                    if gain > best.map_or(0.0, |(_, gain)| gain) {
                        best = Some((index, gain));
                    }
                }
                // Without a gain, there are fewer distinct rows than centres.
                let Some((index, _)) = best else { break };
                centres.replace(cluster, &sample[index], unit * self.weight / self.rows.max(1) as f64);
                lower(&mut nearest, sample, &sample[index]);
                self.moved += 1;
            }
        }
        self.won.fill(0.0);
        (self.rows, self.weight, self.filled, self.next, self.key) = (0, 0.0, 0, 0, 1.0);
    }

    pub fn widen(&mut self, coordinates: &Coordinates) {
        self.sample[..self.filled].iter_mut().for_each(|row| widen_row(coordinates, row));
    }

    /// Drop spare rows, which are not part of the state.
    pub fn trimmed(&self) -> Self {
        let mut saved = self.clone();
        saved.sample.truncate(self.filled);
        saved
    }

    pub fn is_valid(&self, centres: usize, width: usize) -> bool {
        let sound = |x: &f64| *x >= 0.0 && x.is_finite();
        self.won.len() <= centres
            && self.won.iter().all(sound)
            && sound(&self.weight)
            && (0.0..=1.0).contains(&self.key)
            && self.filled == self.sample.len()
            && self.filled <= SAMPLE
            && self.sample.iter().all(|row| row.len() == width && row.iter().all(|x| !x.is_infinite()))
    }

    pub fn memory(&self) -> usize {
        let rows: usize = self.sample.iter().map(|row| 24 + 8 * row.capacity()).sum();
        rows + 8 * self.won.capacity()
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    partial_distance(a, b).unwrap_or(0.0)
}

fn lower(nearest: &mut [f64], sample: &[Vec<f64>], centre: &[f64]) {
    for (near, row) in nearest.iter_mut().zip(sample) {
        *near = near.min(distance(centre, row));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Centres 0, 10 and 99, of which 99 gets no row: the sample has rows around 0 and 10, and three at 20. Without the dead
    /// centre the latter are 10² away each; a centre at 20 gains 300, more than any other row.
    #[test]
    fn a_dead_centre_moves_to_the_row_that_gains_most() {
        let mut centres = Centres::default();
        [0.0, 10.0, 99.0].iter().for_each(|&x| centres.push(&[x], 5.0));
        let mut reseeding = Reseeding::new(0);
        for (cluster, x) in [(0, 1.0), (0, -1.0), (1, 11.0), (1, 20.0), (1, 20.0), (1, 20.0)] {
            reseeding.observe(cluster, &[x], 1.0);
        }
        reseeding.check(&mut centres, 0.01, 1.0);
        assert_eq!(reseeding.moved, 1);
        assert_eq!((centres.value(2, 0), centres.weights()[2]), (20.0, 1.0));
    }

    /// Each of 1,000 rows is in the sample of 100 with probability 0.1: over 2,000 samples, 200 times, with a standard
    /// deviation of √(2000 · 0.1 · 0.9) = 13.4. The largest of 1,000 deviations stays below 5 of them.
    #[test]
    fn the_sample_is_uniform() {
        let mut counts = vec![0.0f64; 1000];
        let mut centres = Centres::default();
        centres.push(&[0.0], 1.0);
        let mut reseeding = Reseeding::new(3);
        for _ in 0..2000 {
            (0..1000).for_each(|row| reseeding.observe(0, &[f64::from(row)], 1.0));
            reseeding.sample.iter().for_each(|row| counts[row[0] as usize] += 1.0);
            reseeding.check(&mut centres, 0.0, 1.0);
        }
        assert!(counts.iter().all(|count| (count - 200.0).abs() < 67.0));
        let chi_square: f64 = counts.iter().map(|count| (count - 200.0).powi(2) / 180.0).sum();
        assert!((850.0..1150.0).contains(&chi_square), "{chi_square}");
    }
}
