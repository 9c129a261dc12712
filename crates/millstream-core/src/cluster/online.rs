//! What online forms of k-means have in common: the start, assignment to the nearest centre, and re-seeding. They differ in
//! how a row moves its centre (`Update`).
//!
//! The first `init_size` rows are kept and clustered together (`lloyd`); from then on each row is assigned to the nearest
//! centre and moves it. While there are fewer centres than clusters, because too few of the first rows were distinct, a row
//! that lies at none of them becomes another centre.

use pulp::{Arch, Simd, WithSimd};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::batch::{Batch, Rows};
use crate::cluster::centres::{Centres, Nearest};
use crate::cluster::coordinate_rows::{widen_row, write_row, PartialDistances};
use crate::cluster::lloyd::{KMeans, Search, WeightedRows};
use crate::cluster::reseeding::Reseeding;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::linear_model::{named, Coordinates};
use crate::numeric::random::Random;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClusterPrediction, Clusters};

/// Rows with larger numbers or weights are refused: sums of squares of up to `MOST_NUMBERS` differences stay finite.
const LARGEST: f64 = 1e150;
/// The largest number of coordinates of all centres.
const MOST_NUMBERS: usize = 1 << 24;
/// Rows per cluster among the first rows, unless their number is given.
const FIRST_ROWS: usize = 20;
/// Rounds of Lloyd's algorithm on the first rows. More would be lost on so few of them.
const ROUNDS: usize = 10;
/// Number of starts, of which the best is used, unless they would take more differences of numbers than this.
const MOST_STARTS: usize = 10;
const MOST_WORK: usize = 4_000_000;
/// Random stream of the start.
const START: u64 = 0x5354_4152;

pub const N_CLUSTERS: Parameter = Parameter::new(
    "n_clusters",
    Kind::Integer { low: 1, high: 10_000 },
    DefaultValue::Integer(8),
    "number of clusters",
);
pub const INIT: Parameter = Parameter::new(
    "init",
    Kind::Optional(&Kind::Table("a list of centres as lists of numbers")),
    DefaultValue::Null,
    "initial centres, with the features in their order of appearance; null to cluster the first rows",
);
pub const INIT_SIZE: Parameter = Parameter::new(
    "init_size",
    Kind::Optional(&Kind::Integer { low: 1, high: 1 << 24 }),
    DefaultValue::Null,
    "number of first rows that are kept and clustered, at least one per cluster; null for 20 per cluster",
);
pub const REASSIGNMENT_RATIO: Parameter = Parameter::new(
    "reassignment_ratio",
    Kind::Float(Bounds::DECAY),
    DefaultValue::Float(0.01),
    "fraction of the mean cluster below which a cluster of the latest rows is dead and its centre moves; 0 for never",
);
pub const SEED: Parameter = Parameter::new(
    "seed",
    Kind::Integer { low: 0, high: i64::MAX },
    DefaultValue::Integer(0),
    "seed of the initial centres and of the sample of rows for dead ones",
);

/// A list of points; a number is a point of one coordinate.
fn centres_of(given: &serde_json::Value) -> Vec<Vec<f64>> {
    let numbers = |row: &serde_json::Value| match row.as_array() {
        Some(row) => row.iter().filter_map(serde_json::Value::as_f64).collect(),
        None => row.as_f64().into_iter().collect(),
    };
    given.as_array().map(|rows| rows.iter().map(numbers).collect()).unwrap_or_default()
}

/// How a row moves its centre.
pub trait Update: Clone + Send + Sync + 'static {
    type State: Serialize + DeserializeOwned;
    const NAME: &'static str;

    /// Learn a row of a centre. `complete` if the row has no NaN; a centre may have some.
    fn learn(&mut self, centres: &mut Centres, cluster: usize, x: &[f64], complete: bool, w: f64);
    /// Adapt to centres that were added, or to coordinates, before which centres had `before` of them.
    fn fit_to(&mut self, centres: &Centres, coordinates: &Coordinates, before: usize);
    /// Whether all rows so far have moved their centres.
    fn is_settled(&self) -> bool;
    /// The weight of a new row of weight 1 in the weights of the centres.
    fn unit(&self) -> f64;
    fn save(&self) -> Self::State;
    /// False if the state does not fit the centres.
    fn load(&mut self, state: Self::State, centres: &Centres) -> bool;
    fn memory(&self) -> usize;
}

