//! Buffers: which rows of a stream are stored, to be learned again.
//!
//! * `Reservoir`: each row so far is stored with the same probability (Vitter, 1985, algorithm R). A row is drawn from all
//!   n that were seen, not from those stored.
//! * `ClassBalanced`: classes have as many stored rows as possible in equal parts (Chrysakis and Moens, 2020, algorithm 1).
//!   A row of a class that has never been the largest replaces a random row of the largest class, ties drawn; a row of
//!   another class replaces one of its own class, as in a reservoir of that class.
//!
//! Rows are stored as learners receive them, so a buffer keeps no names; its rows, their order and its generator are state.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::merging::Merge;
use crate::numeric::random::Random;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::row::{all_finite, Row, RowBuffer, Sparse};
use crate::schema::FeatureKind;
use crate::task::{Classes, Numbers, Task};

const SIZE: Parameter = Parameter::new(
    "size",
    Kind::Integer { low: 1, high: 10_000_000 },
    DefaultValue::Integer(200),
    "number of stored rows",
);
const SEED: Parameter = Parameter::new(
    "seed",
    Kind::Integer { low: 0, high: i64::MAX },
    DefaultValue::Integer(0),
    "random seed of the rows that are stored and drawn",
);

pub static RESERVOIR: Declaration = Declaration {
    name: "continual.Reservoir",
    role: Role::Buffer,
    words: "Stores every row so far with the same probability",
    merge: Merge::SETTING,
    parameters: &[SIZE, SEED],
    build: |arguments| settings(arguments, false),
};

pub static CLASS_BALANCED: Declaration = Declaration {
    name: "continual.ClassBalanced",
    role: Role::Buffer,
    words: "Stores equally many rows of each class, as far as there are any",
    merge: Merge::SETTING,
    parameters: &[SIZE, SEED],
    build: |arguments| settings(arguments, true),
};

fn settings(arguments: &Arguments<'_>, balanced: bool) -> Result<Built> {
    let (size, seed) = (arguments.size("size")?, arguments.integer("seed")? as u64);
    Ok(Built::Buffer(Settings { size, seed, balanced }))
}

pub const BUFFER: Parameter = Parameter::new(
    "buffer",
    Kind::Part(&[Role::Buffer]),
    DefaultValue::Part("continual.Reservoir"),
    "which rows are stored, and how many",
);
pub const N_REPLAY: Parameter = Parameter::new(
    "n_replay",
    Kind::Integer { low: 1, high: 1_000_000 },
    DefaultValue::Integer(10),
    "number of stored rows that are drawn for each example",
);

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub size: usize,
    pub balanced: bool,
    seed: u64,
}

/// A task whose targets are stored as numbers.
pub trait Storable: Task {
    fn number(truth: Self::Truth) -> f64;
    /// None for a number that is no target.
    fn target(number: f64) -> Option<Self::Truth>;
    /// The class, of which a buffer may store equally many rows.
    fn class(truth: Self::Truth) -> Option<usize>;
}

/// More classes than any stream has.
const MOST_CLASSES: f64 = 1e7;
/// More values than any nominal feature has.
const MOST_CODES: f64 = 1e7;

impl Storable for Classes {
    fn number(truth: u32) -> f64 {
        f64::from(truth)
    }

    fn target(number: f64) -> Option<u32> {
        ((0.0..MOST_CLASSES).contains(&number) && number.fract() == 0.0).then_some(number as u32)
    }

    fn class(truth: u32) -> Option<usize> {
        Some(truth as usize)
    }
}

impl Storable for Numbers {
    fn number(truth: f64) -> f64 {
        truth
    }

    fn target(number: f64) -> Option<f64> {
        Some(number).filter(|number| number.is_finite())
    }

    fn class(_truth: f64) -> Option<usize> {
        None
    }
}

#[derive(Clone, Debug, Default)]
pub struct Stored {
    row: RowBuffer,
    truth: f64,
    pub w: f64,
    /// What the model computed for the row; empty for most methods.
    pub scores: Vec<f64>,
}

impl Stored {
    #[inline]
    pub fn row(&self) -> Row<'_> {
        self.row.row()
    }

    /// The target, which was one when the row was stored.
    #[inline]
    pub fn target<T: Storable>(&self) -> Option<T::Truth> {
        T::target(self.truth)
    }
}

pub struct Buffer {
    settings: Settings,
    pub rows: Vec<Stored>,
    /// Number of rows so far.
    seen: u64,
    /// By class: rows so far, rows stored, and whether it has been the largest.
    classes: Vec<Class>,
    random: Random,
    undo: Option<Undo>,
}

