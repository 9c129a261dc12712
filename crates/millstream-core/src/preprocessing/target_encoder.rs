//! The mean target of the rows with a value, shrunk towards the mean of all rows.
//!
//! For a value v with n rows of mean ȳ(v), and the mean ȳ of all rows, the encoding is λ ȳ(v) + (1 − λ) ȳ. With a given
//! `smooth` m, λ = n / (n + m). With "auto", m = σ²(v) / τ² is the empirical Bayes estimate, with the variance σ²(v) of
//! the targets of v and the variance τ² of all targets (Micci-Barreca 2001, equations 4 and 5; the form of scikit-learn's
//! `TargetEncoder`). For classes, targets are indicators: 1 for the class and 0 for the others.
//!
//! A row is transformed before it is learned, also where the learner behind it learns it: its encoding never contains its
//! own target. The first class needs no number, because the encodings of all classes sum to 1; the second class stands
//! in the slot of the feature, and each further class in a new slot at the end.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::batch::{Rows, MODERATE};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::key_table::{Capacity, WhenFull, MAX_KEYS, WHEN_FULL};
use crate::key_use::KeyUses;
use crate::merging::Merge;
use crate::numeric::magnitude::{check_numbers, LARGEST};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, RowBuffer, Scratch};
use crate::schema::{FeatureKind, Name, Schema};
use crate::task::Truth;
use crate::transformer::{learn_each, transform_each, Examples, KnownTruths, Transformer};

use super::key_columns::{Encoded, KeyColumns, SavedColumns, FEATURES};

const NAME: &str = "preprocessing.TargetEncoder";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Encodes each nominal value as the shrunken mean of the targets of its rows",
    merge: Merge::none("the tables of keys of two models may have dropped different keys: learn the whole stream with one encoder"),
    parameters: &[
        FEATURES,
        Parameter::new(
            "smooth",
            Kind::WordOrFloat(&["auto"], Bounds::NOT_NEGATIVE),
            DefaultValue::Text("auto"),
            "weight of the mean of all targets, in rows; auto estimates it for each value",
        ),
        MAX_KEYS,
        WHEN_FULL,
    ],
    build: |arguments| {
        Ok(Built::Transformer(Box::new(TargetEncoder {
            encoded: Encoded::new(arguments)?,
            smooth: arguments.value("smooth")?.as_f64(),
            kind: TargetKind::Unknown,
            all: Tally::default(),
            keys: KeyColumns::new(Capacity::new(arguments)?, Tally::default()),
            columns: Vec::new(),
            before: Before::default(),
            at_savepoint: Before::default(),
        })))
    },
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum TargetKind {
    #[default]
    Unknown,
    Numbers,
    Classes,
}

/// Number of classes whose weights need no memory of their own.
const FEW: usize = 4;

/// The targets of some rows. Of numbers: weight, mean and sum of squared differences from the mean. Of classes: the weight
/// of each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Tally {
    few: [f64; FEW],
    more: Vec<f64>,
}

impl Tally {
    /// Add a number (West 1979).
    #[inline]
    fn add_number(&mut self, y: f64, w: f64) -> Result<()> {
        check_numbers(NAME, &[y], LARGEST)?;
        let [weight, mean, squares, _] = &mut self.few;
        let total = *weight + w;
        let difference = y - *mean;
        let step = difference * (w / total);
        *mean += step;
        let added = w * difference * (y - *mean);
        // Rounding may move the mean beyond the number; NaN is an overflow.
        *squares += if added < 0.0 { 0.0 } else { added };
        *weight = total;
        match total.is_finite() && mean.is_finite() && squares.is_finite() {
            true => Ok(()),
            false => Err(Fault::overflow(NAME)),
        }
    }

    #[inline]
    fn add_class(&mut self, class: usize, w: f64) -> Result<()> {
        let weight = match class.checked_sub(FEW) {
            None => &mut self.few[class],
            Some(place) => {
                if self.more.len() <= place {
                    self.more.resize(place + 1, 0.0);
                }
                &mut self.more[place]
            }
        };
        *weight += w;
        match self.weight_of_classes().is_finite() {
            true => Ok(()),
            false => Err(Fault::overflow(NAME)),
        }
    }

