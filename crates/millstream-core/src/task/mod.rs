//! Tasks: what a learner learns from and what it predicts.
//!
//! Pipelines, ensembles, the run loop and evaluation are written over a `Task` and compiled for each.

use crate::batch::MODERATE;
use crate::declaration::{Built, Role};
use crate::fault::{Fault, Result};
use crate::labels::{KnownClasses, Label, Labels};
use crate::learner::Learner;
use crate::part::Abilities;
use crate::row::{bounded, most, Scratch, Want};

/// The items of a `Task` whose prediction is one number.
macro_rules! number_predictions {
    () => {
        type Prediction = f64;
        type Predictions = Vec<f64>;
        const ERROR_RATE: bool = false;

        #[inline(always)]
        fn take(_scratch: &mut Scratch) -> f64 {
            0.0
        }

        #[inline(always)]
        fn give(_prediction: f64, _scratch: &mut Scratch) {}

        #[inline(always)]
        fn keep_known(_prediction: &mut f64, _known: KnownClasses, _want: Want) {}

        fn clear(predictions: &mut Vec<f64>, _known: KnownClasses) {
            predictions.clear();
        }

        #[inline(always)]
        fn push(prediction: &mut f64, _want: Want, predictions: &mut Vec<f64>) {
            predictions.push(*prediction);
        }

        #[inline]
        fn get(predictions: &Vec<f64>, row: usize, _want: Want, out: &mut f64) {
            *out = predictions[row];
        }

        #[inline]
        fn error_at(predictions: &Vec<f64>, row: usize, truth: Self::Truth) -> Option<f64> {
            Self::error(&predictions[row], truth)
        }

        fn are_complete(_predictions: &Vec<f64>) -> bool {
            true
        }

        fn count(predictions: &Vec<f64>) -> usize {
            predictions.len()
        }

        fn truncate(predictions: &mut Vec<f64>, rows: usize) {
            predictions.truncate(rows);
        }

        fn votes_per_row(_classes: usize) -> usize {
            1
        }

        #[inline(always)]
        fn vote(prediction: &f64, votes: &mut [f64]) {
            votes[0] = *prediction;
        }

        #[inline]
        fn vote_error(votes: &[f64], truth: Self::Truth) -> Option<f64> {
            Self::error(&votes[0], truth)
        }

        fn prediction(answer: &mut Answer) -> &mut f64 {
            &mut answer.number
        }

        fn predictions(answers: &mut Answers) -> &mut Vec<f64> {
            &mut answers.numbers
        }
    };
}

/// The items of a `Task` without a truth.
macro_rules! no_truth {
    () => {
        fn check(_target: Target<'_>, _labels: &Labels, _abilities: &Abilities) -> Result<()> {
            Ok(())
        }

        fn admit(_target: Target<'_>, _labels: &mut Labels) {}

        #[inline]
        fn known(_target: Target<'_>, _labels: &Labels) -> Option<()> {
            Some(())
        }

        fn known_truths<'a>(
            _targets: Targets<'a>,
            from: usize,
            to: usize,
            _labels: &Labels,
            truths: &'a mut Truths,
        ) -> &'a [()] {
            truths.none.resize(to - from, ());
            &truths.none
        }

        fn truth(_truth: ()) -> Truth {
            Truth::None
        }

        fn is_moderate(_truth: ()) -> bool {
            true
        }
    };
}

mod anomalies;
mod classes;
mod clusters;
mod numbers;

pub use anomalies::Anomalies;
pub use classes::{keep_known, ClassPrediction, ClassPredictions, Classes};
pub use clusters::{ClusterPrediction, Clusters};
pub use numbers::Numbers;

/// The target of an example, as it arrives.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    None,
    Class(&'a Label),
    Number(f64),
}

/// The target of an example after admission, in the form that transformers receive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Truth {
    None,
    Class(u32),
    Number(f64),
}

/// The targets of a table.
#[derive(Clone, Copy)]
pub enum Targets<'a> {
    None,
    Numbers(&'a [f64]),
    /// A label for each row, by its index in `distinct`; an index beyond the end is a missing label.
    Classes {
        distinct: &'a [Label],
        indices: &'a [u32],
    },
}

impl<'a> Targets<'a> {
    pub fn at(&self, row: usize) -> Result<Target<'a>> {
        match *self {
            Targets::None => Ok(Target::None),
            Targets::Numbers(numbers) => Ok(Target::Number(numbers[row])),
            Targets::Classes { distinct, indices } => match distinct.get(indices[row] as usize) {
                Some(label) => Ok(Target::Class(label)),
                None => Err(Fault::value("the label is missing")),
            },
        }
    }
}

/// The prediction of a model of any task. Owned and reused by the caller.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub class: ClassPrediction,
    pub number: f64,
    pub cluster: ClusterPrediction,
}

