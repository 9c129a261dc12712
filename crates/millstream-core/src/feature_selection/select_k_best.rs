//! Keeps the k features that are most similar to the target.
//!
//! A statistic of two variables, such as the correlation, is updated with each feature and the target. With classes,
//! the statistic is that of a feature and the indicator of a class: of the second class if there are two (the code of
//! `True`), and else the largest absolute value over the classes. The statistics of a class that appears late start as
//! a copy of one whose indicator was 0 in every row, so the result does not depend on when a class appears.
//!
//! Statistics cannot be copied without allocating, so the table before the last row is kept by updating two tables, one
//! of them a row later: `undo` swaps them.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::merging::{Merge, Merger};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, RowBuffer, Scratch, Value};
use crate::schema::{FeatureKind, Schema};
use crate::statistic::Statistic;
use crate::task::Truth;
use crate::transformer::Transformer;

use super::mask::mask;

const NAME: &str = "feature_selection.SelectKBest";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Keeps the k features that are most similar to the target",
    merge: Merge::exact("with numbers as targets"),
    parameters: &[
        Parameter::new(
            "similarity",
            Kind::Part(&[Role::Statistic]),
            DefaultValue::Part("stats.PearsonCorr"),
            "statistic of two variables, the feature and the target",
        ),
        Parameter::new(
            "k",
            Kind::Integer { low: 1, high: i64::MAX },
            DefaultValue::Integer(10),
            "number of features to keep",
        ),
        Parameter::new(
            "use_abs",
            Kind::Boolean,
            DefaultValue::Boolean(false),
            "whether to rank features by the absolute value of the similarity",
        ),
    ],
    build: |arguments| {
        let refuse = |got: &str| {
            Fault::value(format!(
                "{NAME}: similarity must be a statistic of two variables, such as stats.PearsonCorr, got {got}"
            ))
        };
        let Built::Statistic(similarity) = arguments.part("similarity")? else {
            return Err(refuse("another role"));
        };
        if !similarity.takes_pairs() {
            let name = arguments.value("similarity")?["name"].as_str().unwrap_or_default();
            return Err(refuse(name));
        }
        Ok(Built::Transformer(Box::new(SelectKBest {
            k: arguments.size("k")?,
            use_abs: arguments.boolean("use_abs")?,
            similarity,
            table: Table::default(),
            spare: Table::default(),
            last: Example::default(),
            next: Example::default(),
            spare_state: Spare::Unrelated,
            selected: Vec::new(),
            ranks: Vec::new(),
        })))
    },
};