    #[inline]
    fn add(&mut self, y: Truth, w: f64) -> Result<()> {
        match y {
            Truth::Number(y) => self.add_number(y, w),
            Truth::Class(class) => self.add_class(class as usize, w),
            Truth::None => Ok(()),
        }
    }

    fn class(&self, class: usize) -> f64 {
        match class.checked_sub(FEW) {
            None => self.few[class],
            Some(place) => self.more.get(place).copied().unwrap_or(0.0),
        }
    }

    fn weight_of_classes(&self) -> f64 {
        self.few.iter().chain(&self.more).sum()
    }

    /// Weight and mean of numbers, or of the indicators of a class.
    #[inline]
    fn mean(&self, class: Option<usize>) -> (f64, f64) {
        match class {
            None => (self.few[0], self.few[1]),
            Some(class) => {
                let weight = self.weight_of_classes();
                (weight, if weight > 0.0 { self.class(class) / weight } else { 0.0 })
            }
        }
    }

    /// The variance of the same.
    #[inline]
    fn variance(&self, class: Option<usize>) -> f64 {
        let (weight, mean) = self.mean(class);
        match class {
            None if weight > 0.0 => self.few[2] / weight,
            None => 0.0,
            Some(_) => mean * (1.0 - mean),
        }
    }

    fn is_sound(&self, kind: TargetKind) -> bool {
        let finite = self.few.iter().chain(&self.more).all(|number| number.is_finite());
        let [weight, _, squares, last] = self.few;
        finite
            && match kind {
                TargetKind::Unknown => *self == Tally::default(),
                TargetKind::Numbers => weight >= 0.0 && squares >= 0.0 && last == 0.0 && self.more.is_empty(),
                TargetKind::Classes => {
                    self.few.iter().chain(&self.more).all(|&w| w >= 0.0) && self.weight_of_classes().is_finite()
                }
            }
    }

    fn memory(&self) -> usize {
        self.more.capacity() * 8
    }
}

/// A column of the output: a slot of the input, and the class whose encoding stands there if the slot is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OutputColumn {
    slot: u32,
    class: u32,
}

#[derive(Clone)]
struct TargetEncoder {
    encoded: Encoded,
    /// None to estimate it.
    smooth: Option<f64>,
    kind: TargetKind,
    all: Tally,
    keys: KeyColumns<Tally>,
    /// The columns of the output, once there is one for a third class; before that they are those of the input.
    columns: Vec<OutputColumn>,
    before: Before,
    at_savepoint: Before,
}

/// What is needed to revert the last row or a batch, besides the keys.
#[derive(Clone, Default)]
struct Before {
    kind: TargetKind,
    all: Tally,
    columns: usize,
}

#[derive(Serialize, Deserialize)]
struct State {
    kind: TargetKind,
    all: Tally,
    keys: SavedColumns<Tally>,
    columns: Vec<OutputColumn>,
}

/// The class in the slot of a feature.
const SECOND: u32 = 1;

impl TargetEncoder {
    fn now(&self) -> Before {
        Before { kind: self.kind, all: self.all.clone(), columns: self.columns.len() }
    }

    fn revert(&mut self, before: Before) {
        (self.kind, self.all) = (before.kind, before.all);
        self.columns.truncate(before.columns);
    }

    /// The encoding of the rows of `tally` for numbers, or for a class; NaN before the first target.
    #[inline]
    fn encoding(&self, tally: Option<&Tally>, class: u32) -> f64 {
        let class = match self.kind {
            TargetKind::Unknown => return f64::NAN,
            TargetKind::Numbers => None,
            TargetKind::Classes => Some(class as usize),
        };
        let (_, mean) = self.all.mean(class);
        let Some(tally) = tally else { return mean };
        let (n, own_mean) = tally.mean(class);
        let share = match self.smooth {
            Some(smooth) => n / (n + smooth),
            None => n / (n + tally.variance(class) / self.all.variance(class)),
        };
        // 0 / 0: the targets do not vary.
        match share.is_nan() {
            true => mean,
            false => share * own_mean + (1.0 - share) * mean,
        }
    }

