//! Weights stored next to their memory: one cell per coordinate, the weight first, so that a sparse step of a wide model
//! needs one fetch per feature.

use prefetch_index::prefetch_index;
use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;
use crate::optim::Features;
use crate::row::all_finite;

#[derive(Clone, Debug)]
pub struct CoordinateCells<const N: usize> {
    cells: Vec<[f64; N]>,
    /// Of the intercept.
    pub constant: [f64; N],
    undo: Undo<N>,
}

/// Undo information: restores the state at `savepoint`.
#[derive(Clone, Debug, Default)]
enum Undo<const N: usize> {
    #[default]
    None,
    /// The values that sparse steps have overwritten, oldest first, how many there were, and the constant.
    Listed { width: usize, constant: [f64; N], cells: Vec<(u32, [f64; N])> },
    /// A copy of everything.
    Copy { cells: Vec<[f64; N]>, constant: [f64; N] },
}

/// From this many cells on, they are asked for before they are needed.
const WIDE: usize = 1 << 14;

/// One in this many cells may be listed as overwritten; beyond that a copy of all is faster.
const LISTED: usize = 16;

/// The saved form: the numbers of the cells in order.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Cells")]
struct Saved {
    cells: Vec<f64>,
    constant: Vec<f64>,
}

impl<const N: usize> Serialize for CoordinateCells<N> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let saved = Saved { cells: self.cells.as_flattened().to_vec(), constant: self.constant.to_vec() };
        saved.serialize(serializer)
    }
}

impl<'de, const N: usize> Deserialize<'de> for CoordinateCells<N> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let saved = Saved::deserialize(deserializer)?;
        let odd = || serde::de::Error::custom("weights and their memory differ in number");
        let (cells, rest) = saved.cells.as_chunks::<N>();
        if !rest.is_empty() {
            return Err(odd());
        }
        Ok(CoordinateCells {
            cells: cells.to_vec(),
            constant: saved.constant.try_into().map_err(|_| odd())?,
            undo: Undo::None,
        })
    }
}

impl<const N: usize> CoordinateCells<N> {
    pub fn new(constant: [f64; N]) -> Self {
        CoordinateCells { cells: Vec::new(), constant, undo: Undo::None }
    }

    pub fn grow(&mut self, width: usize, fresh: [f64; N]) {
        self.cells.resize(width.max(self.cells.len()), fresh);
    }

    pub fn shrink(&mut self, width: usize) {
        self.cells.truncate(width);
    }

    /// Ask for cells, unless all are in a cache: a wide model waits for each of them otherwise.
    #[inline]
    pub fn prefetch(&self, indices: &[u32]) {
        if self.cells.len() >= WIDE {
            for &index in indices {
                prefetch_index(&self.cells[..], index as usize);
            }
        }
    }

    pub fn weight(&self, index: usize) -> f64 {
        self.cells.get(index).map_or(0.0, |cell| cell[0])
    }

    /// Σ wᵢ xᵢ and the constant; coordinates beyond the end count as 0.
    #[inline]
    pub fn score(&self, features: Features<'_>) -> f64 {
        let sum: f64 = match features {
            Features::Dense(x) => self.cells.iter().zip(x).map(|(cell, x)| cell[0] * x).sum(),
            Features::Sparse(indices, x) => {
                indices.iter().zip(x).map(|(&index, x)| self.weight(index as usize) * x).sum()
            }
        };
        sum + self.constant[0]
    }

