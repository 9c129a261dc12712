//! One indicator per value of a nominal feature: 1 if the row has the value, otherwise 0.
//!
//! Numbers pass through. Output indices are assigned in the order in which values and numbers are learned, and
//! kept. A value that was never learned, like a missing one, gives only zeros. Rows become sparse once most of the
//! output is zeros: the cost of a row then depends on its entries, not on the number of values.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::merging::{unless_drop_first, Merge, Merger};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::{Row, RowBuffer, Scratch, Value};
use crate::schema::{FeatureKind, Name, Schema};
use crate::task::Truth;
use crate::transformer::Transformer;

const NAME: &str = "preprocessing.OneHotEncoder";
/// No place was given out.
const NONE: u32 = u32::MAX;
/// The value that `drop_first` leaves out.
const DROPPED: u32 = u32::MAX - 1;
/// Below this width a plain row is faster than a sparse one, whatever it holds.
const SPARSE_FROM: usize = 32;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Encodes each nominal value as an indicator: 1 if the row has it, otherwise 0",
    merge: Merge::exact("columns of this model first, then those of the other").or(unless_drop_first),
    parameters: &[
        Parameter::new("drop_zeros", Kind::Boolean, DefaultValue::Boolean(false), "omit zeros from the output"),
        Parameter::new(
            "drop_first",
            Kind::Boolean,
            DefaultValue::Boolean(false),
            "omit the indicator of the first value of each feature",
        ),
    ],
    build: |arguments| {
        Ok(Built::Transformer(Box::new(OneHotEncoder {
            drop_zeros: arguments.boolean("drop_zeros")?,
            drop_first: arguments.boolean("drop_first")?,
            places: Places::default(),
            undo: Undo::default(),
        })))
    },
};

#[derive(Clone)]
struct OneHotEncoder {
    drop_zeros: bool,
    drop_first: bool,
    places: Places,
    undo: Undo,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Places {
    /// How many were given out.
    width: u32,
    /// Of the number in each slot.
    numbers: Vec<u32>,
    /// Of each value of the nominal feature in each slot.
    nominals: Vec<Vec<u32>>,
}

/// What the last `learn` gave out, newest last: slot, and code of a nominal value.
#[derive(Clone, Debug, Default)]
struct Undo(Vec<(u32, Option<u32>)>);

impl Places {
    fn number(&self, slot: usize) -> Option<u32> {
        self.numbers.get(slot).copied().filter(|&place| place < DROPPED)
    }

    fn nominal(&self, slot: usize, code: u32) -> Option<u32> {
        self.nominals.get(slot)?.get(code as usize).copied().filter(|&place| place < DROPPED)
    }

    fn cell(&mut self, slot: usize, code: Option<u32>) -> &mut Vec<u32> {
        match code {
            None => &mut self.numbers,
            Some(_) => {
                if self.nominals.len() <= slot {
                    self.nominals.resize(slot + 1, Vec::new());
                }
                &mut self.nominals[slot]
            }
        }
    }

    /// Give a place to what has none; true if there was none.
    fn give(&mut self, slot: usize, code: Option<u32>, drop_first: bool) -> bool {
        let next = self.width;
        let cells = self.cell(slot, code);
        let at = code.map_or(slot, |code| code as usize);
        if cells.get(at).is_some_and(|&place| place != NONE) {
            return false;
        }
        let dropped = drop_first && code.is_some() && cells.is_empty();
        if cells.len() <= at {
            cells.resize(at + 1, NONE);
        }
        cells[at] = if dropped { DROPPED } else { next };
        self.width += u32::from(!dropped);
        true
    }

    fn take_back(&mut self, slot: usize, code: Option<u32>) {
        let cells = self.cell(slot, code);
        let at = code.map_or(slot, |code| code as usize);
        let dropped = std::mem::replace(&mut cells[at], NONE) == DROPPED;
        while cells.last() == Some(&NONE) {
            cells.pop();
        }
        self.width -= u32::from(!dropped);
        while self.nominals.last().is_some_and(Vec::is_empty) {
            self.nominals.pop();
        }
    }

    fn each(&self) -> impl Iterator<Item = u32> + '_ {
        self.nominals.iter().flatten().chain(&self.numbers).copied()
    }
}

