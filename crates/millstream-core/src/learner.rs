//! The learner of a task: it predicts, and learns from examples.

use crate::batch::{Batch, Rows, Votes};
use crate::fault::{Fault, Result};
use crate::linear_model::AdaptiveScore;
use crate::neural_network::classifier_network::ClassifierNetwork;
use crate::part::Part;
use crate::row::{Row, Scratch, Want};
use crate::task::{Task, Truth};

/// Receives the predictions of `Learner::predict_batch`.
pub type Then<'a, T> = dyn FnMut(&mut <T as Task>::Prediction) + 'a;

pub trait Learner<T: Task>: Part {
    /// Predict a row. Before it has learned anything, a classifier predicts no class.
    fn predict(&self, x: Row<'_>, want: Want, out: &mut T::Prediction, scratch: &mut Scratch);

    fn learn(&mut self, x: Row<'_>, y: T::Truth, w: f64, scratch: &mut Scratch) -> Result<()>;

    /// Predict, then learn; learners override it where the two share work. After a fault the prediction is undefined.
    fn step(
        &mut self,
        x: Row<'_>,
        y: T::Truth,
        w: f64,
        want: Want,
        out: &mut T::Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.predict(x, want, out, scratch);
        self.learn(x, y, w, scratch)
    }

    /// Predict one row, then learn another: the same example, as features were computed before and after it was learned.
    #[allow(clippy::too_many_arguments)]
    fn step_apart(
        &mut self,
        asked: Row<'_>,
        x: Row<'_>,
        y: T::Truth,
        w: f64,
        want: Want,
        out: &mut T::Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.predict(asked, want, out, scratch);
        self.learn(x, y, w, scratch)
    }

    /// `step` through the rows of a batch; returns the number of rows before a refused one. The calls of the
    /// learner are direct here, which together with the shared set-up makes a batch faster.
    fn step_batch(
        &mut self,
        batch: &Batch<'_, T>,
        want: Want,
        out: &mut T::Predictions,
        scratch: &mut Scratch,
    ) -> usize {
        step_each(self, batch, want, out, scratch)
    }

    /// `learn` through the rows of a batch, for callers that need no predictions; returns the number of learned rows. Overridden
    /// where predicting costs more than learning. `buffer` is an empty list of predictions.
    fn learn_batch(&mut self, batch: &Batch<'_, T>, buffer: &mut T::Predictions, scratch: &mut Scratch) -> usize {
        self.step_batch(&Batch { asked: None, ..*batch }, T::LEAST, buffer, scratch)
    }

    /// Go through a batch as a member of an ensemble: for each row, write its votes (see `Task::vote`), then learn it,
    /// unless its weight is 0. Stops at a refused row, and returns its index and the fault.
    fn vote_batch(
        &mut self,
        batch: &Batch<'_, T>,
        votes: Votes<'_>,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        vote_each(self, batch, votes, scratch)
    }

    /// `predict` each of some rows; `then` receives the predictions in order.
    fn predict_batch(&self, rows: &Rows<'_>, want: Want, scratch: &mut Scratch, then: &mut Then<'_, T>) {
        predict_each(self, rows, want, scratch, then);
    }

    /// The loss of the prediction at an example, for learners that minimise a loss; None for others, and for a class
    /// that was never learned.
    fn loss(&self, _x: Row<'_>, _y: T::Truth, _scratch: &mut Scratch) -> Option<f64> {
        None
    }

    /// Σ wᵢ xᵢ over some coordinates, without the intercept, if its prediction is a linear function of numbers; None for
    /// other learners. Coordinates without a weight count as 0.
    fn linear_part(&self, _indices: &[u32], _x: &[f64]) -> Option<f64> {
        None
    }

    /// `linear_part` over the coordinates from `first` on; None also if it has no faster way.
    fn linear_run(&self, _first: usize, _x: &[f64]) -> Option<f64> {
        None
    }

    fn decision_function(&self) -> Option<&dyn DecisionFunction> {
        None
    }

    fn interval(&self) -> Option<&dyn Interval> {
        None
    }

    fn mini_batch(&mut self) -> Option<&mut dyn MiniBatch<T>> {
        None
    }

    fn neighbors(&self) -> Option<&dyn Neighbors<T>> {
        None
    }

    fn slow_rows(&mut self) -> Option<&mut dyn SlowRows<T>> {
        None
    }

    /// Its score, if it has learned something and may be stepped beside others in an `AdaptiveTable`.
    fn adaptive_score(&mut self) -> Option<AdaptiveScore<'_>> {
        None
    }

    /// The lowest score of an anomaly, for anomaly filters.
    fn threshold(&self) -> Option<f64> {
        None
    }

    /// Revert the last `learn` or `step`, bit for bit, if `Abilities::undoes` is set. Called at most once
    /// for each.
    fn undo(&mut self) {}

    /// The network of classes that it is, for learners that guide its steps.
    fn network(&self) -> Option<&ClassifierNetwork> {
        None
    }

    /// Whether the end of a task of its stream means anything to it: `end_task`.
    fn ends_tasks(&self) -> bool {
        false
    }

    /// A task of its stream has ended: consolidate what was learned, or train on stored rows. Cannot fail.
    fn end_task(&mut self, _scratch: &mut Scratch) {}

    fn duplicate(&self) -> Box<dyn Learner<T>>;
}

/// `predict` the rows of a batch, one by one.
#[inline]
pub fn predict_each<T: Task, L: Learner<T> + ?Sized>(
    learner: &L,
    rows: &Rows<'_>,
    want: Want,
    scratch: &mut Scratch,
    then: &mut Then<'_, T>,
) {
    let mut prediction = T::take(scratch);
    for row in 0..rows.len() {
        learner.predict(rows.at(row), want, &mut prediction, scratch);
        then(&mut prediction);
    }
    T::give(prediction, scratch);
}

/// `step` through the rows of a batch, one by one.
#[inline]
pub fn step_each<T: Task, L: Learner<T> + ?Sized>(
    learner: &mut L,
    batch: &Batch<'_, T>,
    want: Want,
    out: &mut T::Predictions,
    scratch: &mut Scratch,
) -> usize {
    let mut prediction = T::take(scratch);
    let mut done = 0;
    if let Some(rows) = batch.plain() {
        // The common case, without a match on each row.
        for (x, y, w) in rows {
            if learner.step(Row::Plain(x), y, w, want, &mut prediction, scratch).is_err() {
                break;
            }
            T::push(&mut prediction, want, out);
            done += 1;
        }
    } else {
        for row in 0..batch.len() {
            let (x, y, w) = (batch.rows.at(row), batch.truths[row], batch.weight(row));
            let stepped = match batch.asked {
                None => learner.step(x, y, w, want, &mut prediction, scratch),
                Some(asked) => learner.step_apart(asked.at(row), x, y, w, want, &mut prediction, scratch),
            };
            if stepped.is_err() {
                break;
            }
            T::push(&mut prediction, want, out);
            done += 1;
        }
    }
    T::give(prediction, scratch);
    done
}

/// `learn` through the rows of a batch, for learners whose predictions cost more than learning: see `learn_batch`.
#[inline]
pub fn learn_each<T: Task, L: Learner<T> + ?Sized>(
    learner: &mut L,
    batch: &Batch<'_, T>,
    scratch: &mut Scratch,
) -> usize {
    let refused = (0..batch.len())
        .find(|&row| learner.learn(batch.rows.at(row), batch.truths[row], batch.weight(row), scratch).is_err());
    refused.unwrap_or(batch.len())
}

/// `vote_batch`, row by row.
#[inline]
pub fn vote_each<T: Task, L: Learner<T> + ?Sized>(
    learner: &mut L,
    batch: &Batch<'_, T>,
    votes: Votes<'_>,
    scratch: &mut Scratch,
) -> Option<(usize, Fault)> {
    let mut prediction = T::take(scratch);
    let mut refused = None;
    let Votes { learned, asked, stride } = votes;
    for (row, votes) in learned.chunks_exact_mut(stride).enumerate().take(batch.len()) {
        let (x, y, w) = (batch.rows.at(row), batch.truths[row], batch.weight(row));
        if let Some(rows) = batch.asked {
            learner.predict(rows.at(row), T::ALL, &mut prediction, scratch);
            T::vote(&prediction, &mut asked[row * stride..(row + 1) * stride]);
        }
        if w == 0.0 {
            learner.predict(x, T::ALL, &mut prediction, scratch);
        } else if let Err(fault) = learner.step(x, y, w, T::ALL, &mut prediction, scratch) {
            refused = Some((row, fault));
            break;
        }
        T::vote(&prediction, votes);
    }
    T::give(prediction, scratch);
    refused
}

impl<T: Task> Clone for Box<dyn Learner<T>> {
    fn clone(&self) -> Self {
        self.duplicate()
    }
}

/// Computes the distance of a row from the boundary between two classes.
pub trait DecisionFunction {
    /// The signed distance; none where there are more than two classes.
    fn score(&self, x: Row<'_>, scratch: &mut Scratch) -> Option<f64>;
}

/// Predicts an interval for a number.
pub trait Interval {
    /// Two finite numbers between which the target lies with probability `coverage`.
    fn interval(&self, x: Row<'_>, coverage: f64, scratch: &mut Scratch) -> Option<(f64, f64)>;
}

/// A stored example near a row.
pub struct Neighbor<'a, T: Task> {
    pub distance: f64,
    /// Number of examples that were learned after it.
    pub age: usize,
    pub row: Row<'a>,
    pub truth: T::Truth,
    pub weight: f64,
}

impl<T: Task> Neighbor<'_, T> {
    pub fn target(&self) -> Truth {
        T::truth(self.truth)
    }
}

/// Finds the nearest of its stored examples.
pub trait Neighbors<T: Task> {
    /// Visit the nearest examples, nearest first: `most` of them, or as many as predict.
    fn nearest(
        &self,
        x: Row<'_>,
        most: Option<usize>,
        scratch: &mut Scratch,
        then: &mut dyn FnMut(Neighbor<'_, T>),
    );
}

/// Takes milliseconds for few of its rows, and knows them before it changes anything. Readers of a model need not wait for
/// such a row if a copy of the model learns it.
pub trait SlowRows<T: Task> {
    /// `step_batch`, or `learn_batch` if no predictions are requested, up to the first slow row. Returns the number of
    /// learned rows, and whether the next row is slow.
    fn step_quick_rows(
        &mut self,
        batch: &Batch<'_, T>,
        want: Option<Want>,
        out: &mut T::Predictions,
        scratch: &mut Scratch,
    ) -> (usize, bool);
}

/// Learns from the mean gradient of several examples.
pub trait MiniBatch<T: Task> {
    /// Add the gradient at an example, at the present weights.
    fn accumulate(&mut self, x: Row<'_>, y: T::Truth, w: f64, scratch: &mut Scratch) -> Result<()>;
    /// Take one step down the mean of the accumulated gradients.
    fn apply(&mut self) -> Result<()>;
}

#[cfg(test)]
pub mod testing {
    //! Shorter calls for tests.

    use super::*;
    use crate::task::Numbers;

    pub trait Numeric {
        fn number(&self, x: Row<'_>, scratch: &mut Scratch) -> f64;
        fn step_number(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64>;
    }

    impl<L: Learner<Numbers> + ?Sized> Numeric for L {
        fn number(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
            let mut number = f64::NAN;
            self.predict(x, Want::Class, &mut number, scratch);
            number
        }

        fn step_number(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
            let mut number = f64::NAN;
            self.step(x, y, w, Want::Class, &mut number, scratch).map(|()| number)
        }
    }
}
