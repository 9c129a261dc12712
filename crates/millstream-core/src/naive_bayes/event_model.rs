//! What the naive Bayes models of words share. They differ in what a word in a document means, the *event model*
//! (McCallum and Nigam, 1998, "A comparison of event models for naive Bayes text classification").
//!
//! The state is sums of weights: of each class, and of each word in each class. Event models keep what follows from the
//! sums and is read often, and change it where the sums change.

use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value as Json};

use crate::batch::Batch;
use crate::declaration::Built;
use crate::fault::{Fault, Result, Shown};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::merging::Merger;
use crate::optim::Features;
use crate::part::{Abilities, Part};
use crate::row::{Row, Scratch, Value, Want};
use crate::schema::{FeatureKind, Schema};
use crate::task::{ClassPrediction, ClassPredictions, Classes};

use super::class_prior::{self, ClassPrior, ClassSums};
use super::log_table::LogTable;
use super::posterior::decide;
use super::word_counts::{each_word, SavedCounts, WordCounts};

/// Sums up to this leave room for any number of moderate rows.
const ROOMY: f64 = 1e250;

pub trait EventModel: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    /// Whether negative numbers are refused.
    const NOT_NEGATIVE: bool;

    /// What a number counts.
    fn quantity(&self, number: f64) -> f64;

    /// The largest count that a word of a class can have.
    fn most(class: &ClassSums) -> f64;

    /// The count of a word in a class has changed from `before`; `counts` are those after, by class.
    fn counted(&mut self, _counts: &[f64], _class: usize, _before: f64, _logs: &LogTable) {}

    /// An example of class `y` was learned; `grown` if there were new words or classes.
    fn settle(&mut self, sums: &Sums, y: usize, grown: bool);

    /// Derive everything from the sums.
    fn rebuild(&mut self, sums: &Sums);

    /// Write the log likelihood of a row in each class to `out`, which holds zeros.
    fn score(&self, sums: &Sums, features: Features<'_>, out: &mut [f64]);

    /// The logarithm of the probability of a word in a class, or its weight; `counts` are its counts, if it has any.
    fn log_probability(&self, sums: &Sums, counts: Option<&[f64]>, class: usize) -> f64;

    /// What is saved beside the sums, because adding it up again would round otherwise.
    fn saved(&self) -> Vec<[f64; 2]> {
        Vec::new()
    }

    /// Read it, after `rebuild`.
    fn restore(&mut self, saved: Vec<[f64; 2]>) -> Result<()> {
        require(Self::NAME, saved.is_empty(), "sums without use")
    }
}

/// The state.
#[derive(Clone, Debug)]
pub struct Sums {
    pub logs: LogTable,
    /// By code; a class without examples has count 0.
    pub classes: Vec<ClassSums>,
    pub words: WordCounts,
}

impl Sums {
    /// The number of known words.
    pub fn width(&self) -> f64 {
        self.words.width() as f64
    }
}

#[derive(Clone)]
pub struct WordsNB<E> {
    event: E,
    prior: ClassPrior,
    sums: Sums,
    before: Option<(Vec<ClassSums>, Vec<[f64; 2]>)>,
}

#[derive(Serialize, Deserialize)]
struct State {
    classes: Vec<ClassSums>,
    words: SavedCounts,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    logarithms: Vec<[f64; 2]>,
}

impl<E: EventModel> WordsNB<E> {
    pub fn build(event: E, prior: ClassPrior, alpha: f64) -> Built {
        Built::Classifier(Box::new(Self::new(event, prior, alpha)))
    }

    fn new(event: E, prior: ClassPrior, alpha: f64) -> Self {
        let sums = Sums { logs: LogTable::new(alpha), classes: Vec::new(), words: WordCounts::default() };
        WordsNB { event, prior, sums, before: None }
    }

    /// What the row counts in all, or a fault if it cannot be learned.
    #[inline]
    fn quantity(&self, x: Row<'_>) -> Result<f64> {
        let (mut quantity, mut least) = (0.0, 0.0);
        x.each(|_, value| match value {
            Value::Number(number) => {
                quantity += self.event.quantity(number);
                least = if number < least { number } else { least };
            }
            // A nominal value is a word that occurs once.
            Value::Nominal(code) => quantity += if code.is_some() { self.event.quantity(1.0) } else { 0.0 },
        });
        if E::NOT_NEGATIVE && least < 0.0 {
            return Err(Fault::value(format!("{}: counts must be >= 0, got {}", E::NAME, Shown(least))));
        }
        Ok(quantity)
    }

