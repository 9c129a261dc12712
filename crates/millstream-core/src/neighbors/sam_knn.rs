//! SAM-kNN: nearest neighbours with a short-term and a long-term memory (Losing, Hammer and Wersing, 2016, "KNN classifier
//! with self adjusting memory for heterogeneous concept drift", ICDM).
//!
//! * The short-term memory (STM) is a window of the newest rows. After each row, its size m is the one of m, m/2, m/4, …
//!   with the least interleaved test-then-train error (`interleaved_error`).
//! * Rows that leave the STM are *cleaned* and join the long-term memory (LTM). Cleaning by a row of class y of the STM:
//!   θ is the distance of the farthest of its k nearest neighbours in the STM that has class y; of its k nearest
//!   neighbours in the other set, those of other classes within θ are removed. Each new row cleans the LTM.
//! * A full LTM is compressed: the rows of each class become half as many centroids of k-means++.
//! * The prediction is that of the STM, the LTM or both together (CM), whichever was right most often over the last m rows.
//!
//! Distances of a row are measured with the scales at its arrival.

use pulp::Arch;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::batch::Batch;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::{Learner, SlowRows};
use crate::merging::Merge;
use crate::numeric::random::Random;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::{Row, Scratch, Want};
use crate::schema::{FeatureKind, Schema};
use crate::task::{ClassPrediction, ClassPredictions, Classes, Task};

use super::compression::compressed;
use super::interleaved_error::{is_right, right_in_window, turning_lags, winner, Voter};
use super::knn::{check_width, MOST_NUMBERS, NARROW, N_NEIGHBORS};
use super::memory::{AllSums, Memory, SavedMemory};
use super::metric::{Metric, METRIC, P};
use super::nearest::Nearest;
use super::points::{kinds_of, write_row};
use super::scaling::{Moments, Scaling, SCALE};
use super::scan::{Query, Scan, Space, Visit as _};
use super::votes::{Vote, Weighting, WEIGHTS};

const NAME: &str = "neighbors.SAMKNNClassifier";
/// Separates the random numbers of compression from other uses of a seed.
const COMPRESSION: u64 = 0x7361_6d6b;
/// Number of differences between two values, about 1 ms, from which a row is slow.
const SLOW: usize = 1 << 20;
/// Neighbours for which a prediction reserves memory at once.
const MOST_RESERVED: usize = 64;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words:
        "Nearest neighbours with a self-adjusting short-term memory and a long-term memory, for drift of any kind",
    merge: Merge::EXEMPLARS,
    parameters: &[
        N_NEIGHBORS,
        Parameter::new(
            "window_size",
            Kind::Integer { low: 4, high: 1 << 24 },
            DefaultValue::Integer(5000),
            "number of rows in both memories",
        ),
        Parameter::new(
            "ltm_size",
            Kind::Float(Bounds::OPEN_UNIT),
            DefaultValue::Float(0.4),
            "fraction of these rows that the long-term memory may hold",
        ),
        Parameter::new(
            "min_stm_size",
            Kind::Integer { low: 1, high: 1 << 24 },
            DefaultValue::Integer(50),
            "least number of rows that the short-term memory shrinks to",
        ),
        WEIGHTS.with_default(DefaultValue::Text("distance")),
        METRIC,
        P,
        SCALE,
        Parameter::new(
            "seed",
            Kind::Integer { low: 0, high: i64::MAX },
            DefaultValue::Integer(0),
            "seed of the compression of the long-term memory",
        ),
    ],
    build: |arguments| {
        let window = arguments.size("window_size")?;
        let long = ((window as f64 * arguments.float("ltm_size")?) as usize).clamp(1, window - 1);
        let settings = Settings {
            n_neighbors: arguments.size("n_neighbors")?,
            short: window - long,
            long,
            least: arguments.size("min_stm_size")?,
            metric: Metric::of(arguments)?,
            weighting: Weighting::of(arguments)?,
        };
        Ok(Built::Classifier(Box::new(SelfAdjusting {
            settings,
            scaling: Scaling::of(arguments)?,
            short: Memory::new(settings.short),
            // Room for what leaves the short-term memory at once, before compression.
            long: Memory::new(window + 1),
            records: Vec::new(),
            random: Random::new(arguments.integer("seed")? as u64, COMPRESSION),
            classes: 0,
            best: Source::Short,
            spare: Spare::default(),
            arch: Arch::new(),
        })))
    },
};

#[derive(Clone, Copy)]
struct Settings {
    n_neighbors: usize,
    /// The most rows of each memory.
    short: usize,
    long: usize,
    /// The least size of the short-term memory.
    least: usize,
    metric: Metric,
    weighting: Weighting,
}

