//! Rows with their truths and weights, a few hundred at a time.
//!
//! Most rows of most tables are plain numbers with known targets. They go to a learner in batches, so that
//! checks, look-ups and virtual calls are done once for many rows.

use crate::row::{Row, RowBuffer};
use crate::schema::FeatureKind;
use crate::task::Task;

/// Rows of any form, one after the other.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    One(Row<'a>),
    /// `width` is not 0.
    Plain {
        values: &'a [f64],
        width: usize,
    },
    /// Of one width, which is not 0, and some slots are not numbers.
    Mixed {
        values: &'a [f64],
        kinds: &'a [FeatureKind],
    },
    Owned(&'a [RowBuffer]),
}

impl<'a> Rows<'a> {
    pub fn len(&self) -> usize {
        match self {
            Rows::One(_) => 1,
            Rows::Plain { values, width } => values.len() / width,
            Rows::Mixed { values, kinds } => values.len() / kinds.len(),
            Rows::Owned(rows) => rows.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn at(&self, row: usize) -> Row<'a> {
        match *self {
            Rows::One(x) => x,
            Rows::Plain { values, width } => Row::Plain(&values[row * width..(row + 1) * width]),
            Rows::Mixed { values, kinds } => {
                Row::Mixed(&values[row * kinds.len()..(row + 1) * kinds.len()], kinds)
            }
            Rows::Owned(rows) => rows[row].row(),
        }
    }

    /// The rows `from` to `to`.
    pub fn slice(&self, from: usize, to: usize) -> Rows<'a> {
        match *self {
            Rows::One(_) if from == to => Rows::Owned(&[]),
            Rows::One(x) => Rows::One(x),
            Rows::Plain { values, width } => Rows::Plain { values: &values[from * width..to * width], width },
            Rows::Mixed { values, kinds } => {
                Rows::Mixed { values: &values[from * kinds.len()..to * kinds.len()], kinds }
            }
            Rows::Owned(rows) => Rows::Owned(&rows[from..to]),
        }
    }

    /// Whether all numbers are small enough that sums of their squares cannot overflow.
    pub fn are_moderate(&self) -> bool {
        match self {
            Rows::Plain { values, .. } | Rows::Mixed { values, .. } => are_moderate(values),
            rows => (0..rows.len()).all(|row| rows.at(row).is_moderate()),
        }
    }
}

/// Sums of weights times squares of such numbers stay far below the largest number, however many there are.
pub const MODERATE: f64 = 1e60;

pub fn are_moderate(numbers: &[f64]) -> bool {
    // NaN is missing; `|` and not `||`, so that it runs in vector registers.
    !numbers.iter().fold(false, |large, number| large | (number.abs() > MODERATE))
}

impl Row<'_> {
    /// Whether all numbers are small enough that sums of their squares cannot overflow.
    #[inline]
    pub fn is_moderate(&self) -> bool {
        match self {
            Row::Plain(values) | Row::Mixed(values, _) => are_moderate(values),
            Row::Sparse(sparse) => are_moderate(sparse.values),
        }
    }
}

/// Examples: rows, truths and weights. All numbers are finite or missing.
pub struct Batch<'a, T: Task> {
    pub rows: Rows<'a>,
    /// The rows to predict, where they differ from those that are learned: behind a transformer that learns, a row is
    /// predicted as it is transformed before that, and learned as it is transformed afterwards.
    pub asked: Option<Rows<'a>>,
    pub truths: &'a [T::Truth],
    /// One for each row; 1 where there are none. A row of weight 0 is predicted and not learned.
    pub weights: Option<&'a [f64]>,
}

impl<T: Task> Clone for Batch<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Task> Copy for Batch<'_, T> {}

impl<'a, T: Task> Batch<'a, T> {
    pub fn new(rows: Rows<'a>, truths: &'a [T::Truth], weights: Option<&'a [f64]>) -> Self {
        Batch { rows, asked: None, truths, weights }
    }

    pub fn len(&self) -> usize {
        self.truths.len()
    }

    pub fn is_empty(&self) -> bool {
        self.truths.is_empty()
    }

    #[inline(always)]
    pub fn weight(&self, row: usize) -> f64 {
        match self.weights {
            Some(weights) => weights[row],
            None => 1.0,
        }
    }

    /// Plain rows with truths and weights, where rows are predicted as they are learned; None for other rows.
    #[inline]
    pub fn plain(&self) -> Option<impl Iterator<Item = (&'a [f64], T::Truth, f64)> + use<'a, T>> {
        match (self.rows, self.asked, self.weights) {
            (Rows::Plain { values, width }, None, weights) => {
                let weight = move |row: usize| weights.map_or(1.0, |weights| weights[row]);
                let rows = values.chunks_exact(width).zip(self.truths).enumerate();
                Some(rows.map(move |(row, (x, &y))| (x, y, weight(row))))
            }
            _ => None,
        }
    }

    /// A row as it is to be predicted.
    #[inline]
    pub fn asked_at(&self, row: usize) -> Row<'a> {
        self.asked.unwrap_or(self.rows).at(row)
    }

    /// The rows `from` to `to`.
    pub fn slice(&self, from: usize, to: usize) -> Batch<'a, T> {
        Batch {
            rows: self.rows.slice(from, to),
            asked: self.asked.map(|asked| asked.slice(from, to)),
            truths: &self.truths[from..to],
            weights: self.weights.map(|weights| &weights[from..to]),
        }
    }

    /// A batch of the same rows with other weights.
    pub fn weighted(&self, weights: &'a [f64]) -> Batch<'a, T> {
        Batch { weights: Some(weights), ..*self }
    }

    /// Whether all numbers are moderate, as `Part::infallible` requires.
    pub fn is_moderate(&self) -> bool {
        self.rows.are_moderate()
            && self.weights.is_none_or(are_moderate)
            && self.truths.iter().all(|&truth| T::is_moderate(truth))
    }
}

/// The votes of an ensemble member.
pub struct Votes<'a> {
    /// On each row as it is learned, before that.
    pub learned: &'a mut [f64],
    /// On each row as it is asked for; empty where that is the same.
    pub asked: &'a mut [f64],
    /// The number of votes of a row.
    pub stride: usize,
}

impl<'a> Votes<'a> {
    /// Room for the rows `from` to `to` in lists of all rows.
    pub fn between(learned: &'a mut [f64], asked: &'a mut [f64], stride: usize, from: usize, to: usize) -> Self {
        let asked = if asked.is_empty() { asked } else { &mut asked[from * stride..to * stride] };
        Votes { learned: &mut learned[from * stride..to * stride], asked, stride }
    }
}