    /// The encoding for people: a list for more than two classes.
    fn shown(&self, tally: Option<&Tally>) -> Json {
        let classes = self.classes();
        match classes > 2 {
            true => json!((SECOND..classes).map(|class| self.encoding(tally, class)).collect::<Vec<f64>>()),
            false => json!(self.encoding(tally, SECOND)),
        }
    }

    fn encode(&self, slot: usize, key: f64, class: u32) -> f64 {
        self.encoding(self.keys.find(slot, key), class)
    }

    /// The number of input slots that have a column.
    fn placed(&self) -> usize {
        self.columns.iter().filter(|column| column.class == SECOND).count()
    }

    /// Columns for further classes, and then for new features.
    fn add_columns(&mut self, x: Row<'_>, classes: u32) {
        if classes <= 2 {
            return;
        }
        let placed = self.placed();
        let encoded = (0..x.width()).filter(|&slot| self.encoded.has(slot, x.kind(slot))).count();
        if self.columns.len() == placed.max(x.width()) + encoded * (classes as usize - 2) {
            return;
        }
        self.columns.extend((placed as u32..x.width() as u32).map(|slot| OutputColumn { slot, class: SECOND }));
        let wanted = (0..x.width()).filter(|&slot| self.encoded.has(slot, x.kind(slot)));
        let new: Vec<OutputColumn> = wanted
            .flat_map(|slot| (SECOND + 1..classes).map(move |class| OutputColumn { slot: slot as u32, class }))
            .filter(|column| !self.columns.contains(column))
            .collect();
        self.columns.extend(new);
    }

    fn classes(&self) -> u32 {
        if self.kind != TargetKind::Classes {
            return 0;
        }
        let few = self.all.few.iter().rposition(|&weight| weight > 0.0).map_or(0, |last| last + 1);
        match self.all.more.len() {
            0 => few as u32,
            more => (FEW + more) as u32,
        }
    }

    fn learn_target(&mut self, x: Row<'_>, y: Truth, w: f64) -> Result<()> {
        let kind = match y {
            Truth::None => return Ok(()),
            Truth::Number(_) => TargetKind::Numbers,
            Truth::Class(_) => TargetKind::Classes,
        };
        if self.kind != kind && self.kind != TargetKind::Unknown {
            let words = |kind| if kind == TargetKind::Classes { "class labels" } else { "numbers" };
            let (known, got) = (words(self.kind), words(kind));
            return Err(Fault::wrong_type(format!("{NAME}: the targets are {known}, got {got}")));
        }
        let add = |tally: &mut Tally| tally.add(y, w);
        self.kind = kind;
        add(&mut self.all)?;
        let TargetEncoder { encoded, keys, .. } = self;
        encoded.each_key(x, |slot, key| add(keys.learn(NAME, slot, key)?))?;
        self.add_columns(x, self.classes());
        Ok(())
    }
}

impl TargetEncoder {
    /// Learn rows of one width and kind that none can refuse and none reverts: features do not depend on each other, so
    /// they are learned one after the other.
    fn learn_columns(&mut self, examples: &Examples<'_>, values: &[f64], kinds: &[FeatureKind]) {
        let Examples { rows, truths, .. } = examples;
        let mut sound = true;
        for row in 0..rows.len() {
            sound &= self.all.add(truths.at(row), examples.weight(row)).is_ok();
            self.add_columns(rows.at(row), self.classes());
        }
        let TargetEncoder { encoded, keys, .. } = self;
        for (slot, _) in kinds.iter().enumerate().filter(|(slot, &kind)| encoded.has(*slot, kind)) {
            let column = values.chunks_exact(kinds.len()).map(|x| x[slot]);
            keys.learn_column(slot, column, |row, tally| {
                sound &= tally.add(truths.at(row), examples.weight(row)).is_ok();
            });
        }
        debug_assert!(sound, "infallible");
    }
}

