//! The points of an expansion, in a layout for computing with all of them at once.
//!
//! Points lie in blocks of eight: in a block coordinate after coordinate, eight numbers each, one of each point. So a
//! sum over coordinates runs for eight points side by side in vector registers, whatever the number of features, and
//! there is nothing to add up across a register at its end. From `WIDE` coordinates on, where most are 0, each point
//! is a list of those that are not. Both add up in the order of coordinates, and a 0 adds nothing, so the form changes
//! no bit of a result.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;
use crate::row::{all_finite, Scratch};

const LANES: usize = 8;
pub const WIDE: usize = 1 << 10;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Points {
    width: usize,
    count: usize,
    blocks: Vec<f64>,
    /// In place of blocks from `WIDE` coordinates on.
    lists: Vec<List>,
}

/// A point as its nonzero coordinates, ascending.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct List {
    indices: Vec<u32>,
    values: Vec<f64>,
}

/// An example in the form of the points: all coordinates, or the nonzero ones.
#[derive(Clone, Debug, Default)]
pub struct Vector {
    pub values: Vec<f64>,
    /// Empty where all coordinates are there.
    pub indices: Vec<u32>,
}

impl Vector {
    #[cfg(test)]
    pub fn of(values: &[f64]) -> Self {
        Vector { values: values.to_vec(), indices: Vec::new() }
    }

    pub fn borrow(scratch: &mut Scratch) -> Self {
        Vector { values: scratch.take_numbers(), indices: scratch.take_indices() }
    }

    pub fn release(self, scratch: &mut Scratch) {
        scratch.give_numbers(self.values);
        scratch.give_indices(self.indices);
    }

    /// Become these numbers, of which a list holds those that are not 0.
    pub fn set(&mut self, values: &[f64], listed: bool) {
        self.values.clear();
        self.indices.clear();
        for (index, &value) in values.iter().enumerate() {
            if !listed {
                self.values.push(value);
            } else if value != 0.0 {
                self.indices.push(index as u32);
                self.values.push(value);
            }
        }
    }

    /// |x|²
    pub fn square(&self) -> f64 {
        self.values.iter().fold(0.0, |sum, x| sum + x * x)
    }

    /// x ← h x + (1 − h) z
    pub fn mix(&mut self, h: f64, z: &Vector) {
        if self.indices.is_empty() && z.indices.is_empty() {
            self.values.iter_mut().zip(&z.values).for_each(|(x, z)| *x = h * *x + (1.0 - h) * z);
            return;
        }
        let x = std::mem::take(self);
        each_together(&x.indices, &x.values, &z.indices, &z.values, |index, x, z| {
            self.indices.push(index);
            self.values.push(h * x + (1.0 - h) * z);
        });
    }

    pub fn memory(&self) -> usize {
        8 * self.values.capacity() + 4 * self.indices.capacity()
    }
}

impl Points {
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether points are lists of nonzero coordinates.
    #[inline]
    pub fn listed(&self) -> bool {
        self.width > WIDE
    }

    /// For every point, `add` over its coordinates beside those of x, beginning at 0.
    #[inline]
    pub fn fold(&self, x: &Vector, out: &mut Vec<f64>, add: impl Fn(f64, f64, f64) -> f64 + Copy) {
        out.clear();
        if self.listed() {
            out.extend(self.lists.iter().map(|list| together(list, x, add)));
            return;
        }
        if self.width > 0 {
            let x = &x.values[..self.width];
            for block in self.blocks.chunks_exact(self.width * LANES) {
                let mut sums = [0.0; LANES];
                for (&x, z) in x.iter().zip(block.as_chunks::<LANES>().0) {
                    for lane in 0..LANES {
                        sums[lane] = add(sums[lane], x, z[lane]);
                    }
                }
                out.extend_from_slice(&sums);
            }
        }
        out.resize(self.count, 0.0);
    }