/// The buffer at a savepoint: a copy of all stored rows could cost more than the batch that follows.
struct Undo {
    rows: usize,
    /// Rows that were replaced since, as they were.
    replaced: FxHashMap<usize, Stored>,
    seen: u64,
    classes: Vec<Class>,
    random: Random,
}

impl Clone for Buffer {
    /// Without the savepoint, which is that of the original.
    fn clone(&self) -> Self {
        Buffer {
            settings: self.settings,
            rows: self.rows.clone(),
            seen: self.seen,
            classes: self.classes.clone(),
            random: self.random.clone(),
            undo: None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Class {
    seen: u64,
    stored: u64,
    full: bool,
}

#[derive(Serialize, Deserialize)]
pub struct SavedBuffer {
    rows: Vec<SavedRow>,
    seen: u64,
    classes: Vec<Class>,
    random: Random,
}

#[derive(Serialize, Deserialize)]
struct SavedRow {
    form: SavedForm,
    truth: f64,
    w: f64,
    scores: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
enum SavedForm {
    Plain(Vec<f64>),
    /// Kinds: 0 unknown, 1 a number, 2 nominal.
    Mixed(Vec<f64>, Vec<u8>),
    Sparse(Vec<u32>, Vec<f64>, u32),
}

impl Buffer {
    /// The buffer of a parameter, for targets of a task.
    pub fn new<T: Storable>(arguments: &Arguments<'_>) -> Result<Self> {
        let Built::Buffer(settings) = arguments.part("buffer")? else { return Err(arguments.absent("buffer")) };
        if settings.balanced && T::ROLE != Role::Classifier {
            return Err(Fault::value(format!(
                "{}: buffer must be continual.Reservoir for a regressor, got continual.ClassBalanced: it has no classes",
                arguments.who
            )));
        }
        let (random, rows) = (Random::new(settings.seed, 0), Vec::new());
        Ok(Buffer { settings, rows, seen: 0, classes: Vec::new(), random, undo: None })
    }

    /// The number of rows to draw for each example.
    pub fn draws(&self, arguments: &Arguments<'_>) -> Result<usize> {
        let (draws, size) = (arguments.size("n_replay")?, self.settings.size);
        if draws > size {
            return Err(Fault::value(format!(
                "{}: n_replay must be at most the size of the buffer, {size}, got {draws}: rows are drawn without \
                 replacement",
                arguments.who
            )));
        }
        Ok(draws)
    }

    /// The generator, to return to if an example is refused.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Draw some of the stored rows without replacement (Floyd's method), or all if there are no more.
    pub fn draw(&mut self, count: usize, chosen: &mut Vec<u32>) {
        let stored = self.rows.len() as u32;
        chosen.clear();
        if count as u32 >= stored {
            chosen.extend(0..stored);
            return;
        }
        for last in stored - count as u32..stored {
            let index = self.random.below(last + 1);
            chosen.push(if chosen.contains(&index) { last } else { index });
        }
    }

    /// Offer a row, which may replace another.
    pub fn offer<T: Storable>(&mut self, x: Row<'_>, truth: T::Truth, w: f64, scores: &[f64]) {
        self.seen += 1;
        let Some(place) = self.place(T::class(truth).filter(|_| self.settings.balanced)) else { return };
        if place == self.rows.len() {
            self.rows.push(Stored::default());
        }
        let stored = &mut self.rows[place];
        if let Some(undo) = self.undo.as_mut().filter(|undo| place < undo.rows) {
            undo.replaced.entry(place).or_insert_with(|| std::mem::take(stored));
        }
        stored.row.copy_from(x);
        (stored.truth, stored.w) = (T::number(truth), w);
        stored.scores.clear();
        stored.scores.extend_from_slice(scores);
    }

    /// See `Part::savepoint`; likewise `rollback` and `commit`.
    pub fn savepoint(&mut self) {
        self.undo = Some(Undo {
            rows: self.rows.len(),
            replaced: FxHashMap::default(),
            seen: self.seen,
            classes: self.classes.clone(),
            random: self.random.clone(),
        });
    }

    pub fn rollback(&mut self) {
        let Some(Undo { rows, replaced, seen, classes, random }) = self.undo.take() else { return };
        self.rows.truncate(rows);
        for (place, stored) in replaced {
            self.rows[place] = stored;
        }
        (self.seen, self.classes, self.random) = (seen, classes, random);
    }

    pub fn commit(&mut self) {
        self.undo = None;
    }

    /// Where the next row goes; none if it is not stored.
    fn place(&mut self, class: Option<usize>) -> Option<usize> {
        let (stored, size) = (self.rows.len(), self.settings.size);
        let Some(class) = class else {
            if stored < size {
                return Some(stored);
            }
            let drawn = self.random.below_64(self.seen);
            return (drawn < size as u64).then_some(drawn as usize);
        };
        if self.classes.len() <= class {
            self.classes.resize(class + 1, Class::default());
        }
        self.classes[class].seen += 1;
        if stored < size {
            self.classes[class].stored += 1;
            return Some(stored);
        }
        let most = self.classes.iter().map(|class| class.stored).max().unwrap_or(0);
        self.classes.iter_mut().filter(|class| class.stored == most).for_each(|class| class.full = true);
        let mut own = self.classes[class];
        let victim = if own.full {
            if self.random.below_64(own.seen) >= own.stored {
                return None;
            }
            class
        } else {
            let largest = self.classes.iter().enumerate().filter(|(_, class)| class.stored == most);
            let drawn = self.random.below(largest.clone().count() as u32) as usize;
            largest.map(|(class, _)| class).nth(drawn)?
        };
        let drawn = self.random.below_64(self.classes[victim].stored) as usize;
        let place = self.rows.iter().enumerate().filter(|(_, row)| row.truth == victim as f64).nth(drawn)?.0;
        if victim != class {
            self.classes[victim].stored -= 1;
            own.stored += 1;
            self.classes[class] = own;
        }
        Some(place)
    }

    pub fn save(&self) -> SavedBuffer {
        let rows = self.rows.iter().map(|stored| SavedRow {
            form: match stored.row() {
                Row::Plain(values) => SavedForm::Plain(values.to_vec()),
                Row::Mixed(values, kinds) => {
                    SavedForm::Mixed(values.to_vec(), kinds.iter().map(|kind| number_of(*kind)).collect())
                }
                Row::Sparse(sparse) => {
                    SavedForm::Sparse(sparse.indices.to_vec(), sparse.values.to_vec(), sparse.width as u32)
                }
            },
            truth: stored.truth,
            w: stored.w,
            scores: stored.scores.clone(),
        });
        SavedBuffer {
            rows: rows.collect(),
            seen: self.seen,
            classes: self.classes.clone(),
            random: self.random.clone(),
        }
    }

    /// The same buffer with saved rows, if they could have been stored.
    pub fn loaded<T: Storable>(&self, who: &str, saved: SavedBuffer) -> Result<Buffer> {
        let SavedBuffer { rows, seen, classes, random } = saved;
        let fits = rows.len() <= self.settings.size && rows.len() as u64 <= seen;
        require(who, fits, "a buffer with too many rows")?;
        let rows = rows.into_iter().map(|row| loaded_row::<T>(who, row)).collect::<Result<Vec<_>>>()?;
        require(who, classes.len() as f64 <= MOST_CLASSES, "a buffer with too many classes")?;
        let balanced = self.settings.balanced;
        let mut counts = vec![0; if balanced { classes.len() } else { 0 }];
        for row in rows.iter().filter(|_| balanced) {
            let count = counts.get_mut(row.truth as usize);
            *count.ok_or_else(|| {
                Fault::state(format!("{who}: the saved state is not valid: a row without a class"))
            })? += 1;
        }
        let same = !balanced || classes.iter().zip(&counts).all(|(class, count)| class.stored == *count);
        let counted = classes.iter().all(|class| class.seen >= class.stored) && (balanced || classes.is_empty());
        require(who, same && counted, "a buffer with wrong counts")?;
        Ok(Buffer { settings: self.settings, rows, seen, classes, random, undo: None })
    }

    pub fn memory(&self) -> usize {
        let rows = self.rows.iter().map(|stored| stored.row.memory() + 8 * stored.scores.capacity());
        rows.sum::<usize>()
            + self.rows.capacity() * std::mem::size_of::<Stored>()
            + self.classes.capacity() * std::mem::size_of::<Class>()
    }

    pub fn inspect(&self) -> serde_json::Value {
        serde_json::json!({ "stored": self.rows.len(), "seen": self.seen })
    }
}

fn number_of(kind: FeatureKind) -> u8 {
    match kind {
        FeatureKind::Unknown => 0,
        FeatureKind::Number => 1,
        FeatureKind::Nominal => 2,
    }
}

fn loaded_row<T: Storable>(who: &str, saved: SavedRow) -> Result<Stored> {
    let SavedRow { form, truth, w, scores } = saved;
    let mut row = RowBuffer::default();
    let sound = match form {
        SavedForm::Plain(values) => {
            row.copy_from(Row::Plain(&values));
            all_finite(&values)
        }
        SavedForm::Mixed(values, kinds) => {
            let sound = values.len() == kinds.len()
                && kinds.iter().all(|kind| *kind < 3)
                && values.iter().all(|value| !value.is_infinite());
            let kinds = kinds.iter().map(|kind| match kind {
                0 => FeatureKind::Unknown,
                1 => FeatureKind::Number,
                _ => FeatureKind::Nominal,
            });
            let kinds: Vec<FeatureKind> = kinds.collect();
            // A learner may keep a table of all codes up to the largest.
            let is_code =
                |value: f64| value.is_nan() || ((0.0..MOST_CODES).contains(&value) && value.fract() == 0.0);
            let coded =
                values.iter().zip(&kinds).all(|(value, kind)| *kind != FeatureKind::Nominal || is_code(*value));
            let sound = sound && coded;
            if sound {
                row.copy_from(Row::Mixed(&values, &kinds));
            }
            sound
        }
        SavedForm::Sparse(indices, values, width) => {
            row.copy_from(Row::Sparse(Sparse { indices: &indices, values: &values, width: width as usize }));
            indices.len() == values.len()
                && indices.is_sorted_by(|a, b| a < b)
                && indices.last().is_none_or(|last| *last < width)
                && all_finite(&values)
        }
    };
    let scores_sound = scores.iter().all(|score| score.is_finite() || *score == f64::NEG_INFINITY);
    require(who, sound && T::target(truth).is_some(), "a stored row is not valid")?;
    require(who, scores_sound && w.is_finite() && w > 0.0, "a stored row is not valid")?;
    Ok(Stored { row, truth, w, scores })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(size: usize, balanced: bool) -> Buffer {
        let settings = Settings { size, balanced, seed: 3 };
        Buffer { settings, rows: Vec::new(), seen: 0, classes: Vec::new(), random: Random::new(3, 0), undo: None }
    }

    /// 100 rows and 10 places: each row is stored with probability 1/10. Over 4,000 buffers row i is stored 400 times,
    /// with a deviation of 19.
    #[test]
    fn a_reservoir_stores_every_row_with_the_same_probability() {
        let mut counts = [0; 100];
        let mut random = Random::new(1, 1);
        for _ in 0..4000 {
            let mut buffer = buffer(10, false);
            buffer.random = Random::new(random.bits(), 0);
            (0..100).for_each(|i| buffer.offer::<Numbers>(Row::Plain(&[]), f64::from(i), 1.0, &[]));
            buffer.rows.iter().for_each(|row| counts[row.truth as usize] += 1);
        }
        assert!(counts.iter().all(|count| (300..500).contains(count)), "{counts:?}");
    }

    #[test]
    fn classes_are_balanced_as_far_as_they_can_be() {
        let mut buffer = buffer(30, true);
        for i in 0..2000u32 {
            // Class 0 is frequent, class 1 comes 4 times, class 2 late.
            let y = if i % 500 == 7 { 1 } else { u32::from(i > 1500) * 2 };
            buffer.offer::<Classes>(Row::Plain(&[f64::from(i)]), y, 1.0, &[]);
        }
        let stored = |class: f64| buffer.rows.iter().filter(|row| row.truth == class).count();
        assert_eq!([stored(0.0), stored(1.0), stored(2.0)], [13, 4, 13]);
    }

    /// Rows are added and replaced, some more than once, and then everything is as it was.
    #[test]
    fn a_return_to_a_savepoint_leaves_no_trace() {
        for balanced in [false, true] {
            let mut buffer = buffer(20, balanced);
            let offer = |buffer: &mut Buffer, i: u32| {
                buffer.offer::<Classes>(Row::Plain(&[f64::from(i)]), i % 7 / 3, 1.0, &[f64::from(i)]);
            };
            for (from, to) in [(0, 8), (8, 90)] {
                (from..to).for_each(|i| offer(&mut buffer, i));
                let before = serde_json::to_string(&buffer.save()).unwrap();
                buffer.savepoint();
                (to..to + 60).for_each(|i| offer(&mut buffer, i));
                assert_ne!(serde_json::to_string(&buffer.save()).unwrap(), before);
                buffer.rollback();
                assert_eq!(serde_json::to_string(&buffer.save()).unwrap(), before);
            }
        }
    }

    /// Two of four without replacement: each pair with probability 1/6.
    #[test]
    fn draws_are_uniform_and_without_replacement() {
        let mut buffer = buffer(4, false);
        (0..4).for_each(|i| buffer.offer::<Numbers>(Row::Plain(&[]), f64::from(i), 1.0, &[]));
        let (mut counts, mut chosen) = ([0; 16], Vec::new());
        for _ in 0..12_000 {
            buffer.draw(2, &mut chosen);
            assert!(chosen.len() == 2 && chosen[0] != chosen[1]);
            counts[(1 << chosen[0]) + (1 << chosen[1])] += 1;
        }
        assert!(counts.iter().filter(|count| **count > 0).all(|count| (1840..2160).contains(count)), "{counts:?}");
        buffer.draw(9, &mut chosen);
        assert_eq!(chosen, [0, 1, 2, 3]);
    }
}
