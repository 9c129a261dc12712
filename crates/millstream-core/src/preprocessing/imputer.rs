//! Imputes missing values: a number by the mean, the last value or a constant, a nominal value by the most
//! frequent, the last or a constant.
//!
//! A feature that a row does not have is missing too, once it has been learned. A feature that was
//! never learned stays missing. The mean is West's weighted recursion (1979): n ← n + w, m ← m + (x − m) w/n.
//! Among equally frequent values the first learned one is used.
//!
//! The constant for nominal features takes code 0 of the output, and other codes move up by one. If the data
//! contain the same string, its code becomes 0 and later codes stay as they are. No code ever changes its meaning.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::merging::{combined_moments, unless_previous, Merge, Merger};
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{all_finite, Row, RowBuffer, Scratch, Value};
use crate::schema::{FeatureKind, Schema};
use crate::task::Truth;
use crate::transformer::Transformer;

const NAME: &str = "preprocessing.Imputer";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Imputes missing values: mean, most frequent, previous or constant",
    merge: Merge::EXACT.or(unless_previous),
    parameters: &[
        Parameter::new(
            "strategy",
            Kind::Choice(&["mean", "previous", "constant", "none"]),
            DefaultValue::Text("mean"),
            "replacement of a missing number",
        ),
        Parameter::new("fill_value", Kind::Float(Bounds::ANY), DefaultValue::Float(0.0), "constant for numbers"),
        Parameter::new(
            "nominal_strategy",
            Kind::Choice(&["most_frequent", "previous", "constant", "none"]),
            DefaultValue::Text("most_frequent"),
            "replacement of a missing nominal value",
        ),
        Parameter::new(
            "nominal_fill_value",
            Kind::Text,
            DefaultValue::Text("missing"),
            "constant for nominal values",
        ),
    ],
    build,
};

pub static PREVIOUS: Declaration = Declaration {
    name: "preprocessing.PreviousImputer",
    role: Role::Transformer,
    words: "Imputes missing values by the previous value of the feature",
    merge: Merge::ORDER,
    parameters: &[],
    build: |_| {
        Ok(Built::Transformer(Box::new(Imputer {
            name: PREVIOUS.name,
            numbers: Strategy::Previous,
            fill_value: 0.0,
            nominals: Strategy::Previous,
            nominal_fill_value: String::new(),
            constants: Vec::new(),
            state: State::default(),
            undo: Undo::default(),
        })))
    },
};

fn build(arguments: &Arguments<'_>) -> Result<Built> {
    let strategy = |name: &str| {
        Ok(match arguments.text(name)? {
            "mean" | "most_frequent" => Strategy::Typical,
            "previous" => Strategy::Previous,
            "constant" => Strategy::Constant,
            _ => Strategy::Leave,
        })
    };
    Ok(Built::Transformer(Box::new(Imputer {
        name: NAME,
        numbers: strategy("strategy")?,
        fill_value: arguments.float("fill_value")?,
        nominals: strategy("nominal_strategy")?,
        nominal_fill_value: arguments.text("nominal_fill_value")?.into(),
        constants: Vec::new(),
        state: State::default(),
        undo: Undo::default(),
    })))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Strategy {
    /// The mean, or the most frequent value.
    Typical,
    Previous,
    Constant,
    Leave,
}

#[derive(Clone)]
struct Imputer {
    name: &'static str,
    numbers: Strategy,
    fill_value: f64,
    nominals: Strategy,
    nominal_fill_value: String,
    /// By slot: the code that the data gave to the constant's text.
    constants: Vec<Option<u32>>,
    state: State,
    undo: Undo,
}

/// By slot.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    /// What a missing value becomes: a number, or a code; NaN while there is none.
    estimates: Vec<f64>,
    /// The sum of weights of a number.
    counts: Vec<f64>,
    /// The sum of weights of each nominal value.
    frequencies: Vec<Vec<f64>>,
}

