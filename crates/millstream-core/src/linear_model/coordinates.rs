//! From features to coordinates of a weight vector.
//!
//! While all features are numbers, a slot is its own coordinate and a plain row is used as it is. A nominal
//! feature gets one coordinate per value, in the order in which values are learned; from then
//! on, slots are looked up.

use serde::{Deserialize, Serialize};

use crate::exchange::Exchange;
use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::optim::Features;
use crate::row::{Row, Scratch, Value};
use crate::schema::Schema;

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Coordinates {
    /// Number of coordinates.
    width: u32,
    /// Of the number in each slot; empty while slot and coordinate are the same.
    numbers: Vec<u32>,
    /// Of each value of the nominal feature in each slot; empty while there is none.
    nominals: Vec<Vec<u32>>,
}

/// The features of one row by coordinate: borrowed, or, after a lookup, in buffers of the scratch.
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
    /// Whether coordinates are slots, so that their number says all about them: see `Part::exchange`.
    pub fn are_slots(&self, exchange: &mut Exchange<'_>) -> bool {
        exchange.layout(self.width as usize);
        self.numbers.is_empty() && self.nominals.is_empty()
    }

    pub fn width(&self) -> usize {
        self.width as usize
    }

    /// Whether slots need a lookup: from the first nominal value on.
    pub fn mapped(&self) -> bool {
        !self.nominals.is_empty()
    }

    /// Whether a plain row can be used unchanged: every slot is its own coordinate.
    #[inline]
    pub fn direct(&self, values: &[f64]) -> bool {
        !self.mapped() && values.len() >= self.width()
    }

    /// Whether a plain row has exactly the known coordinates.
    #[inline(always)]
    pub fn is_all_of(&self, values: &[f64]) -> bool {
        values.len() == self.width() && !self.mapped()
    }

    /// The coordinate of a number or a nominal value, if it has one.
    pub fn of(&self, slot: usize, value: Value) -> Option<u32> {
        let coordinate = match value {
            Value::Number(_) if !self.mapped() => (slot < self.width()).then_some(slot as u32),
            Value::Number(_) => self.numbers.get(slot).copied(),
            Value::Nominal(code) => {
                self.nominals.get(slot).zip(code).and_then(|(values, code)| values.get(code as usize).copied())
            }
        };
        coordinate.filter(|&coordinate| coordinate != NONE)
    }

    /// Write `missing` to the coordinates of numbers, in a vector over the first coordinates.
    pub fn fill_numbers(&self, out: &mut [f64], missing: f64) {
        if !self.mapped() {
            return out.fill(missing);
        }
        for &coordinate in self.numbers.iter().filter(|&&coordinate| coordinate != NONE) {
            if let Some(number) = out.get_mut(coordinate as usize) {
                *number = missing;
            }
        }
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
            values.extend(given.filter(|&&coordinate| coordinate != NONE).map(|&coordinate| coordinate as usize));
            let number = self.numbers.get(slot).filter(|&&coordinate| coordinate != NONE && values.is_empty());
            if number.is_some() || !values.is_empty() {
                visit(slot, number.map(|&coordinate| coordinate as usize), &values);
            }
        }
    }

    /// The features of a row as they are, if all have coordinates and none needs a lookup, as in most streams.
    #[inline]
    pub fn lying<'a>(&self, x: Row<'a>) -> Option<Features<'a>> {
        match x {
            Row::Plain(values) if self.is_all_of(values) => Some(Features::Dense(values)),
            Row::Sparse(sparse) if sparse.width <= self.width() && !self.mapped() => {
                Some(Features::Sparse(sparse.indices, sparse.values))
            }
            _ => None,
        }
    }

    /// The features of a row; those without a coordinate are ignored.
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
            if let Some(coordinate) = self.of(slot, value) {
                indices.push(coordinate);
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

    /// Add coordinates for everything new in `x`. Returns the width before, for `shrink`.
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
        let (coordinates, at) = match value {
            Value::Number(_) => (&mut self.numbers, slot),
            Value::Nominal(None) => return,
            Value::Nominal(Some(code)) => {
                if self.nominals.len() <= slot {
                    self.nominals.resize(slot + 1, Vec::new());
                }
                (&mut self.nominals[slot], code as usize)
            }
        };
        if coordinates.get(at).is_some_and(|&coordinate| coordinate != NONE) {
            return;
        }
        if coordinates.len() <= at {
            coordinates.resize(at + 1, NONE);
        }
        coordinates[at] = self.width;
        self.width += 1;
    }

    /// Add coordinates for everything that has one in `other`, matching features by name. Returns the coordinate here of
    /// each of its coordinates.
    pub fn join(&mut self, other: &Coordinates, theirs: &Schema, ours: &Schema) -> Result<Vec<u32>> {
        let unknown = || Fault::state("the saved state is not valid: a coordinate without a feature");
        let slot =
            |slot: usize| Some(slot).filter(|&slot| slot < theirs.len()).and_then(|s| ours.slot(&theirs.name(s)));
        if other.mapped() && !self.mapped() {
            self.numbers = (0..self.width).collect();
        }
        let mut coordinates = vec![NONE; other.width()];
        for (their_slot, codes) in other.nominals.iter().enumerate() {
            for (code, &coordinate) in codes.iter().enumerate().filter(|(_, &coordinate)| coordinate != NONE) {
                let text = theirs.values(their_slot).text(code as u32).ok_or_else(unknown)?;
                let slot = slot(their_slot).ok_or_else(unknown)?;
                let value = Value::Nominal(Some(ours.code(slot, text).ok_or_else(unknown)?));
                self.give(slot as usize, value);
                coordinates[coordinate as usize] = self.of(slot as usize, value).ok_or_else(unknown)?;
            }
        }
        let direct: Vec<u32> = if other.mapped() { Vec::new() } else { (0..other.width).collect() };
        let numbers = if other.mapped() { &other.numbers } else { &direct };
        for (their_slot, &coordinate) in numbers.iter().enumerate().filter(|(_, &coordinate)| coordinate != NONE) {
            let slot = slot(their_slot).ok_or_else(unknown)? as usize;
            match self.mapped() {
                true => self.give(slot, Value::Number(0.0)),
                false => self.width = self.width.max(slot as u32 + 1),
            }
            coordinates[coordinate as usize] = self.of(slot, Value::Number(0.0)).ok_or_else(unknown)?;
        }
        Ok(coordinates)
    }

    /// Remove the coordinates added since the width was `before`.
    pub fn shrink(&mut self, before: usize) {
        let new = |coordinate: &u32| *coordinate != NONE && *coordinate as usize >= before;
        for coordinates in self.nominals.iter_mut().chain(std::iter::once(&mut self.numbers)) {
            for coordinate in coordinates.iter_mut().filter(|coordinate| new(coordinate)) {
                *coordinate = NONE;
            }
            while coordinates.last() == Some(&NONE) {
                coordinates.pop();
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
        let mut seen = vec![false; self.coordinates().count()];
        for coordinate in self.coordinates() {
            let fresh = seen.get_mut(coordinate as usize).is_some_and(|seen| !std::mem::replace(seen, true));
            require(who, fresh, "a coordinate is out of place")?;
        }
        require(who, seen.len() == self.width(), "coordinates are missing")
    }

    fn coordinates(&self) -> impl Iterator<Item = u32> + '_ {
        self.nominals.iter().flatten().chain(&self.numbers).copied().filter(|&coordinate| coordinate != NONE)
    }

    pub fn memory(&self) -> usize {
        self.numbers.capacity() * 4 + self.nominals.iter().map(|values| 24 + values.capacity() * 4).sum::<usize>()
    }
}