    /// Count a row, or leave everything as it was. Returns whether there are new words or classes.
    fn count(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<bool> {
        self.prior.check(E::NAME, y)?;
        let (quantity, class) = (self.quantity(x)?, y as usize);
        let Some(after) = class_prior::added(&self.sums.classes, class, w, quantity) else {
            return Err(Fault::overflow(E::NAME));
        };
        let Self { event, sums, .. } = self;
        if sums.classes.len() <= class {
            sums.classes.resize(class + 1, ClassSums::default());
        }
        sums.classes[class] = after;
        let grown = sums.words.grow(x, class + 1);
        let located = sums.words.coordinates.locate(x, scratch);
        let Sums { logs, words, .. } = sums;
        each_word(located.features(), words.width(), |word, number| {
            let amount = w * event.quantity(number);
            if amount > 0.0 {
                let (counts, before) = words.add(word, class, amount);
                event.counted(counts, class, before, logs);
            }
        });
        located.release(scratch);
        Ok(grown)
    }

    fn rebuild(&mut self) {
        self.prior.rebuild(&self.sums.classes);
        self.event.rebuild(&self.sums);
    }

    fn restored(&self, bytes: &[u8]) -> Result<Self> {
        let State { classes, words, logarithms } = unpack(E::NAME, bytes)?;
        class_prior::validate(&classes, E::NAME)?;
        if !classes.is_empty() {
            self.prior.check(E::NAME, classes.len() as u32 - 1)?;
        }
        let most: Vec<f64> = classes.iter().map(E::most).collect();
        let words = WordCounts::restored(words, E::NAME, &most)?;
        let mut model = self.clone();
        model.sums = Sums { logs: self.sums.logs.clone(), classes, words };
        model.before = None;
        model.rebuild();
        model.event.restore(logarithms)?;
        Ok(model)
    }

    fn merge(&mut self, merger: &Merger<'_>) -> Result<()> {
        for (side, sign) in merger.sides() {
            let other = self.restored(side.state)?;
            self.sums.words.merge(&other.sums.words, &side, merger.ours, sign)?;
            let classes = other.sums.classes.iter().zip(side.codes);
            for (class, &code) in classes.filter(|(_, &code)| code != u32::MAX) {
                self.prior.check(E::NAME, code)?;
                let code = code as usize;
                if self.sums.classes.len() <= code {
                    self.sums.classes.resize(code + 1, ClassSums::default());
                }
                let sums = class_prior::added(&self.sums.classes, code, sign * class.count, 0.0);
                let total = self.sums.classes[code].total + sign * class.total;
                let Some(sums) = sums.filter(|_| total.is_finite()) else { return Err(Fault::overflow(E::NAME)) };
                // Rounding must not leave less than nothing.
                self.sums.classes[code] = ClassSums { count: sums.count.max(0.0), total: total.max(0.0) };
            }
        }
        self.rebuild();
        Ok(())
    }

    /// (name, counts) of each known word, in the order of features.
    fn each_name(&self, schema: &Schema, mut visit: impl FnMut(String, Option<&[f64]>)) {
        let words = &self.sums.words;
        for (slot, (name, kind)) in schema.names().zip(schema.kinds()).enumerate() {
            if *kind != FeatureKind::Nominal {
                if let Some(word) = words.coordinates.of(slot, Value::Number(0.0)) {
                    visit(name.text(), words.get(word));
                }
                continue;
            }
            let values = schema.values(slot);
            for code in 0..values.len() as u32 {
                let word = words.coordinates.of(slot, Value::Nominal(Some(code)));
                if let (Some(word), Some(text)) = (word, values.text(code)) {
                    visit(format!("{}={text}", name.text()), words.get(word));
                }
            }
        }
    }

    /// Of one class: its sums, its prior, and each word with its count and log probability.
    fn inspect_class(&self, code: usize, schema: &Schema) -> Json {
        let ClassSums { count, total } = self.sums.classes[code];
        let mut features = Map::new();
        self.each_name(schema, |name, counts| {
            let logarithm = self.event.log_probability(&self.sums, counts, code);
            let count = counts.map_or(0.0, |counts| counts[code]);
            features.insert(name, json!({ "count": count, "log_probability": logarithm }));
        });
        let prior = self.prior.logarithms[code] - self.prior.normalizer();
        json!({ "code": code, "count": count, "total": total, "log_prior": prior, "features": features })
    }
}

impl<E: EventModel> Part for WordsNB<E> {
    fn save(&self) -> Result<Vec<u8>> {
        let (classes, words) = (self.sums.classes.clone(), self.sums.words.saved());
        pack(&State { classes, words, logarithms: self.event.saved() })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        *self = self.restored(bytes)?;
        Ok(())
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, ..Abilities::default() }
    }