#[derive(Clone, Debug)]
struct Settings {
    n_clusters: usize,
    init: Vec<Vec<f64>>,
    init_size: usize,
    reassignment_ratio: f64,
    seed: u64,
}

#[derive(Clone)]
pub struct OnlineKMeans<U> {
    settings: Settings,
    coordinates: Coordinates,
    centres: Centres,
    /// Until there are centres, the first rows and their weights.
    first_rows: Vec<Vec<f64>>,
    first_weights: Vec<f64>,
    reseeding: Reseeding,
    update: U,
}

#[derive(Serialize, Deserialize)]
struct State<S> {
    coordinates: Coordinates,
    centres: Vec<Vec<f64>>,
    weights: Vec<f64>,
    coordinate_weights: Vec<f64>,
    first_rows: Vec<Vec<f64>>,
    first_weights: Vec<f64>,
    reseeding: Reseeding,
    update: S,
}

impl<U: Update> OnlineKMeans<U> {
    pub fn new(arguments: &Arguments<'_>, update: U) -> Result<Self> {
        let n_clusters = arguments.size("n_clusters")?;
        let init = centres_of(arguments.value("init")?);
        let width = init.first().map_or(0, Vec::len);
        let refuse = |what: String| Err(Fault::value(format!("{}: {what}", U::NAME)));
        if !init.is_empty() && (width == 0 || init.iter().any(|centre| centre.len() != width)) {
            return refuse("init must have the same number of features in each centre".into());
        }
        if !init.is_empty() && init.len() != n_clusters {
            return refuse(format!("init must have n_clusters={n_clusters} centres, got {}", init.len()));
        }
        if init.iter().flatten().any(|x| x.abs() > LARGEST) || init.len() * width > MOST_NUMBERS {
            return refuse(format!("init must have up to {MOST_NUMBERS} numbers of size up to {LARGEST:e}"));
        }
        // Fewer rows than clusters could not give a centre to each.
        let init_size = match arguments.value("init_size")?.is_null() {
            true => FIRST_ROWS * n_clusters,
            false => arguments.size("init_size")?.max(n_clusters),
        };
        let seed = arguments.integer("seed")? as u64;
        Ok(OnlineKMeans {
            settings: Settings {
                n_clusters,
                init,
                init_size,
                reassignment_ratio: arguments.float("reassignment_ratio")?,
                seed,
            },
            coordinates: Coordinates::default(),
            centres: Centres::default(),
            first_rows: Vec::new(),
            first_weights: Vec::new(),
            reseeding: Reseeding::new(seed),
            update,
        })
    }

    /// Whether a plain row has exactly the known coordinates, and there are centres.
    #[inline]
    fn is_usual(&self, values: &[f64]) -> bool {
        self.coordinates.is_all_of(values) && self.centres.len() > 0
    }

    #[inline]
    fn check_size(&self, x: Row<'_>, w: f64) -> Result<()> {
        let values = match x {
            Row::Plain(values) | Row::Mixed(values, _) => values,
            Row::Sparse(sparse) => sparse.values,
        };
        match w > LARGEST || are_large(values) {
            true => Err(Fault::overflow(U::NAME)),
            false => Ok(()),
        }
    }

    /// Learn a row by coordinates, whose nearest centre has been found.
    #[inline(always)]
    fn assign(&mut self, x: &[f64], complete: bool, w: f64, found: Option<Nearest>) {
        let settled = self.centres.len() == self.settings.n_clusters;
        let cluster = match found {
            Some(found) if settled || found.distance == 0.0 => found.cluster,
            None if settled => return,
            _ => self.add_centre(x),
        };
        if self.settings.reassignment_ratio > 0.0 {
            self.reseeding.observe(cluster, x, w);
        }
        self.update.learn(&mut self.centres, cluster, x, complete, w);
        if self.settings.reassignment_ratio > 0.0
            && self.reseeding.is_due(&self.centres)
            && self.update.is_settled()
        {
            let unit = self.update.unit();
            self.reseeding.check(&mut self.centres, self.settings.reassignment_ratio, unit);
        }
    }

    #[cold]
    fn add_centre(&mut self, x: &[f64]) -> usize {
        self.centres.push(x, 0.0);
        self.update.fit_to(&self.centres, &self.coordinates, self.centres.width());
        self.centres.len() - 1
    }

