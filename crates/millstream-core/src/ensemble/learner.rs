//! Classifiers and regressors as learners of ensembles: what differs between them, once.

use crate::block::{Lesson, Target};
use crate::fault::Fault;
use crate::role::{cast, Classifier, Part, Regressor};
use crate::row::{most, Row, Scratch, Want};

use super::record::Record;

/// A learner that is one of many.
pub trait Learner: Clone + Send + Sync {
    type Target: Target;
    /// Whether errors are 0 or 1.
    const SHARES: bool;
    fn part(&self) -> &dyn Part;
    fn part_mut(&mut self) -> &mut dyn Part;
    /// A copy for a place in an ensemble of a seed.
    fn placed(&self, _seed: u64, _place: usize) -> Self {
        self.clone()
    }
    /// Have learned nothing, as `fresh` has.
    fn begin_anew(&mut self, fresh: &Self) {
        *self = fresh.clone();
    }
    /// See `Classifier::member_block`.
    fn member_block(
        &mut self,
        lesson: &Lesson<'_, Self::Target>,
        votes: &mut [f64],
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)>;
    /// The votes for a row, by class code, or the number.
    fn vote(&self, x: Row<'_>, votes: &mut [f64], scratch: &mut Scratch);
    /// How wrong the votes for a row are: 0 or 1, or how far the number is off; none if there are none.
    fn error(votes: &[f64], target: Self::Target) -> Option<f64>;
    /// What votes of a learner with such a record weigh.
    fn trust(record: &Record) -> f64;
}

impl Learner for Box<dyn Classifier> {
    type Target = u32;
    const SHARES: bool = true;

    fn part(&self) -> &dyn Part {
        &**self
    }

    fn part_mut(&mut self) -> &mut dyn Part {
        &mut **self
    }

    fn member_block(
        &mut self,
        lesson: &Lesson<'_, u32>,
        votes: &mut [f64],
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        (**self).member_block(lesson, votes, scratch)
    }

    fn vote(&self, x: Row<'_>, votes: &mut [f64], scratch: &mut Scratch) {
        let mut prediction = scratch.take_prediction();
        self.predict(x, Want::Probabilities, &mut prediction, scratch);
        cast(&prediction, votes);
        scratch.give_prediction(prediction);
    }

    #[inline]
    fn error(votes: &[f64], target: u32) -> Option<f64> {
        match votes {
            [no, yes] if *no == 0.0 && *yes == 0.0 => None,
            [no, yes] => Some(f64::from(u32::from(yes > no) != target)),
            _ => most(votes)
                .filter(|&said| votes[said as usize] > 0.0)
                .map(|said| f64::from(u8::from(said != target))),
        }
    }

    fn trust(record: &Record) -> f64 {
        record.accuracy()
    }
}

impl Learner for Box<dyn Regressor> {
    type Target = f64;
    const SHARES: bool = false;

    fn part(&self) -> &dyn Part {
        &**self
    }

    fn part_mut(&mut self) -> &mut dyn Part {
        &mut **self
    }

    fn member_block(
        &mut self,
        lesson: &Lesson<'_, f64>,
        votes: &mut [f64],
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        (**self).member_block(lesson, votes, scratch)
    }

    fn vote(&self, x: Row<'_>, votes: &mut [f64], scratch: &mut Scratch) {
        votes[0] = self.predict(x, scratch);
    }

    #[inline]
    fn error(votes: &[f64], target: f64) -> Option<f64> {
        Some(crate::row::bounded((votes[0] - target).abs()))
    }

    fn trust(record: &Record) -> f64 {
        record.closeness()
    }
}
