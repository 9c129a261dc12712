//! What differs between sketches, and the component around each: parameters, missing items, total weight, saving.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::role::{ErrorBound, Frequent, Items, Question, SetOperation, Sketch};
use crate::declaration::Built;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::key::Key;
use crate::parameter::Arguments;
use crate::part::Part;
use crate::schema::Schema;

/// A sketch with its settings and its state, which are saved together.
pub trait Summary: Clone + Send + Sync + Serialize + DeserializeOwned + 'static {
    const NAME: &'static str;
    const ITEMS: Items;
    /// Whether weights may be negative.
    const SIGNED: bool = false;
    /// Whether sketches with different seeds can be merged.
    const ANY_SEED: bool = false;
    const MAX_TOTAL: f64 = 1e300;

    /// Whether a loaded state has the settings of `built`, and could have been saved.
    fn is_valid(&self, built: &Self) -> bool;

    /// Memory in bytes, buffers included.
    fn memory(&self) -> usize;

    /// Add a finite number.
    fn add_number(&mut self, _x: f64, _w: f64) {}
    fn add_numbers(&mut self, xs: &[f64]) {
        xs.iter().for_each(|&x| self.add_number(x, 1.0));
    }
    /// Add a key that is not missing.
    fn add_key(&mut self, _key: Key<'_>, _w: f64) {}
    fn add_integers(&mut self, keys: &[i64]) {
        keys.iter().for_each(|&key| self.add_key(Key::Int(key), 1.0));
    }

    /// Add a sketch with the same settings. After a fault nothing has changed.
    fn merge(&mut self, other: &Self) -> Result<()>;
    /// After `merge`: count the base once that both sketches continued.
    fn merge_base(&mut self, _base: &Self) -> Result<()> {
        Err(crate::merging::not_subtractable())
    }

    fn answer(&self, question: Question<'_>) -> Result<f64>;
    /// `answer` for several questions, which may share work.
    fn answers(&self, questions: &mut dyn Iterator<Item = Question<'_>>) -> Result<Vec<f64>> {
        questions.map(|question| self.answer(question)).collect()
    }

    /// `total` is the sum of the absolute weights.
    fn error_bound(&self, total: f64) -> ErrorBound;

    fn frequent(&self) -> Vec<Frequent> {
        Vec::new()
    }

    fn bins(&self) -> Vec<(f64, f64)> {
        Vec::new()
    }

    fn combine(&mut self, _other: &Self, _operation: SetOperation) -> Result<()> {
        Err(unsupported())
    }

    fn jaccard(&self, _other: &Self) -> Result<f64> {
        Err(unsupported())
    }
}

/// The fault for a question of another kind of sketch.
pub fn unsupported() -> Fault {
    Fault::wrong_type("this sketch cannot answer this question")
}

#[derive(Clone)]
pub struct Component<S> {
    counts_missing: bool,
    state: State<S>,
}

#[derive(Clone, Serialize, Deserialize)]
struct State<S> {
    total: f64,
    missing: f64,
    sketch: S,
}

/// A component around a sketch in its first state.
pub fn built<S: Summary>(arguments: &Arguments<'_>, sketch: S) -> Result<Built> {
    let counts_missing = arguments.text("missing")? == "count";
    Ok(Built::Sketch(Box::new(Component { counts_missing, state: State { total: 0.0, missing: 0.0, sketch } })))
}

impl<S: Summary> Component<S> {
    fn has_room_for_one(&self) -> bool {
        self.state.total + self.state.missing + 1.0 < S::MAX_TOTAL
    }

    fn read(&self, bytes: &[u8]) -> Result<State<S>> {
        let state: State<S> = unpack(S::NAME, bytes)?;
        let weights = [state.total, state.missing].iter().all(|w| (0.0..S::MAX_TOTAL).contains(w));
        require(S::NAME, weights, "the total weight is out of range")?;
        require(S::NAME, state.missing == 0.0 || self.counts_missing, "missing items were refused")?;
        require(S::NAME, state.sketch.is_valid(&self.state.sketch), "the state is inconsistent")?;
        Ok(state)
    }
}

impl<S: Summary> Part for Component<S> {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.state = self.read(bytes)?;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() - std::mem::size_of::<S>() + self.state.sketch.memory()
    }

    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        json!({ "total_weight": self.state.total, "missing_weight": self.state.missing })
    }
}