    /// Cluster the first rows.
    #[cold]
    fn start(&mut self) {
        let width = self.coordinates.width();
        let values = self.first_rows.concat();
        let rows = WeightedRows { values: &values, width, weights: Some(&self.first_weights) };
        let n_clusters = self.settings.n_clusters;
        let candidates = 2 + (n_clusters as f64).ln() as usize;
        let search = Search { most: n_clusters, candidates, rounds: ROUNDS };
        let mut random = Random::new(self.settings.seed, START);
        let work = values.len().saturating_mul(n_clusters).saturating_mul(candidates + ROUNDS);
        let mut clusters = KMeans::default();
        clusters.fit(&PartialDistances, rows, search, &mut random);
        let mut least = clusters.inertia(&PartialDistances, rows);
        // Some seeds end in a poor minimum, so the best of several is used.
        for _ in 1..(MOST_WORK / work.max(1)).min(MOST_STARTS) {
            let mut others = KMeans::default();
            others.fit(&PartialDistances, rows, search, &mut random);
            let inertia = others.inertia(&PartialDistances, rows);
            if inertia < least {
                (clusters, least) = (others, inertia);
            }
        }
        // Clusters that lost their rows while the centroids moved have no weight.
        let mut weights = vec![0.0; clusters.len()];
        let mut by_coordinate = vec![0.0; clusters.len() * width];
        for ((row, &w), &cluster) in self.first_rows.iter().zip(&self.first_weights).zip(clusters.owner()) {
            weights[cluster] += w;
            for (slot, _) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                by_coordinate[cluster * width + slot] += w;
            }
        }
        for (cluster, &weight) in weights.iter().enumerate() {
            self.centres.push(clusters.centroid(cluster), weight);
        }
        if self.first_rows.iter().flatten().any(|x| x.is_nan()) {
            self.centres.set_coordinate_weights(by_coordinate);
        }
        (self.first_rows, self.first_weights) = (Vec::new(), Vec::new());
        self.update.fit_to(&self.centres, &self.coordinates, width);
    }

    /// Start with given centres, at the first row.
    #[cold]
    fn start_with_init(&mut self) -> Result<()> {
        let (width, given) = (self.coordinates.width(), self.settings.init[0].len());
        if width != given || self.coordinates.mapped() {
            return Err(Fault::value(format!(
                "{}: init has centres of {given} numbers, but the first row has {width} features; they must be the same numbers",
                U::NAME
            )));
        }
        for centre in &self.settings.init {
            self.centres.push(centre, 0.0);
        }
        self.update.fit_to(&self.centres, &self.coordinates, width);
        Ok(())
    }

    /// Learn a row that is not plain, or that has new coordinates, or one of the first.
    #[cold]
    fn learn_any(&mut self, x: Row<'_>, w: f64, scratch: &mut Scratch) -> Result<()> {
        if self.coordinates.may_grow(x) {
            self.grow(x)?;
        }
        let mut row = scratch.take_numbers();
        write_row(&self.coordinates, x, &mut row);
        let complete = !row.iter().any(|x| x.is_nan());
        let empty = row.iter().all(|x| x.is_nan());
        if self.centres.len() == 0 && !empty {
            if self.settings.init.is_empty() {
                self.first_rows.push(row.clone());
                self.first_weights.push(w);
                if self.first_rows.len() >= self.settings.init_size {
                    self.start();
                }
                scratch.give_numbers(row);
                return Ok(());
            }
            if let Err(fault) = self.start_with_init() {
                scratch.give_numbers(row);
                self.coordinates.shrink(0);
                return Err(fault);
            }
        }
        if !empty {
            let found = self.centres.nearest(&row, complete);
            self.assign(&row, complete, w, found);
        }
        scratch.give_numbers(row);
        Ok(())
    }

    /// Add the coordinates of new features and values, everywhere.
    fn grow(&mut self, x: Row<'_>) -> Result<()> {
        let before = self.coordinates.grow(x);
        let width = self.coordinates.width();
        if width == before {
            return Ok(());
        }
        let kept = self.settings.n_clusters.max(if self.centres.len() == 0 { self.settings.init_size } else { 0 });
        if kept.saturating_mul(width) > MOST_NUMBERS {
            self.coordinates.shrink(before);
            return Err(Fault::value(format!(
                "{}: supports up to {MOST_NUMBERS} numbers in its rows and centres, got {width} features and nominal values \
                 of {kept}: use fewer clusters or first rows, or select features",
                U::NAME
            )));
        }
        self.first_rows.iter_mut().for_each(|row| widen_row(&self.coordinates, row));
        self.reseeding.widen(&self.coordinates);
        if self.centres.len() > 0 {
            self.centres.widen(&self.coordinates);
            self.update.fit_to(&self.centres, &self.coordinates, before);
        }
        Ok(())
    }

    /// The nearest centre of a row of any form, for predictions.
    fn find(&self, x: Row<'_>, want: Want, scratch: &mut Scratch) -> Option<Nearest> {
        let search = |x: &[f64], complete: bool| match want {
            Want::Class => self.centres.nearest(x, complete),
            _ => self.centres.two_nearest(x, complete),
        };
        if let Row::Plain(values) = x {
            if self.coordinates.is_all_of(values) {
                return search(values, true);
            }
        }
        let mut row = scratch.take_numbers();
        write_row(&self.coordinates, x, &mut row);
        let found = search(&row, !row.iter().any(|x| x.is_nan()));
        scratch.give_numbers(row);
        found
    }
}

