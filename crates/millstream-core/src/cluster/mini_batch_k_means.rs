//! Mini-batch k-means: the centres move together after every `batch_size` rows (Sculley, 2010, "Web-scale k-means
//! clustering", algorithm 1).
//!
//! Each row of a batch is assigned to the nearest centre as it was before the batch. At the end of the batch, a centre c of
//! weight n that has received rows x of weights w moves to the mean of all of its rows:
//!
//! ```text
//! c ← c + Σ w (x − c) / (n + Σ w),    n ← n + Σ w
//! ```
//!
//! This is Sculley's algorithm with its per-row steps of 1/n in closed form, and what `partial_fit` of scikit-learn's
//! MiniBatchKMeans computes. The batch is a number of rows in the state, not of a call, and only sums are kept of it.

use serde::{Deserialize, Serialize};

use crate::cluster::centres::Centres;
use crate::cluster::online::{OnlineKMeans, Update, INIT, INIT_SIZE, N_CLUSTERS, REASSIGNMENT_RATIO, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::linear_model::Coordinates;
use crate::merging::Merge;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};

const NAME: &str = "cluster.MiniBatchKMeans";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Clusterer,
    words: "K-means whose centres move together after each batch of rows",
    merge: Merge::none("centres of separate models do not correspond to each other: cluster the centres of both"),
    parameters: &[
        N_CLUSTERS,
        Parameter::new(
            "batch_size",
            Kind::Integer { low: 1, high: 1 << 20 },
            DefaultValue::Integer(1024),
            "number of rows after which the centres move",
        ),
        INIT_SIZE,
        INIT,
        REASSIGNMENT_RATIO,
        SEED,
    ],
    build: |arguments| {
        let update = MiniBatch { batch_size: arguments.size("batch_size")? as u64, sums: Sums::default() };
        Ok(Built::Clusterer(Box::new(OnlineKMeans::new(arguments, update)?)))
    },
};

/// Sums over the rows of the current batch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sums {
    rows: u64,
    /// Σ w (x − c), by centre and coordinate; c counts as 0 where the centre has no value.
    moves: Vec<f64>,
    /// Σ w by centre.
    weights: Vec<f64>,
    /// Σ w by centre and coordinate; empty while all are those of the centre.
    coordinate_weights: Vec<f64>,
}

#[derive(Clone, Debug)]
struct MiniBatch {
    batch_size: u64,
    sums: Sums,
}

impl Sums {
    fn separate_weights(&mut self, width: usize) {
        if self.coordinate_weights.is_empty() {
            let all = self.weights.iter().flat_map(|&weight| std::iter::repeat_n(weight, width));
            self.coordinate_weights = all.collect();
        }
    }

    #[inline(always)]
    fn add(&mut self, centres: &Centres, cluster: usize, x: &[f64], complete: bool, w: f64) {
        let width = centres.width();
        let moves = &mut self.moves[cluster * width..(cluster + 1) * width];
        if complete && centres.has_even_weights() && self.coordinate_weights.is_empty() {
            centres.add_differences(cluster, x, w, moves);
            self.weights[cluster] += w;
            return;
        }
        self.separate_weights(width);
        self.weights[cluster] += w;
        let weights = &mut self.coordinate_weights[cluster * width..(cluster + 1) * width];
        for (coordinate, (sum, weight)) in self.moves[cluster * width..].iter_mut().zip(weights).enumerate() {
            let (x, centre) = (x[coordinate], centres.value(cluster, coordinate));
            if !x.is_nan() {
                *sum += w * (if centre.is_nan() { x } else { x - centre });
                *weight += w;
            }
        }
    }

    /// Move the centres, and start the next batch.
    #[inline(never)]
    fn apply(&mut self, centres: &mut Centres) {
        let width = centres.width();
        for cluster in 0..centres.len() {
            let w = self.weights[cluster];
            if w == 0.0 {
                continue;
            }
            let sums = &self.moves[cluster * width..(cluster + 1) * width];
            if centres.has_even_weights() && self.coordinate_weights.is_empty() {
                let n = centres.add_weight(cluster, w);
                centres.shift(cluster, sums, 1.0 / n);
                continue;
            }
            self.separate_weights(width);
            let weights = &self.coordinate_weights[cluster * width..(cluster + 1) * width];
            centres.separate_weights();
            centres.add_weight(cluster, w);
            let sums = &self.moves[cluster * width..(cluster + 1) * width];
            centres.move_each(cluster, |coordinate, centre, weight| {
                let (sum, w) = (sums[coordinate], weights[coordinate]);
                match w > 0.0 {
                    true => (if centre.is_nan() { 0.0 } else { centre } + sum / (weight + w), weight + w),
                    false => (centre, weight),
                }
            });
        }
        self.rows = 0;
        self.moves.fill(0.0);
        self.weights.fill(0.0);
        self.coordinate_weights.clear();
    }
}

impl Update for MiniBatch {
    type State = Sums;
    const NAME: &'static str = NAME;