/// What is known of the predictions of a row of the short-term memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Record {
    /// See `interleaved_error`.
    lags: Vec<u32>,
    /// Whether the long-term memory and both together were right.
    long: bool,
    both: bool,
}

/// The memory that predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Short,
    Long,
    Both,
}

#[derive(Clone)]
struct SelfAdjusting {
    settings: Settings,
    scaling: Scaling,
    short: Memory,
    long: Memory,
    /// By place of the short-term memory.
    records: Vec<Record>,
    random: Random,
    /// One more than the largest class code so far.
    classes: usize,
    /// Follows from the records.
    best: Source,
    spare: Spare,
    arch: Arch,
}

/// Buffers, not part of the state.
#[derive(Default)]
struct Spare {
    sums: AllSums,
    /// The neighbours in the short-term memory, and those in other memories.
    voters: Vec<Voter>,
    others: Vec<Voter>,
}

impl Clone for Spare {
    fn clone(&self) -> Self {
        Spare::default()
    }
}

#[derive(Serialize, Deserialize)]
struct State {
    short: SavedMemory,
    long: SavedMemory,
    records: Vec<Record>,
    scaling: Moments,
    random: Random,
    classes: usize,
}

impl SelfAdjusting {
    fn space(&self) -> Space<'_> {
        Space { metric: self.settings.metric, inverse: self.scaling.inverse() }
    }

    /// Write the neighbours in one memory or in both, by ascending sum; of equal ones, those of the short-term memory are
    /// nearer.
    fn search(&self, x: Row<'_>, source: Source, scratch: &mut Scratch, found: &mut Vec<Voter>) {
        let mut values = scratch.take_numbers();
        let complete = self.short.points.query(x, &mut values);
        let query = Query { values: &values, complete };
        let k = self.settings.n_neighbors;
        found.clear();
        for (memory, other) in [(&self.short, Source::Long), (&self.long, Source::Short)] {
            if source == other {
                continue;
            }
            let nearest = memory.nearest(self.space(), query, k, self.arch, scratch);
            for (&sum, &place) in nearest.sums().iter().zip(nearest.places()) {
                let index = found.partition_point(|other| other.0 <= sum);
                if index < k {
                    found.insert(index, memory.voter(sum, place as usize));
                    found.truncate(k);
                }
            }
            nearest.release(scratch);
        }
        scratch.give_numbers(values);
    }

    /// Records from the newest row to the oldest.
    fn by_age(&self) -> impl Iterator<Item = &Record> {
        self.short.points.by_age().rev().map(|place| &self.records[place])
    }

    /// Choose the memory that was right most often over the rows of the short-term memory.
    fn choose(&mut self) {
        let size = self.short.len();
        let short = right_in_window(self.by_age().map(|record| &record.lags[..]), size);
        let tested = size.saturating_sub(1);
        let long = self.by_age().take(tested).filter(|record| record.long).count();
        let both = self.by_age().take(tested).filter(|record| record.both).count();
        self.best = if self.long.len() == 0 || short >= long.max(both) {
            Source::Short
        } else if long >= both {
            Source::Long
        } else {
            Source::Both
        };
    }

    /// The size with the least interleaved error, the largest in a tie, once a row with this record has joined.
    fn best_size_with(&self, record: &Record) -> usize {
        let mut size = self.short.len() + 1;
        let mut best = (size, f64::INFINITY);
        while size >= self.settings.least.max(2) {
            let records = std::iter::once(record).chain(self.by_age());
            let right = right_in_window(records.map(|record| &record.lags[..]), size);
            let error = (size - 1 - right) as f64 / (size - 1) as f64;
            if error < best.1 {
                best = (size, error);
            }
            size /= 2;
        }
        best.0
    }

    /// Clean a set by a row of the short-term memory: the places in `set` that must go. `neighbors` are the k nearest rows
    /// in the short-term memory, without the row itself.
    fn contradicted(
        &self,
        set: &Memory,
        query: Query<'_>,
        y: u32,
        neighbors: impl Iterator<Item = (f64, u32)>,
        scratch: &mut Scratch,
        then: &mut dyn FnMut(usize),
    ) {
        let farthest = neighbors.filter(|&(_, class)| class == y).map(|(sum, _)| sum).fold(-1.0, f64::max);
        if farthest < 0.0 || set.len() == 0 {
            return;
        }
        let nearest = set.nearest(self.space(), query, self.settings.n_neighbors, self.arch, scratch);
        for (&sum, &place) in nearest.sums().iter().zip(nearest.places()) {
            if sum <= farthest && set.classes[place as usize] != y {
                then(place as usize);
            }
        }
        nearest.release(scratch);
    }

    /// Move the oldest rows of the short-term memory to the long-term memory, without those that contradict the rest.
    #[cold]
    fn forget(&mut self, count: usize, scratch: &mut Scratch) {
        let order: Vec<usize> = self.short.points.by_age().collect();
        let mut moved = self.short.clone();
        moved.keep(&order[..count]);
        self.short.keep(&order[count..]);
        let mut records = std::mem::take(&mut self.records);
        self.records = order[count..].iter().map(|&place| std::mem::take(&mut records[place])).collect();
        let mut gone = vec![false; moved.len()];
        let (mut row, mut sums) = (Vec::new(), AllSums::default());
        for place in 0..self.short.len() {
            self.short.points.copy_row(place, &mut row);
            let query = Query { values: &row, complete: !row.iter().any(|x| x.is_nan()) };
            sums.0.clear();
            Scan { points: &self.short.points, space: self.space(), query, visit: &mut sums }.run(self.arch);
            let mut nearest = Nearest::new(&self.short.points, self.settings.n_neighbors, scratch);
            for (other, &sum) in sums.0.iter().enumerate().take(self.short.len()) {
                if other != place && sum <= nearest.limit() {
                    nearest.offer(sum, other);
                }
            }
            let classes = nearest.places().iter().map(|&place| self.short.classes[place as usize]);
            let neighbors: Vec<(f64, u32)> = nearest.sums().iter().copied().zip(classes).collect();
            nearest.release(scratch);
            self.contradicted(
                &moved,
                query,
                self.short.classes[place],
                neighbors.into_iter(),
                scratch,
                &mut |place| {
                    gone[place] = true;
                },
            );
        }
        for place in (0..moved.len()).filter(|&place| !gone[place]) {
            moved.points.copy_row(place, &mut row);
            self.long.push(&row, &[], moved.classes[place], moved.weights[place]);
        }
        if self.long.len() > self.settings.long {
            let mut random = self.random.clone();
            let inverse = self.scaling.inverse();
            self.long = compressed(&self.long, inverse, self.classes, self.settings.long, &mut random);
            self.random = random;
        }
    }

    /// Whether it takes long to move so many rows to the long-term memory.
    fn is_slow(&self, moved: usize) -> bool {
        let (kept, long) = ((self.short.len() + 1).saturating_sub(moved), self.long.len() + moved);
        let cleaning = kept.saturating_mul(kept + moved);
        let compression = if long > self.settings.long { long.saturating_mul(long) } else { 0 };
        moved > 0 && cleaning.saturating_add(compression).saturating_mul(self.short.points.width()) > SLOW
    }
}

