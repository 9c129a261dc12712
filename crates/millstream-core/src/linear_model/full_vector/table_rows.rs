//! The rows of a batch by their places in an `AdaptiveTable`.
//!
//! Dense rows have the places of their coordinates. Sparse rows of a wide model have places for the columns that occur in
//! the batch, if there are few of them.

use rustc_hash::FxHashMap;

use super::TableRow;
use crate::batch::Rows;
use crate::row::Row;

/// Copying a column into a table and back pays off if the batch has this many numbers per column.
const USES: usize = 4;

#[derive(Clone, Debug, Default)]
pub struct TableRows {
    /// Number of coordinates.
    width: usize,
    /// The columns of sparse rows by place; none for dense rows.
    columns: Option<Vec<u32>>,
    /// Of dense rows 0, 1, … once; of sparse rows those of one row after the other.
    places: Vec<u32>,
    starts: Vec<usize>,
    found: FxHashMap<u32, u32>,
}

impl TableRows {
    /// Read the rows; false if they cannot be learned in a table.
    pub fn read(&mut self, rows: &Rows<'_>) -> bool {
        let width = match rows {
            Rows::One(_) | Rows::Mixed { .. } => return false,
            Rows::Plain { width, .. } => Some(*width),
            Rows::Owned(_) if rows.is_empty() => return false,
            Rows::Owned(_) => dense_width(rows),
        };
        self.width = width.unwrap_or(0);
        match width {
            Some(width) => {
                self.columns = None;
                self.places.clear();
                self.places.extend(0..width as u32);
                true
            }
            None => self.read_sparse(rows),
        }
    }

    /// Whether scores with this number of coordinates can learn the rows as they are.
    pub fn fit(&self, width: usize) -> bool {
        if self.columns.is_none() {
            self.width == width
        } else {
            self.width <= width
        }
    }

    fn read_sparse(&mut self, rows: &Rows<'_>) -> bool {
        let mut numbers = 0;
        for row in 0..rows.len() {
            match rows.at(row) {
                Row::Sparse(sparse) => {
                    self.width = self.width.max(sparse.width);
                    numbers += sparse.indices.len();
                }
                Row::Plain(_) | Row::Mixed(..) => return false,
            }
        }
        let mut columns = self.columns.take().unwrap_or_default();
        let before = columns.len();
        columns.clear();
        self.places.clear();
        self.starts.clear();
        self.starts.push(0);
        self.found.clear();
        for row in 0..rows.len() {
            let Row::Sparse(sparse) = rows.at(row) else { return false };
            for &index in sparse.indices {
                let place = *self.found.entry(index).or_insert_with(|| {
                    columns.push(index);
                    columns.len() as u32 - 1
                });
                self.places.push(place);
            }
            // A short batch after a long one: learning its rows otherwise would cost more, as members are copied for that.
            if columns.len() * USES > numbers && columns.len() > before {
                return false;
            }
            self.starts.push(self.places.len());
        }
        self.columns = Some(columns);
        true
    }

    pub fn columns(&self) -> Option<&[u32]> {
        self.columns.as_deref()
    }

    /// One of the rows that were read.
    #[inline]
    pub fn row<'a>(&'a self, rows: &Rows<'a>, row: usize) -> TableRow<'a> {
        let places = match self.columns {
            None => &self.places[..],
            Some(_) => &self.places[self.starts[row]..self.starts[row + 1]],
        };
        let x = match rows.at(row) {
            Row::Plain(x) | Row::Mixed(x, _) => x,
            Row::Sparse(sparse) => sparse.values,
        };
        TableRow { places, x }
    }

    pub fn memory(&self) -> usize {
        let columns = self.columns.as_ref().map_or(0, Vec::capacity);
        4 * (columns + self.places.capacity()) + 8 * self.starts.capacity() + 16 * self.found.capacity()
    }
}

/// The width of dense rows without nominal values, if they have one.
fn dense_width(rows: &Rows<'_>) -> Option<usize> {
    let width = rows.at(0).width();
    (0..rows.len()).all(|row| matches!(rows.at(row), Row::Plain(x) if x.len() == width)).then_some(width)
}
