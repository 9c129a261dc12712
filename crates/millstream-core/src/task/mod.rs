//! What a learner is asked and what it answers, once for each task.
//!
//! Pipelines, ensembles, the run loop and evaluation are written over a `Task` and compiled for each.

use crate::batch::MODERATE;
use crate::declaration::{Built, Role};
use crate::fault::{Fault, Result};
use crate::labels::{KnownClasses, Label, Labels};
use crate::learner::Learner;
use crate::part::Abilities;
use crate::row::{bounded, most, Scratch, Want};

mod anomalies;
mod classes;
mod numbers;

pub use anomalies::Anomalies;
pub use classes::{keep_known, ClassPrediction, ClassPredictions, Classes};
pub use numbers::Numbers;

/// What an example should have been predicted as, as it arrives.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    None,
    Class(&'a Label),
    Number(f64),
}

/// What an example should have been predicted as, once it is admitted: what a transformer may see of it.
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

/// What a model predicted, whatever its task. Kept by the caller and reused.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub class: ClassPrediction,
    pub number: f64,
}

/// What a model predicted for many rows, whatever its task.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    pub classes: ClassPredictions,
    pub numbers: Vec<f64>,
}

/// Rows that were predicted, with their truths.
pub enum Outcomes<'a> {
    Classes {
        truths: &'a [u32],
        predictions: &'a ClassPredictions,
    },
    Numbers {
        truths: &'a [f64],
        predictions: &'a [f64],
    },
    /// Of an anomaly detector, which is told no truth.
    Scores {
        scores: &'a [f64],
    },
}

/// Truths of rows, looked up once for each distinct label of a table.
#[derive(Debug, Default)]
pub struct Truths {
    /// The code of each distinct label; `u32::MAX` where it was not looked up.
    codes: Vec<u32>,
    classes: Vec<u32>,
    /// For tasks without a truth: as many as there are rows.
    none: Vec<()>,
}

pub trait Task: Copy + Default + Send + Sync + 'static {
    const ROLE: Role;
    /// What a learner is told of a row.
    type Truth: Copy + Default + PartialEq + Send + Sync + std::fmt::Debug + 'static;
    type Prediction: Clone + Default + Send + Sync;
    /// Of many rows.
    type Predictions: Default + Send + Sync;
    /// The least that can be asked for, and all that can be.
    const LEAST: Want = Want::Class;
    const ALL: Want = Want::Probabilities;
    /// Whether errors are 0 or 1, so that their mean is an error rate.
    const ERROR_RATE: bool;

    /// Whether a learner of these abilities can learn a target; the fault says why not.
    fn check(target: Target<'_>, labels: &Labels, abilities: &Abilities) -> Result<()>;
    /// The truth of a target that was checked, with its label made known.
    fn admit(target: Target<'_>, labels: &mut Labels) -> Self::Truth;
    /// The truth of a target that was checked, if nothing about it is new.
    fn known(target: Target<'_>, labels: &Labels) -> Option<Self::Truth>;
    /// The truths of the rows `from` to `to`, up to the first that is new or not fit to be learned.
    fn known_truths<'a>(
        targets: Targets<'a>,
        from: usize,
        to: usize,
        labels: &Labels,
        truths: &'a mut Truths,
    ) -> &'a [Self::Truth];
    /// The truth for those that may see it but not its type.
    fn truth(truth: Self::Truth) -> Truth;
    /// Whether a truth is not so large that sums of its square could overflow.
    fn is_moderate(truth: Self::Truth) -> bool;

    fn take(scratch: &mut Scratch) -> Self::Prediction;
    fn give(prediction: Self::Prediction, scratch: &mut Scratch);
    /// Keep a prediction to what is known: a learner may have room for a class that has not come.
    fn keep_known(prediction: &mut Self::Prediction, known: KnownClasses, want: Want);
    /// Start a list of predictions of a model that knows these classes.
    fn clear(predictions: &mut Self::Predictions, known: KnownClasses);
    fn push(prediction: &mut Self::Prediction, want: Want, predictions: &mut Self::Predictions);
    /// The prediction for a row of a list.
    fn get(predictions: &Self::Predictions, row: usize, want: Want, out: &mut Self::Prediction);
    /// How wrong a prediction is: 0 or 1, or the absolute error; none if it says nothing.
    fn error(prediction: &Self::Prediction, truth: Self::Truth) -> Option<f64>;
    /// The same for a row of a list.
    fn error_at(predictions: &Self::Predictions, row: usize, truth: Self::Truth) -> Option<f64>;
    /// Whether predictions are pushed to a list as they are, because all classes are known.
    fn are_whole(predictions: &Self::Predictions) -> bool;
    /// How many predictions a list has.
    fn count(predictions: &Self::Predictions) -> usize;
    /// Keep the first predictions of a list.
    fn truncate(predictions: &mut Self::Predictions, rows: usize);

    /// How many votes a row has, with so many class codes in use.
    fn votes_per_row(classes: usize) -> usize;
    /// Write a prediction as votes.
    fn vote(prediction: &Self::Prediction, votes: &mut [f64]);
    /// How wrong votes are, as for `error`.
    fn vote_error(votes: &[f64], truth: Self::Truth) -> Option<f64>;

    /// The outcomes of rows, for those who score them.
    fn outcomes<'a>(truths: &'a [Self::Truth], predictions: &'a Self::Predictions) -> Outcomes<'a>;

    fn prediction(answer: &mut Answer) -> &mut Self::Prediction;
    fn predictions(answers: &mut Answers) -> &mut Self::Predictions;

    fn build(learner: Box<dyn Learner<Self>>) -> Built;
    /// The learner of this task in a built component; none if it is something else.
    fn unbuild(built: Built) -> Option<Box<dyn Learner<Self>>>;
}
