//! The categories of fuzzy ART: boxes in the unit cube.
//!
//! A row a is complement coded, I = (a, 1 − a), and the weights of a category are w = (u, v), of which u is the lower corner of
//! its box and 1 − v the upper one (Carpenter, Grossberg and Rosen, 1991, section 5). With ∧ for the componentwise minimum and
//! |·| for the sum, |I ∧ w| is the number of coordinates less the L1 distance from the row to the box and the sum of its edges.
//! A coordinate for which a category has no value yet has the weights (1, 1), those of an uncommitted category.
//!
//! Eight categories lie next to each other, so that their sums are computed in vector registers.

use crate::linear_model::Coordinates;

/// Number of categories that lie next to each other.
const LANES: usize = 8;

#[derive(Clone, Debug, Default)]
pub struct Categories {
    len: usize,
    width: usize,
    /// By block of categories, coordinate, (u, v), and category within the block. Absent categories are 0.
    blocks: Vec<f64>,
    /// |w| of each.
    sizes: Vec<f64>,
    /// Weight of the rows of each.
    weights: Vec<f64>,
}

/// |I ∧ w| and |w| of each category, over the coordinates that a row has, and the number of these.
#[derive(Clone, Debug, Default)]
pub struct Overlaps {
    pub overlaps: Vec<f64>,
    pub sizes: Vec<f64>,
    pub present: f64,
}

/// A coordinate of a row as (a, 1 − a); NaN if it is missing.
pub type Coded = [f64; 2];

impl Categories {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    #[inline]
    fn place(&self, category: usize, coordinate: usize) -> usize {
        (category / LANES * self.width + coordinate) * 2 * LANES + category % LANES
    }

    /// The weights (u, v) of a coordinate.
    pub fn value(&self, category: usize, coordinate: usize) -> Coded {
        let place = self.place(category, coordinate);
        [self.blocks[place], self.blocks[place + LANES]]
    }

    fn set(&mut self, category: usize, coordinate: usize, [u, v]: Coded) {
        let place = self.place(category, coordinate);
        self.blocks[place] = u;
        self.blocks[place + LANES] = v;
    }

    pub fn copy(&self, category: usize) -> Vec<Coded> {
        (0..self.width).map(|coordinate| self.value(category, coordinate)).collect()
    }

    fn measure(&mut self, category: usize) {
        let sum = |size: f64, [u, v]: Coded| size + u + v;
        self.sizes[category] = (0..self.width).map(|coordinate| self.value(category, coordinate)).fold(0.0, sum);
    }

    /// Add a category at a row.
    pub fn push(&mut self, row: &[Coded], weight: f64) {
        if self.len == 0 {
            self.width = row.len();
        }
        if self.len.is_multiple_of(LANES) {
            self.blocks.resize(self.blocks.len() + 2 * self.width * LANES, 0.0);
        }
        self.len += 1;
        self.weights.push(weight);
        self.sizes.push(0.0);
        for (coordinate, &[a, complement]) in row.iter().enumerate() {
            let value = if a.is_nan() { [1.0, 1.0] } else { [a, complement] };
            self.set(self.len - 1, coordinate, value);
        }
        self.measure(self.len - 1);
    }

    /// Add the coordinates that rows have gained: (1, 1) for a new feature, and the weights of a value that no row had for a new
    /// value of a nominal feature that a category has.
    pub fn widen(&mut self, coordinates: &Coordinates) {
        let (before, width) = (self.width, coordinates.width());
        if self.len == 0 || before == width {
            return;
        }
        let mut wider = Categories::default();
        for category in 0..self.len {
            let mut row = self.copy(category);
            row.resize(width, [1.0, 1.0]);
            coordinates.each_slot(|_, _, places| {
                if places.iter().any(|&place| place < before && row[place] != [1.0, 1.0]) {
                    places.iter().filter(|&&place| place >= before).for_each(|&place| row[place] = [0.0, 1.0]);
                }
            });
            wider.push(&row, self.weights[category]);
        }
        *self = wider;
    }

    #[inline]
    pub fn overlap(&self, row: &[Coded], complete: bool, out: &mut Overlaps) {
        let Overlaps { overlaps, sizes, present } = out;
        overlaps.clear();
        sizes.clear();
        *present = row.len() as f64;
        if self.len == 0 {
            return;
        }
        let blocks = self.blocks.chunks_exact(2 * self.width * LANES);
        if complete {
            for block in blocks {
                let mut sums = [0.0; LANES];
                for (&i, weights) in row.as_flattened().iter().zip(block.as_chunks::<LANES>().0) {
                    for lane in 0..LANES {
                        sums[lane] += if i < weights[lane] { i } else { weights[lane] };
                    }
                }
                overlaps.extend_from_slice(&sums);
            }
            sizes.extend_from_slice(&self.sizes);
        } else {
            *present = row.iter().filter(|[a, _]| !a.is_nan()).count() as f64;
            for block in blocks {
                let (mut sums, mut all) = ([0.0; LANES], [0.0; LANES]);
                for (&i, weights) in row.as_flattened().iter().zip(block.as_chunks::<LANES>().0) {
                    for lane in 0..LANES {
                        if !i.is_nan() {
                            sums[lane] += if i < weights[lane] { i } else { weights[lane] };
                            all[lane] += weights[lane];
                        }
                    }
                }
                overlaps.extend_from_slice(&sums);
                sizes.extend_from_slice(&all);
            }
        }
        overlaps.truncate(self.len);
        sizes.truncate(self.len);
    }

    /// w ← β (I ∧ w) + (1 − β) w, where the row has a value; a coordinate without a value so far becomes that of the row.
    pub fn learn(&mut self, category: usize, row: &[Coded], rate: f64, weight: f64) {
        self.weights[category] += weight;
        for (coordinate, &[a, complement]) in row.iter().enumerate() {
            if a.is_nan() {
                continue;
            }
            let [u, v] = self.value(category, coordinate);
            let learned = match [u, v] == [1.0, 1.0] {
                true => [a, complement],
                false => [rate * a.min(u) + (1.0 - rate) * u, rate * complement.min(v) + (1.0 - rate) * v],
            };
            self.set(category, coordinate, learned);
        }
        self.measure(category);
    }

    pub fn memory(&self) -> usize {
        8 * (self.blocks.capacity() + self.sizes.capacity() + self.weights.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The box from (0.2, 0.3) to (0.4, 0.3) has w = (0.2, 0.6, 0.3, 0.7). The row (0.5, 0.1) has I = (0.5, 0.5, 0.1, 0.9), and
    /// I ∧ w = (0.2, 0.5, 0.1, 0.7): 1.5 = 2 − 0.1 − 0.2 − 0.2.
    #[test]
    fn overlaps_worked_by_hand() {
        let coded = |a: f64| [a, 1.0 - a];
        let mut categories = Categories::default();
        categories.push(&[coded(0.2), coded(0.3)], 1.0);
        categories.learn(0, &[coded(0.4), coded(0.3)], 1.0, 1.0);
        let mut found = Overlaps::default();
        categories.overlap(&[coded(0.5), coded(0.1)], true, &mut found);
        assert!((found.overlaps[0] - 1.5).abs() < 1e-15 && (found.sizes[0] - 1.8).abs() < 1e-15);
        // By the first coordinate alone: 0.2 + 0.5 of 0.2 + 0.6.
        categories.overlap(&[coded(0.5), [f64::NAN; 2]], false, &mut found);
        assert!((found.overlaps[0] - 0.7).abs() < 1e-15 && (found.sizes[0] - 0.8).abs() < 1e-15);
        assert_eq!(found.present, 1.0);
    }
}