/// Whether a number is too large; NaN is not. Without an early exit, so that it runs in vector registers.
#[inline]
fn are_large(values: &[f64]) -> bool {
    values.iter().fold(false, |large, x| large | (x.abs() > LARGEST))
}

fn tell(found: Option<Nearest>, out: &mut ClusterPrediction) {
    let root = |square: f64| if square.is_finite() { square.sqrt() } else { 0.0 };
    *out = found.map_or_else(ClusterPrediction::default, |found| ClusterPrediction {
        cluster: Some(found.cluster as u32),
        distance: root(found.distance),
        next_distance: root(found.next_distance),
    });
}

impl<U: Update> Part for OnlineKMeans<U> {
    fn save(&self) -> Result<Vec<u8>> {
        let mut centres = vec![Vec::new(); self.centres.len()];
        centres.iter_mut().enumerate().for_each(|(cluster, centre)| self.centres.copy_to(cluster, centre));
        pack(&State {
            coordinates: self.coordinates.clone(),
            centres,
            weights: self.centres.weights().to_vec(),
            coordinate_weights: self.centres.coordinate_weights().to_vec(),
            first_rows: self.first_rows.clone(),
            first_weights: self.first_weights.clone(),
            reseeding: self.reseeding.trimmed(),
            update: self.update.save(),
        })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State<U::State> = unpack(U::NAME, bytes)?;
        let who = U::NAME;
        state.coordinates.validate(who)?;
        let width = state.coordinates.width();
        let is_row = |row: &Vec<f64>| row.len() == width && row.iter().all(|x| x.is_nan() || x.abs() <= LARGEST);
        let is_weight = |w: &f64| *w >= 0.0 && w.is_finite();
        require(who, state.centres.iter().chain(&state.first_rows).all(is_row), "a row is out of range")?;
        let weights = [&state.weights, &state.coordinate_weights, &state.first_weights];
        require(who, weights.into_iter().flatten().all(is_weight), "a weight is out of range")?;
        require(who, state.centres.len() <= self.settings.n_clusters, "there are too many centres")?;
        require(who, state.weights.len() == state.centres.len(), "a centre has no weight")?;
        require(who, state.first_weights.len() == state.first_rows.len(), "a row has no weight")?;
        require(who, state.first_rows.len() < self.settings.init_size, "there are too many first rows")?;
        require(
            who,
            state.first_rows.is_empty() || state.centres.is_empty(),
            "there are first rows beside centres",
        )?;
        require(who, state.reseeding.is_valid(state.centres.len(), width), "the sample is out of range")?;
        let mut centres = Centres::default();
        require(who, width > 0 || state.centres.is_empty(), "a centre is empty")?;
        state.centres.iter().zip(&state.weights).for_each(|(centre, &weight)| centres.push(centre, weight));
        require(who, centres.set_coordinate_weights(state.coordinate_weights), "weights do not match")?;
        let mut update = self.update.clone();
        require(who, update.load(state.update, &centres), "the updates do not match the centres")?;
        self.coordinates = state.coordinates;
        self.centres = centres;
        (self.first_rows, self.first_weights) = (state.first_rows, state.first_weights);
        self.reseeding = state.reseeding;
        self.update = update;
        Ok(())
    }