impl OneHotEncoder {
    /// Slots of numbers that were never learned: they come out behind those that were.
    fn unlearned(&self, kinds: impl Iterator<Item = FeatureKind>) -> Vec<usize> {
        kinds
            .enumerate()
            .filter(|(slot, kind)| *kind == FeatureKind::Number && self.places.number(*slot).is_none())
            .map(|(slot, _)| slot)
            .collect()
    }

    /// Plain numbers, all learned in the order of their slots and nothing else: the row as it is.
    fn is_identity(&self, width: usize) -> bool {
        self.places.nominals.is_empty()
            && self.places.width as usize == width
            && self.places.numbers.len() == width
            && self.places.numbers.iter().enumerate().all(|(slot, &place)| slot == place as usize)
    }
}

impl Part for OneHotEncoder {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.places)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let places: Places = unpack(NAME, bytes)?;
        let given = places.each().filter(|&place| place < DROPPED).count();
        let mut seen = vec![false; given];
        for place in places.each().filter(|&place| place < DROPPED) {
            let fresh = seen.get_mut(place as usize).is_some_and(|seen| !std::mem::replace(seen, true));
            require(NAME, fresh, "a place is out of order")?;
        }
        require(NAME, given == places.width as usize, "places are missing")?;
        require(NAME, !places.numbers.contains(&DROPPED), "a number cannot be dropped")?;
        self.places = places;
        self.undo = Undo::default();
        Ok(())
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        // What is in the base is in both.
        let side = merger.other;
        let places: Places = unpack(NAME, side.state)?;
        let slots = side.slots(merger.ours);
        let mut given: Vec<(u32, usize, Option<u32>)> = Vec::new();
        for (i, &place) in places.numbers.iter().enumerate().filter(|(_, &place)| place != NONE) {
            given.push((place, *slots.get(i).unwrap_or(&usize::MAX), None));
        }
        for (i, values) in places.nominals.iter().enumerate() {
            let slot = *slots.get(i).unwrap_or(&usize::MAX);
            for (code, &place) in values.iter().enumerate().filter(|(_, &place)| place != NONE) {
                let text = side.schema.values(i).text(code as u32);
                let code = text.and_then(|text| merger.ours.code(slot as u32, text));
                given.push((place, slot, Some(code.unwrap_or(u32::MAX))));
            }
        }
        // In the order in which the other model met them.
        given.sort_unstable();
        for (_, slot, code) in given {
            if slot == usize::MAX || code == Some(u32::MAX) {
                return Err(Fault::state("the saved state is not valid: a column without a feature"));
            }
            self.places.give(slot, code, self.drop_first);
        }
        self.undo = Undo::default();
        Ok(())
    }

    fn infallible(&self) -> bool {
        true
    }

    fn memory(&self) -> usize {
        let nominals: usize = self.places.nominals.iter().map(|cells| 24 + cells.capacity() * 4).sum();
        std::mem::size_of::<Self>() + self.places.numbers.capacity() * 4 + nominals + self.undo.0.capacity() * 12
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let names: Vec<String> = self.output(schema).names().map(|name| name.text()).collect();
        json!({ "output": names })
    }
}