/// What the last `learn` changed.
#[derive(Clone, Debug, Default)]
struct Undo {
    width: usize,
    changed: Vec<Change>,
}

#[derive(Clone, Copy, Debug)]
struct Change {
    slot: u32,
    estimate: f64,
    count: f64,
    /// The code, its frequency and how many codes there were.
    nominal: Option<(u32, f64, u32)>,
}

impl State {
    fn grow(&mut self, width: usize) {
        if width > self.estimates.len() {
            self.estimates.resize(width, f64::NAN);
            self.counts.resize(width, 0.0);
            self.frequencies.resize(width, Vec::new());
        }
    }

    fn truncate(&mut self, width: usize) {
        self.estimates.truncate(width);
        self.counts.truncate(width);
        self.frequencies.truncate(width);
    }
}

impl Imputer {
    fn learn_number(&mut self, slot: usize, x: f64, w: f64) -> bool {
        let (count, mean) = (self.state.counts[slot], self.state.estimates[slot]);
        self.undo.changed.push(Change { slot: slot as u32, estimate: mean, count, nominal: None });
        let n = count + w;
        let next = match self.numbers {
            Strategy::Typical if mean.is_nan() => x,
            Strategy::Typical => mean + (x - mean) * (w / n),
            _ => x,
        };
        self.state.counts[slot] = n;
        self.state.estimates[slot] = next;
        n.is_finite() && next.is_finite()
    }

    fn learn_nominal(&mut self, slot: usize, code: u32, w: f64) -> bool {
        let frequencies = &mut self.state.frequencies[slot];
        let estimate = self.state.estimates[slot];
        let known = frequencies.len();
        if known <= code as usize {
            frequencies.resize(code as usize + 1, 0.0);
        }
        let frequency = frequencies[code as usize];
        self.undo.changed.push(Change {
            slot: slot as u32,
            estimate,
            count: 0.0,
            nominal: Some((code, frequency, known as u32)),
        });
        frequencies[code as usize] = frequency + w;
        let most = frequencies.get(estimate as usize).filter(|_| estimate >= 0.0);
        let wins = match (self.nominals, most) {
            (Strategy::Typical, Some(&most)) => {
                frequency + w > most || (frequency + w == most && f64::from(code) < estimate)
            }
            _ => true,
        };
        if wins {
            self.state.estimates[slot] = f64::from(code);
        }
        (frequency + w).is_finite()
    }

    fn learn_dense(&mut self, x: Row<'_>, w: f64) -> bool {
        self.undo.width = self.state.estimates.len();
        self.undo.changed.clear();
        self.state.grow(x.width());
        let mut sound = true;
        x.each(|slot, value| {
            sound &= match value {
                Value::Number(number) => self.learn_number(slot, number, w),
                Value::Nominal(Some(code)) => self.learn_nominal(slot, code, w),
                Value::Nominal(None) => true,
            };
        });
        sound
    }

    /// What stands for a missing value in `slot`; NaN if nothing does.
    fn number(&self, slot: usize) -> f64 {
        match self.numbers {
            Strategy::Constant => self.fill_value,
            Strategy::Leave => f64::NAN,
            _ => self.state.estimates.get(slot).copied().unwrap_or(f64::NAN),
        }
    }

    fn nominal(&self, slot: usize, code: f64) -> f64 {
        match self.nominals {
            Strategy::Leave => code,
            Strategy::Constant if code.is_nan() => 0.0,
            Strategy::Constant if code < 0.0 => code,
            Strategy::Constant => match self.constants.get(slot).copied().flatten() {
                Some(constant) if code == f64::from(constant) => 0.0,
                Some(constant) if code > f64::from(constant) => code,
                _ => code + 1.0,
            },
            _ if code.is_nan() => self.state.estimates.get(slot).copied().unwrap_or(f64::NAN),
            _ => code,
        }
    }
}

