//! Stored rows by slot of the schema, in a ring: the newest row overwrites the oldest one.
//!
//! Rows lie in blocks of `lanes` rows, column after column within a block. With eight lanes, a scan reads whole cache
//! lines and adds up eight distances side by side; with one lane, a row is contiguous, for searches that jump from row to
//! row. NaN is a missing value; a nominal value is its code.

use serde::{Deserialize, Serialize};

use crate::row::{Row, Value};
use crate::schema::{FeatureKind, UNSEEN};

/// The rows of a block of a scan.
pub const LANES: usize = 8;
/// In a query: a nominal value that was never learned, which equals no stored value.
const UNKNOWN: f64 = -2.0;

#[derive(Clone, Debug)]
pub struct Points {
    lanes: usize,
    capacity: usize,
    width: usize,
    rows: usize,
    /// The place of the next row.
    next: usize,
    values: Vec<f64>,
    /// Which columns hold codes.
    nominal: Vec<bool>,
    n_nominal: usize,
    /// Number of missing values in all rows.
    missing: usize,
}

/// Rows by place, one after the other.
#[derive(Serialize, Deserialize)]
pub struct SavedPoints {
    width: usize,
    next: usize,
    nominal: Vec<bool>,
    values: Vec<f64>,
}

/// The kinds of the columns of a row: those of numbers where there are none.
pub fn kinds_of(x: Row<'_>) -> &[FeatureKind] {
    match x {
        Row::Mixed(_, kinds) => kinds,
        _ => &[],
    }
}

/// Write a row by slot into `out`, at least `width` slots; those that the row does not have become NaN.
pub fn write_row(x: Row<'_>, width: usize, out: &mut Vec<f64>) {
    out.clear();
    match x {
        Row::Plain(values) | Row::Mixed(values, _) => out.extend_from_slice(values),
        Row::Sparse(sparse) => {
            out.resize(sparse.width, 0.0);
            for (&slot, &value) in sparse.indices.iter().zip(sparse.values) {
                out[slot as usize] = value;
            }
        }
    }
    if out.len() < width {
        out.resize(width, f64::NAN);
    }
}

