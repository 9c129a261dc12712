//! Rows of plain numbers with known targets, a few hundred at a time.
//!
//! Most rows of most tables are such. They go to the learner in blocks, so that what surrounds a step
//! (checks, look-ups, calls through a table of functions) is done once for many.

use crate::labels::Labels;
use crate::row::{most, Prediction, Row, RowBuffer, Want};

/// Rows and the codes of their classes; all numbers are finite, all weights above 0.
pub struct ClassBlock<'a> {
    pub values: &'a [f64],
    pub width: usize,
    pub classes: &'a [u32],
    pub weights: Option<&'a [f64]>,
    pub labels: &'a Labels,
}

/// Rows and their numbers.
pub struct NumberBlock<'a> {
    pub values: &'a [f64],
    pub width: usize,
    pub targets: &'a [f64],
    pub weights: Option<&'a [f64]>,
}

#[inline]
fn rows<'a, T: Copy>(
    values: &'a [f64],
    width: usize,
    targets: &'a [T],
    weights: Option<&'a [f64]>,
) -> impl Iterator<Item = (&'a [f64], T, f64)> {
    let weight = move |row: usize| weights.map_or(1.0, |weights| weights[row]);
    values.chunks_exact(width).zip(targets).enumerate().map(move |(row, (x, &y))| (x, y, weight(row)))
}

impl<'a> ClassBlock<'a> {
    #[inline]
    pub fn rows(&self) -> impl Iterator<Item = (&'a [f64], u32, f64)> {
        rows(self.values, self.width, self.classes, self.weights)
    }
}

impl<'a> NumberBlock<'a> {
    #[inline]
    pub fn rows(&self) -> impl Iterator<Item = (&'a [f64], f64, f64)> {
        rows(self.values, self.width, self.targets, self.weights)
    }
}

/// Rows of any form, one after the other.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    One(Row<'a>),
    /// `width` is not 0.
    Plain {
        values: &'a [f64],
        width: usize,
    },
    Kept(&'a [RowBuffer]),
}

impl<'a> Rows<'a> {
    pub fn len(&self) -> usize {
        match self {
            Rows::One(_) => 1,
            Rows::Plain { values, width } => values.len() / width,
            Rows::Kept(rows) => rows.len(),
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
            Rows::Kept(rows) => rows[row].row(),
        }
    }

    /// The rows `from` to `to`.
    pub fn part(&self, from: usize, to: usize) -> Rows<'a> {
        match *self {
            Rows::One(_) if from == to => Rows::Kept(&[]),
            Rows::One(x) => Rows::One(x),
            Rows::Plain { values, width } => Rows::Plain { values: &values[from * width..to * width], width },
            Rows::Kept(rows) => Rows::Kept(&rows[from..to]),
        }
    }

    /// Whether no number is so large that sums of its square could overflow.
    fn are_moderate(&self) -> bool {
        match self {
            Rows::Plain { values, .. } => are_moderate(values),
            rows => (0..rows.len()).all(|row| match rows.at(row) {
                Row::Plain(values) | Row::Mixed(values, _) => are_moderate(values),
                Row::Sparse(sparse) => are_moderate(sparse.values),
            }),
        }
    }
}

/// Sums of weights times squares of such numbers, as many as there may be, are far from the largest number.
pub const MODERATE: f64 = 1e60;

fn are_moderate(numbers: &[f64]) -> bool {
    // NaN is missing; `|` and not `||`, so that it runs in vector registers.
    !numbers.iter().fold(false, |large, number| large | (number.abs() > MODERATE))
}

/// Rows with their targets, for a learner that is one of many: it predicts each row and then learns it as often as
/// its weight says.
pub struct Lesson<'a, T> {
    pub rows: Rows<'a>,
    pub targets: &'a [T],
    /// Of each row; a row of weight 0 is predicted and not learned.
    pub weights: &'a [f64],
    /// How many votes each row has: one for each class code, or one for a number.
    pub stride: usize,
}