    /// Make room for `width` coordinates, of which the new ones are 0 in all points; or, to take that back, leave out
    /// those from `width` on.
    pub fn fit(&mut self, width: usize) {
        let listed = self.listed();
        if width == self.width || (listed && width > WIDE) {
            self.width = width;
            return;
        }
        let old = std::mem::replace(self, Points { width, ..Points::default() });
        let (mut point, mut fitted) = (Vector::default(), Vector::default());
        for index in 0..old.count {
            old.read(index, &mut point);
            fitted.values.clear();
            fitted.indices.clear();
            if self.listed() {
                fitted.set(&point.values, true);
            } else {
                fitted.values.resize(width, 0.0);
                for (at, &value) in point.values.iter().enumerate() {
                    let index = if listed { point.indices[at] as usize } else { at };
                    if index < width {
                        fitted.values[index] = value;
                    }
                }
            }
            self.push(&fitted);
        }
    }

    pub fn push(&mut self, x: &Vector) {
        self.count += 1;
        if self.listed() {
            self.lists.resize_with(self.count, List::default);
        } else {
            self.blocks.resize(self.count.div_ceil(LANES) * LANES * self.width, 0.0);
        }
        self.write(self.count - 1, x);
    }

    /// Write x over a point.
    pub fn write(&mut self, index: usize, x: &Vector) {
        if self.listed() {
            let list = &mut self.lists[index];
            list.indices.clone_from(&x.indices);
            list.values.clone_from(&x.values);
            return;
        }
        if self.width == 0 {
            return;
        }
        let start = (index / LANES) * LANES * self.width + index % LANES;
        // Of points without coordinates there is no block.
        let block = self.blocks.get_mut(start..).unwrap_or_default();
        for (number, &x) in block.iter_mut().step_by(LANES).zip(&x.values[..self.width]) {
            *number = x;
        }
    }

    /// Take back the last point.
    pub fn pop(&mut self) {
        if self.count == 0 {
            return;
        }
        if !self.listed() {
            let zeros = Vector { values: vec![0.0; self.width], indices: Vec::new() };
            self.write(self.count - 1, &zeros);
            self.blocks.truncate((self.count - 1).div_ceil(LANES) * LANES * self.width);
        }
        self.lists.pop();
        self.count -= 1;
    }

    /// A point as it was written.
    pub fn read(&self, index: usize, out: &mut Vector) {
        out.values.clear();
        out.indices.clear();
        if self.listed() {
            out.values.extend_from_slice(&self.lists[index].values);
            out.indices.extend_from_slice(&self.lists[index].indices);
        } else if self.width > 0 {
            let start = (index / LANES) * LANES * self.width + index % LANES;
            out.values.extend(self.blocks[start..].iter().step_by(LANES).take(self.width));
        }
    }

    /// x ← h x + (1 − h) z with a point z.
    pub fn between(&self, h: f64, index: usize, x: &mut Vector) {
        if self.listed() {
            let mut z = Vector::default();
            self.read(index, &mut z);
            x.mix(h, &z);
        } else {
            for (coordinate, x) in x.values.iter_mut().enumerate() {
                *x = h * *x + (1.0 - h) * self.get(index, coordinate);
            }
        }
    }

    /// One coordinate of a point.
    pub fn get(&self, index: usize, coordinate: usize) -> f64 {
        if !self.listed() {
            return self.blocks[((index / LANES) * self.width + coordinate) * LANES + index % LANES];
        }
        let List { indices, values } = &self.lists[index];
        indices.binary_search(&(coordinate as u32)).map_or(0.0, |at| values[at])
    }

    pub fn validate(&self, who: &str) -> Result<()> {
        let blocks = match self.listed() {
            true => Some(0),
            false => self.count.div_ceil(LANES).checked_mul(LANES).and_then(|n| n.checked_mul(self.width)),
        };
        require(who, blocks == Some(self.blocks.len()), "points of the wrong number")?;
        require(
            who,
            self.lists.len() == if self.listed() { self.count } else { 0 },
            "points of the wrong number",
        )?;
        require(who, all_finite(&self.blocks), "a point is not finite")?;
        for List { indices, values } in &self.lists {
            require(who, indices.len() == values.len() && all_finite(values), "a point is not finite")?;
            let ascending = indices.windows(2).all(|pair| pair[0] < pair[1]);
            let within = indices.last().is_none_or(|&last| (last as usize) < self.width);
            require(who, ascending && within, "a coordinate is out of place")?;
        }
        Ok(())
    }

