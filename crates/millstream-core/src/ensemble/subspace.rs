//! The random subset of features that a member of an ensemble receives.
//!
//! The size is a fraction of the features or their number. When new features appear, the subset grows to the required
//! size by drawing from them, and those already chosen keep their index.

use serde::{Deserialize, Serialize};

use crate::batch::Rows;
use crate::numeric::random::Random;
use crate::row::{Row, RowBuffer};
use crate::schema::{FeatureKind, Schema};

/// The number of features of a member.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    All,
    /// A fraction up to 1, a number above.
    Some(f64),
}

impl Size {
    fn of(self, features: usize) -> usize {
        match self {
            Size::All => features,
            // A single feature is too little for most learners.
            Size::Some(share) if share <= 1.0 => ((features as f64 * share).round() as usize).max(2).min(features),
            Size::Some(count) => (count as usize).min(features),
        }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Subspace {
    /// The chosen slots, by index.
    slots: Vec<u32>,
    /// The number of features that it was drawn from.
    width: usize,
}

impl Subspace {
    pub fn slots(&self) -> &[u32] {
        &self.slots
    }

    /// Whether rows of this width have features that it was not drawn from yet.
    pub fn lacks(&self, width: usize) -> bool {
        width > self.width
    }

    /// Draw from new features. `key` is unique for each member and each of its subsets.
    pub fn grow(&mut self, width: usize, size: Size, key: u64) -> bool {
        if !self.lacks(width) {
            return false;
        }
        let due = size.of(width).saturating_sub(self.slots.len());
        let known = self.slots.len();
        Random::new(key, width as u64).sample(self.width, width, due, &mut self.slots);
        self.width = width;
        self.slots.len() > known
    }

    /// The chosen features of rows. Plain rows that are wide enough stay plain, in `values`.
    pub fn of<'a>(&self, rows: &Rows<'_>, values: &'a mut Vec<f64>, kept: &'a mut Vec<RowBuffer>) -> Rows<'a> {
        if let Rows::Plain { values: all, width } = *rows {
            if width >= self.width && !self.slots.is_empty() {
                values.clear();
                for x in all.chunks_exact(width) {
                    values.extend(self.slots.iter().map(|&slot| x[slot as usize]));
                }
                return Rows::Plain { values, width: self.slots.len() };
            }
        }
        if kept.len() < rows.len() {
            kept.resize_with(rows.len(), RowBuffer::default);
        }
        for (row, out) in kept.iter_mut().enumerate().take(rows.len()) {
            self.cut(rows.at(row), out);
        }
        Rows::Owned(&kept[..rows.len()])
    }

    /// The chosen features of one row.
    pub fn cut(&self, x: Row<'_>, out: &mut RowBuffer) {
        let width = x.width();
        match x {
            Row::Plain(values) if width >= self.width => {
                let out = out.plain(self.slots.len());
                out.iter_mut().zip(&self.slots).for_each(|(out, &slot)| *out = values[slot as usize]);
            }
            Row::Plain(values) | Row::Mixed(values, _) => {
                let kind = |slot: usize| match x {
                    Row::Mixed(_, kinds) => kinds[slot],
                    _ => FeatureKind::Number,
                };
                let there =
                    |slot: usize| slot < width && kind(slot) == FeatureKind::Number && !values[slot].is_nan();
                if self.slots.iter().all(|&slot| there(slot as usize)) {
                    let out = out.plain(self.slots.len());
                    out.iter_mut().zip(&self.slots).for_each(|(out, &slot)| *out = values[slot as usize]);
                    return;
                }
                let (numbers, kinds) = out.mixed(self.slots.len());
                for (index, &slot) in self.slots.iter().enumerate().filter(|(_, slot)| (**slot as usize) < width) {
                    numbers[index] = values[slot as usize];
                    kinds[index] = kind(slot as usize);
                }
            }
            Row::Sparse(sparse) => {
                out.sparse(self.slots.len());
                // Slots ascend: new ones lie above the previous ones.
                for (&slot, &value) in sparse.indices.iter().zip(sparse.values) {
                    if let Ok(index) = self.slots.binary_search(&slot) {
                        out.push(index as u32, value);
                    }
                }
            }
        }
    }

    /// Names, kinds and values of the chosen features.
    pub fn schema(&self, all: &Schema) -> Schema {
        let mut schema = Schema::default();
        for &slot in self.slots.iter().filter(|slot| (**slot as usize) < all.len()) {
            schema.push_from(all, slot as usize, None);
        }
        schema.mark();
        schema
    }

    /// Whether it could have been saved.
    pub fn is_sound(&self) -> bool {
        self.slots.is_sorted_by(|a, b| a < b) && self.slots.last().is_none_or(|&slot| (slot as usize) < self.width)
    }

    pub fn memory(&self) -> usize {
        4 * self.slots.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Sparse;

    #[test]
    fn sizes_by_hand() {
        // 60 % of 10 are 6; of 2 they are 1.2, but at least 2; three are three, of two they are two.
        assert_eq!([10, 2, 1, 0].map(|n| Size::Some(0.6).of(n)), [6, 2, 1, 0]);
        assert_eq!([10, 2].map(|n| Size::Some(3.0).of(n)), [3, 2]);
        let mut chosen = [0; 10];
        for key in 0..2000 {
            let mut subspace = Subspace::default();
            assert!(subspace.grow(10, Size::Some(0.6), key));
            assert!(subspace.slots.len() == 6 && subspace.is_sound() && !subspace.grow(10, Size::Some(0.6), key));
            subspace.slots.iter().for_each(|&slot| chosen[slot as usize] += 1);
            // Of 20, 12 are due: the 6, and 6 of the 10 new ones.
            let before = subspace.slots.clone();
            subspace.grow(20, Size::Some(0.6), key);
            assert!(subspace.slots.len() == 12 && subspace.slots[..6] == before && subspace.is_sound());
        }
        // Each of 2000 · 6 / 10 times, with a deviation of √(1200 · 0.4) = 22.
        assert!(chosen.iter().all(|count: &i32| (count - 1200).abs() < 100), "{chosen:?}");
    }

    #[test]
    fn every_form_is_cut_alike() {
        let subspace = Subspace { slots: vec![1, 3], width: 4 };
        let (mut out, kinds) = (RowBuffer::default(), [FeatureKind::Number; 4]);
        subspace.cut(Row::Plain(&[1.0, 0.0, 3.0, 4.0]), &mut out);
        assert!(matches!(out.row(), Row::Plain(x) if x == [0.0, 4.0]));
        subspace.cut(Row::Mixed(&[f64::NAN, 0.0, 3.0, 4.0], &kinds), &mut out);
        assert!(matches!(out.row(), Row::Plain(x) if x == [0.0, 4.0]));
        subspace.cut(Row::Mixed(&[1.0, 2.0], &kinds[..2]), &mut out);
        assert!(matches!(out.row(), Row::Mixed(x, _) if x[0] == 2.0 && x[1].is_nan()));
        subspace.cut(Row::Sparse(Sparse { indices: &[0, 3], values: &[1.0, 4.0], width: 4 }), &mut out);
        assert!(matches!(out.row(), Row::Sparse(x) if x.indices == [1] && x.values == [4.0] && x.width == 2));
    }
}
