//! What a tree says of a row: classes or a number, and what ensembles and adaptive trees ask of either.

use crate::row::{bounded, most, Scratch, Want};
use crate::task::{ClassPrediction, Classes, Numbers, Task};

pub trait Answer: Sized {
    type Task: Task;
    type Want: Copy;
    /// The least that can be asked for, and all that can be.
    const LEAST: Self::Want;
    const ALL: Self::Want;
    /// Whether errors are 0 or 1, so that their mean is an error rate.
    const ERROR_RATE: bool;
    /// The error, for those who watch, of a tree that knows nothing; none if that tells nothing.
    const INITIAL_ERROR: Option<f64>;
    /// Whether rows must be dense to be predicted: the linear model of a leaf looks at every number.
    const DENSE: bool;
    fn want(want: Want) -> Self::Want;
    /// Let `work` write an answer, and make a prediction of it.
    fn write<R>(out: &mut <Self::Task as Task>::Prediction, work: impl FnOnce(&mut Self) -> R) -> R;
    fn take(scratch: &mut Scratch) -> Self;
    fn give(self, scratch: &mut Scratch);
    /// How wrong it is; none if it says nothing.
    fn error(&self, y: <Self::Task as Task>::Truth) -> Option<f64>;
    /// Add what another says of the row, which weighs so much beside the first. Then it is to be finished.
    fn blend(&mut self, other: &Self, weight: f64);
    fn finish(&mut self, want: Self::Want);
    /// Write it down as votes.
    fn vote(&self, votes: &mut [f64]);
}

impl Answer for ClassPrediction {
    type Task = Classes;
    type Want = Want;
    const LEAST: Want = Want::Class;
    const ALL: Want = Want::Probabilities;
    const ERROR_RATE: bool = true;
    const INITIAL_ERROR: Option<f64> = Some(1.0);
    const DENSE: bool = false;

    fn want(want: Want) -> Want {
        want
    }

    #[inline(always)]
    fn write<R>(out: &mut ClassPrediction, work: impl FnOnce(&mut Self) -> R) -> R {
        work(out)
    }

    fn take(scratch: &mut Scratch) -> Self {
        scratch.take_prediction()
    }

    fn give(self, scratch: &mut Scratch) {
        scratch.give_prediction(self);
    }

    #[inline(always)]
    fn error(&self, y: u32) -> Option<f64> {
        self.class.map(|class| f64::from(u8::from(class != y)))
    }

    fn blend(&mut self, other: &Self, weight: f64) {
        if self.probabilities.len() < other.probabilities.len() {
            self.probabilities.resize(other.probabilities.len(), 0.0);
        }
        for (sum, probability) in self.probabilities.iter_mut().zip(&other.probabilities) {
            *sum += weight * probability;
        }
    }

    /// Make probabilities of sums, and decide.
    fn finish(&mut self, want: Want) {
        let sum: f64 = self.probabilities.iter().sum();
        if sum > 0.0 {
            self.probabilities.iter_mut().for_each(|number| *number /= sum);
            self.class = most(&self.probabilities);
        }
        if want == Want::Class {
            self.probabilities.clear();
        }
    }

    #[inline(always)]
    fn vote(&self, votes: &mut [f64]) {
        Classes::vote(self, votes);
    }
}

/// A number, or several that are blended: their mean, and what they weigh together; 0 if nothing was said.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Number {
    pub number: f64,
    pub weight: f64,
}

impl Answer for Number {
    type Task = Numbers;
    type Want = ();
    const LEAST: () = ();
    const ALL: () = ();
    const ERROR_RATE: bool = false;
    const INITIAL_ERROR: Option<f64> = None;
    const DENSE: bool = true;

    fn want(_want: Want) {}

    #[inline(always)]
    fn write<R>(out: &mut f64, work: impl FnOnce(&mut Self) -> R) -> R {
        let mut answer = Number::default();
        let result = work(&mut answer);
        *out = answer.number;
        result
    }

    fn take(_scratch: &mut Scratch) -> Self {
        Number::default()
    }

    fn give(self, _scratch: &mut Scratch) {}

    #[inline(always)]
    fn error(&self, y: f64) -> Option<f64> {
        (self.weight > 0.0).then(|| bounded((self.number - y).abs()))
    }

    fn blend(&mut self, other: &Self, weight: f64) {
        let added = weight * other.weight;
        if added > 0.0 {
            self.weight += added;
            let share = added / self.weight;
            // By parts: the difference of two large numbers may be larger than any number.
            self.number = bounded(self.number * (1.0 - share) + other.number * share);
        }
    }

    fn finish(&mut self, (): ()) {}

    #[inline(always)]
    fn vote(&self, votes: &mut [f64]) {
        votes[0] = self.number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_blended_by_their_weights() {
        let mut answer = Number::default();
        assert_eq!(answer.error(3.0), None);
        // Nothing at first, then 8, then 2 with a weight of 3 beside it: (8 + 3 · 2) / 4.
        answer.blend(&Number { number: 8.0, weight: 1.0 }, 1.0);
        answer.blend(&Number { number: 2.0, weight: 1.0 }, 3.0);
        answer.blend(&Number { number: 100.0, weight: 0.0 }, 3.0);
        assert_eq!(answer, Number { number: 3.5, weight: 4.0 });
        assert_eq!(answer.error(3.0), Some(0.5));
    }
}