impl Part for TargetEncoder {
    fn save(&self) -> Result<Vec<u8>> {
        let (all, columns) = (self.all.clone(), self.columns.clone());
        pack(&State { kind: self.kind, all, keys: self.keys.saved()?, columns })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        require(NAME, state.all.is_sound(state.kind), "the state of all targets is invalid")?;
        let mut next = 0;
        for (place, column) in state.columns.iter().enumerate() {
            let sound = match column.class {
                SECOND => column.slot == next,
                class => class > SECOND && column.slot < next && !state.columns[..place].contains(column),
            };
            require(NAME, sound, "a column is out of order")?;
            next += u32::from(column.class == SECOND);
        }
        self.keys.load(NAME, state.keys, |tally| tally.is_sound(state.kind))?;
        (self.kind, self.all, self.columns) = (state.kind, state.all, state.columns);
        self.before = Before::default();
        let classes = self.classes();
        let sound = self.columns.iter().all(|column| column.class < classes.max(2));
        require(NAME, sound, "a column of an unknown class")
    }

    fn savepoint(&mut self) -> bool {
        self.at_savepoint = self.now();
        self.keys.savepoint();
        true
    }

    fn rollback(&mut self) {
        let before = std::mem::take(&mut self.at_savepoint);
        self.revert(before);
        self.keys.rollback();
    }

    fn commit(&mut self) {
        self.keys.commit();
    }

    fn abilities(&self) -> Abilities {
        Abilities { needs_names: self.encoded.needs_names(), uses_target: true, ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        self.encoded.bind(schema);
    }

    fn key_uses(&self) -> KeyUses {
        self.encoded.key_uses(self.keys.capacity())
    }

    fn infallible(&self) -> bool {
        let moderate = |number: &f64| number.abs() <= 1e200;
        // Encodings are as large as means. A moderate weight times the square of a difference from a moderate mean, at
        // most 4e180, does not overflow.
        let mean = if self.kind == TargetKind::Numbers { self.all.few[1] } else { 0.0 };
        self.keys.capacity().when_full != WhenFull::Refuse
            && mean.abs() <= MODERATE
            && self.all.few.iter().chain(&self.all.more).all(moderate)
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.keys.memory(Tally::memory) + self.columns.capacity() * 8
    }

    fn scalars(&self) -> Json {
        let mut all = self.keys.scalars();
        all["target_mean"] = self.shown(None);
        all
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let mut all = self.keys.inspect(schema, |_, tally| self.shown(Some(tally)));
        all["target_mean"] = self.shown(None);
        all
    }
}

impl Transformer for TargetEncoder {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        if self.columns.is_empty() {
            return self.encoded.write(x, out, scratch, |slot, key| self.encode(slot, key, SECOND));
        }
        let mut dense = scratch.take_numbers();
        let x = x.dense(&mut dense);
        // Features that were never learned come last.
        let placed = self.placed();
        let beyond = (placed..x.width()).map(|slot| OutputColumn { slot: slot as u32, class: SECOND });
        let columns = || self.columns.iter().copied().chain(beyond.clone());
        let written = out.plain(self.columns.len() + x.width().saturating_sub(placed));
        let mut whole = true;
        for (written, OutputColumn { slot, class }) in written.iter_mut().zip(columns()) {
            let slot = slot as usize;
            let (value, kind) = (x.key(slot), x.kind(slot));
            let encoded = slot < x.width() && self.encoded.has(slot, kind);
            *written = match (encoded, class) {
                (true, class) => self.encode(slot, value, class),
                (false, SECOND) => value,
                (false, _) => f64::NAN,
            };
            whole &= !written.is_nan() && (encoded || kind != FeatureKind::Nominal);
        }
        if !whole {
            out.with_kinds(columns().map(|OutputColumn { slot, class }| match class {
                SECOND => self.encoded.kind(slot as usize, x.kind(slot as usize)),
                _ => FeatureKind::Number,
            }));
        }
        scratch.give_numbers(dense);
    }

