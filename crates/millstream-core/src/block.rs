//! Rows of plain numbers with known targets, a few hundred at a time.
//!
//! Most rows of most tables are such. They go to the learner in blocks, so that what surrounds a step
//! (checks, look-ups, calls through a table of functions) is done once for many.

use crate::labels::Labels;
use crate::row::{most, Prediction, Want};

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
