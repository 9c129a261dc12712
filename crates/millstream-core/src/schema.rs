//! Feature names and their slots, which never change.
//!
//! A schema only grows: features may appear, vanish and return, and a slot is never reused. The kind of
//! a feature is fixed by its first value that is not missing. Nominal values are interned to codes in the
//! order in which they are learned, so that a batch and a loop give the same codes.
//!
//! Its size is bounded, because names and values may come from outside: beyond `MOST_FEATURES` names, features are
//! dropped, and beyond `MOST_VALUES` values of a feature, further ones are learned as the value `OTHER`. Both are
//! counted. The columns of a matrix have no such limit.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Result};
use crate::key::Key;
use crate::key_use::KeyUses;

/// A feature name: a string (dict keys, columns) or a number (columns of a matrix).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Name {
    Number(i64),
    Text(Arc<str>),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Number(number) => write!(f, "{number}"),
            Name::Text(text) => write!(f, "'{text}'"),
        }
    }
}

impl Name {
    /// The name without the quotes of `Display`.
    pub fn text(&self) -> String {
        match self {
            Name::Number(number) => number.to_string(),
            Name::Text(text) => text.to_string(),
        }
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Name::Text(text.into())
    }
}

impl From<i64> for Name {
    fn from(number: i64) -> Self {
        Name::Number(number)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureKind {
    /// Only missing values so far.
    Unknown,
    Number,
    Nominal,
}

/// The code in a row of a nominal value that was never learned. Any negative number stands for such a value: one below −1
/// is the hash of a key (`Schema::nominal`).
pub const UNSEEN: f64 = -1.0;

/// How a row holds a key that is not interned: 52 bits of its hash, as a number below −1.
fn hashed(text: &str) -> f64 {
    -2.0 - (Key::Text(text).hash(0) >> 12) as f64
}

/// The largest number of features that are named by strings.
pub const MOST_FEATURES: usize = 100_000;

/// The largest number of features that are named by integers, as those of a hash function are.
pub const MOST_NUMBERED: usize = 1 << 24;

/// The largest number of different values of a nominal feature, before `OTHER`.
pub const MOST_VALUES: usize = 100_000;

/// The value that stands for all further ones.
pub const OTHER: &str = "other";

/// No limit on the number of interned values.
const UNLIMITED: u32 = u32::MAX;

/// The values of one nominal feature, by code.
#[derive(Clone, Debug, Default)]
pub struct Values {
    texts: Vec<Arc<str>>,
    codes: FxHashMap<Arc<str>, u32>,
}

impl Values {
    pub fn code(&self, text: &str) -> Option<u32> {
        self.codes.get(text).copied()
    }

    pub fn text(&self, code: u32) -> Option<&str> {
        self.texts.get(code as usize).map(|text| &**text)
    }

    pub fn len(&self) -> usize {
        self.texts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    fn intern(&mut self, text: &str) -> u32 {
        let code = self.texts.len() as u32;
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.codes.insert(text, code);
        code
    }

    fn pop(&mut self) {
        if let Some(text) = self.texts.pop() {
            self.codes.remove(&text);
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Number of first slots that are named by their own number, like the columns of a matrix. They take one byte each,
    /// so that a sparse matrix may have millions.
    numbered: u32,
    /// The names of the other slots.
    names: Vec<Name>,
    texts: FxHashMap<Arc<str>, u32>,
    integers: FxHashMap<i64, u32>,
    kinds: Vec<FeatureKind>,
    /// By slot, up to the last nominal one.
    values: Vec<Values>,
    nominal: usize,
    unknown: usize,
    /// Number of values of all nominal features.
    interned: usize,
    /// How the model uses nominal features, if it limits the number of their values, and the limits by slot.
    key_uses: Option<KeyUses>,
    limits: Vec<u32>,
    /// Since the model was made or loaded: features that were dropped, and values that were replaced by `OTHER`.
    dropped: u64,
    folded: u64,
    journal: Vec<Change>,
    /// Length of the journal at the last `mark`.
    marked: usize,
    /// Whether the journal has entries from before the last `mark`.
    held: bool,
}

/// A change since `mark` or `savepoint`, which `rollback` reverts.
#[derive(Clone, Debug)]
enum Change {
    Feature,
    /// More numbered slots, all of kind number; holds their former number.
    Widened(u32),
    Kind(u32),
    Value(u32),
    Dropped,
    Folded,
}

static NO_VALUES: std::sync::LazyLock<Values> = std::sync::LazyLock::new(Values::default);

impl Schema {
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    pub fn name(&self, slot: usize) -> Name {
        match slot.checked_sub(self.numbered as usize) {
            Some(place) => self.names[place].clone(),
            None => Name::Number(slot as i64),
        }
    }

    /// All names by slot.
    pub fn names(&self) -> impl Iterator<Item = Name> + '_ {
        (0..self.len()).map(|slot| self.name(slot))
    }

    pub fn kinds(&self) -> &[FeatureKind] {
        &self.kinds
    }

    /// The values of a nominal feature; none for a number.
    pub fn values(&self, slot: usize) -> &Values {
        self.values.get(slot).unwrap_or(&NO_VALUES)
    }

    pub fn slot(&self, name: &Name) -> Option<u32> {
        match name {
            Name::Number(number) if (0..i64::from(self.numbered)).contains(number) => Some(*number as u32),
            Name::Number(number) => self.integers.get(number).copied(),
            Name::Text(text) => self.texts.get(text).copied(),
        }
    }

    /// The name of a slot, if it is a string.
    #[inline]
    pub fn text(&self, slot: usize) -> Option<&str> {
        match self.names.get(slot.checked_sub(self.numbered as usize)?)? {
            Name::Text(text) => Some(text),
            Name::Number(_) => None,
        }
    }

    /// The slot of a feature named by a string, without creating a `Name`.
    #[inline]
    pub fn slot_of_text(&self, text: &str) -> Option<u32> {
        self.texts.get(text).copied()
    }

    /// Every feature is a number: rows without missing values are plain slices.
    pub fn all_numbers(&self) -> bool {
        self.nominal == 0 && self.unknown == 0
    }

    /// Whether slots are named 0, 1, 2, … and nothing else.
    pub fn only_numbered(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether every feature is named by a string, and there is one.
    pub fn only_texts(&self) -> bool {
        self.numbered == 0 && self.integers.is_empty() && !self.names.is_empty()
    }

    pub fn first_nominal(&self) -> Option<usize> {
        (self.nominal > 0).then(|| self.kinds.iter().position(|&kind| kind == FeatureKind::Nominal)).flatten()
    }

    /// Features without a kind become numbers: a sparse row implies 0 for every feature that it does not list.
    pub fn settle_numbers(&mut self) {
        if self.unknown > 0 {
            for slot in 0..self.len() as u32 {
                self.set_kind(slot, FeatureKind::Number);
            }
        }
    }

    /// The slot of `name`, a new one if it was never seen.
    pub fn intern(&mut self, name: &Name) -> u32 {
        if let Some(slot) = self.slot(name) {
            return slot;
        }
        let slot = self.len() as u32;
        if self.names.is_empty() && *name == Name::Number(i64::from(slot)) {
            self.numbered += 1;
        } else {
            self.names.push(name.clone());
            match name {
                Name::Number(number) => self.integers.insert(*number, slot),
                Name::Text(text) => self.texts.insert(text.clone(), slot),
            };
        }
        self.kinds.push(FeatureKind::Unknown);
        self.unknown += 1;
        if let Some(uses) = &self.key_uses {
            self.limits.push(uses.limit(name).unwrap_or(UNLIMITED));
        }
        self.journal.push(Change::Feature);
        slot
    }

    /// Add a feature of a given kind at the end, for the output schemas of transformers.
    pub fn push(&mut self, name: &Name, kind: FeatureKind) -> u32 {
        let slot = self.intern(name);
        self.set_kind(slot, kind);
        slot
    }

    /// Add a feature at the end under a unique name: a number is appended to a name that is taken.
    pub fn push_unique(&mut self, name: Name, kind: FeatureKind) -> u32 {
        let mut own = name.clone();
        let mut count = 2;
        while self.slot(&own).is_some() {
            own = Name::Text(format!("{}_{count}", name.text()).into());
            count += 1;
        }
        self.push(&own, kind)
    }

    /// Add a feature of another schema with its kind and values, under another name if one is given.
    pub fn push_from(&mut self, other: &Schema, slot: usize, name: Option<Name>) -> u32 {
        let own = |slot: usize| (slot < other.len()).then(|| other.name(slot));
        let name = name.or_else(|| own(slot)).unwrap_or_else(|| format!("feature_{slot}").as_str().into());
        let kind = other.kinds.get(slot).copied().unwrap_or(FeatureKind::Unknown);
        let place = self.push_unique(name, kind);
        for text in &other.values(slot).texts {
            self.intern_value(place, text);
        }
        place
    }

    /// Create the slots 0 to `width`, all numbers, named by their number. Only if `only_numbered`.
    pub fn widen(&mut self, width: usize) {
        if width > self.len() {
            self.journal.push(Change::Widened(self.numbered));
            self.kinds.resize(width, FeatureKind::Number);
            self.numbered = width as u32;
            if self.key_uses.is_some() {
                self.limits.resize(width, UNLIMITED);
            }
        }
    }

    /// Check that `slot` may hold a value of `kind`; `shown` is the value, for the message.
    pub fn check_kind(&self, slot: u32, kind: FeatureKind, shown: &dyn fmt::Display) -> Result<()> {
        let known = self.kinds[slot as usize];
        if known == kind || known == FeatureKind::Unknown || kind == FeatureKind::Unknown {
            return Ok(());
        }
        Err(kind_changed(&self.name(slot as usize), known, shown))
    }

    /// Fix the kind of a feature at its first value.
    pub fn set_kind(&mut self, slot: u32, kind: FeatureKind) {
        let known = &mut self.kinds[slot as usize];
        if *known == FeatureKind::Unknown && kind != FeatureKind::Unknown {
            *known = kind;
            self.unknown -= 1;
            self.nominal += usize::from(kind == FeatureKind::Nominal);
            self.journal.push(Change::Kind(slot));
        }
    }

    pub fn code(&self, slot: u32, text: &str) -> Option<u32> {
        self.values(slot as usize).code(text)
    }

    /// Limit the number of interned values of features that a model uses as keys.
    pub fn limit_values(&mut self, uses: KeyUses) {
        self.key_uses = Some(uses).filter(|uses| !uses.is_unlimited());
        let limits: Vec<u32> = match &self.key_uses {
            Some(uses) => self.names().map(|name| uses.limit(&name).unwrap_or(UNLIMITED)).collect(),
            None => Vec::new(),
        };
        self.limits = limits;
    }

    /// Whether the values of a feature serve as keys only, so that their texts are not needed.
    pub fn is_key(&self, slot: usize) -> bool {
        self.limits.get(slot).is_some_and(|&limit| limit != UNLIMITED)
    }

    /// Whether a feature is dropped, because it is unknown and there are many.
    #[inline]
    pub fn drops(&self, name: &Name) -> bool {
        match name {
            Name::Text(text) => self.texts.len() >= MOST_FEATURES && !self.texts.contains_key(text),
            Name::Number(_) => self.len() >= MOST_NUMBERED && self.slot(name).is_none(),
        }
    }

    /// Whether a value of a nominal feature is learned as `OTHER`.
    #[inline]
    pub fn folds(&self, slot: u32, text: &str) -> bool {
        let values = self.values(slot as usize);
        values.len() >= MOST_VALUES && !self.is_key(slot as usize) && values.code(text).is_none()
    }

    pub fn count_dropped(&mut self) {
        self.dropped += 1;
        self.journal.push(Change::Dropped);
    }

    pub fn count_folded(&mut self) {
        self.folded += 1;
        self.journal.push(Change::Folded);
    }

    /// How many features were dropped, and how many values replaced by `OTHER`.
    pub fn beyond_limits(&self) -> (u64, u64) {
        (self.dropped, self.folded)
    }

    /// How a row holds a nominal value: its code, or the hash of a key that is not interned, because the limit is
    /// reached; `UNSEEN` if it is to be interned.
    #[inline]
    pub fn nominal(&self, slot: u32, text: &str) -> f64 {
        let values = self.values(slot as usize);
        match values.code(text) {
            Some(code) => f64::from(code),
            None => match self.limits.get(slot as usize) {
                Some(&limit) if values.len() >= limit as usize => hashed(text),
                // The values of a key have a limit of their own: none of them stands for others.
                _ if values.len() >= MOST_VALUES && !self.is_key(slot as usize) => {
                    values.code(OTHER).map_or(UNSEEN, f64::from)
                }
                _ => UNSEEN,
            },
        }
    }

    /// The same, after interning it if it is to be.
    pub fn admit_nominal(&mut self, slot: u32, text: &str) -> f64 {
        let folds = self.folds(slot, text);
        let value = self.nominal(slot, text);
        if folds {
            self.count_folded();
        }
        if value == UNSEEN {
            f64::from(self.intern_value(slot, if folds { OTHER } else { text }))
        } else {
            value
        }
    }

    pub fn intern_value(&mut self, slot: u32, text: &str) -> u32 {
        if let Some(code) = self.code(slot, text) {
            return code;
        }
        if self.values.len() <= slot as usize {
            self.values.resize(slot as usize + 1, Values::default());
        }
        let code = self.values[slot as usize].intern(text);
        self.interned += 1;
        self.journal.push(Change::Value(slot));
        code
    }

    /// Set the point to which `rollback` returns.
    pub fn mark(&mut self) {
        if !self.held {
            self.journal.clear();
        }
        self.marked = self.journal.len();
    }

    /// Like `mark`, but `rollback_to_savepoint` returns to this point, however many marks follow.
    pub fn savepoint(&mut self) {
        self.commit();
        self.held = true;
    }

    /// Revert the changes since `savepoint`.
    pub fn rollback_to_savepoint(&mut self) {
        self.marked = 0;
        self.rollback();
        self.commit();
    }

    /// Keep the changes since `savepoint`.
    pub fn commit(&mut self) {
        self.held = false;
        self.mark();
    }

    /// Its size: features, features without a kind, and nominal values. A schema only grows, so that it is the same as
    /// before if its extent is.
    #[inline]
    pub fn extent(&self) -> [usize; 3] {
        [self.kinds.len(), self.unknown, self.interned]
    }

    /// Whether both have the same names, kinds and values in the same order.
    pub fn is_same(&self, other: &Schema) -> bool {
        self.extent() == other.extent()
            && self.numbered == other.numbered
            && self.names == other.names
            && self.kinds == other.kinds
            && self.values.iter().map(|values| &values.texts).eq(other.values.iter().map(|values| &values.texts))
    }

    /// Whether anything has changed since the last `mark`.
    pub fn changed(&self) -> bool {
        self.journal.len() > self.marked
    }

    /// Whether anything has changed since the last `mark` that components are bound to: all but the values of keys, of
    /// which there may be many.
    pub fn has_new_names(&self) -> bool {
        self.journal.iter().skip(self.marked).any(|change| match change {
            Change::Value(slot) => !self.is_key(*slot as usize),
            Change::Dropped | Change::Folded => false,
            Change::Feature | Change::Widened(_) | Change::Kind(_) => true,
        })
    }

    /// Revert the changes since the last `mark`.
    pub fn rollback(&mut self) {
        while self.journal.len() > self.marked {
            let Some(change) = self.journal.pop() else { return };
            match change {
                Change::Feature => {
                    match self.names.pop() {
                        Some(Name::Number(number)) => drop(self.integers.remove(&number)),
                        Some(Name::Text(text)) => drop(self.texts.remove(&text)),
                        None => self.numbered -= 1,
                    }
                    self.kinds.pop();
                    self.limits.truncate(self.kinds.len());
                    self.unknown -= 1;
                }
                Change::Widened(numbered) => {
                    self.numbered = numbered;
                    self.kinds.truncate(numbered as usize);
                    self.limits.truncate(numbered as usize);
                }
                Change::Kind(slot) => {
                    let kind = &mut self.kinds[slot as usize];
                    self.nominal -= usize::from(*kind == FeatureKind::Nominal);
                    *kind = FeatureKind::Unknown;
                    self.unknown += 1;
                }
                Change::Value(slot) => {
                    self.values[slot as usize].pop();
                    self.interned -= 1;
                    while self.values.last().is_some_and(Values::is_empty) {
                        self.values.pop();
                    }
                }
                Change::Dropped => self.dropped -= 1,
                Change::Folded => self.folded -= 1,
            }
        }
    }

    pub fn memory(&self) -> usize {
        let texts: usize = self
            .values
            .iter()
            .map(|values| values.texts.iter().map(|text| 2 * text.len() + 64).sum::<usize>())
            .sum();
        texts + self.kinds.capacity() + self.names.len() * 128 + self.values.len() * 56
    }
}

pub fn kind_changed(name: &Name, known: FeatureKind, shown: &dyn fmt::Display) -> Fault {
    let was = if known == FeatureKind::Nominal { "nominal (a string)" } else { "a number" };
    Fault::wrong_type(format!("feature {name} is {was}, got {shown}"))
}

/// The schema as saved in a file.
#[derive(Serialize, Deserialize)]
struct SavedSchema {
    numbered: u32,
    names: Vec<Name>,
    #[serde(with = "serde_bytes")]
    kinds: Vec<u8>,
    values: Vec<Vec<Arc<str>>>,
}

const KINDS: [FeatureKind; 3] = [FeatureKind::Unknown, FeatureKind::Number, FeatureKind::Nominal];

impl Serialize for Schema {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let code = |kind: &FeatureKind| KINDS.iter().position(|known| known == kind).unwrap_or(0) as u8;
        SavedSchema {
            numbered: self.numbered,
            names: self.names.clone(),
            kinds: self.kinds.iter().map(code).collect(),
            values: self.values.iter().map(|values| values.texts.clone()).collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        use serde::de::Error;
        let refuse = |what: &str| Err(D::Error::custom(format!("schema: {what}")));
        let saved = SavedSchema::deserialize(deserializer)?;
        let len = saved.kinds.len();
        if saved.numbered as usize + saved.names.len() != len || saved.values.len() > len {
            return refuse("names, kinds and values differ in number");
        }
        let mut schema = Schema::default();
        for (slot, &code) in saved.kinds.iter().enumerate() {
            let name = match slot.checked_sub(saved.numbered as usize) {
                Some(place) => saved.names[place].clone(),
                None => Name::Number(slot as i64),
            };
            let Some(&kind) = KINDS.get(code as usize) else { return refuse("unknown kind") };
            if schema.push(&name, kind) as usize != slot {
                return refuse("duplicate feature");
            }
            schema.mark();
        }
        if schema.numbered != saved.numbered {
            return refuse("numbered names out of place");
        }
        for (slot, values) in saved.values.iter().enumerate() {
            if !values.is_empty() && schema.kinds[slot] != FeatureKind::Nominal {
                return refuse("a number has nominal values");
            }
            for (code, text) in values.iter().enumerate() {
                if schema.intern_value(slot as u32, text) as usize != code {
                    return refuse("a nominal value is listed twice");
                }
            }
        }
        schema.mark();
        Ok(schema)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_beyond_the_limit_are_hashed() {
        let mut schema = Schema::default();
        schema.limit_values(KeyUses::encoded(Some(&["user".into()]), 2));
        let (user, colour) = (schema.intern(&"user".into()), schema.intern(&"colour".into()));
        schema.set_kind(user, FeatureKind::Nominal);
        schema.set_kind(colour, FeatureKind::Nominal);
        schema.mark();
        assert_eq!((schema.admit_nominal(user, "ann"), schema.nominal(user, "bob")), (0.0, UNSEEN));
        assert_eq!(schema.admit_nominal(user, "bob"), 1.0);
        let hash = schema.admit_nominal(user, "cid");
        assert!(hash <= -2.0 && hash.fract() == 0.0 && hash != schema.nominal(user, "dan"));
        assert_eq!(hash, -2.0 - (crate::numeric::xxh64::xxh64(b"scid", 0) >> 12) as f64);
        for n in 0..5 {
            schema.admit_nominal(colour, &n.to_string());
        }
        assert_eq!((schema.values(0).len(), schema.values(1).len()), (2, 5));
        // A place that is taken back is free again.
        schema.rollback();
        assert_eq!((schema.admit_nominal(user, "cid"), schema.is_key(0), schema.is_key(1)), (0.0, true, false));
    }

    #[test]
    fn values_beyond_the_limit_are_folded_and_counted() {
        let mut schema = Schema::default();
        let slot = schema.push(&"session".into(), FeatureKind::Nominal);
        for n in 0..MOST_VALUES {
            schema.mark();
            schema.admit_nominal(slot, &n.to_string());
        }
        assert_eq!(schema.beyond_limits(), (0, 0));
        schema.mark();
        // "other" is the value after the last one, and is not counted as new again.
        let other = schema.admit_nominal(slot, "a");
        assert_eq!(other, MOST_VALUES as f64);
        schema.mark();
        assert_eq!((schema.admit_nominal(slot, "b"), schema.nominal(slot, "c")), (other, other));
        assert_eq!(schema.nominal(slot, "7"), 7.0);
        assert_eq!((schema.values(0).len(), schema.beyond_limits()), (MOST_VALUES + 1, (0, 2)));
        assert!(schema.changed() && !schema.has_new_names());
        schema.rollback();
        assert_eq!(schema.beyond_limits(), (0, 1));
    }

    #[test]
    fn a_key_named_other_stands_for_no_other_key() {
        let mut schema = Schema::default();
        schema.limit_values(KeyUses::encoded(Some(&["user".into()]), 2 * MOST_VALUES));
        let user = schema.push(&"user".into(), FeatureKind::Nominal);
        let other = schema.admit_nominal(user, OTHER);
        for n in 0..MOST_VALUES {
            schema.mark();
            schema.admit_nominal(user, &n.to_string());
        }
        assert_eq!(schema.nominal(user, "new"), UNSEEN);
        assert_ne!(schema.admit_nominal(user, "new"), other);
        assert_eq!(schema.beyond_limits(), (0, 0));
    }

    #[test]
    fn rollback_leaves_the_schema_as_it_was() {
        let mut schema = Schema::default();
        let a = schema.intern(&"a".into());
        schema.set_kind(a, FeatureKind::Nominal);
        schema.intern_value(a, "x");
        schema.mark();
        schema.intern_value(a, "y");
        let b = schema.intern(&"b".into());
        schema.set_kind(b, FeatureKind::Number);
        schema.rollback();
        assert_eq!(schema.len(), 1);
        assert_eq!(schema.code(a, "y"), None);
        assert_eq!(schema.code(a, "x"), Some(0));
        assert_eq!(schema.slot(&"b".into()), None);
        assert_eq!(schema.intern(&"c".into()), 1);
    }
}
