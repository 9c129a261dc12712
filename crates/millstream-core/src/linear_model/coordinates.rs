//! From features to coordinates of a weight vector.
//!
//! While all features are numbers, a slot is its own coordinate and a plain row is used as it is. A nominal
//! feature gets one coordinate for each value, given out in the order in which they are learned; from then
//! on, slots are looked up.

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::optim::Features;
use crate::row::{Row, Scratch, Value};
use crate::schema::Schema;

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Coordinates {
    /// How many were given out.
    width: u32,
    /// Of the number in each slot; empty while slot and coordinate are the same.
    numbers: Vec<u32>,
    /// Of each value of the nominal feature in each slot; empty while there is none.
    nominals: Vec<Vec<u32>>,
}

/// The features of one row by coordinate: borrowed as they lie, or, where they had to be looked up, in buffers of the
/// scratch.
pub enum Located<'a> {
    Lying(Features<'a>),
    Found(Vec<u32>, Vec<f64>),
}

impl Located<'_> {
    #[inline]
    pub fn features(&self) -> Features<'_> {
        match self {
            Located::Lying(features) => *features,
            Located::Found(indices, values) => Features::Sparse(indices, values),
        }
    }

    #[inline]
    pub fn release(self, scratch: &mut Scratch) {
        if let Located::Found(indices, values) = self {
            scratch.give_indices(indices);
            scratch.give_numbers(values);
        }
    }
}

impl Coordinates {
    pub fn width(&self) -> usize {
        self.width as usize
    }

    /// Whether slots have to be looked up, which is so from the first nominal value on.
    pub fn mapped(&self) -> bool {
        !self.nominals.is_empty()
    }

    /// Whether a plain row can be used as it is: slots are coordinates, and none is left out.
    #[inline]
    pub fn direct(&self, values: &[f64]) -> bool {
        !self.mapped() && values.len() >= self.width()
    }

    /// The coordinate of a number or a nominal value, if it has one.
    pub fn of(&self, slot: usize, value: Value) -> Option<u32> {
        let place = match value {
            Value::Number(_) if !self.mapped() => (slot < self.width()).then_some(slot as u32),
            Value::Number(_) => self.numbers.get(slot).copied(),
            Value::Nominal(code) => {
                self.nominals.get(slot).zip(code).and_then(|(values, code)| values.get(code as usize).copied())
            }
        };
        place.filter(|&place| place != NONE)
    }

    /// Visit each feature that has coordinates: its slot, and that of a number or those of its nominal values.
    pub fn each_slot(&self, mut visit: impl FnMut(usize, Option<usize>, &[usize])) {
        if !self.mapped() {
            return (0..self.width()).for_each(|slot| visit(slot, Some(slot), &[]));
        }
        let mut values = Vec::new();
        for slot in 0..self.numbers.len().max(self.nominals.len()) {
            let given = self.nominals.get(slot).into_iter().flatten();
            values.clear();
            values.extend(given.filter(|&&place| place != NONE).map(|&place| place as usize));
            let number = self.numbers.get(slot).filter(|&&place| place != NONE && values.is_empty());
            if number.is_some() || !values.is_empty() {
                visit(slot, number.map(|&place| place as usize), &values);
            }
        }
    }

