//! The role of metrics, which score predictions.

use crate::fault::{Fault, Result};
use crate::labels::Labels;
use crate::part::Part;
use crate::row::Want;
use crate::task::ClassPrediction;

/// The outcome of one prediction, as a metric receives it. Its size is fixed, so that a window is a ring buffer.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Outcome {
    Class(ClassOutcome),
    Number { truth: f64, predicted: f64 },
}

#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ClassOutcome {
    pub truth: u32,
    pub predicted: Option<u32>,
    /// The previous label, for metrics that compare with persistence.
    pub previous: Option<u32>,
    /// The predicted probability of the truth; NaN if the model gave none.
    pub truth_probability: f64,
    /// Σ over classes of (probability − truth)².
    pub squared_error: f64,
    /// The predicted probability of the positive class, if that is fixed (`Metric::positive`).
    pub positive_probability: f64,
    /// The predicted probability of the other class, if there are two; NaN if the model gave none, and in windows
    /// saved by 0.1.0.
    #[serde(default = "not_a_number")]
    pub other_probability: f64,
}

fn not_a_number() -> f64 {
    f64::NAN
}

impl ClassOutcome {
    /// The outcome of a prediction. All probabilities are NaN if the prediction has none.
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

/// Squares of numbers up to this, and their sums, do not overflow.
pub const LARGEST_NUMBER: f64 = 1e100;

/// A metric is a function of weighted sums. A window removes an outcome by a negative weight, and fading gives
/// newer outcomes larger weights, so each metric has a single implementation for the whole stream, windows and
/// fading.
pub trait Metric: Part {
    /// Add an outcome. Weight 0 changes nothing; a negative weight removes an outcome that was added before.
    fn update(&mut self, outcome: &Outcome, w: f64) -> Result<()>;
    /// Whether a block of outcomes of weight 1, with class codes below `classes` or numbers up to
    /// `LARGEST_NUMBER`, cannot fail: then `update_infallible` may be called.
    fn infallible_for(&self, _classes: usize) -> bool {
        false
    }
    /// Call `update` with each outcome in order. The default is compiled for each metric, which saves a virtual
    /// call per outcome.
    fn update_infallible(&mut self, outcomes: &[(Outcome, f64)]) -> Result<()> {
        outcomes.iter().try_for_each(|(outcome, w)| self.update(outcome, *w))
    }
    /// The current value, which is finite even before the first outcome.
    fn get(&self) -> f64;
    /// `get` with the class of code `positive` as the positive one.
    fn get_for(&self, _positive: u32) -> f64 {
        self.get()
    }
    fn bigger_is_better(&self) -> bool;
    /// Whether the metric needs class probabilities or only the class.
    fn want(&self) -> Want {
        Want::Class
    }
    /// Whether the metric scores numbers; otherwise it scores classes.
    fn takes_numbers(&self) -> bool {
        false
    }
    /// Whether the metric scores clusters: it compares them with classes whatever their names, or takes the distances of rows
    /// to the nearest two clusters as numbers.
    fn scores_clusters(&self) -> bool {
        false
    }
    /// Set the labels of the class codes. Called after new labels and after `load`.
    fn set_labels(&mut self, _labels: &Labels) {}
    /// The class code whose probability is `positive_probability`. None if the positive class is not fixed; it is
    /// then an argument of `get_for`.
    fn positive(&self) -> Option<u32> {
        None
    }
    /// The weights of true labels by code, as far as they follow from the sums: for files of 0.1.0, which lack
    /// them.
    fn truth_weights(&self) -> Vec<f64> {
        Vec::new()
    }
    /// Whether negative weights are supported. Metrics that depend on the order of outcomes do not support them.
    fn invertible(&self) -> bool {
        true
    }
    /// Multiply all weights so far by `factor`, which does not change the value.
    fn scale(&mut self, factor: f64);
    /// Bound on the error of `get_for`, for metrics that are approximate to bound their memory.
    fn error(&self, _positive: u32) -> Option<f64> {
        None
    }
    /// Merge `other`, the saved state of the same metric of another stream, whose class codes are `codes` here. The sign
    /// is -1 for a part that both metrics have in common.
    fn merge(&mut self, _other: &[u8], _codes: &[u32], _sign: f64) -> Result<()> {
        Err(Fault::value("cannot be merged"))
    }
    /// Restart.
    fn reset(&mut self);
    fn duplicate(&self) -> Box<dyn Metric>;
}
