//! A metric summarises how good predictions are.

use crate::fault::{Fault, Result};
use crate::labels::Labels;
use crate::part::Part;
use crate::row::Want;
use crate::task::ClassPrediction;

/// What a metric is told of one prediction: small, fixed in size, so that a window of them is a ring.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Outcome {
    Class(ClassOutcome),
    Number { truth: f64, predicted: f64 },
}

#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ClassOutcome {
    pub truth: u32,
    pub predicted: Option<u32>,
    /// The label before this one, for metrics that compare with persistence.
    pub previous: Option<u32>,
    /// The probability that was given to the truth; NaN if the model gave none.
    pub truth_probability: f64,
    /// The sum over classes of (probability - truth)², which is the Brier score of this prediction.
    pub squared_error: f64,
    /// The probability that was given to the positive class, where that is fixed (`Metric::positive`).
    pub positive_probability: f64,
    /// The probability that was given to the class that is not the truth, where there are two; NaN if the model
    /// gave none, and in windows that were saved by 0.1.0.
    #[serde(default = "not_a_number")]
    pub other_probability: f64,
}

fn not_a_number() -> f64 {
    f64::NAN
}

impl ClassOutcome {
    /// What a prediction by class code came to. A prediction without probabilities has NaN for all of them.
    #[inline]
    pub fn new(truth: u32, prediction: &ClassPrediction, previous: Option<u32>, positive: u32) -> Self {
        Self::of(truth, prediction.class, &prediction.probabilities, previous, positive)
    }

    #[inline]
    pub fn of(
        truth: u32,
        predicted: Option<u32>,
        probabilities: &[f64],
        previous: Option<u32>,
        positive: u32,
    ) -> Self {
        let mut outcome = ClassOutcome {
            truth,
            predicted,
            previous,
            truth_probability: f64::NAN,
            squared_error: f64::NAN,
            positive_probability: f64::NAN,
            other_probability: f64::NAN,
        };
        if probabilities.is_empty() || predicted.is_none() {
            return outcome;
        }
        let of = |code: u32| probabilities.get(code as usize).copied().unwrap_or(0.0);
        let squares: f64 = probabilities.iter().map(|p| p * p).sum();
        outcome.truth_probability = of(truth);
        outcome.positive_probability = of(positive);
        outcome.other_probability = if truth < 2 { of(1 - truth) } else { 0.0 };
        outcome.squared_error = (squares - 2.0 * of(truth) + 1.0).max(0.0);
        outcome
    }
}

/// The square of such a number, and a sum of many, is far from the largest.
pub const LARGEST_NUMBER: f64 = 1e100;

/// A metric is a function of weighted sums: a window takes an outcome back by a negative weight, and fading
/// gives newer outcomes larger weights. So each is written once and is plain, rolling or fading.
pub trait Metric: Part {
    /// Weight 0 changes nothing; a negative weight takes back an outcome that was told before.
    fn update(&mut self, outcome: &Outcome, w: f64) -> Result<()>;
    /// Whether it is sure to take a block of outcomes of weight 1, with class codes below `classes` or numbers up to
    /// `LARGEST_NUMBER`: then they may come by `update_infallible`.
    fn infallible_for(&self, _classes: usize) -> bool {
        false
    }
    /// `update` with each, in order, where it is sure. Written here so that it is compiled for each metric, without
    /// a call through a table of functions for each outcome.
    fn update_infallible(&mut self, outcomes: &[(Outcome, f64)]) -> Result<()> {
        outcomes.iter().try_for_each(|(outcome, w)| self.update(outcome, *w))
    }
    /// Finite, also before anything was told.
    fn get(&self) -> f64;
    /// `get` where the class of code `positive` is the positive one.
    fn get_for(&self, _positive: u32) -> f64 {
        self.get()
    }
    fn bigger_is_better(&self) -> bool;
    /// Whether class probabilities are needed, or the class is enough.
    fn want(&self) -> Want {
        Want::Class
    }
    /// Regression metrics take numbers, the others class codes.
    fn takes_numbers(&self) -> bool {
        false
    }
    /// Receive the labels behind the codes. Called when there are new ones, and after `load`.
    fn set_labels(&mut self, _labels: &Labels) {}
    /// The code whose probability goes into `positive_probability`. None where the positive class is not fixed: it
    /// is then given to `get_for`.
    fn positive(&self) -> Option<u32> {
        None
    }
    /// The weight of true labels by code, as far as the sums tell: for files of 0.1.0, which do not have it.
    fn truth_weights(&self) -> Vec<f64> {
        Vec::new()
    }
    /// Whether negative weights are understood; wrappers that keep an order of their own do not.
    fn invertible(&self) -> bool {
        true
    }
    /// Multiply all weights so far, which leaves the value as it is.
    fn scale(&mut self, factor: f64);
    /// How far `get_for` may be from the exact value, where memory is bounded by giving up exactness.
    fn error(&self, _positive: u32) -> Option<f64> {
        None
    }
    /// Fold in `other`, the same metric of another part of the stream, given as its saved state.
    fn merge(&mut self, _other: &[u8]) -> Result<()> {
        Err(Fault::value("cannot be merged exactly"))
    }
    /// Start again.
    fn reset(&mut self);
    fn duplicate(&self) -> Box<dyn Metric>;
}