impl Part for SelfAdjusting {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State {
            short: self.short.save(),
            long: self.long.save(),
            records: self.records.clone(),
            scaling: self.scaling.save().clone(),
            random: self.random.clone(),
            classes: self.classes,
        })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let invalid = |what: &str| Fault::state(format!("{NAME}: the saved state is not valid: {what}"));
        let short =
            self.short.load(state.short).ok_or_else(|| invalid("the short-term memory is out of range"))?;
        let long = self.long.load(state.long).ok_or_else(|| invalid("the long-term memory is out of range"))?;
        require(NAME, long.len() <= self.settings.long, "the long-term memory is too large")?;
        require(NAME, long.points.width() == short.points.width(), "the memories have different features")?;
        require(NAME, long.points.nominal() == short.points.nominal(), "the memories have different features")?;
        require(NAME, state.records.len() == short.len(), "a row has no record")?;
        let ascends = |lags: &[u32]| lags.is_sorted_by(|a, b| a < b) && lags.first().is_none_or(|&lag| lag > 0);
        require(NAME, state.records.iter().all(|record| ascends(&record.lags)), "a record is out of range")?;
        let classes = short.classes.iter().chain(&long.classes).map(|&class| Classes::classes_with(class)).max();
        require(NAME, (classes.unwrap_or(0)..=1 << 24).contains(&state.classes), "a class is out of range")?;
        let scaling = self.scaling.load(state.scaling, short.points.width());
        self.scaling = scaling.ok_or_else(|| invalid("a scale is out of range"))?;
        (self.short, self.long, self.records) = (short, long, state.records);
        (self.random, self.classes) = (state.random, state.classes);
        self.choose();
        Ok(())
    }

    fn memory(&self) -> usize {
        let records: usize =
            self.records.iter().map(|record| std::mem::size_of::<Record>() + 4 * record.lags.capacity()).sum();
        std::mem::size_of::<Self>() + self.short.memory() + self.long.memory() + records + self.scaling.memory()
    }

    fn infallible(&self) -> bool {
        let width = self.short.points.width();
        let rows = self.long.points.capacity();
        self.scaling.is_roomy() && (2 * width <= NARROW || width.saturating_mul(rows) <= MOST_NUMBERS / 2)
    }

    /// `{"short_term": rows, "long_term": rows, "predictor": "short_term" or "long_term" or "both"}`
    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        let predictor = match self.best {
            Source::Short => "short_term",
            Source::Long => "long_term",
            Source::Both => "both",
        };
        json!({ "short_term": self.short.len(), "long_term": self.long.len(), "predictor": predictor })
    }
}