impl Part for Imputer {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(self.name, bytes)?;
        let width = state.estimates.len();
        let same = state.counts.len() == width && state.frequencies.len() == width;
        require(self.name, same, "estimates and counts differ in number")?;
        let positive = |numbers: &[f64]| all_finite(numbers) && numbers.iter().all(|&x| x >= 0.0);
        let counted = positive(&state.counts) && state.frequencies.iter().all(|numbers| positive(numbers));
        require(self.name, counted, "a count is negative or not finite")?;
        for (&estimate, frequencies) in state.estimates.iter().zip(&state.frequencies) {
            require(self.name, !estimate.is_infinite(), "an estimate is not finite")?;
            let code = estimate >= 0.0 && estimate.fract() == 0.0 && estimate < frequencies.len() as f64;
            require(self.name, frequencies.is_empty() || code, "an estimate is not a known code")?;
        }
        self.state = state;
        self.undo = Undo::default();
        Ok(())
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        for (side, sign) in merger.sides() {
            let mut there = self.clone();
            there.load(side.state)?;
            let there = there.state;
            for (i, slot) in side.slots(merger.ours).into_iter().enumerate().take(there.estimates.len()) {
                self.state.grow(slot + 1);
                if there.frequencies[i].is_empty() {
                    let number = |mean: f64| if mean.is_nan() { 0.0 } else { mean };
                    let ours = (self.state.counts[slot], number(self.state.estimates[slot]), 0.0);
                    let theirs = (there.counts[i], number(there.estimates[i]), 0.0);
                    let (count, mean, _) = combined_moments(ours, theirs, sign);
                    self.state.counts[slot] = count;
                    self.state.estimates[slot] = if count > 0.0 { mean } else { f64::NAN };
                    continue;
                }
                let frequencies = &mut self.state.frequencies[slot];
                for (code, &frequency) in there.frequencies[i].iter().enumerate() {
                    let text = side.schema.values(i).text(code as u32);
                    let Some(code) = text.and_then(|text| merger.ours.code(slot as u32, text)) else { continue };
                    if frequencies.len() <= code as usize {
                        frequencies.resize(code as usize + 1, 0.0);
                    }
                    let sum = &mut frequencies[code as usize];
                    *sum = (*sum + sign * frequency).max(0.0);
                }
                // The lowest code of the most frequent values.
                let most = frequencies.iter().copied().fold(0.0, f64::max);
                let code = frequencies.iter().position(|&frequency| frequency == most).unwrap_or(0);
                self.state.estimates[slot] = code as f64;
            }
        }
        self.undo = Undo { width: self.state.estimates.len(), changed: Vec::new() };
        Ok(())
    }

    fn memory(&self) -> usize {
        let frequencies: usize = self.state.frequencies.iter().map(|numbers| 24 + numbers.capacity() * 8).sum();
        std::mem::size_of::<Self>()
            + (self.state.estimates.capacity() + self.state.counts.capacity()) * 8
            + frequencies
            + self.undo.changed.capacity() * std::mem::size_of::<Change>()
            + self.constants.capacity() * 8
    }

    fn abilities(&self) -> Abilities {
        Abilities { needs_names: self.nominals == Strategy::Constant, ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        if self.abilities().needs_names {
            let code = |slot: usize| schema.code(slot as u32, &self.nominal_fill_value);
            self.constants = (0..schema.len()).map(code).collect();
        }
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let output = self.output(schema);
        let features: serde_json::Map<_, _> = (0..schema.len())
            .map(|slot| {
                let filled = match schema.kinds()[slot] {
                    FeatureKind::Nominal => {
                        let code = self.nominal(slot, f64::NAN);
                        if code.is_nan() {
                            json!(null)
                        } else {
                            json!(output.values(slot).text(code as u32))
                        }
                    }
                    FeatureKind::Number => json!(self.number(slot)),
                    FeatureKind::Unknown => json!(null),
                };
                (schema.name(slot).text(), filled)
            })
            .collect();
        json!({ "fill": features })
    }
}

