//! Sums of weights by row and class, and their savepoint.
//!
//! The sums of a row lie side by side, because a prediction reads those of all classes. A row is a word, a category, or
//! whatever else the caller counts.

use crate::row::all_finite;

/// One in this many cells may be listed as overwritten; beyond that a copy of all is faster.
const LISTED: usize = 16;

#[derive(Clone, Debug, Default)]
pub struct CountTable {
    classes: usize,
    /// Room for classes in a row.
    stride: usize,
    cells: Vec<f64>,
    rows: usize,
    undo: Undo,
}

/// Undo information: restores the table at `savepoint`.
#[derive(Clone, Debug, Default)]
enum Undo {
    #[default]
    None,
    /// Row, class and previous value of overwritten cells, oldest first.
    Listed {
        classes: usize,
        rows: usize,
        cells: Vec<(u32, u32, f64)>,
    },
    Copy(Box<CountTable>),
}

fn stride_for(classes: usize) -> usize {
    classes.next_power_of_two()
}

impl CountTable {
    /// The table of these cells, row by row; their number is a multiple of `classes`.
    pub fn restored(cells: &[f64], classes: usize) -> Self {
        let rows = cells.len().checked_div(classes).unwrap_or(0);
        let mut table = CountTable { classes, stride: classes, cells: cells.to_vec(), rows, undo: Undo::None };
        table.set_stride(stride_for(classes));
        table
    }

    pub fn saved(&self) -> Vec<f64> {
        (0..self.rows).flat_map(|row| self.row(row as u32)).copied().collect()
    }

    pub fn classes(&self) -> usize {
        self.classes
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The sums of a row by class code.
    #[inline(always)]
    pub fn row(&self, row: u32) -> &[f64] {
        let start = row as usize * self.stride;
        &self.cells[start..start + self.classes]
    }

    pub fn grow_classes(&mut self, classes: usize) {
        if classes > self.classes {
            self.classes = classes;
            if classes > self.stride {
                self.set_stride(stride_for(classes));
            }
        }
    }

    fn set_stride(&mut self, stride: usize) {
        if stride == self.stride {
            return;
        }
        let kept = stride.min(self.stride);
        let mut cells = vec![0.0; self.rows * stride];
        if kept > 0 {
            for (to, from) in cells.chunks_exact_mut(stride).zip(self.cells.chunks_exact(self.stride)) {
                to[..kept].copy_from_slice(&from[..kept]);
            }
        }
        (self.cells, self.stride) = (cells, stride);
    }

    /// Add a row of zeros; there must be a class.
    pub fn add_row(&mut self) -> u32 {
        self.rows += 1;
        self.cells.resize(self.rows * self.stride, 0.0);
        self.rows as u32 - 1
    }

    /// Add to a cell, and return its value before.
    #[inline]
    pub fn add(&mut self, row: u32, class: usize, amount: f64) -> f64 {
        if matches!(self.undo, Undo::Listed { .. }) {
            self.note(row, class);
        }
        let cell = &mut self.cells[row as usize * self.stride + class];
        let before = *cell;
        *cell = before + amount;
        before
    }

    fn note(&mut self, row: u32, class: usize) {
        let before = self.cells[row as usize * self.stride + class];
        let most = self.cells.len() / LISTED;
        let Undo::Listed { rows, cells, .. } = &mut self.undo else { return };
        if row as usize >= *rows {
            return;
        }
        if cells.len() < most {
            cells.push((row, class as u32, before));
            return;
        }
        let undo = std::mem::take(&mut self.undo);
        let mut copy = Box::new(self.clone());
        copy.undo = undo;
        copy.rollback();
        self.undo = Undo::Copy(copy);
    }

    /// From now on, record overwritten cells.
    pub fn savepoint(&mut self) {
        self.undo = Undo::Listed { classes: self.classes, rows: self.rows, cells: Vec::new() };
    }

    pub fn commit(&mut self) {
        self.undo = Undo::None;
    }

    /// Restore the table at `savepoint`.
    pub fn rollback(&mut self) {
        match std::mem::take(&mut self.undo) {
            Undo::None => {}
            Undo::Copy(before) => *self = *before,
            Undo::Listed { classes, rows, cells } => {
                for (row, class, before) in cells.into_iter().rev() {
                    self.cells[row as usize * self.stride + class as usize] = before;
                }
                self.rows = rows;
                self.cells.truncate(rows * self.stride);
                self.classes = classes;
                self.set_stride(stride_for(classes));
            }
        }
    }

    pub fn is_sound(cells: &[f64]) -> bool {
        all_finite(cells) && cells.iter().all(|&cell| cell >= 0.0)
    }

    /// Counted from what is there, so that it is the same after loading.
    pub fn memory(&self) -> usize {
        8 * self.cells.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_savepoint_restores_cells_rows_and_classes() {
        // Few rows are copied, many are listed.
        for rows in [2, 200] {
            let mut table = CountTable::default();
            table.grow_classes(2);
            (0..rows).for_each(|row| assert_eq!(table.add_row() as usize, row));
            table.add(1, 1, 2.5);
            let before = table.saved();
            table.savepoint();
            assert_eq!(table.add(1, 1, 1.0), 2.5);
            assert_eq!(table.add(1, 1, 1.0), 3.5);
            table.grow_classes(5);
            table.add(1, 4, 7.0);
            let row = table.add_row();
            table.add(row, 0, 1.0);
            table.add(0, 0, 1.0);
            assert_eq!(table.row(1), [0.0, 4.5, 0.0, 0.0, 7.0]);
            table.rollback();
            assert_eq!((table.saved(), table.rows(), table.classes(), table.stride), (before, rows, 2, 2));
            table.grow_classes(3);
            assert_eq!(table.row(1), [0.0, 2.5, 0.0]);
        }
    }
}