impl Learner<Classes> for SelfAdjusting {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        // A prediction takes no buffer of its own from the model, which other threads may read.
        let mut found = Vec::with_capacity(self.settings.n_neighbors.min(MOST_RESERVED) + 1);
        self.search(x, self.best, scratch, &mut found);
        let (mut sums, mut votes) = (scratch.take_numbers(), scratch.take_numbers());
        sums.extend(found.iter().map(|voter| voter.0));
        self.settings.weighting.weigh(self.settings.metric, &sums, &mut votes);
        let voters = found.iter().zip(&votes).map(|(&(_, class, w), &vote)| (class, vote * w));
        Classes::combine(voters, self.classes, want, out, scratch);
        scratch.give_numbers(votes);
        scratch.give_numbers(sums);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.learn_row(x, y, w, SlowRow::Learn, scratch).map(|_| ())
    }

    fn learn_batch(
        &mut self,
        batch: &Batch<'_, Classes>,
        _buffer: &mut ClassPredictions,
        scratch: &mut Scratch,
    ) -> usize {
        let learned =
            |row: usize| self.learn(batch.rows.at(row), batch.truths[row], batch.weight(row), scratch).is_ok();
        (0..batch.len()).map(learned).take_while(|learned| *learned).count()
    }

    fn slow_rows(&mut self) -> Option<&mut dyn SlowRows<Classes>> {
        Some(self)
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

impl SlowRows<Classes> for SelfAdjusting {
    fn step_quick_rows(
        &mut self,
        batch: &Batch<'_, Classes>,
        want: Option<Want>,
        out: &mut ClassPredictions,
        scratch: &mut Scratch,
    ) -> (usize, bool) {
        let mut prediction = Classes::take(scratch);
        let (mut done, mut is_slow) = (0, false);
        while done < batch.len() {
            let (x, y, w) = (batch.rows.at(done), batch.truths[done], batch.weight(done));
            if let Some(want) = want {
                self.predict(x, want, &mut prediction, scratch);
            }
            match self.learn_row(x, y, w, SlowRow::Leave, scratch) {
                Ok(true) => done += 1,
                left => {
                    is_slow = left.is_ok();
                    break;
                }
            }
            if let Some(want) = want {
                Classes::push(&mut prediction, want, out);
            }
        }
        Classes::give(prediction, scratch);
        (done, is_slow)
    }
}

/// What to do with a row that takes long.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SlowRow {
    Learn,
    Leave,
}

impl SelfAdjusting {
    /// Learn a row; false if it is left because it is slow, with nothing changed.
    fn learn_row(&mut self, x: Row<'_>, y: u32, w: f64, slow_row: SlowRow, scratch: &mut Scratch) -> Result<bool> {
        if w == 0.0 {
            return Ok(true);
        }
        let width = x.width().max(self.short.points.width());
        check_width(NAME, width, self.long.points.capacity())?;
        let mut row = scratch.take_numbers();
        write_row(x, width, &mut row);
        let kinds = kinds_of(x);
        let points = &self.short.points;
        let is_nominal = |column: usize| {
            points.nominal().get(column).is_some_and(|&nominal| nominal)
                || kinds.get(column) == Some(&FeatureKind::Nominal)
        };
        if let Err(fault) = self.scaling.prepare(&row, is_nominal, w, NAME) {
            scratch.give_numbers(row);
            return Err(fault);
        }
        let record = self.tested(x, y, scratch);
        let is_full = self.short.points.is_full();
        // A part at once: each row would cost as much.
        let excess = if is_full { (self.settings.short / 8).max(1) } else { 0 };
        let mut size = if is_full { 0 } else { self.best_size_with(&record) };
        let moved = if is_full { excess } else { self.short.len() + 1 - size };
        if slow_row == SlowRow::Leave && self.is_slow(moved) {
            scratch.give_numbers(row);
            return Ok(false);
        }
        self.clean(x, y, scratch);
        self.scaling.commit();
        self.short.points.grow(width);
        self.long.points.grow(width);
        self.classes = self.classes.max(Classes::classes_with(y));
        if is_full {
            self.forget(excess, scratch);
            size = self.best_size_with(&record);
        }
        let place = self.short.push(&row, kinds, y, w);
        self.long.points.set_kinds(&row, kinds);
        scratch.give_numbers(row);
        if place == self.records.len() {
            self.records.push(record);
        } else {
            self.records[place] = record;
        }
        if size < self.short.len() {
            self.forget(self.short.len() - size, scratch);
        }
        self.choose();
        Ok(true)
    }

