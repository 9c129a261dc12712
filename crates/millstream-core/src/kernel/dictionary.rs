//! Points and the coordinates of features in them.
//!
//! A number is a coordinate, a value of a nominal feature is a coordinate of its own that is 1 or 0, and what is missing
//! or was never learned is 0: as in a linear model. So every kernel takes every kind of row.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;
use crate::linear_model::{named, Coordinates};
use crate::row::{all_finite, Row, Scratch, Value};
use crate::schema::Schema;

use super::kernels::Kernel;
use super::points::{Points, Vector};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Dictionary {
    coordinates: Coordinates,
    pub points: Points,
    /// k(z, z) of each point z.
    #[serde(skip)]
    pub norms: Vec<f64>,
}

impl Dictionary {
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether everything in `x` has a coordinate.
    #[inline]
    pub fn knows(&self, x: Row<'_>) -> bool {
        let width = self.coordinates.width();
        match x {
            Row::Plain(values) if !self.coordinates.mapped() => values.len() <= width,
            Row::Sparse(sparse) if !self.coordinates.mapped() => sparse.width <= width,
            _ => {
                let mut knows = self.coordinates.mapped() || x.width() <= width;
                x.each(|slot, value| {
                    knows &= value == Value::Nominal(None) || self.coordinates.of(slot, value).is_some();
                });
                knows
            }
        }
    }

    /// Add coordinates for everything new in `x`. Returns the width before, for `shrink`.
    pub fn grow(&mut self, x: Row<'_>) -> usize {
        let before = self.coordinates.grow(x);
        self.points.fit(self.coordinates.width());
        before
    }

    /// Remove the coordinates added since the width was `before`.
    pub fn shrink(&mut self, before: usize) {
        self.coordinates.shrink(before);
        self.points.fit(before);
    }

    /// `x` by coordinates, in the form of the points.
    #[inline]
    pub fn locate(&self, x: Row<'_>, out: &mut Vector) {
        let width = self.points.width();
        out.indices.clear();
        out.values.clear();
        if let (Row::Plain(values), false, false) = (x, self.coordinates.mapped(), self.points.listed()) {
            // A sum with 0 makes 0 of −0, which a list would not hold either.
            out.values.extend(values.iter().take(width).map(|x| x + 0.0));
            out.values.resize(width, 0.0);
            return;
        }
        if !self.points.listed() {
            out.values.resize(width, 0.0);
            x.each(|slot, value| {
                if let Some(index) = self.coordinates.of(slot, value) {
                    out.values[index as usize] = size(value);
                }
            });
            return;
        }
        x.each(|slot, value| {
            if let Some(index) = self.coordinates.of(slot, value).filter(|_| size(value) != 0.0) {
                out.indices.push(index);
                out.values.push(size(value));
            }
        });
        ascend(out);
    }

    pub fn push(&mut self, x: &Vector, norm: f64) {
        self.points.push(x);
        self.norms.push(norm);
    }

    pub fn write(&mut self, index: usize, x: &Vector, norm: f64) {
        self.points.write(index, x);
        self.norms[index] = norm;
    }

    pub fn pop(&mut self) {
        self.points.pop();
        self.norms.pop();
    }

    /// After loading: reject an invalid state and recompute what is not saved. `count` is the number of points
    /// according to the rest of the state: points without coordinates take no bytes, so the number cannot be derived
    /// from them.
    pub fn revive(&mut self, who: &str, kernel: &Kernel, count: usize) -> Result<()> {
        require(who, self.len() == count, "points of the wrong number")?;
        self.coordinates.validate(who)?;
        require(who, self.points.width() == self.coordinates.width(), "points and coordinates differ in width")?;
        self.points.validate(who)?;
        let mut point = Vector::default();
        self.norms.clear();
        for index in 0..self.len() {
            self.points.read(index, &mut point);
            self.norms.push(kernel.itself(&point));
        }
        require(who, all_finite(&self.norms), "a point is too large")
    }

    /// The features of a point by name.
    pub fn named(&self, index: usize, schema: &Schema) -> serde_json::Map<String, serde_json::Value> {
        named(schema, |slot, value| Some(self.points.get(index, self.coordinates.of(slot, value)? as usize)))
    }

    pub fn memory(&self) -> usize {
        self.points.memory() + 8 * self.norms.capacity() + self.coordinates.memory()
    }
}

/// Borrowed for one prediction: a vector, its kernel values, and what else is computed of them.
pub struct Located {
    pub x: Vector,
    pub row: Vec<f64>,
}

impl Located {
    pub fn new(dictionary: &Dictionary, kernel: &Kernel, x: Row<'_>, scratch: &mut Scratch) -> Self {
        let mut located = Located { x: Vector::borrow(scratch), row: scratch.take_numbers() };
        dictionary.locate(x, &mut located.x);
        kernel.row(&dictionary.points, &located.x, &mut located.row);
        located
    }

    pub fn release(self, scratch: &mut Scratch) {
        self.x.release(scratch);
        scratch.give_numbers(self.row);
    }
}

fn size(value: Value) -> f64 {
    match value {
        Value::Number(number) => number + 0.0,
        Value::Nominal(_) => 1.0,
    }
}

/// Coordinates in ascending order; without nominal values they are so already.
fn ascend(x: &mut Vector) {
    if x.indices.is_sorted() {
        return;
    }
    let mut pairs: Vec<_> = x.indices.iter().copied().zip(x.values.iter().copied()).collect();
    pairs.sort_unstable_by_key(|pair| pair.0);
    x.indices.clear();
    x.values.clear();
    x.indices.extend(pairs.iter().map(|pair| pair.0));
    x.values.extend(pairs.iter().map(|pair| pair.1));
}