    /// The features of a row as they lie, if all have coordinates and none has to be looked up: most rows of most streams.
    #[inline]
    pub fn lying<'a>(&self, x: Row<'a>) -> Option<Features<'a>> {
        match x {
            Row::Plain(values) if values.len() == self.width() && !self.mapped() => Some(Features::Dense(values)),
            Row::Sparse(sparse) if sparse.width <= self.width() && !self.mapped() => {
                Some(Features::Sparse(sparse.indices, sparse.values))
            }
            _ => None,
        }
    }

    /// The features of a row; those without a coordinate weigh nothing.
    #[inline]
    pub fn locate<'a>(&self, x: Row<'a>, scratch: &mut Scratch) -> Located<'a> {
        match x {
            Row::Plain(values) if self.direct(values) => Located::Lying(Features::Dense(values)),
            Row::Sparse(sparse) if !self.mapped() => {
                Located::Lying(Features::Sparse(sparse.indices, sparse.values))
            }
            _ => self.look_up(x, scratch),
        }
    }

    #[inline(never)]
    fn look_up<'a>(&self, x: Row<'a>, scratch: &mut Scratch) -> Located<'a> {
        let (mut indices, mut values) = (scratch.take_indices(), scratch.take_numbers());
        x.each(|slot, value| {
            if let Some(place) = self.of(slot, value) {
                indices.push(place);
                values.push(match value {
                    Value::Number(number) => number,
                    Value::Nominal(_) => 1.0,
                });
            }
        });
        Located::Found(indices, values)
    }

    /// Whether `x` may hold something that has no coordinate yet.
    #[inline]
    pub fn may_grow(&self, x: Row<'_>) -> bool {
        match x {
            Row::Plain(values) => values.len() > self.width() || self.mapped(),
            Row::Sparse(sparse) => sparse.width > self.width() || self.mapped(),
            Row::Mixed(..) => true,
        }
    }

    /// Give coordinates to all that is new in `x`. Returns the width before, for `shrink`.
    pub fn grow(&mut self, x: Row<'_>) -> usize {
        let before = self.width();
        if !self.mapped() {
            let mut any_nominal = false;
            if let Row::Mixed(..) = x {
                x.each(|_, value| any_nominal |= matches!(value, Value::Nominal(Some(_))));
            }
            if !any_nominal {
                self.width = self.width.max(x.width() as u32);
                return before;
            }
            self.numbers = (0..self.width).collect();
        }
        x.each(|slot, value| self.give(slot, value));
        before
    }

    fn give(&mut self, slot: usize, value: Value) {
        let (places, at) = match value {
            Value::Number(_) => (&mut self.numbers, slot),
            Value::Nominal(None) => return,
            Value::Nominal(Some(code)) => {
                if self.nominals.len() <= slot {
                    self.nominals.resize(slot + 1, Vec::new());
                }
                (&mut self.nominals[slot], code as usize)
            }
        };
        if places.get(at).is_some_and(|&place| place != NONE) {
            return;
        }
        if places.len() <= at {
            places.resize(at + 1, NONE);
        }
        places[at] = self.width;
        self.width += 1;
    }

    /// Give coordinates to all that `other` has one for, features being found by name; where each of its coordinates
    /// is here.
    pub fn join(&mut self, other: &Coordinates, theirs: &Schema, ours: &Schema) -> Result<Vec<u32>> {
        let unknown = || Fault::state("the saved state is not valid: a coordinate without a feature");
        let slot =
            |slot: usize| Some(slot).filter(|&slot| slot < theirs.len()).and_then(|s| ours.slot(&theirs.name(s)));
        if other.mapped() && !self.mapped() {
            self.numbers = (0..self.width).collect();
        }
        let mut places = vec![NONE; other.width()];
        for (their_slot, codes) in other.nominals.iter().enumerate() {
            for (code, &place) in codes.iter().enumerate().filter(|(_, &place)| place != NONE) {
                let text = theirs.values(their_slot).text(code as u32).ok_or_else(unknown)?;
                let slot = slot(their_slot).ok_or_else(unknown)?;
                let value = Value::Nominal(Some(ours.code(slot, text).ok_or_else(unknown)?));
                self.give(slot as usize, value);
                places[place as usize] = self.of(slot as usize, value).ok_or_else(unknown)?;
            }
        }
        let direct: Vec<u32> = if other.mapped() { Vec::new() } else { (0..other.width).collect() };
        let numbers = if other.mapped() { &other.numbers } else { &direct };
        for (their_slot, &place) in numbers.iter().enumerate().filter(|(_, &place)| place != NONE) {
            let slot = slot(their_slot).ok_or_else(unknown)? as usize;
            match self.mapped() {
                true => self.give(slot, Value::Number(0.0)),
                false => self.width = self.width.max(slot as u32 + 1),
            }
            places[place as usize] = self.of(slot, Value::Number(0.0)).ok_or_else(unknown)?;
        }
        Ok(places)
    }

    /// Take back the coordinates given out since the width was `before`.
    pub fn shrink(&mut self, before: usize) {
        let new = |place: &u32| *place != NONE && *place as usize >= before;
        for places in self.nominals.iter_mut().chain(std::iter::once(&mut self.numbers)) {
            for place in places.iter_mut().filter(|place| new(place)) {
                *place = NONE;
            }
            while places.last() == Some(&NONE) {
                places.pop();
            }
        }
        while self.nominals.last().is_some_and(Vec::is_empty) {
            self.nominals.pop();
        }
        if self.nominals.is_empty() {
            self.numbers.clear();
        }
        self.width = before as u32;
    }

    pub fn validate(&self, who: &str) -> Result<()> {
        if !self.mapped() {
            return require(who, self.numbers.is_empty(), "coordinates are mapped without need");
        }
        let mut seen = vec![false; self.places().count()];
        for place in self.places() {
            let fresh = seen.get_mut(place as usize).is_some_and(|seen| !std::mem::replace(seen, true));
            require(who, fresh, "a coordinate is out of place")?;
        }
        require(who, seen.len() == self.width(), "coordinates are missing")
    }

    fn places(&self) -> impl Iterator<Item = u32> + '_ {
        self.nominals.iter().flatten().chain(&self.numbers).copied().filter(|&place| place != NONE)
    }

    pub fn memory(&self) -> usize {
        self.numbers.capacity() * 4 + self.nominals.iter().map(|values| 24 + values.capacity() * 4).sum::<usize>()
    }
}