/// The predictions of a model of any task for many rows.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    pub classes: ClassPredictions,
    pub numbers: Vec<f64>,
    pub clusters: Vec<ClusterPrediction>,
}

/// Predictions with their truths.
pub enum Outcomes<'a> {
    Classes {
        truths: &'a [u32],
        predictions: &'a ClassPredictions,
    },
    Numbers {
        truths: &'a [f64],
        predictions: &'a [f64],
    },
    /// Of an anomaly detector, which learns without truths.
    Scores {
        scores: &'a [f64],
    },
    /// Of a clusterer, which learns without truths.
    Clusters {
        clusters: &'a [ClusterPrediction],
    },
}

/// Truths of rows, looked up once for each distinct label of a table.
#[derive(Debug, Default)]
pub struct Truths {
    /// The code of each distinct label; `u32::MAX` before it is looked up.
    codes: Vec<u32>,
    classes: Vec<u32>,
    /// For tasks without a truth: one per row.
    none: Vec<()>,
}

pub trait Task: Copy + Default + Send + Sync + 'static {
    const ROLE: Role;
    /// The target that a learner receives with a row.
    type Truth: Copy + Default + PartialEq + Send + Sync + std::fmt::Debug + 'static;
    type Prediction: Clone + Default + Send + Sync;
    /// The predictions of many rows.
    type Predictions: Default + Send + Sync;
    /// The least and the most detailed prediction that can be requested.
    const LEAST: Want = Want::Class;
    const ALL: Want = Want::Probabilities;
    /// Whether errors are 0 or 1, so that their mean is an error rate.
    const ERROR_RATE: bool;

    /// Check that a learner with these abilities can learn a target.
    fn check(target: Target<'_>, labels: &Labels, abilities: &Abilities) -> Result<()>;
    /// The truth of a checked target; its label is added.
    fn admit(target: Target<'_>, labels: &mut Labels) -> Self::Truth;
    /// The truth of a checked target; none if its label is new.
    fn known(target: Target<'_>, labels: &Labels) -> Option<Self::Truth>;
    /// The truths of the rows `from` to `to`, up to the first with a new label or an invalid target.
    fn known_truths<'a>(
        targets: Targets<'a>,
        from: usize,
        to: usize,
        labels: &Labels,
        truths: &'a mut Truths,
    ) -> &'a [Self::Truth];
    /// The truth in the form that does not depend on the task.
    fn truth(truth: Self::Truth) -> Truth;
    /// Whether a truth is small enough that sums of its square cannot overflow.
    fn is_moderate(truth: Self::Truth) -> bool;

    fn take(scratch: &mut Scratch) -> Self::Prediction;
    fn give(prediction: Self::Prediction, scratch: &mut Scratch);
    /// Restrict a prediction to known classes: a learner may have room for a class without a label.
    fn keep_known(prediction: &mut Self::Prediction, known: KnownClasses, want: Want);
    /// Start a list of predictions of a model with these classes.
    fn clear(predictions: &mut Self::Predictions, known: KnownClasses);
    fn push(prediction: &mut Self::Prediction, want: Want, predictions: &mut Self::Predictions);
    /// The prediction for a row of a list.
    fn get(predictions: &Self::Predictions, row: usize, want: Want, out: &mut Self::Prediction);
    /// The error of a prediction: 0 or 1, or the absolute error; none for an empty prediction.
    fn error(prediction: &Self::Prediction, truth: Self::Truth) -> Option<f64>;
    /// The same for a row of a list.
    fn error_at(predictions: &Self::Predictions, row: usize, truth: Self::Truth) -> Option<f64>;
    /// Whether predictions are pushed to a list unchanged, because all classes are known.
    fn are_complete(predictions: &Self::Predictions) -> bool;
    /// The number of predictions of a list.
    fn count(predictions: &Self::Predictions) -> usize;
    /// Keep the first predictions of a list.
    fn truncate(predictions: &mut Self::Predictions, rows: usize);

    /// The number of votes of a row, given the number of class codes.
    fn votes_per_row(classes: usize) -> usize;
    /// Write a prediction as votes.
    fn vote(prediction: &Self::Prediction, votes: &mut [f64]);
    /// The error of votes, as for `error`.
    fn vote_error(votes: &[f64], truth: Self::Truth) -> Option<f64>;

    /// The outcomes of rows, for metrics.
    fn outcomes<'a>(truths: &'a [Self::Truth], predictions: &'a Self::Predictions) -> Outcomes<'a>;

    fn prediction(answer: &mut Answer) -> &mut Self::Prediction;
    fn predictions(answers: &mut Answers) -> &mut Self::Predictions;

    fn build(learner: Box<dyn Learner<Self>>) -> Built;
    /// The learner of this task in a built component; none if it is something else.
    fn unbuild(built: Built) -> Option<Box<dyn Learner<Self>>>;
}
