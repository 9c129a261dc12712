//! Predictions of a run, kept until the caller fetches them.

use crate::task::Answer;

/// Predictions in the order of the stream. Skipped rows have none.
#[derive(Debug, Default)]
pub struct PredictionLog {
    /// The row of the first stored prediction.
    first: u64,
    numbers: bool,
    kept: Predictions,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predictions {
    /// The code of the predicted class, -1 for none; empty for a regressor.
    pub classes: Vec<i64>,
    /// The predicted number, NaN for none; empty for a classifier.
    pub numbers: Vec<f64>,
    /// The probability of the predicted class, NaN if the model gives none.
    pub probabilities: Vec<f64>,
}

impl PredictionLog {
    pub fn new(numbers: bool) -> Self {
        PredictionLog { numbers, ..PredictionLog::default() }
    }

    #[inline]
    pub(super) fn put(&mut self, row: u64, answer: &Answer) {
        let place = row.saturating_sub(self.first) as usize;
        if self.numbers {
            self.kept.numbers.resize(place, f64::NAN);
            self.kept.numbers.push(answer.number);
            return;
        }
        self.kept.classes.resize(place, -1);
        self.kept.probabilities.resize(place, f64::NAN);
        let class = answer.class.class;
        let probability = class.and_then(|class| answer.class.probabilities.get(class as usize));
        self.kept.classes.push(class.map_or(-1, i64::from));
        self.kept.probabilities.push(probability.copied().unwrap_or(f64::NAN));
    }

    /// The predictions since the last call, up to the last row that has one; the next prediction is of row `next`
    /// or later.
    pub fn take(&mut self, next: u64) -> Predictions {
        self.first = next;
        std::mem::take(&mut self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::ClassPrediction;

    #[test]
    fn rows_without_a_prediction_are_left_empty() {
        let mut log = PredictionLog::new(false);
        let sure = Answer {
            class: ClassPrediction { class: Some(1), probabilities: vec![0.2, 0.8] },
            ..Answer::default()
        };
        log.put(0, &Answer::default());
        log.put(3, &sure);
        let taken = log.take(5);
        assert_eq!(taken.classes, [-1, -1, -1, 1]);
        assert!(taken.probabilities[..3].iter().all(|p| p.is_nan()));
        assert_eq!(taken.probabilities[3], 0.8);
        log.put(6, &sure);
        assert_eq!(log.take(7).classes, [-1, 1]);
        assert_eq!(log.take(7), Predictions::default());
    }
}