    fn learn(&mut self, x: Row<'_>, y: Truth, w: f64, _: &mut Scratch) -> Result<()> {
        self.keys.mark();
        self.before = self.now();
        let learned = self.learn_target(x, y, w);
        if learned.is_err() {
            self.undo();
        }
        learned
    }

    /// Only the last row can be reverted, so the others are learned feature by feature, if none can be refused.
    fn learn_batch(&mut self, examples: &Examples<'_>, scratch: &mut Scratch) -> usize {
        let kind = match examples.truths {
            KnownTruths::None => TargetKind::Unknown,
            KnownTruths::Numbers(_) => TargetKind::Numbers,
            KnownTruths::Classes(_) => TargetKind::Classes,
        };
        let known = kind != TargetKind::Unknown && (self.kind == kind || self.kind == TargetKind::Unknown);
        let before = examples.slice(0, examples.len().saturating_sub(1));
        let Rows::Mixed { values, kinds } = before.rows else { return learn_each(self, examples, 0, scratch) };
        if !known || !self.infallible() || !examples.are_moderate() {
            return learn_each(self, examples, 0, scratch);
        }
        self.kind = kind;
        self.keys.mark();
        self.learn_columns(&before, values, kinds);
        learn_each(self, examples, before.len(), scratch)
    }

    fn transform_batch(&self, rows: &Rows<'_>, width: usize, out: &mut Vec<f64>, scratch: &mut Scratch) {
        let encode = |slot| {
            let table = self.keys.table(slot);
            move |key: f64| self.encoding(table.and_then(|table| table.find(&[key])), SECOND)
        };
        if !self.columns.is_empty() || !self.encoded.write_batch(rows, width, out, encode) {
            transform_each(self, rows, width, out, scratch);
        }
    }

    /// Transform, then learn: a learner must not see the target of a row in its features.
    fn learn_and_transform(
        &mut self,
        x: Row<'_>,
        y: Truth,
        w: f64,
        out: &mut RowBuffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.transform(x, out, scratch);
        self.learn(x, y, w, scratch)
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: Truth,
        w: f64,
        before: &mut RowBuffer,
        after: &mut RowBuffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.transform(x, before, scratch);
        after.copy_from(before.row());
        self.learn(x, y, w, scratch)
    }

    fn undo(&mut self) {
        let before = std::mem::take(&mut self.before);
        self.revert(before);
        self.keys.undo();
    }

    fn keeps_names(&self) -> bool {
        self.columns.is_empty()
    }

