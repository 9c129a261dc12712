//! The role of sketches, which summarise numbers or keys: the trait, and its verbs when it is held.

use serde_json::{json, Value as Json};

use crate::fault::{Fault, Result, Shown};
use crate::held::{hold_boxed, Held, Seeds};
use crate::key::Key;
use crate::labels::Labels;
use crate::merging::Merger;
use crate::part::Part;
use crate::sampling::record::Value;

/// What a sketch receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items {
    Numbers,
    Keys,
}

/// A question with a number as answer.
#[derive(Clone, Copy, Debug)]
pub enum Question<'a> {
    /// The item at a fraction of the total weight.
    Quantile(f64),
    /// The fraction of the weight of items that are at most so large.
    Rank(f64),
    /// The weight of a key.
    Weight(Key<'a>),
    /// Whether a key occurred: 1 or 0.
    Contains(Key<'a>),
    /// The number of distinct keys.
    Distinct,
}

/// A key with an upper bound of its weight; the lower bound is smaller by `error`.
#[derive(Clone, Debug)]
pub struct Frequent {
    pub key: Value,
    pub weight: f64,
    pub error: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperation {
    Intersection,
    Difference,
}

/// A bound on the error of answers.
#[derive(Clone, Copy, Debug)]
pub struct ErrorBound {
    /// What it is an error of.
    pub of: &'static str,
    /// None if nothing is guaranteed.
    pub bound: Option<f64>,
    /// The probability with which an answer keeps the bound.
    pub probability: Option<f64>,
}

impl ErrorBound {
    pub fn new(of: &'static str, bound: f64, probability: f64) -> Self {
        ErrorBound { of, bound: Some(bound), probability: Some(probability) }
    }
}

/// A column of keys that can be read without copies.
#[derive(Clone, Copy, Debug)]
pub enum Keys<'a> {
    Integers(&'a [i64]),
    Floats(&'a [f64]),
    Texts(Texts<'a>),
    Values(&'a [Value]),
}

impl<'a> Keys<'a> {
    pub fn len(self) -> usize {
        match self {
            Keys::Integers(keys) => keys.len(),
            Keys::Floats(keys) => keys.len(),
            Keys::Texts(texts) => texts.len(),
            Keys::Values(keys) => keys.len(),
        }
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn key(self, row: usize) -> Key<'a> {
        match self {
            Keys::Integers(keys) => Key::Int(keys[row]),
            Keys::Floats(keys) => Key::of_float(keys[row]),
            Keys::Texts(texts) => texts.key(row),
            Keys::Values(keys) => keys[row].key(),
        }
    }

    fn rows(self, from: usize, to: usize) -> Keys<'a> {
        match self {
            Keys::Integers(keys) => Keys::Integers(&keys[from..to]),
            Keys::Floats(keys) => Keys::Floats(&keys[from..to]),
            Keys::Texts(texts) => Keys::Texts(texts.rows(from, to)),
            Keys::Values(keys) => Keys::Values(&keys[from..to]),
        }
    }
}

/// Strings one after the other, as Arrow stores them: string i lies between two offsets. With `codes`, row i has the
/// string of this number, or none if it is negative.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    text: &'a str,
    offsets: &'a [i64],
    codes: Option<&'a [i64]>,
}

impl<'a> Texts<'a> {
    /// Refuses offsets and codes that do not fit.
    pub fn new(bytes: &'a [u8], offsets: &'a [i64], codes: Option<&'a [i64]>) -> Result<Self> {
        let text = std::str::from_utf8(bytes).map_err(|_| Fault::value("strings must be valid UTF-8"))?;
        let fits = |offset: &i64| usize::try_from(*offset).is_ok_and(|offset| text.is_char_boundary(offset));
        let known = |code: &i64| *code < offsets.len() as i64 - 1;
        if offsets.is_empty()
            || !offsets.is_sorted()
            || !offsets.iter().all(fits)
            || !codes.unwrap_or_default().iter().all(known)
        {
            return Err(Fault::value("offsets of strings do not fit"));
        }
        Ok(Texts { text, offsets, codes })
    }

    fn len(self) -> usize {
        self.codes.map_or(self.offsets.len() - 1, <[i64]>::len)
    }

    #[inline]
    fn key(self, row: usize) -> Key<'a> {
        let index = self.codes.map_or(row as i64, |codes| codes[row]);
        match usize::try_from(index) {
            Ok(index) => Key::Text(&self.text[self.offsets[index] as usize..self.offsets[index + 1] as usize]),
            Err(_) => Key::Missing,
        }
    }

    fn rows(self, from: usize, to: usize) -> Self {
        match self.codes {
            Some(codes) => Texts { codes: Some(&codes[from..to]), ..self },
            None => Texts { offsets: &self.offsets[from..=to], ..self },
        }
    }
}

pub trait Sketch: Part {
    fn items(&self) -> Items;

    /// Whether weights may be negative.
    fn is_signed(&self) -> bool;

    /// Whether sketches with different seeds can be merged: the seed is one of coins, not of a hash.
    fn any_seed(&self) -> bool;

    /// Whether missing items are counted, and not refused.
    fn counts_missing(&self) -> bool;

    /// The sums of absolute weights of items and of missing items.
    fn total(&self) -> f64;
    fn missing(&self) -> f64;

    /// The largest total weight.
    fn max_total(&self) -> f64;

    /// Check and add one item of weight 1, if nothing about it is special: one call for most items.
    fn add_plain_number(&mut self, x: f64) -> bool;
    fn add_plain_key(&mut self, key: Key<'_>) -> bool;

    /// Add items that were checked: finite numbers, keys that are not missing, weights that are not 0.
    fn add_number(&mut self, x: f64, w: f64);
    fn add_numbers(&mut self, xs: &[f64]);
    fn add_key(&mut self, key: Key<'_>, w: f64);
    fn add_integers(&mut self, keys: &[i64]);
    fn add_missing(&mut self, w: f64);

    /// Add the saved state of the same sketch of another stream. After a fault nothing has changed.
    fn merge(&mut self, other: &[u8]) -> Result<()>;
    /// After `merge`: count the base once that both sketches continued.
    fn merge_base(&mut self, base: &[u8]) -> Result<()>;

    fn answer(&self, question: Question<'_>) -> Result<f64>;
    /// `answer` for several questions, which may share work.
    fn answers(&self, questions: &mut dyn Iterator<Item = Question<'_>>) -> Result<Vec<f64>>;

    fn error_bound(&self) -> ErrorBound;

    /// Keys of large weight, in falling order.
    fn frequent(&self) -> Vec<Frequent>;

    /// Bins as pairs of a value and a weight, ascending.
    fn bins(&self) -> Vec<(f64, f64)>;

    /// Become the intersection with, or the difference from, the saved state of another sketch.
    fn combine(&mut self, other: &[u8], operation: SetOperation) -> Result<()>;

    /// The Jaccard similarity with the saved state of another sketch.
    fn jaccard(&self, other: &[u8]) -> Result<f64>;

    fn duplicate(&self) -> Box<dyn Sketch>;
}

hold_boxed!(
    Sketch,
    "sketch",
    fn merge(&mut self, merger: &Merger<'_>, _labels: &Labels) -> Result<()> {
        for (side, sign) in merger.sides() {
            match sign > 0.0 {
                true => (**self).merge(side.state)?,
                false => (**self).merge_base(side.state)?,
            }
        }
        let weight = self.total() + self.missing();
        match weight < self.max_total() {
            true => Ok(()),
            false => Err(Fault::value(format!("the weight of both sketches is too large, got {weight}"))),
        }
    },
    fn seeds(&self) -> Seeds {
        if self.any_seed() {
            Seeds::Any
        } else {
            Seeds::Same
        }
    }
);

/// Numbers of a batch are checked and added in blocks that stay in the cache.
const BLOCK: usize = 4096;

impl Held<Box<dyn Sketch>> {
    pub fn sketch(&self) -> &dyn Sketch {
        &*self.part
    }

    /// Add a number. One of weight 0 leaves no trace.
    #[inline]
    pub fn update_number(&mut self, x: f64, w: f64) -> Result<()> {
        if w == 1.0 && self.part.add_plain_number(x) {
            self.count = self.count.saturating_add(1);
            return Ok(());
        }
        self.check_items(Items::Numbers)?;
        self.check_weight(w, w)?;
        if w == 0.0 {
            return Ok(());
        }
        if x.is_finite() {
            self.part.add_number(x, w);
        } else if x.is_nan() && self.part.counts_missing() {
            self.part.add_missing(w);
        } else {
            return Err(self.refusal(if x.is_nan() { "NaN" } else { "infinity" }));
        }
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Add a key. One of weight 0 leaves no trace.
    #[inline]
    pub fn update_key(&mut self, key: Key<'_>, w: f64) -> Result<()> {
        if w == 1.0 && self.part.add_plain_key(key) {
            self.count = self.count.saturating_add(1);
            return Ok(());
        }
        self.check_items(Items::Keys)?;
        self.check_weight(w, w)?;
        if w == 0.0 {
            return Ok(());
        }
        match key {
            Key::Missing if self.part.counts_missing() => self.part.add_missing(w),
            Key::Missing => return Err(self.refusal("None or NaN")),
            key => self.part.add_key(key, w),
        }
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Add numbers of weight 1 up to a faulty one; `from` is the row of the first.
    pub fn update_numbers(&mut self, xs: &[f64], from: usize) -> Result<()> {
        self.check_items(Items::Numbers)?;
        for (block, numbers) in xs.chunks(BLOCK).enumerate() {
            if are_finite(numbers) && self.check_weight(1.0, numbers.len() as f64).is_ok() {
                self.part.add_numbers(numbers);
                self.count = self.count.saturating_add(numbers.len() as u64);
                continue;
            }
            for (row, &x) in numbers.iter().enumerate() {
                self.update_number(x, 1.0).map_err(|fault| fault.at_row(from + block * BLOCK + row))?;
            }
        }
        Ok(())
    }

    /// Add numbers with weights up to a faulty one; `from` is the row of the first.
    pub fn update_weighted_numbers(&mut self, xs: &[f64], w: &[f64], from: usize) -> Result<()> {
        for (row, (&x, &w)) in xs.iter().zip(w).enumerate() {
            self.update_number(x, w).map_err(|fault| fault.at_row(from + row))?;
        }
        Ok(())
    }

    /// Add the keys of some rows up to a faulty one, of weight 1 if none are given.
    pub fn update_keys(&mut self, keys: Keys<'_>, w: Option<&[f64]>, from: usize, to: usize) -> Result<()> {
        self.check_items(Items::Keys)?;
        if let (Keys::Integers(keys), None) = (keys.rows(from, to), w) {
            if self.check_weight(1.0, keys.len() as f64).is_ok() {
                self.part.add_integers(keys);
                self.count = self.count.saturating_add(keys.len() as u64);
                return Ok(());
            }
        }
        for row in from..to {
            let w = w.map_or(1.0, |w| w[row]);
            self.update_key(keys.key(row), w).map_err(|fault| fault.at_row(row))?;
        }
        Ok(())
    }

    /// Whether all these items can be added.
    pub fn admits(&self, missing: bool, rows: usize, w: Option<&[f64]>) -> bool {
        let least = if self.part.is_signed() { f64::NEG_INFINITY } else { 0.0 };
        let weights = w.is_none_or(|w| w.iter().all(|&w| w.is_finite() && w >= least));
        let total = w.map_or(rows as f64, |w| w.iter().map(|w| w.abs()).sum());
        // Half of the room, because sums in another order may be rounded up.
        let fits = 2.0 * (self.part.total() + self.part.missing() + total) < self.part.max_total();
        weights && fits && (!missing || self.part.counts_missing())
    }

    #[inline]
    fn check_items(&self, items: Items) -> Result<()> {
        match self.part.items() == items {
            true => Ok(()),
            false => Err(Fault::wrong_type(match items {
                Items::Keys => format!("{}: an item must be a number", self.title),
                Items::Numbers => format!("{}: an item must be a key", self.title),
            })),
        }
    }

    /// Check a weight, and whether there is room for `more`.
    #[inline]
    fn check_weight(&self, w: f64, more: f64) -> Result<()> {
        let lowest = if self.part.is_signed() { f64::NEG_INFINITY } else { 0.0 };
        let fits = self.part.total() + self.part.missing() + more.abs() < self.part.max_total();
        match w.is_finite() && w >= lowest && fits {
            true => Ok(()),
            false => Err(self.bad_weight(w)),
        }
    }

    #[cold]
    fn bad_weight(&self, w: f64) -> Fault {
        let title = &self.title;
        if !w.is_finite() || (w < 0.0 && !self.part.is_signed()) {
            let rule = if self.part.is_signed() { "finite" } else { "finite and not negative" };
            return Fault::value(format!("{title}: the weight must be {rule}, got {}", Shown(w)));
        }
        let (total, most) = (self.part.total() + self.part.missing(), self.part.max_total());
        let (total, most) = (Shown(total), Shown(most));
        Fault::new(
            crate::fault::FaultKind::Overflow,
            format!("{title}: the total weight must stay below {most}, got {} after {total}", Shown(w)),
        )
    }

    #[cold]
    fn refusal(&self, got: &str) -> Fault {
        let title = &self.title;
        Fault::value(match (self.part.items(), got) {
            (Items::Numbers, "infinity") => format!("{title}: x must be finite, got {got}"),
            (Items::Numbers, _) => {
                format!("{title}: x must not be missing, got {got} (missing=\"count\" counts such items)")
            }
            (Items::Keys, _) => {
                format!("{title}: a key must not be missing, got {got} (missing=\"count\" counts such items)")
            }
        })
    }

    pub fn answer(&self, question: Question<'_>) -> Result<f64> {
        self.check_question(question)?;
        self.part.answer(question).map_err(|fault| fault.by(&self.title))
    }

    /// `answer` for many numbers.
    pub fn answers(&self, numbers: &[f64], question: impl Fn(f64) -> Question<'static>) -> Result<Vec<f64>> {
        numbers.iter().try_for_each(|&x| self.check_question(question(x)))?;
        self.part.answers(&mut numbers.iter().map(|&x| question(x))).map_err(|fault| fault.by(&self.title))
    }

    fn check_question(&self, question: Question<'_>) -> Result<()> {
        match question {
            Question::Quantile(q) if !(0.0..=1.0).contains(&q) => {
                Err(Fault::value(format!("{}: q must be in [0, 1], got {}", self.title, Shown(q))))
            }
            _ => Ok(()),
        }
    }

    /// Become the intersection with another sketch, or the difference from it.
    pub fn combine(&mut self, other: &Self, operation: SetOperation) -> Result<()> {
        self.check_same(other, "combined")?;
        self.part.combine(&other.part.save()?, operation).map_err(|fault| fault.by(&self.title))
    }

    pub fn jaccard(&self, other: &Self) -> Result<f64> {
        self.check_same(other, "compared")?;
        self.part.jaccard(&other.part.save()?).map_err(|fault| fault.by(&self.title))
    }

    /// Refuse a sketch with other parameters, and name those that differ.
    fn check_same(&self, other: &Self, verb: &str) -> Result<()> {
        let (ours, theirs) = (self.description(), other.description());
        if ours["name"] != theirs["name"] {
            let kinds = format!("got {} and {}", self.title, other.title);
            return Err(Fault::wrong_type(format!("{}: only the same sketch can be {verb}, {kinds}", self.title)));
        }
        let empty = serde_json::Map::new();
        let ours = ours["parameters"].as_object().unwrap_or(&empty);
        let different: Vec<String> = ours
            .iter()
            .filter(|(name, value)| {
                theirs["parameters"][name.as_str()] != **value && !(self.part.any_seed() && *name == "seed")
            })
            .map(|(name, value)| format!("{name} {value} and {}", theirs["parameters"][name.as_str()]))
            .collect();
        match different.is_empty() {
            true => Ok(()),
            false => Err(Fault::value(format!(
                "{}: sketches can be {verb} if their parameters are equal, got {}",
                self.title,
                different.join(", ")
            ))),
        }
    }

    /// The bound on errors as plain data.
    pub fn error_bound(&self) -> Json {
        let ErrorBound { of, bound, probability } = self.part.error_bound();
        json!({ "of": of, "bound": bound, "probability": probability })
    }
}

/// Whether all numbers are finite, in a loop that compilers vectorise: 0 · x is 0 for finite x, else NaN.
fn are_finite(xs: &[f64]) -> bool {
    let mut lanes = [0.0; 8];
    let chunks = xs.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane += x * 0.0;
        }
    }
    lanes.iter().all(|&lane| lane == 0.0) && rest.iter().all(|x| x.is_finite())
}