impl<'a, T: Target> Lesson<'a, T> {
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// The rows `from` to `to`.
    pub fn part(&self, from: usize, to: usize) -> Lesson<'a, T> {
        Lesson {
            rows: self.rows.part(from, to),
            targets: &self.targets[from..to],
            weights: &self.weights[from..to],
            stride: self.stride,
        }
    }

    /// The same rows with other weights.
    pub fn weighted(&self, weights: &'a [f64]) -> Lesson<'a, T> {
        Lesson { weights, ..*self }
    }

    /// Whether no number in it is so large that sums could overflow: what `Part::never_refuses` asks for.
    pub fn is_moderate(&self) -> bool {
        self.rows.are_moderate()
            && are_moderate(self.weights)
            && self.targets.iter().all(|target| target.is_moderate())
    }
}

/// What a learner is told about a row: a class code or a number.
pub trait Target: Copy + Send + Sync + 'static {
    fn is_moderate(self) -> bool;
}

impl Target for u32 {
    fn is_moderate(self) -> bool {
        true
    }
}

impl Target for f64 {
    fn is_moderate(self) -> bool {
        self.abs() <= MODERATE
    }
}

/// Rows of any form with known classes, for a learner that takes many at once (`Classifier::takes_rows`).
pub struct ClassRows<'a> {
    pub rows: Rows<'a>,
    pub classes: &'a [u32],
    pub weights: Option<&'a [f64]>,
    pub labels: &'a Labels,
}

/// Rows of any form and their numbers.
pub struct NumberRows<'a> {
    pub rows: Rows<'a>,
    pub targets: &'a [f64],
    pub weights: Option<&'a [f64]>,
}

/// What was predicted for each row of a block.
#[derive(Clone, Debug, Default)]
pub struct Predictions {
    pub classes: Vec<Option<u32>>,
    /// By row and class code, if it was wanted; rows without a class hold zeros.
    pub probabilities: Vec<f64>,
    /// How many class codes there are.
    pub stride: usize,
}

impl Predictions {
    pub fn clear(&mut self, labels: &Labels) {
        self.classes.clear();
        self.probabilities.clear();
        self.stride = labels.len();
    }

    #[inline]
    pub fn push(&mut self, prediction: &mut Prediction, labels: &Labels, want: Want) {
        if !labels.complete(prediction.probabilities.len(), want) {
            among_known(prediction, labels, want);
        }
        self.classes.push(prediction.class);
        if want == Want::Probabilities {
            let start = self.probabilities.len();
            self.probabilities.extend_from_slice(&prediction.probabilities);
            self.probabilities.resize(start + self.stride, 0.0);
        }
    }

    /// The probabilities of row `row`; none if they were not wanted.
    #[inline]
    pub fn of(&self, row: usize) -> &[f64] {
        self.probabilities.get(row * self.stride..(row + 1) * self.stride).unwrap_or_default()
    }

    /// Row `row` as a single prediction.
    pub fn get(&self, row: usize, want: Want, out: &mut Prediction) {
        out.class = self.classes[row];
        out.probabilities.clear();
        if want == Want::Probabilities && out.class.is_some() {
            out.probabilities.extend_from_slice(&self.probabilities[row * self.stride..(row + 1) * self.stride]);
        }
    }
}

/// Keep a prediction to the classes that have a label: a learner may have room for one that has not come.
pub fn among_known(prediction: &mut Prediction, labels: &Labels, want: Want) {
    let known = |code: u32| labels.get(code).is_some();
    if want == Want::Probabilities && prediction.class.is_some() {
        let probabilities = &mut prediction.probabilities;
        if probabilities.len() != labels.len() || (0..labels.len()).any(|code| !known(code as u32)) {
            probabilities.resize(labels.len(), 0.0);
            for (code, probability) in probabilities.iter_mut().enumerate() {
                if !known(code as u32) {
                    *probability = 0.0;
                }
            }
            let sum: f64 = probabilities.iter().sum();
            let count = (0..labels.len()).filter(|&code| known(code as u32)).count() as f64;
            for (code, probability) in probabilities.iter_mut().enumerate() {
                *probability = match (known(code as u32), sum > 0.0) {
                    (true, true) => *probability / sum,
                    (true, false) => 1.0 / count,
                    (false, _) => 0.0,
                };
            }
        }
    }
    if prediction.class.is_some_and(|class| !known(class)) {
        prediction.class = if want == Want::Probabilities {
            most(&prediction.probabilities)
        } else {
            (0..labels.len() as u32).find(|&code| known(code))
        };
    }
}
