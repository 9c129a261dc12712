//! Rows that wait for the next update of a decomposition. They are part of the state, so that an update does not
//! depend on how a stream is divided into calls.

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, FaultKind, Result, Shown};
use crate::held::state::require;
use crate::linear_model::Coordinates;
use crate::row::{Row, Value};

pub use crate::numeric::magnitude::LARGEST;

/// How a method reads rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// All coordinates, with NaN for a missing number.
    Centred,
    /// All coordinates, with 0 for a missing number.
    Dense,
    /// The coordinates that are not 0.
    Sparse,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WaitingRows {
    weights: Vec<f64>,
    /// The end of each row.
    ends: Vec<usize>,
    /// Rows end where the coordinates ended when they came.
    values: Vec<f64>,
    /// Of each value; empty where rows have all coordinates.
    indices: Vec<u32>,
}

impl WaitingRows {
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    pub fn weight(&self, row: usize) -> f64 {
        self.weights[row]
    }

    pub fn total_weight(&self) -> f64 {
        self.weights.iter().sum()
    }

    fn start(&self, row: usize) -> usize {
        row.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    pub fn values(&self, row: usize) -> &[f64] {
        &self.values[self.start(row)..self.ends[row]]
    }

    pub fn indices(&self, row: usize) -> &[u32] {
        &self.indices[self.start(row)..self.ends[row]]
    }

    pub fn push(&mut self, coordinates: &Coordinates, x: Row<'_>, w: f64, layout: Layout) {
        gather(coordinates, x, coordinates.width(), layout, &mut self.indices, &mut self.values);
        self.ends.push(self.values.len());
        self.weights.push(w);
    }

    /// Remove the last row.
    pub fn pop(&mut self) {
        let start = self.len().checked_sub(1).map_or(0, |last| self.start(last));
        self.weights.pop();
        self.ends.pop();
        self.values.truncate(start);
        self.indices.truncate(start);
    }

    pub fn clear(&mut self) {
        self.weights.clear();
        self.ends.clear();
        self.values.clear();
        self.indices.clear();
    }

    /// All rows one after the other, `width` numbers each, with 0 for coordinates that came later.
    pub fn write_dense(&self, width: usize, out: &mut Vec<f64>) {
        for row in 0..self.len() {
            let end = out.len() + width;
            out.extend_from_slice(self.values(row));
            out.resize(end, 0.0);
        }
    }

    pub fn validate(&self, who: &str, width: usize, layout: Layout, not_negative: bool) -> Result<()> {
        let sized = self.ends.len() == self.weights.len()
            && self.ends.is_sorted()
            && self.ends.last().copied().unwrap_or(0) == self.values.len();
        require(who, sized, "waiting rows of the wrong length")?;
        let positive = self.weights.iter().all(|&w| w > 0.0 && w < f64::INFINITY);
        let missing = layout == Layout::Centred;
        let least = if not_negative { 0.0 } else { -LARGEST };
        let held = |x: &f64| (least..=LARGEST).contains(x) || (missing && x.is_nan());
        require(who, positive && self.values.iter().all(held), "a waiting row is out of range")?;
        let fitting = match layout {
            Layout::Sparse => {
                self.indices.len() == self.values.len() && self.indices.iter().all(|&i| (i as usize) < width)
            }
            Layout::Centred | Layout::Dense => {
                self.indices.is_empty() && (0..self.len()).all(|row| self.values(row).len() <= width)
            }
        };
        require(who, fitting, "a waiting row has unknown coordinates")
    }

    pub fn memory(&self) -> usize {
        8 * (self.weights.capacity() + self.ends.capacity() + self.values.capacity()) + 4 * self.indices.capacity()
    }
}

/// Append the first `width` coordinates of a row to `values`, or those that are not 0 with their `indices`. A
/// nominal value is 1 in its coordinate.
pub fn gather(
    coordinates: &Coordinates,
    x: Row<'_>,
    width: usize,
    layout: Layout,
    indices: &mut Vec<u32>,
    values: &mut Vec<f64>,
) {
    if layout == Layout::Sparse {
        x.each(|slot, value| {
            let number = match value {
                Value::Number(number) => number,
                Value::Nominal(_) => 1.0,
            };
            if let Some(index) = coordinates.of(slot, value).filter(|&i| (i as usize) < width && number != 0.0) {
                indices.push(index);
                values.push(number);
            }
        });
        return;
    }
    let missing = if layout == Layout::Centred { f64::NAN } else { 0.0 };
    let start = values.len();
    match x {
        Row::Plain(given) if !coordinates.mapped() => {
            let n = given.len().min(width);
            values.extend_from_slice(&given[..n]);
            values.resize(start + width, missing);
            return;
        }
        Row::Sparse(sparse) if !coordinates.mapped() => {
            values.resize(start + sparse.width.min(width), 0.0);
            values.resize(start + width, missing);
        }
        _ => {
            values.resize(start + width, 0.0);
            coordinates.fill_numbers(&mut values[start..], missing);
        }
    }
    x.each(|slot, value| {
        if let Some(index) = coordinates.of(slot, value).filter(|&index| (index as usize) < width) {
            values[start + index as usize] = match value {
                Value::Number(number) => number,
                Value::Nominal(_) => 1.0,
            };
        }
    });
}

/// Refuse numbers that are too large, and negative ones where they have no meaning.
#[inline]
pub fn check_values(who: &str, values: &[f64], not_negative: bool) -> Result<()> {
    let least = if not_negative { 0.0 } else { -LARGEST };
    // No early exit, so that it runs in vector registers. NaN is neither.
    let bad = values.iter().fold(false, |bad, &x| bad | (x > LARGEST) | (x < least));
    if bad {
        return Err(out_of_range(who, values, least));
    }
    Ok(())
}

#[cold]
fn out_of_range(who: &str, values: &[f64], least: f64) -> Fault {
    let bad = values.iter().find(|&&x| x > LARGEST || x < least).copied().unwrap_or(0.0);
    let (kind, must_be) = match bad < 0.0 && least == 0.0 {
        true => (FaultKind::Value, ">= 0"),
        false => (FaultKind::Overflow, "in [-1e100, 1e100]"),
    };
    Fault::new(kind, format!("{who}: numbers must be {must_be}, got {}", Shown(bad)))
}