    pub fn memory(&self) -> usize {
        let lists = self.lists.iter().map(|list| 48 + 4 * list.indices.capacity() + 8 * list.values.capacity());
        8 * self.blocks.capacity() + lists.sum::<usize>()
    }
}

/// `add` over all coordinates that either has.
fn together(z: &List, x: &Vector, add: impl Fn(f64, f64, f64) -> f64) -> f64 {
    let mut sum = 0.0;
    each_together(&x.indices, &x.values, &z.indices, &z.values, |_, x, z| sum = add(sum, x, z));
    sum
}

/// Visit all coordinates that either of two lists has, with 0 for the one that lacks it.
fn each_together(a: &[u32], x: &[f64], b: &[u32], z: &[f64], mut visit: impl FnMut(u32, f64, f64)) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let at = |indices: &[u32], index: usize| indices.get(index).map_or(u64::MAX, |&index| u64::from(index));
        let (from_x, from_z) = (at(a, i), at(b, j));
        let index = from_x.min(from_z) as u32;
        visit(index, if from_x <= from_z { x[i] } else { 0.0 }, if from_z <= from_x { z[j] } else { 0.0 });
        i += usize::from(from_x <= from_z);
        j += usize::from(from_z <= from_x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_as_they_were_written_and_lists_compute_the_same_bits() {
        let number = |point: usize, j: usize| ((point * 7 + j * 3) % 11) as f64 * 0.1 - 0.4;
        let rows: Vec<Vec<f64>> = (0..19).map(|point| (0..5).map(|j| number(point, j)).collect()).collect();
        let mut points = Points::default();
        points.fit(5);
        rows.iter().for_each(|row| points.push(&Vector::of(row)));
        let square = |sum: f64, x: f64, z: f64| sum + (x - z) * (x - z);
        let (mut dense, mut listed, mut point) = (Vec::new(), Vec::new(), Vector::default());
        points.fold(&Vector::of(&rows[3]), &mut dense, square);
        assert_eq!(dense.len(), 19);
        assert_eq!(dense[3], 0.0);
        points.read(17, &mut point);
        assert_eq!(point.values, rows[17]);
        assert_eq!(points.get(17, 4), rows[17][4]);
        points.fit(WIDE + 1);
        let x = Vector { values: rows[3].clone(), indices: (0..5).collect() };
        points.fold(&x, &mut listed, square);
        assert_eq!(dense, listed);
        assert_eq!(points.get(17, 4), rows[17][4]);
        assert_eq!(points.get(17, 1000), 0.0);
        points.validate("test").unwrap();
    }

    #[test]
    fn points_without_coordinates_are_points() {
        let (mut points, mut out) = (Points::default(), Vec::new());
        (0..9).for_each(|_| points.push(&Vector::default()));
        points.fold(&Vector::default(), &mut out, |sum, x, z| sum + x * z);
        assert_eq!(out, [0.0; 9]);
        points.write(8, &Vector::default());
        points.fit(2);
        assert_eq!((points.len(), points.get(8, 1)), (9, 0.0));
        points.fit(0);
        points.pop();
        points.validate("test").unwrap();
    }

    #[test]
    fn a_point_is_taken_back_without_a_trace() {
        let mut points = Points::default();
        points.fit(2);
        for point in 0..9 {
            points.push(&Vector::of(&[1.0 + f64::from(point), 2.0]));
        }
        let before = crate::held::state::pack(&points).unwrap();
        points.push(&Vector::of(&[5.0, 6.0]));
        points.pop();
        assert_eq!(crate::held::state::pack(&points).unwrap(), before);
    }
}
