//! A window of rows, from the oldest to the newest: what a detector compares.

use serde::{Deserialize, Serialize};

use crate::numeric::random::Random;

/// The use of seeds by which rows are parted.
const PARTS: u64 = 0x5041_5254;

/// Which of some parts a row belongs to, at random and yet the same each time. Every other row would not do: in a stream
/// that alternates, the parts would differ.
pub fn part_of(place: usize, parts: u32) -> u32 {
    Random::new(place as u64, PARTS).below(parts)
}

/// Rows of one width, one after the other; a ring once it is full. NaN is missing, a nominal value is its code.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Rows {
    width: usize,
    /// How many rows there are, which the numbers do not tell where rows are empty.
    count: usize,
    /// Where the next row goes once the window is full: the place of the oldest.
    next: usize,
    values: Vec<f64>,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// The row so many places after the oldest.
    pub fn row(&self, place: usize) -> &[f64] {
        let at = self.next + place;
        let at = if at < self.count { at } else { at - self.count.min(at) };
        self.at(at)
    }

    fn at(&self, at: usize) -> &[f64] {
        self.values.get(at * self.width..(at + 1) * self.width).unwrap_or_default()
    }

    /// From the oldest to the newest.
    pub fn iter(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.count).map(|place| self.row(place))
    }

    /// Add a row of this width to a window of `size` rows, of which the oldest falls out.
    pub fn push(&mut self, row: &[f64], size: usize) {
        debug_assert_eq!(row.len(), self.width);
        if self.count < size {
            self.values.extend_from_slice(row);
            self.count += 1;
            return;
        }
        self.put(self.next, row);
        self.next = (self.next + 1) % size.max(1);
    }

    /// Put a row where another is, in the order in which they lie.
    pub fn put(&mut self, at: usize, row: &[f64]) {
        if let Some(place) = self.values.get_mut(at * self.width..(at + 1) * self.width) {
            place.copy_from_slice(row);
        }
    }

    /// Become rows of `width`, the new features missing in all that are here.
    pub fn widen(&mut self, width: usize) {
        if width <= self.width {
            return;
        }
        let mut values = Vec::with_capacity(self.count * width);
        for at in 0..self.count {
            values.extend_from_slice(self.at(at));
            values.resize((at + 1) * width, f64::NAN);
        }
        self.values = values;
        self.width = width;
    }

    /// Become the newest rows of another window, at most `most` of them.
    pub fn take_newest(&mut self, other: &Rows, most: usize) {
        self.clear();
        self.width = other.width;
        let most = most.min(other.count);
        for place in other.count - most..other.count {
            self.push(other.row(place), most);
        }
    }

    pub fn clear(&mut self) {
        self.values.clear();
        (self.count, self.next) = (0, 0);
    }

    /// Write what is not missing of a feature, in no order, and give how many are missing.
    pub fn column(&self, slot: usize, out: &mut Vec<f64>) -> usize {
        out.clear();
        if slot >= self.width {
            return self.count;
        }
        out.extend(self.values.iter().skip(slot).step_by(self.width).filter(|value| !value.is_nan()));
        self.count - out.len()
    }

    /// Whether it can be a window of `size` rows.
    pub fn is_sound(&self, size: usize) -> bool {
        let full = self.count == size;
        self.count <= size
            && (if full { self.next < size.max(1) } else { self.next == 0 })
            && self.count.checked_mul(self.width) == Some(self.values.len())
            && self.values.iter().all(|value| !value.is_infinite())
    }

    pub fn memory(&self) -> usize {
        self.values.capacity() * std::mem::size_of::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_falls_out_and_features_appear() {
        let mut rows = Rows::default();
        rows.widen(1);
        for x in 1..=5 {
            rows.push(&[f64::from(x)], 3);
        }
        assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), [3.0, 4.0, 5.0]);
        rows.widen(2);
        rows.push(&[6.0, 7.0], 3);
        assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), [4.0, 5.0, 6.0]);
        let mut column = Vec::new();
        assert_eq!((rows.column(1, &mut column), column.as_slice()), (2, &[7.0][..]));
        assert_eq!(rows.column(9, &mut column), 3);
        let mut newest = Rows::default();
        newest.take_newest(&rows, 2);
        assert_eq!(newest.iter().map(|row| row[0]).collect::<Vec<_>>(), [5.0, 6.0]);
        assert!(rows.is_sound(3) && !rows.is_sound(2) && newest.is_sound(3));
    }
}