impl Points {
    pub fn new(capacity: usize, lanes: usize) -> Self {
        Points {
            lanes,
            capacity,
            width: 0,
            rows: 0,
            next: 0,
            values: Vec::new(),
            nominal: Vec::new(),
            n_nominal: 0,
            missing: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn capacity(&self) -> usize {
        self.capacity
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn lanes(&self) -> usize {
        self.lanes
    }

    pub fn values(&self) -> &[f64] {
        &self.values
    }

    pub fn nominal(&self) -> &[bool] {
        &self.nominal
    }

    pub fn is_full(&self) -> bool {
        self.rows == self.capacity
    }

    /// Where the next row goes: the place of the oldest row once all places are taken.
    pub fn next(&self) -> usize {
        self.next
    }

    /// Number of rows that are newer than the row at a place.
    #[inline]
    pub fn age(&self, place: usize) -> usize {
        // Before the ring is full, `next` is the number of rows.
        let newest = self.next + self.capacity - 1;
        (newest - place) % self.capacity
    }

    /// Whether a complete query needs no look at single values: all are numbers, and none is missing.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.missing == 0 && self.n_nominal == 0
    }

    #[inline]
    fn at(&self, place: usize, column: usize) -> usize {
        (place / self.lanes * self.width + column) * self.lanes + place % self.lanes
    }

    #[inline]
    pub fn value(&self, place: usize, column: usize) -> f64 {
        self.values[self.at(place, column)]
    }

    /// A row with one lane, as it lies there.
    #[inline]
    pub fn row(&self, place: usize) -> &[f64] {
        &self.values[place * self.width..(place + 1) * self.width]
    }

    pub fn copy_row(&self, place: usize, out: &mut Vec<f64>) {
        out.clear();
        out.extend((0..self.width).map(|column| self.value(place, column)));
    }

    /// A row to search for: as wide as the stored rows, and whether all its values are numbers.
    #[inline]
    pub fn query(&self, x: Row<'_>, out: &mut Vec<f64>) -> bool {
        write_row(x, self.width, out);
        out.truncate(self.width);
        let plain = match x {
            Row::Mixed(..) => false,
            Row::Plain(values) => values.len() >= self.width,
            Row::Sparse(sparse) => sparse.width >= self.width,
        };
        if self.n_nominal > 0 {
            for (value, &nominal) in out.iter_mut().zip(&self.nominal) {
                if nominal && *value == UNSEEN {
                    *value = UNKNOWN;
                }
            }
        }
        plain || !out.iter().any(|value| value.is_nan())
    }

    /// Add columns, which the stored rows do not have.
    pub fn grow(&mut self, width: usize) {
        if width <= self.width {
            return;
        }
        let blocks = self.rows.div_ceil(self.lanes);
        let mut values = Vec::new();
        values.reserve_exact(blocks * width * self.lanes);
        for block in 0..blocks {
            let from = block * self.width * self.lanes;
            values.extend_from_slice(&self.values[from..from + self.width * self.lanes]);
            values.resize((block + 1) * width * self.lanes, f64::NAN);
        }
        self.missing += self.rows * (width - self.width);
        self.values = values;
        self.width = width;
        self.nominal.resize(width, false);
    }

    /// Note which columns of a row are nominal.
    pub fn set_kinds(&mut self, row: &[f64], kinds: &[FeatureKind]) {
        for (column, (&value, &kind)) in row.iter().zip(kinds).enumerate() {
            if kind == FeatureKind::Nominal && !value.is_nan() && !self.nominal[column] {
                self.nominal[column] = true;
                self.n_nominal += 1;
            }
        }
    }

    /// Write a row to the next place, which is returned. The row is as wide as the columns.
    pub fn push(&mut self, row: &[f64], kinds: &[FeatureKind]) -> usize {
        self.set_kinds(row, kinds);
        let place = self.next;
        if place == self.rows {
            if self.rows.is_multiple_of(self.lanes) {
                let more = self.width * self.lanes;
                // Little more than needed, because the window may stay far from full.
                let spare = (self.values.len() / 16).min((self.capacity - self.rows) * self.width);
                if self.values.capacity() - self.values.len() < more {
                    self.values.reserve_exact(more.max(spare));
                }
                self.values.resize(self.values.len() + more, f64::NAN);
            }
            self.rows += 1;
        } else {
            self.missing -= (0..self.width).filter(|&column| self.value(place, column).is_nan()).count();
        }
        let mut missing = 0;
        let mut at = self.at(place, 0);
        for &value in row {
            let is_missing = value.is_nan();
            missing += usize::from(is_missing);
            self.values[at] = if is_missing { f64::NAN } else { value };
            at += self.lanes;
        }
        self.missing += missing;
        self.next = if place + 1 == self.capacity { 0 } else { place + 1 };
        place
    }

    /// Places from the oldest row to the newest.
    pub fn by_age(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let (rows, oldest) = (self.rows, if self.is_full() { self.next } else { 0 });
        (0..rows).map(move |index| if oldest + index < rows { oldest + index } else { oldest + index - rows })
    }

    /// An empty store with the same columns.
    pub fn emptied(&self) -> Points {
        let mut points = Points::new(self.capacity, self.lanes);
        points.grow(self.width);
        points.nominal.clone_from(&self.nominal);
        points.n_nominal = self.n_nominal;
        points
    }

    /// Keep the rows at these places, which become the first places in this order.
    pub fn keep(&mut self, places: impl IntoIterator<Item = usize>) {
        let (mut kept, mut row) = (self.emptied(), Vec::new());
        for place in places {
            self.copy_row(place, &mut row);
            kept.push(&row, &[]);
        }
        *self = kept;
    }

    pub fn save(&self) -> SavedPoints {
        let mut values = Vec::with_capacity(self.rows * self.width);
        for place in 0..self.rows {
            values.extend((0..self.width).map(|column| self.value(place, column)));
        }
        SavedPoints { width: self.width, next: self.next, nominal: self.nominal.clone(), values }
    }

    /// Load rows into an empty store of the same capacity; None if they could not have been saved.
    pub fn load(&self, rows: usize, saved: &SavedPoints) -> Option<Points> {
        let SavedPoints { width, next, nominal, values } = saved;
        let ring = if rows < self.capacity { *next == rows } else { *next < self.capacity };
        let sound = rows <= self.capacity
            && ring
            && nominal.len() == *width
            && rows.checked_mul(*width) == Some(values.len())
            && (*width > 0 || rows == 0 || values.is_empty())
            && !values.iter().any(|value| value.is_infinite());
        if !sound {
            return None;
        }
        let is_code =
            |value: f64| value.is_nan() || (value >= UNSEEN && value.fract() == 0.0 && value < 4_294_967_296.0);
        let mut points = Points::new(self.capacity, self.lanes);
        points.grow(*width);
        points.n_nominal = nominal.iter().filter(|&&nominal| nominal).count();
        points.nominal.clone_from(nominal);
        for place in 0..rows {
            let row = &values[place * width..(place + 1) * width];
            if !row.iter().zip(nominal).all(|(&value, &nominal)| !nominal || is_code(value)) {
                return None;
            }
            points.push(row, &[]);
        }
        points.next = *next;
        Some(points)
    }

    pub fn memory(&self) -> usize {
        self.values.capacity() * 8 + self.nominal.capacity()
    }

    /// A value of a stored row with its kind, for reports.
    pub fn typed(&self, value: f64, column: usize) -> Option<Value> {
        if value.is_nan() {
            return None;
        }
        Some(match self.nominal[column] {
            true => Value::Nominal((value >= 0.0).then_some(value as u32)),
            false => Value::Number(value),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_row_overwrites_the_oldest() {
        for lanes in [1, LANES] {
            let mut points = Points::new(3, lanes);
            points.grow(2);
            for row in 0..5 {
                points.push(&[f64::from(row), -f64::from(row)], &[]);
            }
            // Places 0, 1, 2 hold the rows 3, 4, 2.
            assert_eq!((0..3).map(|place| points.value(place, 0)).collect::<Vec<_>>(), [3.0, 4.0, 2.0]);
            assert_eq!((0..3).map(|place| points.age(place)).collect::<Vec<_>>(), [1, 0, 2]);
        }
    }

    #[test]
    fn a_new_column_is_missing_in_old_rows() {
        let mut points = Points::new(10, LANES);
        points.grow(1);
        points.push(&[1.0], &[]);
        assert!(points.is_plain());
        points.grow(2);
        points.push(&[2.0, 5.0], &[]);
        assert!(!points.is_plain() && points.value(0, 1).is_nan() && points.value(1, 1) == 5.0);
        let saved = points.save();
        let loaded = Points::new(10, LANES).load(2, &saved).expect("it was saved");
        assert_eq!(loaded.missing, 1);
        assert!(Points::new(10, LANES).load(3, &saved).is_none());
        assert!(Points::new(1, LANES).load(2, &saved).is_none());
    }
}