    #[inline(always)]
    fn learn(&mut self, centres: &mut Centres, cluster: usize, x: &[f64], complete: bool, w: f64) {
        self.sums.add(centres, cluster, x, complete, w);
        self.sums.rows += 1;
        if self.sums.rows == self.batch_size {
            self.sums.apply(centres);
        }
    }

    fn fit_to(&mut self, centres: &Centres, coordinates: &Coordinates, before: usize) {
        let (clusters, width) = (self.sums.weights.len(), centres.width());
        if before != width && clusters > 0 {
            self.sums.separate_weights(before);
            let (mut moves, mut weights) = (Vec::new(), Vec::new());
            for cluster in 0..clusters {
                for (wide, narrow) in
                    [(&mut moves, &self.sums.moves), (&mut weights, &self.sums.coordinate_weights)]
                {
                    wide.extend_from_slice(&narrow[cluster * before..(cluster + 1) * before]);
                    wide.resize((cluster + 1) * width, 0.0);
                }
                let own = &mut weights[cluster * width..];
                coordinates.each_slot(|_, _, places| {
                    let known = places.iter().find(|&&place| place < before).map_or(0.0, |&place| own[place]);
                    places.iter().filter(|&&place| place >= before).for_each(|&place| own[place] = known);
                });
            }
            (self.sums.moves, self.sums.coordinate_weights) = (moves, weights);
        }
        self.sums.weights.resize(centres.len(), 0.0);
        self.sums.moves.resize(centres.len() * width, 0.0);
        if !self.sums.coordinate_weights.is_empty() {
            self.sums.coordinate_weights.resize(centres.len() * width, 0.0);
        }
    }

    fn is_settled(&self) -> bool {
        self.sums.rows == 0
    }

    fn unit(&self) -> f64 {
        1.0
    }

    fn save(&self) -> Sums {
        self.sums.clone()
    }

    fn load(&mut self, state: Sums, centres: &Centres) -> bool {
        let (clusters, numbers) = (centres.len(), centres.len() * centres.width());
        let is_weight = |w: &f64| *w >= 0.0 && w.is_finite();
        let fits = state.rows < self.batch_size
            && state.weights.len() == clusters
            && state.moves.len() == numbers
            && (state.coordinate_weights.is_empty() || state.coordinate_weights.len() == numbers)
            && state.moves.iter().all(|x| x.is_finite())
            && state.weights.iter().chain(&state.coordinate_weights).all(is_weight);
        self.sums = state;
        fits
    }

    fn memory(&self) -> usize {
        8 * (self.sums.moves.capacity() + self.sums.weights.capacity() + self.sums.coordinate_weights.capacity())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::learner::Learner;
    use crate::registry;
    use crate::row::{Row, Scratch};
    use crate::schema::Schema;
    use crate::task::Clusters;

    fn built(parameters: serde_json::Value) -> Box<dyn Learner<Clusters>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        match registry::build_resolved(&description).unwrap() {
            Built::Clusterer(model) => model,
            _ => panic!(),
        }
    }

    fn state(model: &dyn Learner<Clusters>) -> Vec<(f64, f64)> {
        let mut schema = Schema::default();
        schema.widen(1);
        let found = model.inspect(&schema);
        let of = |cluster: &serde_json::Value| {
            (cluster["centre"]["0"].as_f64().unwrap(), cluster["weight"].as_f64().unwrap())
        };
        found["clusters"].as_array().unwrap().iter().map(of).collect()
    }

    /// Centres 0 and 10, batches of three rows. 4, 6 and 2: 4 and 2 are nearer to 0, 6 to 10. At the end of the batch, the
    /// first centre is the mean 3 of its rows, the second 6. The next batch, 3, 9, 5: 3 to the first, 3 + (3 − 3)/3 = 3 with
    /// weight 3; 9 to the second; 5 lies 2 from 3 and 1 from 6: 6 + (3 − 1)/3 = 20/3 with weight 3.
    #[test]
    fn two_batches_worked_by_hand() {
        let mut model = built(json!({ "n_clusters": 2, "init": [[0.0], [10.0]], "batch_size": 3 }));
        let mut scratch = Scratch::default();
        for (x, expected) in [
            (4.0, [(0.0, 0.0), (10.0, 0.0)]),
            (6.0, [(0.0, 0.0), (10.0, 0.0)]),
            (2.0, [(3.0, 2.0), (6.0, 1.0)]),
            (3.0, [(3.0, 2.0), (6.0, 1.0)]),
            (9.0, [(3.0, 2.0), (6.0, 1.0)]),
            (5.0, [(3.0, 3.0), (20.0 / 3.0, 3.0)]),
        ] {
            model.learn(Row::Plain(&[x]), (), 1.0, &mut scratch).unwrap();
            for (found, expected) in state(&*model).iter().zip(expected) {
                assert!((found.0 - expected.0).abs() < 1e-14 && found.1 == expected.1, "{x}: {found:?}");
            }
        }
    }
}