impl<S: Summary> Sketch for Component<S> {
    fn items(&self) -> Items {
        S::ITEMS
    }

    fn is_signed(&self) -> bool {
        S::SIGNED
    }

    fn any_seed(&self) -> bool {
        S::ANY_SEED
    }

    fn counts_missing(&self) -> bool {
        self.counts_missing
    }

    fn total(&self) -> f64 {
        self.state.total
    }

    fn missing(&self) -> f64 {
        self.state.missing
    }

    fn max_total(&self) -> f64 {
        S::MAX_TOTAL
    }

    #[inline]
    fn add_plain_number(&mut self, x: f64) -> bool {
        let is_plain = S::ITEMS == Items::Numbers && x.is_finite() && self.has_room_for_one();
        if is_plain {
            self.state.total += 1.0;
            self.state.sketch.add_number(x, 1.0);
        }
        is_plain
    }

    #[inline]
    fn add_plain_key(&mut self, key: Key<'_>) -> bool {
        let is_plain = S::ITEMS == Items::Keys && key != Key::Missing && self.has_room_for_one();
        if is_plain {
            self.state.total += 1.0;
            self.state.sketch.add_key(key, 1.0);
        }
        is_plain
    }

    fn add_number(&mut self, x: f64, w: f64) {
        self.state.total += w.abs();
        self.state.sketch.add_number(x, w);
    }

    fn add_numbers(&mut self, xs: &[f64]) {
        add_ones(&mut self.state.total, xs.len());
        self.state.sketch.add_numbers(xs);
    }

    fn add_key(&mut self, key: Key<'_>, w: f64) {
        self.state.total += w.abs();
        self.state.sketch.add_key(key, w);
    }

    fn add_integers(&mut self, keys: &[i64]) {
        add_ones(&mut self.state.total, keys.len());
        self.state.sketch.add_integers(keys);
    }

    fn add_missing(&mut self, w: f64) {
        self.state.missing += w.abs();
    }

    fn merge(&mut self, other: &[u8]) -> Result<()> {
        let other = self.read(other)?;
        self.state.sketch.merge(&other.sketch)?;
        self.state.total += other.total;
        self.state.missing += other.missing;
        Ok(())
    }

    fn merge_base(&mut self, base: &[u8]) -> Result<()> {
        let base = self.read(base)?;
        self.state.sketch.merge_base(&base.sketch)?;
        self.state.total -= base.total;
        self.state.missing -= base.missing;
        Ok(())
    }

    fn answer(&self, question: Question<'_>) -> Result<f64> {
        self.state.sketch.answer(question)
    }

    fn answers(&self, questions: &mut dyn Iterator<Item = Question<'_>>) -> Result<Vec<f64>> {
        self.state.sketch.answers(questions)
    }

    fn error_bound(&self) -> ErrorBound {
        self.state.sketch.error_bound(self.state.total)
    }

    fn frequent(&self) -> Vec<Frequent> {
        self.state.sketch.frequent()
    }

    fn bins(&self) -> Vec<(f64, f64)> {
        self.state.sketch.bins()
    }

    fn combine(&mut self, other: &[u8], operation: SetOperation) -> Result<()> {
        let other = self.read(other)?;
        self.state.sketch.combine(&other.sketch, operation)
    }

    fn jaccard(&self, other: &[u8]) -> Result<f64> {
        self.state.sketch.jaccard(&self.read(other)?.sketch)
    }

    fn duplicate(&self) -> Box<dyn Sketch> {
        Box::new(self.clone())
    }
}

/// Add 1 so many times: at once where no sum is rounded.
fn add_ones(total: &mut f64, count: usize) {
    const EXACT: f64 = (1u64 << 53) as f64;
    if total.fract() == 0.0 && *total + (count as f64) < EXACT {
        *total += count as f64;
    } else {
        (0..count).for_each(|_| *total += 1.0);
    }
}
