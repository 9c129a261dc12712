//! z = low + (high − low) (x − min) / (max − min), with the minimum and maximum so far.
//!
//! A constant feature becomes `low`. Nominal values pass through. An example without a new extreme changes
//! nothing, so new extremes are searched first and only changes are recorded for `undo`.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::batch::MODERATE;
use crate::declaration::{Built, Declaration, Role};
use crate::exchange::Exchange;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::key_use::KeyUses;
use crate::merging::{unless_windowed, Merge, Merger};
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::{Row, RowBuffer, Scratch, Value};
use crate::schema::Schema;
use crate::task::Truth;
use crate::transformer::Transformer;

use super::windowed::{window_size, MinMax, Windowed, WINDOW_SIZE};

pub const NAME: &str = "preprocessing.MinMaxScaler";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Scales numbers to a range by their minimum and maximum so far",
    merge: Merge::EXACT.or(unless_windowed),
    parameters: &[
        Parameter::new("low", Kind::Float(Bounds::ANY), DefaultValue::Float(0.0), "target of the minimum"),
        Parameter::new("high", Kind::Float(Bounds::ANY), DefaultValue::Float(1.0), "target of the maximum"),
        Parameter::new(
            "clip",
            Kind::Boolean,
            DefaultValue::Boolean(false),
            "clip values beyond the extremes so far to the range",
        ),
        WINDOW_SIZE,
    ],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Built> {
    let (low, high) = (arguments.float("low")?, arguments.float("high")?);
    if !(low < high && (high - low).is_finite()) {
        return Err(Fault::value(format!("{NAME}: high must be greater than low = {low}, got {high}")));
    }
    let clip = arguments.boolean("clip")?;
    if let Some(size) = window_size(arguments)? {
        return Windowed::build(size, MinMax { low, high, clip });
    }
    Ok(Built::Transformer(Box::new(MinMaxScaler {
        low,
        high,
        clip,
        extremes: Extremes::default(),
        undo: Undo::default(),
        since: None,
    })))
}

#[derive(Clone)]
struct MinMaxScaler {
    low: f64,
    high: f64,
    clip: bool,
    extremes: Extremes,
    undo: Undo,
    /// What was changed since the last savepoint.
    since: Option<Undo>,
}

/// By slot; (∞, −∞) where no number has come yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Extremes {
    least: Vec<f64>,
    greatest: Vec<f64>,
}

/// What the last `learn` changed.
#[derive(Clone, Debug, Default)]
struct Undo {
    width: usize,
    /// Slot, least and greatest before.
    changed: Vec<(u32, f64, f64)>,
}

impl Extremes {
    fn inside(&self, slot: usize, x: f64) -> bool {
        slot < self.least.len() && self.least[slot] <= x && x <= self.greatest[slot]
    }

    fn revert(&mut self, undo: &Undo) {
        for &(slot, least, greatest) in undo.changed.iter().rev() {
            self.least[slot as usize] = least;
            self.greatest[slot as usize] = greatest;
        }
        self.least.truncate(undo.width);
        self.greatest.truncate(undo.width);
    }

    fn grow(&mut self, width: usize) {
        if width > self.least.len() {
            self.least.resize(width, f64::INFINITY);
            self.greatest.resize(width, f64::NEG_INFINITY);
        }
    }
}

#[inline(always)]
pub fn scaled(x: f64, least: f64, range: f64, low: f64, high: f64, clip: bool) -> f64 {
    // Written so that no value yet, which gives −∞, counts as a constant feature.
    if range > 0.0 {
        let z = low + (high - low) * ((x - least) / range);
        if clip {
            z.clamp(low, high)
        } else {
            z.clamp(f64::MIN, f64::MAX)
        }
    } else {
        low
    }
}

impl MinMaxScaler {
    /// Finite for any finite x: a value far beyond the extremes may overflow on its way.
    #[inline(always)]
    fn scaled(&self, slot: usize, x: f64) -> f64 {
        let (least, greatest) = match self.extremes.least.get(slot) {
            Some(&least) => (least, self.extremes.greatest[slot]),
            None => return self.low,
        };
        scaled(x, least, greatest - least, self.low, self.high, self.clip)
    }

    /// A new extreme; false if the range would overflow.
    fn stretch(&mut self, slot: usize, x: f64) -> bool {
        let (least, greatest) = (self.extremes.least[slot], self.extremes.greatest[slot]);
        self.undo.changed.push((slot as u32, least, greatest));
        self.extremes.least[slot] = least.min(x);
        self.extremes.greatest[slot] = greatest.max(x);
        (self.extremes.greatest[slot] - self.extremes.least[slot]).is_finite()
    }

    fn learn_dense(&mut self, x: Row<'_>) -> bool {
        self.undo.width = self.extremes.least.len();
        self.undo.changed.clear();
        self.extremes.grow(x.width());
        let mut sound = true;
        x.each(|slot, value| {
            if let Value::Number(number) = value {
                if !self.extremes.inside(slot, number) {
                    sound &= self.stretch(slot, number);
                }
            }
        });
        if let Some(since) = &mut self.since {
            since.changed.extend_from_slice(&self.undo.changed);
        }
        sound
    }
}