impl Transformer for OneHotEncoder {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        let width = self.places.width as usize;
        if matches!(x, Row::Plain(_) | Row::Sparse(_)) && self.is_identity(x.width()) {
            out.copy_from(x);
            return;
        }
        let mut dense = scratch.take_numbers();
        let x = x.dense(&mut dense);
        let kinds = |slot: usize| match x {
            Row::Mixed(_, kinds) => kinds[slot],
            _ => FeatureKind::Number,
        };
        let (mut indices, mut numbers) = (scratch.take_indices(), scratch.take_numbers());
        let mut missing = 0;
        for slot in 0..x.width() {
            let place = self.places.number(slot);
            match x.get(slot) {
                Some(Value::Number(number)) => {
                    if let Some(place) = place {
                        indices.push(place);
                        numbers.push(number);
                    }
                }
                Some(Value::Nominal(code)) => {
                    if let Some(place) = code.and_then(|code| self.places.nominal(slot, code)) {
                        indices.push(place);
                        numbers.push(1.0);
                    }
                }
                None => missing += usize::from(place.is_some()),
            }
        }
        missing += (x.width()..self.places.numbers.len()).filter(|&s| self.places.number(s).is_some()).count();
        let unlearned = self.unlearned((0..x.width()).map(kinds));
        let plain = missing == 0 && !self.drop_zeros && unlearned.is_empty();
        if plain && width >= SPARSE_FROM && indices.len() * 4 <= width {
            out.sparse(width);
            indices.iter().zip(&numbers).for_each(|(&place, &number)| out.push(place, number));
            out.ascend();
        } else if plain {
            let out = out.plain(width);
            out.fill(0.0);
            indices.iter().zip(&numbers).for_each(|(&place, &number)| out[place as usize] = number);
        } else {
            let (values, kinds) = out.mixed(width + unlearned.len());
            kinds.fill(FeatureKind::Number);
            if !self.drop_zeros {
                for cells in &self.places.nominals {
                    cells.iter().filter(|&&place| place < DROPPED).for_each(|&p| values[p as usize] = 0.0);
                }
            }
            indices.iter().zip(&numbers).for_each(|(&place, &number)| values[place as usize] = number);
            for (value, slot) in values[width..].iter_mut().zip(unlearned) {
                if let Some(Value::Number(number)) = x.get(slot) {
                    *value = number;
                }
            }
        }
        scratch.give_indices(indices);
        scratch.give_numbers(numbers);
        scratch.give_numbers(dense);
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, _w: f64, _: &mut Scratch) -> Result<()> {
        self.undo.0.clear();
        let OneHotEncoder { drop_first, places, undo, .. } = self;
        let mut give = |slot: usize, code: Option<u32>| {
            if places.give(slot, code, *drop_first) {
                undo.0.push((slot as u32, code));
            }
        };
        match x {
            Row::Sparse(sparse) => (0..sparse.width).for_each(|slot| give(slot, None)),
            _ => x.each(|slot, value| match value {
                Value::Number(_) => give(slot, None),
                Value::Nominal(Some(code)) => give(slot, Some(code)),
                Value::Nominal(None) => {}
            }),
        }
        Ok(())
    }

    fn undo(&mut self) {
        while let Some((slot, code)) = self.undo.0.pop() {
            self.places.take_back(slot as usize, code);
        }
    }

    fn output(&self, input: &Schema) -> Schema {
        let mut names: Vec<Option<Name>> = vec![None; self.places.width as usize];
        for (slot, name) in input.names().enumerate() {
            if let Some(place) = self.places.number(slot) {
                names[place as usize] = Some(name.clone());
            }
            for (code, &place) in self.places.nominals.get(slot).into_iter().flatten().enumerate() {
                if place < DROPPED {
                    let value = input.values(slot).text(code as u32).unwrap_or_default();
                    names[place as usize] = Some(Name::Text(format!("{}_{value}", name.text()).into()));
                }
            }
        }
        let mut schema = Schema::default();
        let unlearned = self.unlearned(input.kinds().iter().copied());
        names.extend(unlearned.into_iter().map(|slot| Some(input.name(slot))));
        for (place, name) in names.into_iter().enumerate() {
            schema.push_unique(
                name.unwrap_or_else(|| format!("feature_{place}").as_str().into()),
                FeatureKind::Number,
            );
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
    use FeatureKind::{Nominal, Number};

    #[test]
    fn places_follow_arrival_and_are_taken_back() {
        let mut encoder = OneHotEncoder {
            drop_zeros: false,
            drop_first: false,
            places: Places::default(),
            undo: Undo::default(),
        };
        let mut scratch = Scratch::default();
        let kinds = [Nominal, Number];
        encoder.learn(Row::Mixed(&[0.0, 7.0], &kinds), Truth::None, 1.0, &mut scratch).unwrap();
        let before = encoder.save().unwrap();
        encoder.learn(Row::Mixed(&[1.0, f64::NAN], &kinds), Truth::None, 1.0, &mut scratch).unwrap();
        // Places: value 0, the number, value 1.
        let mut out = RowBuffer::default();
        encoder.transform(Row::Mixed(&[1.0, 5.0], &kinds), &mut out, &mut scratch);
        let Row::Plain(z) = out.row() else { panic!() };
        assert_eq!(z, [0.0, 5.0, 1.0]);
        encoder.undo();
        assert_eq!(encoder.save().unwrap(), before);
        encoder.transform(Row::Mixed(&[1.0, f64::NAN], &kinds), &mut out, &mut scratch);
        let Row::Mixed(z, _) = out.row() else { panic!() };
        assert!(z[0] == 0.0 && z[1].is_nan());
    }
}