    fn output(&self, input: &Schema) -> Schema {
        if self.columns.is_empty() {
            return self.encoded.output(input);
        }
        let mut schema = Schema::default();
        let beyond = (self.placed()..input.len()).map(|slot| OutputColumn { slot: slot as u32, class: SECOND });
        for OutputColumn { slot, class } in self.columns.iter().copied().chain(beyond) {
            let slot = slot as usize;
            if slot >= input.len() {
                schema.push_unique(Name::Text(format!("feature_{slot}").into()), FeatureKind::Unknown);
            } else if class == SECOND {
                self.encoded.push(input, slot, &mut schema);
            } else {
                let name = format!("{}_class_{class}", input.name(slot).text());
                schema.push_unique(Name::Text(name.into()), FeatureKind::Number);
            }
        }
        schema.mark();
        schema
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use crate::schema::FeatureKind::{Nominal, Number};

    fn encoder(smooth: Json) -> Box<dyn Transformer> {
        let description = json!({ "name": NAME, "parameters": { "smooth": smooth } });
        match registry::build_resolved(&registry::resolve(&description).unwrap()).unwrap() {
            Built::Transformer(encoder) => encoder,
            _ => panic!(),
        }
    }

    fn encoded(encoder: &dyn Transformer, code: f64) -> Vec<f64> {
        let mut out = RowBuffer::default();
        encoder.transform(Row::Mixed(&[code, 3.0], &[Nominal, Number]), &mut out, &mut Scratch::default());
        (0..out.row().width()).map(|slot| out.row().key(slot)).collect()
    }

    fn learn(encoder: &mut dyn Transformer, code: f64, y: Truth) {
        encoder.learn(Row::Mixed(&[code, 3.0], &[Nominal, Number]), y, 1.0, &mut Scratch::default()).unwrap();
    }

    #[test]
    fn after_a_huge_target_moderate_ones_may_be_refused() {
        let mut encoder = encoder(json!("auto"));
        learn(&mut *encoder, 0.0, Truth::Number(1.0));
        assert!(encoder.infallible());
        learn(&mut *encoder, 1.0, Truth::Number(1e100));
        assert!(!encoder.infallible());
    }

    #[test]
    fn numbers_by_hand() {
        // Value 0: 1, 3 (mean 2, variance 1); value 1: 8. All: mean 4, variance (9 + 1 + 16) / 3 = 26 / 3.
        let rows = [(0.0, 1.0), (1.0, 8.0), (0.0, 3.0)];
        for (smooth, wanted) in [
            // (2 · 2 + 2 · 4) / 4 and (8 + 2 · 4) / 3.
            (json!(2.0), [3.0, 16.0 / 3.0]),
            // m = 1 / (26 / 3) = 3 / 26, so λ = 2 / (2 + 3 / 26) = 52 / 55; value 1 does not vary: λ = 1.
            (json!("auto"), [52.0 / 55.0 * 2.0 + 3.0 / 55.0 * 4.0, 8.0]),
        ] {
            let mut encoder = encoder(smooth);
            assert!(encoded(&*encoder, 0.0)[0].is_nan());
            rows.iter().for_each(|&(code, y)| learn(&mut *encoder, code, Truth::Number(y)));
            for (code, wanted) in [(0.0, wanted[0]), (1.0, wanted[1]), (5.0, 4.0)] {
                let z = encoded(&*encoder, code);
                assert!((z[0] - wanted).abs() < 1e-12 && z[1] == 3.0, "{z:?} {wanted}");
            }
        }
    }

    #[test]
    fn a_third_class_gets_a_column_at_the_end() {
        let mut encoder = encoder(json!(0.0));
        learn(&mut *encoder, 0.0, Truth::Class(1));
        learn(&mut *encoder, 0.0, Truth::Class(0));
        assert_eq!(encoded(&*encoder, 0.0), [0.5, 3.0]);
        let before = encoder.save().unwrap();
        learn(&mut *encoder, 0.0, Truth::Class(2));
        // Of three rows one is of class 1, and one of class 2.
        assert_eq!(encoded(&*encoder, 0.0), [1.0 / 3.0, 3.0, 1.0 / 3.0]);
        assert_eq!(encoded(&*encoder, 9.0), [1.0 / 3.0, 3.0, 1.0 / 3.0]);
        encoder.undo();
        assert_eq!(encoder.save().unwrap(), before);
        assert_eq!(encoded(&*encoder, 0.0), [0.5, 3.0]);
    }

    #[test]
    fn a_row_is_encoded_without_its_own_target() {
        let mut encoder = encoder(json!(0.0));
        learn(&mut *encoder, 0.0, Truth::Number(1.0));
        let (mut before, mut after) = (RowBuffer::default(), RowBuffer::default());
        let x = Row::Mixed(&[0.0, 3.0], &[Nominal, Number]);
        encoder.step(x, Truth::Number(9.0), 1.0, &mut before, &mut after, &mut Scratch::default()).unwrap();
        assert_eq!((before.row().key(0), after.row().key(0)), (1.0, 1.0));
        assert_eq!(encoded(&*encoder, 0.0)[0], 5.0);
    }
}