impl Part for MinMaxScaler {
    fn exchange(&mut self, exchange: &mut Exchange<'_>) -> bool {
        exchange.floats(&mut self.extremes.least);
        exchange.floats(&mut self.extremes.greatest);
        self.since.is_none()
    }

    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.extremes)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let extremes: Extremes = unpack(NAME, bytes)?;
        require(NAME, extremes.least.len() == extremes.greatest.len(), "extremes differ in number")?;
        let sound = |(&least, &greatest): (&f64, &f64)| {
            let none = least == f64::INFINITY && greatest == f64::NEG_INFINITY;
            none || (least <= greatest && (greatest - least).is_finite())
        };
        require(NAME, extremes.least.iter().zip(&extremes.greatest).all(sound), "extremes out of order")?;
        self.extremes = extremes;
        self.undo = Undo::default();
        Ok(())
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        // What is in the base is in both.
        let mut there = self.clone();
        there.load(merger.other.state)?;
        let extremes = there.extremes.least.iter().zip(&there.extremes.greatest);
        for (slot, (&least, &greatest)) in merger.other.slots(merger.ours).into_iter().zip(extremes) {
            self.extremes.grow(slot + 1);
            let (here_least, here_greatest) = (&mut self.extremes.least[slot], &mut self.extremes.greatest[slot]);
            (*here_least, *here_greatest) = (here_least.min(least), here_greatest.max(greatest));
            if *here_least <= *here_greatest && !(*here_greatest - *here_least).is_finite() {
                return Err(Fault::overflow(NAME));
            }
        }
        self.undo = Undo { width: self.extremes.least.len(), changed: Vec::new() };
        Ok(())
    }

    fn savepoint(&mut self) -> bool {
        self.since = Some(Undo { width: self.extremes.least.len(), changed: Vec::new() });
        true
    }

    fn rollback(&mut self) {
        if let Some(since) = self.since.take() {
            self.extremes.revert(&since);
        }
    }

    fn commit(&mut self) {
        self.since = None;
    }

    fn key_uses(&self) -> KeyUses {
        KeyUses::passed()
    }

    fn infallible(&self) -> bool {
        let Extremes { least, greatest } = &self.extremes;
        let mut known = least.iter().zip(greatest).filter(|(least, greatest)| least <= greatest);
        let bounds = self.low.abs().max(self.high.abs()) <= MODERATE;
        bounds && known.all(|(least, greatest)| least.abs().max(greatest.abs()) <= MODERATE)
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
            + (self.extremes.least.capacity() + self.extremes.greatest.capacity()) * 8
            + self.undo.changed.capacity() * 24
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let features: serde_json::Map<_, _> = schema
            .names()
            .zip(self.extremes.least.iter().zip(&self.extremes.greatest))
            .filter(|(_, (least, greatest))| least <= greatest)
            .map(|(name, (least, greatest))| (name.text(), json!({ "min": least, "max": greatest })))
            .collect();
        json!({ "features": features })
    }
}

impl Transformer for MinMaxScaler {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        let mut dense = scratch.take_numbers();
        out.map(x.dense(&mut dense), |slot, value| self.scaled(slot, value));
        scratch.give_numbers(dense);
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, _w: f64, scratch: &mut Scratch) -> Result<()> {
        let mut dense = scratch.take_numbers();
        let sound = self.learn_dense(x.dense(&mut dense));
        scratch.give_numbers(dense);
        if sound {
            return Ok(());
        }
        self.undo();
        Err(Fault::overflow(NAME))
    }

    fn undo(&mut self) {
        self.extremes.revert(&self.undo);
        if let Some(since) = &mut self.since {
            since.changed.truncate(since.changed.len() - self.undo.changed.len());
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

    #[test]
    fn steps_by_hand_and_undo() {
        let description = json!({ "name": NAME, "parameters": { "low": -1.0, "high": 3.0 } });
        let description = registry::resolve(&description).unwrap();
        let Built::Transformer(mut scaler) = registry::build_resolved(&description).unwrap() else { panic!() };
        let mut scratch = Scratch::default();
        for x in [2.0, 6.0, 5.0] {
            scaler.learn(Row::Plain(&[x]), Truth::None, 1.0, &mut scratch).unwrap();
        }
        let before = scaler.save().unwrap();
        scaler.learn(Row::Plain(&[9.0, 1.0]), Truth::None, 1.0, &mut scratch).unwrap();
        scaler.undo();
        assert_eq!(scaler.save().unwrap(), before);
        assert!(scaler.learn(Row::Plain(&[f64::MAX, f64::MIN]), Truth::None, 1.0, &mut scratch).is_ok());
        assert!(scaler.learn(Row::Plain(&[f64::MIN, f64::MIN]), Truth::None, 1.0, &mut scratch).is_err());
        scaler.load(&before).unwrap();
        // Least 2, greatest 6: 5 is 3/4 of the way from −1 to 3.
        let mut out = RowBuffer::default();
        scaler.transform(Row::Plain(&[5.0]), &mut out, &mut scratch);
        let Row::Plain(z) = out.row() else { panic!() };
        assert_eq!(z, [2.0]);
    }
}
