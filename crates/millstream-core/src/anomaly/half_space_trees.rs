//! Half-space trees (Tan, Ting and Liu, 2011, "Fast anomaly detection for streaming data", IJCAI, Algorithms 1 to 3).
//!
//! Each tree cuts the feature space into 2^h cells at random, before any data (Algorithm 1). The mass of a node is the
//! weight of the rows of a window in its cell. The masses r of the last full window are the reference; those of the
//! running window, l, take their place when it is full (Algorithm 2). Anomalies fall into cells of little mass. For a row
//! whose path in tree t has the nodes 0, 1, …, up to the first with r < 0.1 W, or to the leaf (Algorithm 3),
//!
//! ```text
//! score = 1 − Σ_t Σ_k r_k 2^k / (T W (2^(h+1) − 1)),
//! ```
//!
//! in [0, 1], with W the weight of the reference window; 0 before there is one. Two things are not the paper's: as in
//! River, all nodes of the path count and not the last alone, and a cell is cut at random, off its ends, in a feature drawn
//! in proportion to its width, not in the middle of a random range.
//!
//! The score of a row depends on its leaves alone, and the mass of a node is that of the leaves below it. So a row only
//! finds its leaves, adds its weight there and sums one number for each tree; nodes and scores of leaves are computed once
//! for each window.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::mass_trees::{MassTrees, Split};
use crate::batch::{Batch, Rows, MODERATE};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::{step_each, Learner, Then};
use crate::limits::Limits;
use crate::merging::Merge;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, Scratch, Value, Want};
use crate::schema::Schema;
use crate::task::Anomalies;

const NAME: &str = "anomaly.HalfSpaceTrees";
/// A path ends at a node with less than this fraction of the window, as in the paper.
const SIZE_LIMIT: f64 = 0.1;
/// Leaves of all trees.
const MOST_LEAVES: usize = 1 << 22;
/// The weight of a window. Masses times 2^h and the number of trees stay finite.
const HEAVIEST: f64 = 1e280;
/// Up to this weight, any number of moderate rows is far from the heaviest.
const LIGHT: f64 = 1e250;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::AnomalyDetector,
    words: "Random trees that score how few recent rows were near a row",
    merge: Merge::ORDER,
    parameters: &[
        Parameter::new(
            "n_trees",
            Kind::Integer { low: 1, high: 1 << 20 },
            DefaultValue::Integer(10),
            "number of trees",
        ),
        Parameter::new(
            "height",
            Kind::Integer { low: 1, high: 20 },
            DefaultValue::Integer(8),
            "number of splits from the root to a leaf",
        ),
        Parameter::new(
            "window_size",
            Kind::Integer { low: 1, high: 1 << 40 },
            DefaultValue::Integer(250),
            "number of rows of a window",
        ),
        Parameter::new(
            "limits",
            Kind::Optional(&Kind::Limits),
            DefaultValue::Null,
            "ranges of features; [0, 1] for features not named",
        ),
        Parameter::new(
            "seed",
            Kind::Integer { low: 0, high: i64::MAX },
            DefaultValue::Integer(1),
            "seed of the random splits",
        ),
    ],
    build: |arguments| {
        let (n_trees, height) = (arguments.size("n_trees")?, arguments.size("height")? as u32);
        if n_trees << height > MOST_LEAVES {
            let most = MOST_LEAVES >> height;
            return Err(Fault::value(format!(
                "{NAME}: n_trees must be at most {most} at height {height}, got {n_trees}"
            )));
        }
        Ok(Built::AnomalyDetector(Box::new(HalfSpaceTrees {
            n_trees,
            window_size: arguments.size("window_size")? as u64,
            limits: Limits::new(arguments.value("limits")?),
            seed: arguments.integer("seed")? as u64,
            trees: MassTrees::new(height, Vec::new()),
            masses: Masses::default(),
            scores: Vec::new(),
            undo: Undo::default(),
        })))
    },
};

