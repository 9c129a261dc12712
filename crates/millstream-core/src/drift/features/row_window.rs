//! A window of rows, oldest first.

use serde::{Deserialize, Serialize};

use crate::numeric::random::Random;

/// Random stream of the partition of rows.
const PARTS: u64 = 0x5041_5254;

/// The part that a row belongs to in a random but deterministic partition. Alternating rows would not work: in an
/// alternating stream the parts would differ.
pub fn part_of(index: usize, parts: u32) -> u32 {
    Random::new(index as u64, PARTS).below(parts)
}

/// Concatenated rows of one width; a ring buffer once it is full. NaN is missing, a nominal value is its code.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RowWindow {
    width: usize,
    /// Number of rows; with a width of 0 it does not follow from the values.
    count: usize,
    /// Index of the next write once the window is full, which is the index of the oldest row.
    next: usize,
    values: Vec<f64>,
}

impl RowWindow {
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// The row at an index counted from the oldest.
    pub fn row(&self, index: usize) -> &[f64] {
        let at = self.next + index;
        let at = if at < self.count { at } else { at - self.count.min(at) };
        self.at(at)
    }

    fn at(&self, at: usize) -> &[f64] {
        self.values.get(at * self.width..(at + 1) * self.width).unwrap_or_default()
    }

    /// All rows, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.count).map(|index| self.row(index))
    }

    /// Add a row to a window of `size` rows; the oldest leaves a full window.
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

    /// Overwrite the row at a storage index.
    pub fn put(&mut self, at: usize, row: &[f64]) {
        if let Some(stored) = self.values.get_mut(at * self.width..(at + 1) * self.width) {
            stored.copy_from_slice(row);
        }
    }

    /// Widen all rows to `width`; new features are missing in them.
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

    /// Copy the newest rows of another window, at most `most` of them.
    pub fn take_newest(&mut self, other: &RowWindow, most: usize) {
        self.clear();
        self.width = other.width;
        let most = most.min(other.count);
        for index in other.count - most..other.count {
            self.push(other.row(index), most);
        }
    }

    pub fn clear(&mut self) {
        self.values.clear();
        (self.count, self.next) = (0, 0);
    }

    /// Write the present values of a feature, in no particular order; return the count of missing ones.
    pub fn column(&self, slot: usize, out: &mut Vec<f64>) -> usize {
        out.clear();
        if slot >= self.width {
            return self.count;
        }
        out.extend(self.values.iter().skip(slot).step_by(self.width).filter(|value| !value.is_nan()));
        self.count - out.len()
    }

    /// Whether this can be a window of `size` rows.
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
    fn the_oldest_row_leaves_and_features_appear() {
        let mut rows = RowWindow::default();
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
        let mut newest = RowWindow::default();
        newest.take_newest(&rows, 2);
        assert_eq!(newest.iter().map(|row| row[0]).collect::<Vec<_>>(), [5.0, 6.0]);
        assert!(rows.is_sound(3) && !rows.is_sound(2) && newest.is_sound(3));
    }
}