    fn infallible(&self) -> bool {
        let roomy = |class: &ClassSums| class.count <= ROOMY && class.total <= ROOMY;
        !E::NOT_NEGATIVE && self.prior.is_open() && self.sums.classes.iter().all(roomy)
    }

    fn savepoint(&mut self) -> bool {
        self.before = Some((self.sums.classes.clone(), self.event.saved()));
        self.sums.words.savepoint();
        true
    }

    fn rollback(&mut self) {
        self.sums.words.rollback();
        if let Some((classes, logarithms)) = self.before.take() {
            self.sums.classes = classes;
            self.rebuild();
            // They were saved by this model.
            let _ = self.event.restore(logarithms);
        }
    }

    fn commit(&mut self) {
        self.before = None;
        self.sums.words.commit();
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        self.merge(merger)
    }

    fn memory(&self) -> usize {
        let Sums { logs, classes, words } = &self.sums;
        std::mem::size_of::<Self>() + logs.memory() + 24 * classes.len() + words.memory()
    }

    /// The classes with examples, each with its code, its sums, its log prior, and the words.
    fn inspect(&self, schema: &Schema) -> Json {
        let known = (0..self.sums.classes.len()).filter(|&code| self.sums.classes[code].count > 0.0);
        let classes: Vec<Json> = known.map(|code| self.inspect_class(code, schema)).collect();
        json!({ "classes": classes, "n_terms": self.sums.words.width() })
    }
}

impl<E: EventModel> Learner<Classes> for WordsNB<E> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        out.clear();
        out.probabilities.resize(self.sums.classes.len(), 0.0);
        let located = self.sums.words.coordinates.locate(x, scratch);
        self.event.score(&self.sums, located.features(), &mut out.probabilities);
        located.release(scratch);
        decide(&self.prior.logarithms, want, out);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        let grown = self.count(x, y, w, scratch)?;
        self.prior.settle(&self.sums.classes, y as usize);
        self.event.settle(&self.sums, y as usize, grown);
        Ok(())
    }

    /// What follows from the sums is computed once.
    fn learn_batch(
        &mut self,
        batch: &Batch<'_, Classes>,
        _buffer: &mut ClassPredictions,
        scratch: &mut Scratch,
    ) -> usize {
        let learned = |row: &usize| {
            let w = batch.weight(*row);
            w == 0.0 || self.count(batch.rows.at(*row), batch.truths[*row], w, scratch).is_ok()
        };
        let done = (0..batch.len()).take_while(learned).count();
        for y in 0..self.sums.classes.len() {
            self.prior.settle(&self.sums.classes, y);
            self.event.settle(&self.sums, y, true);
        }
        done
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
pub mod testing {
    //! Shorter calls for tests.

    use super::*;
    use crate::registry;

    pub fn model(name: &str, parameters: Json) -> Box<dyn Learner<Classes>> {
        let description = registry::resolve(&json!({ "name": name, "parameters": parameters })).unwrap();
        let Built::Classifier(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    pub fn probabilities(model: &dyn Learner<Classes>, x: Row<'_>) -> Vec<f64> {
        let mut out = ClassPrediction::default();
        model.predict(x, Want::Probabilities, &mut out, &mut Scratch::default());
        out.probabilities
    }

    pub fn learned(name: &str, parameters: Json, rows: &[(&[f64], u32)]) -> Box<dyn Learner<Classes>> {
        let mut model = model(name, parameters);
        for &(x, y) in rows {
            model.learn(Row::Plain(x), y, 1.0, &mut Scratch::default()).unwrap();
        }
        model
    }

    pub fn near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
    }
}