impl Transformer for Imputer {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, _: &mut Scratch) {
        let Row::Mixed(values, kinds) = x else { return out.copy_from(x) };
        let filled = |slot: usize, value: f64| match kinds[slot] {
            FeatureKind::Nominal => self.nominal(slot, value),
            FeatureKind::Number if value.is_nan() => self.number(slot),
            _ => value,
        };
        if kinds.iter().all(|&kind| kind == FeatureKind::Number) {
            let numbers = out.plain(values.len());
            for (slot, (out, &value)) in numbers.iter_mut().zip(values).enumerate() {
                *out = filled(slot, value);
            }
            if !numbers.iter().any(|number| number.is_nan()) {
                return;
            }
        }
        let numbers = out.mixed_like(kinds);
        for (slot, (out, &value)) in numbers.iter_mut().zip(values).enumerate() {
            *out = filled(slot, value);
        }
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, w: f64, scratch: &mut Scratch) -> Result<()> {
        let mut dense = scratch.take_numbers();
        let sound = self.learn_dense(x.dense(&mut dense), w);
        scratch.give_numbers(dense);
        if sound {
            return Ok(());
        }
        self.undo();
        Err(Fault::overflow(self.name))
    }

    fn undo(&mut self) {
        for change in self.undo.changed.iter().rev() {
            let slot = change.slot as usize;
            self.state.estimates[slot] = change.estimate;
            match change.nominal {
                None => self.state.counts[slot] = change.count,
                Some((code, frequency, known)) => {
                    self.state.frequencies[slot][code as usize] = frequency;
                    self.state.frequencies[slot].truncate(known as usize);
                }
            }
        }
        self.state.truncate(self.undo.width);
    }

    fn output(&self, input: &Schema) -> Schema {
        if self.nominals != Strategy::Constant {
            return input.clone();
        }
        let mut schema = Schema::default();
        for (slot, (name, &kind)) in input.names().zip(input.kinds()).enumerate() {
            schema.push(&name, kind);
            if kind == FeatureKind::Nominal {
                schema.intern_value(slot as u32, &self.nominal_fill_value);
                let values = input.values(slot);
                for code in 0..values.len() as u32 {
                    schema.intern_value(slot as u32, values.text(code).unwrap_or_default());
                }
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
    use FeatureKind::{Nominal, Number};

    #[test]
    fn steps_by_hand_and_undo() {
        let description = registry::resolve(&json!({ "name": NAME })).unwrap();
        let Built::Transformer(mut imputer) = registry::build_resolved(&description).unwrap() else { panic!() };
        let mut scratch = Scratch::default();
        let kinds = [Number, Nominal];
        imputer.learn(Row::Mixed(&[1.0, 0.0], &kinds), Truth::None, 1.0, &mut scratch).unwrap();
        imputer.learn(Row::Mixed(&[4.0, 1.0], &kinds), Truth::None, 2.0, &mut scratch).unwrap();
        let before = imputer.save().unwrap();
        imputer.learn(Row::Mixed(&[9.0, 3.0], &kinds), Truth::None, 9.0, &mut scratch).unwrap();
        imputer.undo();
        assert_eq!(imputer.save().unwrap(), before);
        // The mean is (1 + 2 · 4) / 3 = 3; code 1 weighs 2, code 0 weighs 1.
        let mut out = RowBuffer::default();
        imputer.transform(Row::Mixed(&[f64::NAN, f64::NAN], &kinds), &mut out, &mut scratch);
        let Row::Mixed(z, _) = out.row() else { panic!() };
        assert_eq!(z, [3.0, 1.0]);
        // x − mean overflows, so nothing is learned.
        let huge = |x: f64| [x, f64::NAN];
        imputer.learn(Row::Mixed(&huge(f64::MAX), &kinds), Truth::None, 3.0, &mut scratch).unwrap();
        let before = imputer.save().unwrap();
        assert!(imputer.learn(Row::Mixed(&huge(f64::MIN), &kinds), Truth::None, 1.0, &mut scratch).is_err());
        assert_eq!(imputer.save().unwrap(), before);
    }
}