/// By leaf of all trees.
#[derive(Clone, Debug, Default)]
struct Masses {
    /// Rows and weight of the running window.
    rows: u64,
    weight: f64,
    latest: Vec<f64>,
    /// 0 before the first window is full.
    reference_weight: f64,
    reference: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct State {
    /// By tree, from the root level by level, without the place before the root.
    features: Vec<u32>,
    splits: Vec<f64>,
    rows: u64,
    weight: f64,
    latest: Vec<f64>,
    reference_weight: f64,
    reference: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Learned {
    #[default]
    Nothing,
    /// The trees were grown for this row.
    First,
    Row,
}

/// What leads back to the state before the last row.
#[derive(Clone, Debug, Default)]
struct Undo {
    learned: Learned,
    /// Whether the row filled its window: then `masses` and `scores` are those of the window before.
    filled: bool,
    leaves: Vec<u32>,
    /// Of these leaves, before.
    before: Vec<f64>,
    weight: f64,
    masses: Vec<f64>,
    reference_weight: f64,
    rows: u64,
    scores: Vec<f64>,
}

#[derive(Clone)]
struct HalfSpaceTrees {
    n_trees: usize,
    window_size: u64,
    limits: Limits,
    seed: u64,
    trees: MassTrees,
    masses: Masses,
    /// By leaf: Σ_k r_k 2^k over its path. Follows from the reference.
    scores: Vec<f64>,
    undo: Undo,
}

impl HalfSpaceTrees {
    /// Grow the trees over the numbers of the first row that has any.
    fn grow(&mut self, x: Row<'_>) {
        let mut features = Vec::new();
        for slot in 0..x.width() {
            if let Some(Value::Number(_)) = x.get(slot) {
                let (low, high) = self.limits.of(slot as u32).unwrap_or((0.0, 1.0));
                features.push((slot as u32, low, high));
            }
        }
        if !features.is_empty() {
            self.trees = MassTrees::grow(self.trees.height, self.n_trees, &features, self.seed);
            self.reserve();
        }
    }

    /// All that is as long as there are leaves.
    fn reserve(&mut self) {
        let leaves = self.n_trees << self.trees.height;
        for numbers in [
            &mut self.masses.latest,
            &mut self.masses.reference,
            &mut self.scores,
            &mut self.undo.masses,
            &mut self.undo.scores,
        ] {
            numbers.clear();
            numbers.resize(leaves, 0.0);
        }
    }

    /// Σ_k r_k 2^k for each leaf, from the masses of the reference.
    fn score_leaves(&mut self) {
        let size = self.trees.leaves_per_tree();
        let limit = SIZE_LIMIT * self.masses.reference_weight;
        let trees = self.masses.reference.chunks_exact(size).zip(self.scores.chunks_exact_mut(size));
        let (mut nodes, mut sums) = (vec![0.0; 2 * size], vec![0.0; 2 * size]);
        for (masses, scores) in trees {
            nodes[size..].copy_from_slice(masses);
            for depth in (0..self.trees.height).rev() {
                let (above, here) = nodes.split_at_mut(2 << depth);
                for (node, children) in above[1 << depth..].iter_mut().zip(here.chunks_exact(2)) {
                    *node = children[0] + children[1];
                }
            }
            sums[1] = nodes[1];
            for depth in 0..self.trees.height {
                let factor = f64::from(2u32 << depth);
                let (above, here) = sums.split_at_mut(2 << depth);
                let above = above[1 << depth..].iter().zip(&nodes[1 << depth..]);
                let here = here.chunks_exact_mut(2).zip(nodes[2 << depth..].chunks_exact(2));
                for ((sum, mass), (sums, masses)) in above.zip(here) {
                    // Below a node with too little mass, all have too little: the sum stays as it is.
                    let factor = if *mass >= limit { factor } else { 0.0 };
                    sums[0] = sum + factor * masses[0];
                    sums[1] = sum + factor * masses[1];
                }
            }
            scores.copy_from_slice(&sums[size..]);
        }
    }

    #[inline]
    fn score(&self, leaves: &[u32]) -> f64 {
        self.normalised(leaves.iter().fold(0.0, |sum, &leaf| sum + self.scores[leaf as usize]))
    }

    /// The score of a row whose leaves have this sum.
    #[inline]
    fn normalised(&self, sum: f64) -> f64 {
        if self.masses.reference_weight == 0.0 {
            return 0.0;
        }
        let nodes = 2 * self.trees.leaves_per_tree() - 1;
        // Weights of all sizes in one window may round to just below 0.
        (1.0 - sum / (self.n_trees as f64 * self.masses.reference_weight * nodes as f64)).max(0.0)
    }

    /// Learn a row whose leaves are in `undo.leaves`.
    #[inline]
    fn add(&mut self, w: f64) {
        let HalfSpaceTrees { masses, undo, .. } = self;
        undo.weight = masses.weight;
        undo.rows = masses.rows;
        undo.filled = false;
        undo.before.clear();
        for &leaf in &undo.leaves {
            let mass = &mut masses.latest[leaf as usize];
            undo.before.push(*mass);
            *mass += w;
        }
        masses.weight += w;
        masses.rows += 1;
        if masses.rows >= self.window_size {
            self.next_window();
        }
    }

    /// The running window becomes the reference. What it replaces is kept for `undo`.
    fn next_window(&mut self) {
        let HalfSpaceTrees { masses, undo, scores, .. } = self;
        undo.filled = true;
        undo.reference_weight = masses.reference_weight;
        std::mem::swap(&mut undo.masses, &mut masses.reference);
        std::mem::swap(&mut masses.reference, &mut masses.latest);
        // Now the oldest, of no use to anyone.
        masses.latest.fill(0.0);
        std::mem::swap(&mut undo.scores, scores);
        masses.reference_weight = masses.weight;
        (masses.weight, masses.rows) = (0.0, 0);
        self.score_leaves();
    }

    /// Score plain rows, tree by tree.
    fn score_together(&self, rows: &Rows<'_>, out: &mut Vec<f64>) {
        let (start, size) = (out.len(), self.trees.leaves_per_tree());
        out.resize(start + rows.len(), 0.0);
        let sums = &mut out[start..];
        if self.masses.reference_weight > 0.0 {
            for (tree, scores) in self.scores.chunks_exact(size).enumerate() {
                self.trees.find_together(tree, rows, |row, leaf| sums[row] += scores[leaf]);
            }
        }
        sums.iter_mut().for_each(|sum| *sum = self.normalised(*sum));
    }

    /// Score and learn plain rows that fit in the running window, tree by tree. Each number is added to the same sums in
    /// the same order as row by row.
    fn step_together(&mut self, batch: &Batch<'_, Anomalies>, out: &mut Vec<f64>) {
        let (start, size) = (out.len(), self.trees.leaves_per_tree());
        match &batch.asked {
            Some(asked) => self.score_together(asked, out),
            None => out.resize(start + batch.len(), 0.0),
        }
        // Where rows are scored as they are learned, they go down a tree once for both.
        let (sums, scored_here) = (&mut out[start..], batch.asked.is_none());
        let HalfSpaceTrees { trees, masses, scores, .. } = self;
        let leaves = masses.latest.chunks_exact_mut(size).zip(scores.chunks_exact(size));
        for (tree, (latest, scores)) in leaves.enumerate() {
            trees.find_together(tree, &batch.rows, |row, leaf| {
                latest[leaf] += batch.weight(row);
                if scored_here {
                    sums[row] += scores[leaf];
                }
            });
        }
        if scored_here {
            sums.iter_mut().for_each(|sum| *sum = self.normalised(*sum));
        }
        for row in 0..batch.len() {
            self.masses.weight += batch.weight(row);
        }
        self.masses.rows += batch.len() as u64;
        if self.masses.rows >= self.window_size {
            self.next_window();
        }
        self.undo.learned = Learned::Nothing;
    }

    /// How many rows of a batch from `first` on can be learned together.
    fn together(&self, batch: &Batch<'_, Anomalies>, first: usize) -> usize {
        if self.trees.is_empty() || self.masses.weight > LIGHT {
            return 0;
        }
        let room = usize::try_from(self.window_size - self.masses.rows).unwrap_or(usize::MAX);
        let fits = |row: usize| {
            self.trees.is_plain(batch.rows.at(row))
                && batch.asked.is_none_or(|asked| self.trees.is_plain(asked.at(row)))
                && batch.weight(row) <= MODERATE
        };
        (first..batch.len()).take(room).take_while(|&row| fits(row)).count()
    }

    fn forget(&mut self) {
        let height = self.trees.height;
        self.trees = MassTrees::new(height, Vec::new());
        (self.masses, self.scores, self.undo) = (Masses::default(), Vec::new(), Undo::default());
    }
}

impl Part for HalfSpaceTrees {
    fn save(&self) -> Result<Vec<u8>> {
        let size = self.trees.leaves_per_tree();
        let splits = || self.trees.splits.chunks_exact(size).flat_map(|tree| &tree[1..]);
        let masses = self.masses.clone();
        pack(&State {
            features: splits().map(|split| split.feature).collect(),
            splits: splits().map(|split| split.value).collect(),
            rows: masses.rows,
            weight: masses.weight,
            latest: masses.latest,
            reference_weight: masses.reference_weight,
            reference: masses.reference,
        })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let size = self.trees.leaves_per_tree();
        let leaves = self.n_trees * size;
        let grown = !state.splits.is_empty();
        let counts = [state.features.len(), state.splits.len(), state.latest.len(), state.reference.len()];
        let nodes = leaves - self.n_trees;
        require(NAME, !grown || counts == [nodes, nodes, leaves, leaves], "the trees have another size")?;
        require(NAME, grown || counts == [0; 4], "masses without trees")?;
        require(NAME, state.splits.iter().all(|split| split.is_finite()), "a split is not finite")?;
        require(NAME, state.features.iter().all(|&feature| feature < u32::MAX), "a feature is out of range")?;
        let mass = |mass: &f64| (0.0..=HEAVIEST).contains(mass);
        let masses = state.latest.iter().chain(&state.reference);
        require(NAME, masses.chain([&state.weight, &state.reference_weight]).all(mass), "a mass is out of range")?;
        require(NAME, state.rows < self.window_size && (grown || state.rows == 0), "the window is too long")?;
        let heavy = state.reference.iter().any(|&mass| mass > 0.0);
        require(NAME, heavy == (state.reference_weight > 0.0), "the reference has no weight")?;
        self.forget();
        if !grown {
            return Ok(());
        }
        let mut splits = vec![Split::default(); leaves];
        let saved = state.splits.chunks_exact(size - 1).zip(state.features.chunks_exact(size - 1));
        for (tree, (values, features)) in splits.chunks_exact_mut(size).zip(saved) {
            for (split, (&value, &feature)) in tree[1..].iter_mut().zip(values.iter().zip(features)) {
                *split = Split { value, feature };
            }
        }
        self.trees = MassTrees::new(self.trees.height, splits);
        self.reserve();
        self.masses = Masses {
            rows: state.rows,
            weight: state.weight,
            latest: state.latest,
            reference_weight: state.reference_weight,
            reference: state.reference,
        };
        self.score_leaves();
        Ok(())
    }

    fn abilities(&self) -> Abilities {
        let needs_names = self.limits.are_named();
        Abilities {
            needs_names,
            takes_batches: true,
            predicts_batches: true,
            undoes: true,
            ..Abilities::default()
        }
    }

    fn memory(&self) -> usize {
        let undo = &self.undo;
        let numbers =
            [&self.masses.latest, &self.masses.reference, &self.scores, &undo.masses, &undo.scores, &undo.before];
        let held: usize = numbers.iter().map(|numbers| 8 * numbers.capacity()).sum();
        std::mem::size_of::<Self>() + self.trees.memory() + held + 4 * undo.leaves.capacity()
    }

    fn bind(&mut self, schema: &Schema) {
        self.limits.bind(schema);
    }

    fn infallible(&self) -> bool {
        self.masses.weight <= LIGHT
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let mut counts = vec![0u64; schema.len()];
        for split in self.trees.splits.chunks_exact(self.trees.leaves_per_tree()).flat_map(|tree| &tree[1..]) {
            if let Some(count) = counts.get_mut(split.feature as usize) {
                *count += 1;
            }
        }
        let splits: serde_json::Map<_, _> = counts
            .iter()
            .enumerate()
            .filter(|(_, &count)| count > 0)
            .map(|(slot, &count)| (schema.name(slot).text(), count.into()))
            .collect();
        json!({ "splits": splits, "rows_in_window": self.masses.rows, "has_reference": self.masses.reference_weight > 0.0 })
    }
}

impl Learner<Anomalies> for HalfSpaceTrees {
    fn predict(&self, x: Row<'_>, _want: Want, out: &mut f64, scratch: &mut Scratch) {
        *out = 0.0;
        if self.masses.reference_weight == 0.0 {
            return;
        }
        let mut leaves = scratch.take_indices();
        self.trees.find(x, &self.masses.latest, &mut leaves);
        *out = self.score(&leaves);
        scratch.give_indices(leaves);
    }

    fn learn(&mut self, x: Row<'_>, y: (), w: f64, scratch: &mut Scratch) -> Result<()> {
        self.step(x, y, w, Want::Class, &mut 0.0, scratch)
    }

    /// The leaves of a row are the same for its score and its mass.
    #[inline]
    fn step(
        &mut self,
        x: Row<'_>,
        _y: (),
        w: f64,
        _want: Want,
        out: &mut f64,
        _scratch: &mut Scratch,
    ) -> Result<()> {
        if self.masses.weight + w > HEAVIEST {
            return Err(Fault::overflow(NAME));
        }
        let first = self.trees.is_empty();
        if first {
            self.grow(x);
        }
        *out = 0.0;
        self.undo.learned = match (self.trees.is_empty(), first) {
            (true, _) => Learned::Nothing,
            (false, true) => Learned::First,
            (false, false) => Learned::Row,
        };
        if !self.trees.is_empty() {
            self.trees.find(x, &self.masses.latest, &mut self.undo.leaves);
            *out = self.score(&self.undo.leaves);
            self.add(w);
        }
        Ok(())
    }

    fn step_batch(
        &mut self,
        batch: &Batch<'_, Anomalies>,
        want: Want,
        out: &mut Vec<f64>,
        scratch: &mut Scratch,
    ) -> usize {
        let mut done = 0;
        while done < batch.len() {
            let count = self.together(batch, done);
            if count > 0 {
                self.step_together(&batch.slice(done, done + count), out);
                done += count;
            } else if step_each(self, &batch.slice(done, done + 1), want, out, scratch) == 1 {
                done += 1;
            } else {
                break;
            }
        }
        done
    }

    fn predict_batch(&self, rows: &Rows<'_>, want: Want, scratch: &mut Scratch, then: &mut Then<'_, Anomalies>) {
        let mut scores = scratch.take_numbers();
        if (0..rows.len()).all(|row| self.trees.is_plain(rows.at(row))) {
            self.score_together(rows, &mut scores);
        } else {
            scores.resize(rows.len(), 0.0);
            for (row, score) in scores.iter_mut().enumerate() {
                self.predict(rows.at(row), want, score, scratch);
            }
        }
        scores.iter_mut().for_each(then);
        scratch.give_numbers(scores);
    }

    fn undo(&mut self) {
        match std::mem::take(&mut self.undo.learned) {
            Learned::Nothing => return,
            Learned::First => return self.forget(),
            Learned::Row => {}
        }
        let HalfSpaceTrees { masses, undo, scores, .. } = self;
        if undo.filled {
            std::mem::swap(&mut masses.reference, &mut masses.latest);
            std::mem::swap(&mut undo.masses, &mut masses.reference);
            std::mem::swap(&mut undo.scores, scores);
            masses.reference_weight = undo.reference_weight;
        }
        for (&leaf, &mass) in undo.leaves.iter().zip(&undo.before) {
            masses.latest[leaf as usize] = mass;
        }
        (masses.weight, masses.rows) = (undo.weight, undo.rows);
    }

    fn duplicate(&self) -> Box<dyn Learner<Anomalies>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn built(parameters: serde_json::Value) -> Box<dyn Learner<Anomalies>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        match registry::build_resolved(&description).unwrap() {
            Built::AnomalyDetector(model) => model,
            _ => panic!(),
        }
    }

    fn score(model: &dyn Learner<Anomalies>, x: f64) -> f64 {
        let mut score = f64::NAN;
        model.predict(Row::Plain(&[x]), Want::Class, &mut score, &mut Scratch::default());
        score
    }

    /// One tree of height 2 that splits a number at 0.5, then at 0.25 and 0.75.
    fn halves() -> Box<dyn Learner<Anomalies>> {
        let mut model = built(json!({ "n_trees": 1, "height": 2, "window_size": 20 }));
        let state = State {
            features: vec![0; 3],
            splits: vec![0.5, 0.25, 0.75],
            rows: 0,
            weight: 0.0,
            latest: vec![0.0; 4],
            reference_weight: 0.0,
            reference: vec![0.0; 4],
        };
        model.load(&pack(&state).unwrap()).unwrap();
        model
    }

    /// A window of 20: 16 rows at 0.3, 3 at 0.6 and 1 at 0.8. The leaves have masses 0, 16, 3, 1, the nodes above them 16
    /// and 4, the root 20; a path ends below 0.1 · 20 = 2. The largest sum is 20 (1 + 2 + 4) = 140.
    /// 0.3: 20 + 2·16 + 4·16 = 116, so 1 − 116/140. 0.1: 20 + 2·16 + 4·0 = 52. 0.6: 20 + 2·4 + 4·3 = 40.
    /// 0.8: 20 + 2·4 + 4·1 = 32. A number beyond the limits, 7, is in the same leaf as 0.8.
    #[test]
    fn one_window_worked_by_hand() {
        let (mut model, mut scratch) = (halves(), Scratch::default());
        let rows = [vec![0.3; 16], vec![0.6; 3], vec![0.8]].concat();
        for x in &rows {
            assert_eq!(score(&*model, *x), 0.0);
            model.learn(Row::Plain(&[*x]), (), 1.0, &mut scratch).unwrap();
        }
        for (x, sum) in [(0.3, 116.0), (0.1, 52.0), (0.6, 40.0), (0.8, 32.0), (7.0, 32.0)] {
            assert_eq!(score(&*model, x), 1.0 - sum / 140.0);
        }
        // Weights that are all the same change nothing.
        let mut heavy = halves();
        for x in &rows {
            heavy.learn(Row::Plain(&[*x]), (), 8.0, &mut scratch).unwrap();
        }
        assert_eq!(score(&*heavy, 0.6), 1.0 - 40.0 / 140.0);
    }

    /// After 1 row at 0.3 and 2 at 0.6 of the next window, a row without the number goes right at the root (1 < 2), and
    /// left below it (2 against 0): the leaf of 0.6.
    #[test]
    fn a_missing_number_goes_where_most_rows_went() {
        let (mut model, mut scratch) = (halves(), Scratch::default());
        let rows = [vec![0.3; 16], vec![0.6; 3], vec![0.8], vec![0.3, 0.6, 0.6]].concat();
        for x in rows {
            model.learn(Row::Plain(&[x]), (), 1.0, &mut scratch).unwrap();
        }
        let mut got = f64::NAN;
        let kinds = [crate::schema::FeatureKind::Number];
        model.predict(Row::Mixed(&[f64::NAN], &kinds), Want::Class, &mut got, &mut scratch);
        assert_eq!(got, 1.0 - 40.0 / 140.0);
    }

    #[test]
    fn undo_reverts_any_row() {
        let mut model = built(json!({ "n_trees": 3, "height": 4, "window_size": 7 }));
        let mut scratch = Scratch::default();
        for row in 0..40 {
            let (x, other) = (f64::from(row * 37 % 40) / 40.0, f64::from(row) / 40.0);
            let before = model.save().unwrap();
            let scores: Vec<f64> = (0..9).map(|at| score(&*model, f64::from(at) / 8.0)).collect();
            model.learn(Row::Plain(&[other]), (), 1.5, &mut scratch).unwrap();
            model.undo();
            assert!(model.save().unwrap() == before, "row {row}");
            assert_eq!(scores, (0..9).map(|at| score(&*model, f64::from(at) / 8.0)).collect::<Vec<_>>());
            model.learn(Row::Plain(&[x]), (), 1.0, &mut scratch).unwrap();
        }
    }

    #[test]
    fn too_heavy_a_row_is_refused() {
        let (mut model, mut scratch) = (halves(), Scratch::default());
        model.learn(Row::Plain(&[0.3]), (), 1e279, &mut scratch).unwrap();
        let before = model.save().unwrap();
        assert!(!model.infallible());
        assert!(model.learn(Row::Plain(&[0.3]), (), 1e300, &mut scratch).is_err());
        assert!(model.save().unwrap() == before);
    }
}