#[derive(Clone)]
struct SelectKBest {
    k: usize,
    use_abs: bool,
    /// Without data.
    similarity: Box<dyn Statistic>,
    table: Table,
    /// The table before the last row.
    spare: Table,
    /// The last row, and a buffer for the next.
    last: Example,
    next: Example,
    spare_state: Spare,
    /// By slot; derived from the table.
    selected: Vec<bool>,
    /// A buffer: scores and slots.
    ranks: Vec<(f64, u32)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Spare {
    /// It has the rows of the table except for the last.
    OneBehind,
    /// The last row was not learned, having no target: there is nothing to undo.
    Same,
    Unrelated,
}

#[derive(Clone, Default)]
struct Example {
    numbers: Vec<(u32, f64)>,
    truth: Option<f64>,
    class: Option<u32>,
    w: f64,
}

/// The statistics of each slot. For numbers as targets, one. For classes, one for an indicator that is always 0, then
/// one for each class code.
#[derive(Clone, Default)]
struct Table {
    slots: Vec<Vec<Box<dyn Statistic>>>,
    /// None before the first target.
    has_classes: Option<bool>,
}

#[derive(Serialize, Deserialize)]
struct State {
    has_classes: Option<bool>,
    statistics: Vec<Vec<ByteBuf>>,
}

impl Table {
    fn learn(&mut self, example: &Example, similarity: &dyn Statistic) -> Result<()> {
        let has_classes = example.class.is_some();
        if self.has_classes.is_some_and(|before| before != has_classes) {
            return Err(Fault::wrong_type(format!("{NAME}: targets must all be numbers or all be labels")));
        }
        self.has_classes = Some(has_classes);
        for &(slot, x) in &example.numbers {
            let slot = slot as usize;
            if slot >= self.slots.len() {
                self.slots.resize_with(slot + 1, Vec::new);
            }
            let statistics = &mut self.slots[slot];
            if statistics.is_empty() {
                statistics.push(similarity.duplicate());
            }
            match example.class {
                None => statistics[0].update(x, example.truth.unwrap_or(0.0), example.w)?,
                Some(class) => {
                    while statistics.len() < class as usize + 2 {
                        let never = statistics[0].duplicate();
                        statistics.push(never);
                    }
                    for (place, statistic) in statistics.iter_mut().enumerate() {
                        statistic.update(x, f64::from(place == class as usize + 1), example.w)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// NaN while it is undefined.
    fn score(&self, slot: usize) -> f64 {
        let Some(statistics) = self.slots.get(slot) else { return f64::NAN };
        match (self.has_classes, statistics.as_slice()) {
            (Some(false), [one]) => one.get(),
            (Some(true), [_, _, second]) => second.get(),
            (Some(true), [_, classes @ ..]) if classes.len() > 2 => {
                // `max` ignores NaN.
                classes.iter().map(|class| class.get().abs()).fold(f64::NAN, f64::max)
            }
            _ => f64::NAN,
        }
    }
}

impl SelectKBest {
    fn score(&self, slot: usize) -> f64 {
        let score = self.table.score(slot);
        if self.use_abs {
            score.abs()
        } else {
            score
        }
    }

    /// Select the best: those with an undefined score last, and the first among equals.
    fn rank(&mut self) {
        let mut ranks = std::mem::take(&mut self.ranks);
        ranks.clear();
        for slot in 0..self.table.slots.len() {
            if !self.table.slots[slot].is_empty() {
                let score = self.score(slot);
                ranks.push((if score.is_nan() { f64::NEG_INFINITY } else { score }, slot as u32));
            }
        }
        if ranks.len() > self.k {
            ranks.select_nth_unstable_by(self.k - 1, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        self.selected.clear();
        self.selected.resize(self.table.slots.len(), false);
        for &(_, slot) in ranks.iter().take(self.k) {
            self.selected[slot as usize] = true;
        }
        self.ranks = ranks;
    }

    fn keeps(&self, slot: usize) -> bool {
        // Before the first target, every feature.
        self.table.has_classes.is_none() || self.selected.get(slot).copied().unwrap_or(false)
    }
}

impl Part for SelectKBest {
    fn save(&self) -> Result<Vec<u8>> {
        let saved = |statistics: &Vec<Box<dyn Statistic>>| {
            statistics.iter().map(|statistic| statistic.save().map(ByteBuf::from)).collect::<Result<Vec<_>>>()
        };
        let statistics = self.table.slots.iter().map(saved).collect::<Result<Vec<_>>>()?;
        pack(&State { has_classes: self.table.has_classes, statistics })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let most = if state.has_classes == Some(true) { usize::MAX } else { 1 };
        require(NAME, state.statistics.iter().all(|each| each.len() <= most), "too many statistics")?;
        require(NAME, state.has_classes.is_some() || state.statistics.is_empty(), "statistics of no target")?;
        let revived = |bytes: &ByteBuf| {
            let mut statistic = self.similarity.duplicate();
            statistic.load(bytes).map(|()| statistic)
        };
        let slots = state
            .statistics
            .iter()
            .map(|each| each.iter().map(revived).collect::<Result<Vec<_>>>())
            .collect::<Result<Vec<_>>>()?;
        self.table = Table { slots, has_classes: state.has_classes };
        self.spare_state = Spare::Unrelated;
        self.rank();
        Ok(())
    }

    fn memory(&self) -> usize {
        let of = |table: &Table| -> usize {
            let statistics = table.slots.iter().flatten().map(|statistic| 16 + statistic.memory()).sum::<usize>();
            table.slots.capacity() * 24 + statistics
        };
        let rows = (self.last.numbers.capacity() + self.next.numbers.capacity() + self.ranks.capacity()) * 16;
        std::mem::size_of::<Self>() + of(&self.table) + of(&self.spare) + rows + self.selected.capacity()
    }

    fn abilities(&self) -> Abilities {
        Abilities { uses_target: true, keeps_missing: true, ..Abilities::default() }
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        for (side, sign) in merger.sides() {
            let state: State = unpack(NAME, side.state)?;
            if state.has_classes == Some(true) {
                return Err(Fault::value("cannot be merged with classes as targets: use numbers as targets"));
            }
            if state.has_classes.is_none() {
                continue;
            }
            if self.table.has_classes == Some(true) {
                return Err(Fault::value("cannot be merged: targets are labels here and numbers there"));
            }
            self.table.has_classes = Some(false);
            for (here, statistics) in side.slots(merger.ours).into_iter().zip(&state.statistics) {
                if here >= self.table.slots.len() {
                    self.table.slots.resize_with(here + 1, Vec::new);
                }
                for bytes in statistics {
                    let slot = &mut self.table.slots[here];
                    if slot.is_empty() {
                        slot.push(self.similarity.duplicate());
                    }
                    match sign > 0.0 {
                        true => slot[0].merge(bytes)?,
                        false => slot[0].merge_base(bytes)?,
                    }
                }
            }
        }
        self.spare_state = Spare::Unrelated;
        self.rank();
        Ok(())
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let features = schema.names().enumerate().take(self.table.slots.len());
        let scored = features.filter(|(slot, _)| {
            schema.kinds()[*slot] == FeatureKind::Number && !self.table.slots[*slot].is_empty()
        });
        let scores = scored.map(|(slot, name)| {
            let score = Some(self.score(slot)).filter(|score| score.is_finite());
            (name.text(), json!({ "similarity": score, "selected": self.keeps(slot) }))
        });
        json!({ "features": scores.collect::<serde_json::Map<_, _>>() })
    }
}

impl Transformer for SelectKBest {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, _: &mut Scratch) {
        mask(x, out, |slot| self.keeps(slot));
    }

    fn learn(&mut self, x: Row<'_>, y: Truth, w: f64, scratch: &mut Scratch) -> Result<()> {
        if matches!(x, Row::Sparse(_)) {
            let mut dense = scratch.take_numbers();
            let learned = self.learn(x.dense(&mut dense), y, w, scratch);
            scratch.give_numbers(dense);
            return learned;
        }
        if y == Truth::None {
            if self.spare_state == Spare::OneBehind {
                self.spare.learn(&self.last, &*self.similarity)?;
                self.spare_state = Spare::Same;
            }
            return Ok(());
        }
        match self.spare_state {
            Spare::OneBehind => self.spare.learn(&self.last, &*self.similarity)?,
            Spare::Same => {}
            Spare::Unrelated => self.spare = self.table.clone(),
        }
        self.spare_state = Spare::Same;
        self.next.numbers.clear();
        let numbers = &mut self.next.numbers;
        x.each(|slot, value| {
            if let Value::Number(number) = value {
                numbers.push((slot as u32, number));
            }
        });
        (self.next.truth, self.next.class) = match y {
            Truth::Number(number) => (Some(number), None),
            Truth::Class(class) => (None, Some(class)),
            Truth::None => (None, None),
        };
        self.next.w = w;
        if let Err(fault) = self.spare.learn(&self.next, &*self.similarity) {
            self.spare_state = Spare::Unrelated;
            return Err(fault);
        }
        std::mem::swap(&mut self.table, &mut self.spare);
        std::mem::swap(&mut self.last, &mut self.next);
        self.spare_state = Spare::OneBehind;
        self.rank();
        Ok(())
    }

    fn undo(&mut self) {
        if self.spare_state == Spare::OneBehind {
            std::mem::swap(&mut self.table, &mut self.spare);
            self.spare_state = Spare::Unrelated;
            self.rank();
        }
    }

    fn keeps_names(&self) -> bool {
        true
    }

    fn output(&self, input: &Schema) -> Schema {
        input.clone()
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn built(k: usize) -> Box<dyn Transformer> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": { "k": k } })).unwrap();
        let Built::Transformer(part) = registry::build_resolved(&description).unwrap() else { panic!() };
        part
    }

    fn kept(part: &dyn Transformer, x: &[f64]) -> Vec<bool> {
        let mut out = RowBuffer::default();
        part.transform(Row::Plain(x), &mut out, &mut Scratch::default());
        (0..x.len()).map(|slot| out.row().get(slot).is_some()).collect()
    }

    #[test]
    fn the_best_of_three_by_hand() {
        let mut part = built(1);
        let mut scratch = Scratch::default();
        assert_eq!(kept(&*part, &[1.0, 2.0, 3.0]), [true; 3]);
        // Targets 1, 2, 6. The first feature falls as they rise, the second is 1, 2, 0: C = −2·0 − 1·1 + 3·(−1) = −4,
        // the third is 2, 6, 4 with C = 4 − 2 + 0 = 2: the only positive correlation.
        for (x, y) in [([6.0, 1.0, 2.0], 1.0), ([5.0, 2.0, 6.0], 2.0), ([1.0, 0.0, 4.0], 6.0)] {
            part.learn(Row::Plain(&x), Truth::Number(y), 1.0, &mut scratch).unwrap();
        }
        assert_eq!(kept(&*part, &[1.0, 2.0, 3.0]), [false, false, true]);
        let before = part.save().unwrap();
        part.learn(Row::Plain(&[9.0, 9.0, 0.0]), Truth::Number(9.0), 1.0, &mut scratch).unwrap();
        let after = part.save().unwrap();
        assert_ne!(before, after);
        part.undo();
        assert_eq!(part.save().unwrap(), before);
        part.learn(Row::Plain(&[9.0, 9.0, 0.0]), Truth::Number(9.0), 1.0, &mut scratch).unwrap();
        assert_eq!(part.save().unwrap(), after);
        // Too large: refused, and unchanged.
        assert!(part.learn(Row::Plain(&[1.0, 1e300, 1.0]), Truth::Number(1e300), 1.0, &mut scratch).is_err());
        assert_eq!(part.save().unwrap(), after);
        assert!(part.learn(Row::Plain(&[1.0, 1.0, 1.0]), Truth::Class(1), 1.0, &mut scratch).is_err());
        assert_eq!(part.save().unwrap(), after);
    }

    #[test]
    fn a_class_that_appears_late_counts_the_rows_before() {
        let rows = [([1.0, 5.0], 0), ([2.0, 3.0], 1), ([3.0, 4.0], 0), ([9.0, 4.0], 2), ([8.0, 5.0], 2)];
        let mut part = built(1);
        let mut scratch = Scratch::default();
        for (x, class) in rows {
            part.learn(Row::Plain(&x), Truth::Class(class), 1.0, &mut scratch).unwrap();
        }
        // The correlation of the first feature with the indicator of class 2, from all five rows: means 4.6 and 0.4,
        // C = 17 − 5·4.6·0.4 = 7.8, squares 159 − 5·4.6² = 53.2 and 2 − 0.8 = 1.2: 7.8/√63.84.
        let mut schema = Schema::default();
        schema.push(&"a".into(), FeatureKind::Number);
        schema.push(&"b".into(), FeatureKind::Number);
        let report = part.inspect(&schema);
        let found = report["features"]["a"]["similarity"].as_f64().unwrap();
        assert!((found - 7.8 / 63.84f64.sqrt()).abs() < 1e-12, "{found}");
        assert_eq!(kept(&*part, &[1.0, 2.0]), [true, false]);
    }
}