    fn memory(&self) -> usize {
        let first: usize = self.first_rows.iter().map(|row| 24 + 8 * row.capacity()).sum();
        let init: usize = self.settings.init.iter().map(|row| 24 + 8 * row.capacity()).sum();
        let parts = [
            self.coordinates.memory(),
            self.centres.memory(),
            self.reseeding.memory(),
            self.update.memory(),
            8 * self.first_weights.capacity(),
        ];
        std::mem::size_of::<Self>() + first + init + parts.iter().sum::<usize>()
    }

    /// `{"clusters": [{"weight": …, "centre": {feature: number, or {value: fraction} if it is nominal}}], "waiting": …,
    /// "reseeded": …}`
    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let clusters: Vec<_> = (0..self.centres.len())
            .map(|cluster| {
                let centre = named(schema, |slot, value| {
                    let place = self.coordinates.of(slot, value)? as usize;
                    Some(self.centres.value(cluster, place)).filter(|x| !x.is_nan())
                });
                json!({ "weight": self.centres.weights()[cluster] / self.update.unit(), "centre": centre })
            })
            .collect();
        json!({ "clusters": clusters, "waiting": self.first_rows.len(), "reseeded": self.reseeding.moved })
    }

    fn scalars(&self) -> serde_json::Value {
        json!({ "clusters": self.centres.len(), "waiting": self.first_rows.len(), "reseeded": self.reseeding.moved })
    }
}

/// Learn plain rows of the known coordinates, none of which is refused. Compiled for several instruction sets; every
/// operation rounds as IEEE 754 says, so the results are the same with all of them.
struct LearnRows<'a, U> {
    model: &'a mut OnlineKMeans<U>,
    values: &'a [f64],
    width: usize,
}

impl<U: Update> WithSimd for LearnRows<'_, U> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let LearnRows { model, values, width } = self;
        for x in values.chunks_exact(width) {
            let found = model.centres.nearest(x, true);
            model.assign(x, true, 1.0, found);
        }
    }
}

impl<U: Update> Learner<Clusters> for OnlineKMeans<U> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClusterPrediction, scratch: &mut Scratch) {
        tell(self.find(x, want, scratch), out);
    }

    fn learn(&mut self, x: Row<'_>, _y: (), w: f64, scratch: &mut Scratch) -> Result<()> {
        self.check_size(x, w)?;
        match x {
            Row::Plain(values) if self.is_usual(values) => {
                let found = self.centres.nearest(values, true);
                self.assign(values, true, w, found);
                Ok(())
            }
            _ => self.learn_any(x, w, scratch),
        }
    }

    #[inline]
    fn step(
        &mut self,
        x: Row<'_>,
        _y: (),
        w: f64,
        want: Want,
        out: &mut ClusterPrediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.check_size(x, w)?;
        match x {
            Row::Plain(values) if self.is_usual(values) => {
                let found = match want {
                    Want::Class => self.centres.nearest(values, true),
                    _ => self.centres.two_nearest(values, true),
                };
                tell(found, out);
                self.assign(values, true, w, found);
                Ok(())
            }
            _ => {
                tell(self.find(x, want, scratch), out);
                self.learn_any(x, w, scratch)
            }
        }
    }

    fn learn_batch(
        &mut self,
        batch: &Batch<'_, Clusters>,
        _buffer: &mut Vec<ClusterPrediction>,
        scratch: &mut Scratch,
    ) -> usize {
        if let (Rows::Plain { values, width }, None) = (batch.rows, batch.weights) {
            let usual = !batch.is_empty() && self.is_usual(&values[..width]);
            if usual && !are_large(values) {
                Arch::new().dispatch(LearnRows { model: self, values, width });
                return batch.len();
            }
        }
        let learned = |row: usize| self.learn(batch.rows.at(row), (), batch.weight(row), scratch).is_ok();
        (0..batch.len()).map(learned).take_while(|learned| *learned).count()
    }

    fn duplicate(&self) -> Box<dyn Learner<Clusters>> {
        Box::new(self.clone())
    }
}
