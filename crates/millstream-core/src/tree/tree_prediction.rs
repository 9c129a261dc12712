//! The prediction of a tree, a class or a number, and what ensembles and adaptive trees need of it.

use crate::row::{bounded, most, Scratch, Want};
use crate::task::{ClassPrediction, Classes, Numbers, Task};

pub trait TreePrediction: Sized {
    type Task: Task;
    type Want: Copy;
    /// The least and the most that can be requested.
    const LEAST: Self::Want;
    const ALL: Self::Want;
    /// Whether errors are 0 or 1, so that their mean is an error rate.
    const ERROR_RATE: bool;
    /// The error of a tree without examples, for monitors; none if it is not counted.
    const INITIAL_ERROR: Option<f64>;
    /// Whether rows must be dense to be predicted: the linear model of a leaf reads every number.
    const DENSE: bool;
    fn want(want: Want) -> Self::Want;
    /// Let `work` write a prediction, and convert it.
    fn write<R>(out: &mut <Self::Task as Task>::Prediction, work: impl FnOnce(&mut Self) -> R) -> R;
    fn take(scratch: &mut Scratch) -> Self;
    fn give(self, scratch: &mut Scratch);
    /// The error; none without a prediction.
    fn error(&self, y: <Self::Task as Task>::Truth) -> Option<f64>;
    /// Add another prediction of the row with this weight relative to the first; call `finish` afterwards.
    fn blend(&mut self, other: &Self, weight: f64);
    fn finish(&mut self, want: Self::Want);
    /// Convert it to votes.
    fn vote(&self, votes: &mut [f64]);
}

impl TreePrediction for ClassPrediction {
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

    /// Normalise the sums to probabilities, and choose the class.
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

/// A number, or the weighted mean of several; weight 0 means no prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NumberPrediction {
    pub number: f64,
    pub weight: f64,
}

impl TreePrediction for NumberPrediction {
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
        let mut prediction = NumberPrediction::default();
        let result = work(&mut prediction);
        *out = prediction.number;
        result
    }

    fn take(_scratch: &mut Scratch) -> Self {
        NumberPrediction::default()
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
            let fraction = added / self.weight;
            // As two products: the difference of two large numbers may overflow.
            self.number = bounded(self.number * (1.0 - fraction) + other.number * fraction);
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
        let mut prediction = NumberPrediction::default();
        assert_eq!(prediction.error(3.0), None);
        // Nothing at first, then 8, then 2 with a weight of 3 beside it: (8 + 3 · 2) / 4.
        prediction.blend(&NumberPrediction { number: 8.0, weight: 1.0 }, 1.0);
        prediction.blend(&NumberPrediction { number: 2.0, weight: 1.0 }, 3.0);
        prediction.blend(&NumberPrediction { number: 100.0, weight: 0.0 }, 3.0);
        assert_eq!(prediction, NumberPrediction { number: 3.5, weight: 4.0 });
        assert_eq!(prediction.error(3.0), Some(0.5));
    }
}
