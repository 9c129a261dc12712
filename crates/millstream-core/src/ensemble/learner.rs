//! Learners as members of ensembles: boxed learners of any task, and those with output codes.

use crate::batch::{Batch, Rows, Votes};
use crate::fault::Fault;
use crate::learner::Learner;
use crate::part::Part;
use crate::row::{Row, Scratch};
use crate::task::Task;

/// A learner that is a member of an ensemble.
pub trait MemberLearner: Clone + Send + Sync + 'static {
    type Task: Task;
    fn part(&self) -> &dyn Part;
    fn part_mut(&mut self) -> &mut dyn Part;
    /// A copy for an index in an ensemble with a seed.
    fn placed(&self, _seed: u64, _index: usize) -> Self {
        self.clone()
    }
    /// Restart as a copy of `unlearned`.
    fn restart(&mut self, unlearned: &Self) {
        *self = unlearned.clone();
    }
    /// See `Learner::vote_batch`.
    fn vote_batch(
        &mut self,
        batch: &Batch<'_, Self::Task>,
        votes: Votes<'_>,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)>;
    /// The votes for a row, by class code, or the number.
    fn vote(&self, x: Row<'_>, votes: &mut [f64], scratch: &mut Scratch);
    /// The votes for each of some rows, `stride` per row.
    fn vote_rows(&self, rows: &Rows<'_>, stride: usize, votes: &mut [f64], scratch: &mut Scratch);
    /// The error of the votes for a row; none without votes.
    #[inline]
    fn error(votes: &[f64], truth: Truth<Self>) -> Option<f64> {
        Self::Task::vote_error(votes, truth)
    }
    /// The learner as a component of its own.
    fn alone(&self) -> Box<dyn Learner<Self::Task>>;
}

/// The truth that a member learns.
pub type Truth<L> = <<L as MemberLearner>::Task as Task>::Truth;

impl<T: Task> MemberLearner for Box<dyn Learner<T>> {
    type Task = T;

    fn part(&self) -> &dyn Part {
        &**self
    }

    fn part_mut(&mut self) -> &mut dyn Part {
        &mut **self
    }

    fn vote_batch(
        &mut self,
        batch: &Batch<'_, T>,
        votes: Votes<'_>,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        (**self).vote_batch(batch, votes, scratch)
    }

    fn vote(&self, x: Row<'_>, votes: &mut [f64], scratch: &mut Scratch) {
        let mut prediction = T::take(scratch);
        self.predict(x, T::ALL, &mut prediction, scratch);
        T::vote(&prediction, votes);
        T::give(prediction, scratch);
    }

    fn vote_rows(&self, rows: &Rows<'_>, stride: usize, votes: &mut [f64], scratch: &mut Scratch) {
        let mut votes = votes.chunks_exact_mut(stride);
        self.predict_batch(rows, T::ALL, scratch, &mut |prediction| {
            if let Some(votes) = votes.next() {
                T::vote(prediction, votes);
            }
        });
    }

    fn alone(&self) -> Box<dyn Learner<T>> {
        self.clone()
    }
}