    /// Test all memories, and all sizes of the short-term memory, on a row that is not learned yet.
    fn tested(&mut self, x: Row<'_>, y: u32, scratch: &mut Scratch) -> Record {
        let mut spare = std::mem::take(&mut self.spare);
        let Settings { n_neighbors, metric, weighting, .. } = self.settings;
        let mut record = Record::default();
        let mut values = scratch.take_numbers();
        let complete = self.short.points.query(x, &mut values);
        let query = Query { values: &values, complete };
        spare.sums.0.clear();
        Scan { points: &self.short.points, space: self.space(), query, visit: &mut spare.sums }.run(self.arch);
        let older = self.short.points.by_age().rev().map(|place| self.short.voter(spare.sums.0[place], place));
        turning_lags(older, y, n_neighbors, metric, weighting, &mut spare.voters, &mut record.lags);
        record.both = is_right(&record.lags, self.short.len());
        if self.long.len() > 0 {
            for (source, right) in [(Source::Long, &mut record.long), (Source::Both, &mut record.both)] {
                self.search(x, source, scratch, &mut spare.others);
                *right = winner(&spare.others, metric, weighting) == Some(y);
            }
        }
        scratch.give_numbers(values);
        self.spare = spare;
        record
    }

    /// Remove the rows of the long-term memory that contradict a new row.
    fn clean(&mut self, x: Row<'_>, y: u32, scratch: &mut Scratch) {
        if self.long.len() == 0 {
            return;
        }
        let mut values = scratch.take_numbers();
        let complete = self.short.points.query(x, &mut values);
        let query = Query { values: &values, complete };
        // The neighbours are those of `tested`, for the whole short-term memory.
        let neighbors = self.spare.voters.iter().map(|&(sum, class, _)| (sum, class));
        let mut gone: Vec<usize> = Vec::new();
        self.contradicted(&self.long, query, y, neighbors, scratch, &mut |place| gone.push(place));
        scratch.give_numbers(values);
        if !gone.is_empty() {
            let kept: Vec<usize> = (0..self.long.len()).filter(|place| !gone.contains(place)).collect();
            self.long.keep(&kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn model(parameters: serde_json::Value) -> Box<dyn Learner<Classes>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Classifier(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    fn sizes(model: &dyn Learner<Classes>) -> (u64, u64) {
        let report = model.inspect(&Schema::default());
        (report["short_term"].as_u64().unwrap(), report["long_term"].as_u64().unwrap())
    }

    #[test]
    fn an_abrupt_change_shortens_the_memory_by_hand() {
        let mut model = model(json!({
            "n_neighbors": 1, "window_size": 40, "ltm_size": 0.5, "min_stm_size": 2, "scale": null
        }));
        let mut scratch = Scratch::default();
        // Eight rows at 0 of class 0: no error in any window, so the largest stays.
        for _ in 0..8 {
            model.learn(Row::Plain(&[0.0]), 0, 1.0, &mut scratch).unwrap();
        }
        assert_eq!(sizes(&*model), (8, 0));
        // The same place, class 1. The newest row at distance 0 is of class 0, so it is an error in windows of 9 and 4
        // rows (1/8 and 1/3), and in one of 2 rows (1/1): the largest window is best.
        model.learn(Row::Plain(&[0.0]), 1, 1.0, &mut scratch).unwrap();
        assert_eq!(sizes(&*model), (9, 0));
        // Again: now the newest neighbour is of class 1. Windows of 10, 5 and 2 rows have 1/9, 1/4 and 0/1 errors: the
        // last two rows stay. They contradict the eight rows that leave, of which the nearest one (k = 1) is removed.
        model.learn(Row::Plain(&[0.0]), 1, 1.0, &mut scratch).unwrap();
        assert_eq!(sizes(&*model), (2, 7));
        let mut out = ClassPrediction::default();
        model.predict(Row::Plain(&[0.0]), Want::Class, &mut out, &mut scratch);
        assert_eq!(out.class, Some(1));
    }
}