    /// Σ wᵢ xᵢ over the coordinates from `first` on, in four sums that do not wait for each other.
    #[inline]
    pub fn run(&self, first: usize, x: &[f64]) -> f64 {
        let cells = self.cells.get(first..).unwrap_or_default();
        let len = cells.len().min(x.len());
        let (cells, last_cells) = cells[..len].as_chunks::<4>();
        let (x, last_x) = x[..len].as_chunks::<4>();
        let mut sums = [0.0; 4];
        for (cells, x) in cells.iter().zip(x) {
            sums[0] += cells[0][0] * x[0];
            sums[1] += cells[1][0] * x[1];
            sums[2] += cells[2][0] * x[2];
            sums[3] += cells[3][0] * x[3];
        }
        let rest: f64 = last_cells.iter().zip(last_x).map(|(cell, x)| cell[0] * x).sum();
        (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
    }

    /// Write the cells to `next`, with `step` applied to those whose feature is not 0.
    #[inline]
    pub fn propose(
        &self,
        features: Features<'_>,
        next: &mut Vec<[f64; N]>,
        mut step: impl FnMut(&mut [f64; N], f64),
    ) {
        next.clear();
        match features {
            Features::Dense(_) => next.extend_from_slice(&self.cells),
            Features::Sparse(indices, _) => next.extend(indices.iter().map(|&index| self.cells[index as usize])),
        }
        let (Features::Dense(x) | Features::Sparse(_, x)) = features;
        for (cell, &x) in next.iter_mut().zip(x) {
            if x != 0.0 {
                step(cell, x);
            }
        }
    }

    /// Commit a proposal. `features` are those it was made for.
    #[inline]
    pub fn commit(&mut self, features: Features<'_>, next: &mut Vec<[f64; N]>, constant: [f64; N]) {
        if !matches!(self.undo, Undo::None) {
            self.note(features);
        }
        match features {
            Features::Dense(_) => std::mem::swap(&mut self.cells, next),
            Features::Sparse(indices, _) => {
                for (&index, cell) in indices.iter().zip(next.iter()) {
                    self.cells[index as usize] = *cell;
                }
            }
        }
        self.constant = constant;
    }

    pub fn cell(&self, index: usize) -> [f64; N] {
        self.cells[index]
    }

    /// Overwrite the cells of some columns, or all, and the constant.
    pub fn overwrite(
        &mut self,
        columns: Option<&[u32]>,
        cells: impl Iterator<Item = [f64; N]>,
        constant: [f64; N],
    ) {
        if !matches!(self.undo, Undo::None) {
            self.note(columns.map_or(Features::Dense(&[]), |columns| Features::Sparse(columns, &[])));
        }
        match columns {
            None => self.cells.iter_mut().zip(cells).for_each(|(cell, next)| *cell = next),
            Some(columns) => {
                columns.iter().zip(cells).for_each(|(&column, next)| self.cells[column as usize] = next)
            }
        }
        self.constant = constant;
    }

    /// Record what a step of these features is about to overwrite.
    fn note(&mut self, features: Features<'_>) {
        let Undo::Listed { cells: listed, .. } = &mut self.undo else { return };
        if let Features::Sparse(indices, _) = features {
            if listed.len() + indices.len() <= self.cells.len() / LISTED {
                listed.extend(indices.iter().map(|&index| (index, self.cells[index as usize])));
                return;
            }
        }
        let undo = std::mem::take(&mut self.undo);
        let mut before = CoordinateCells { cells: self.cells.clone(), constant: self.constant, undo };
        before.rollback();
        self.undo = Undo::Copy { cells: before.cells, constant: before.constant };
    }

    /// See `Part::savepoint`; likewise `rollback` and `commit`.
    pub fn savepoint(&mut self) {
        self.undo = Undo::Listed { width: self.cells.len(), constant: self.constant, cells: Vec::new() };
    }

    pub fn rollback(&mut self) {
        match std::mem::take(&mut self.undo) {
            Undo::None => {}
            Undo::Copy { cells, constant } => (self.cells, self.constant) = (cells, constant),
            Undo::Listed { width, constant, cells } => {
                self.cells.truncate(width);
                self.constant = constant;
                for (index, before) in cells.into_iter().rev() {
                    if let Some(cell) = self.cells.get_mut(index as usize) {
                        *cell = before;
                    }
                }
            }
        }
    }

    pub fn discard_savepoint(&mut self) {
        self.undo = Undo::None;
    }

    /// Reject, after loading, a state that could not have been learned; `sound` says what a cell must be.
    pub fn validate(&self, who: &str, width: usize, sound: impl Fn(&[f64; N]) -> bool) -> Result<()> {
        require(who, self.cells.len() == width, "weights and coordinates differ in number")?;
        let finite = all_finite(self.cells.as_flattened()) && all_finite(&self.constant);
        require(who, finite, "a number is not finite")?;
        require(
            who,
            self.cells.iter().all(&sound) && sound(&self.constant),
            "the memory of a weight is out of range",
        )
    }

    pub fn memory(&self) -> usize {
        self.cells.capacity() * 8 * N
    }
}
