//! z = x / max |x|, over the examples so far.
//!
//! Zero stays zero, so a sparse row stays sparse and only its entries are processed. Nominal values pass through.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::exchange::Exchange;
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::key_use::KeyUses;
use crate::merging::{unless_windowed, Merge, Merger};
use crate::part::Part;
use crate::row::{all_finite, Row, RowBuffer, Scratch, Value};
use crate::schema::{FeatureKind, Schema};
use crate::task::Truth;
use crate::transformer::Transformer;

use super::windowed::{window_size, MaxAbs, Windowed, WINDOW_SIZE};

pub const NAME: &str = "preprocessing.MaxAbsScaler";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Scales numbers to [-1, 1] by their largest absolute value so far; keeps sparse rows sparse",
    merge: Merge::EXACT.or(unless_windowed),
    parameters: &[WINDOW_SIZE],
    build: |arguments| match window_size(arguments)? {
        Some(size) => Windowed::build(size, MaxAbs),
        None => Ok(Built::Transformer(Box::new(MaxAbsScaler::default()))),
    },
};

#[derive(Clone, Default)]
struct MaxAbsScaler {
    state: State,
    undo: Undo,
    /// What was changed since the last savepoint.
    since: Option<Undo>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    /// By slot; 0 where no number has come yet.
    greatest: Vec<f64>,
}

/// What the last `learn` changed.
#[derive(Clone, Debug, Default)]
struct Undo {
    width: usize,
    /// Slot and greatest before.
    changed: Vec<(u32, f64)>,
}

impl State {
    fn revert(&mut self, undo: &Undo) {
        for &(slot, greatest) in undo.changed.iter().rev() {
            self.greatest[slot as usize] = greatest;
        }
        self.greatest.truncate(undo.width);
    }
}

impl MaxAbsScaler {
    /// Finite for any finite x: a value far beyond the greatest may overflow.
    #[inline(always)]
    fn scaled(&self, slot: usize, x: f64) -> f64 {
        match self.state.greatest.get(slot) {
            Some(&greatest) if greatest > 0.0 => (x / greatest).clamp(f64::MIN, f64::MAX),
            _ => 0.0,
        }
    }
}

impl Part for MaxAbsScaler {
    fn exchange(&mut self, exchange: &mut Exchange<'_>) -> bool {
        exchange.floats(&mut self.state.greatest);
        self.since.is_none()
    }

    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let sound = all_finite(&state.greatest) && state.greatest.iter().all(|&x| x >= 0.0);
        require(NAME, sound, "a greatest value is negative or not finite")?;
        self.state = state;
        self.undo = Undo::default();
        Ok(())
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        // What is in the base is in both.
        let mut there = self.clone();
        there.load(merger.other.state)?;
        for (slot, &greatest) in merger.other.slots(merger.ours).into_iter().zip(&there.state.greatest) {
            if self.state.greatest.len() <= slot {
                self.state.greatest.resize(slot + 1, 0.0);
            }
            self.state.greatest[slot] = self.state.greatest[slot].max(greatest);
        }
        self.undo = Undo { width: self.state.greatest.len(), changed: Vec::new() };
        Ok(())
    }

    fn savepoint(&mut self) -> bool {
        self.since = Some(Undo { width: self.state.greatest.len(), changed: Vec::new() });
        true
    }

    fn rollback(&mut self) {
        if let Some(since) = self.since.take() {
            self.state.revert(&since);
        }
    }

    fn commit(&mut self) {
        self.since = None;
    }

    fn key_uses(&self) -> KeyUses {
        KeyUses::passed()
    }

    fn infallible(&self) -> bool {
        true
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.state.greatest.capacity() * 8 + self.undo.changed.capacity() * 16
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let features: serde_json::Map<_, _> = schema
            .names()
            .zip(schema.kinds())
            .zip(&self.state.greatest)
            .filter(|((_, &kind), _)| kind == FeatureKind::Number)
            .map(|((name, _), greatest)| (name.text(), json!({ "max_abs": greatest })))
            .collect();
        json!({ "features": features })
    }
}

impl Transformer for MaxAbsScaler {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, _: &mut Scratch) {
        out.map(x, |slot, value| self.scaled(slot, value));
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, _w: f64, _: &mut Scratch) -> Result<()> {
        self.undo.width = self.state.greatest.len();
        self.undo.changed.clear();
        if x.width() > self.undo.width {
            self.state.greatest.resize(x.width(), 0.0);
        }
        let MaxAbsScaler { state, undo, since } = self;
        x.each(|slot, value| {
            if let Value::Number(number) = value {
                let greatest = state.greatest[slot];
                if number.abs() > greatest {
                    undo.changed.push((slot as u32, greatest));
                    state.greatest[slot] = number.abs();
                }
            }
        });
        if let Some(since) = since {
            since.changed.extend_from_slice(&undo.changed);
        }
        Ok(())
    }

    fn undo(&mut self) {
        self.state.revert(&self.undo);
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
    use crate::row::Sparse;

    #[test]
    fn steps_by_hand_dense_and_sparse() {
        let mut scaler = MaxAbsScaler::default();
        let mut scratch = Scratch::default();
        scaler.learn(Row::Plain(&[1.0, 0.0, -4.0]), Truth::None, 1.0, &mut scratch).unwrap();
        let before = scaler.save().unwrap();
        let wide = Sparse { indices: &[1, 3], values: &[-8.0, 2.0], width: 4 };
        scaler.learn(Row::Sparse(wide), Truth::None, 1.0, &mut scratch).unwrap();
        // Greatest: 1, 8, 4, 2.
        let mut out = RowBuffer::default();
        let x = Sparse { indices: &[1, 2], values: &[2.0, -4.0], width: 4 };
        scaler.transform(Row::Sparse(x), &mut out, &mut scratch);
        let Row::Sparse(z) = out.row() else { panic!() };
        assert_eq!((z.indices, z.values), (&[1, 2][..], &[0.25, -1.0][..]));
        scaler.undo();
        assert_eq!(scaler.save().unwrap(), before);
    }
}
