//! What a model answered, kept until it is fetched: for those who want each prediction and not only the scores.

use crate::task::Answer;

/// Answers in the order of the stream. Rows that were refused have none.
#[derive(Debug, Default)]
pub struct Record {
    /// The row of the stream that the first kept answer belongs to.
    first: u64,
    numbers: bool,
    kept: Answers,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// The code of the predicted class, -1 for none; empty for a regressor.
    pub classes: Vec<i64>,
    /// The predicted number, NaN for none; empty for a classifier.
    pub numbers: Vec<f64>,
    /// What the model gave the class that it predicted, NaN where it gives no probabilities.
    pub probabilities: Vec<f64>,
}

impl Record {
    pub fn new(numbers: bool) -> Self {
        Record { numbers, ..Record::default() }
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

    /// What was answered since the last time, up to the last answer; the next answer belongs to `next` or later.
    pub fn take(&mut self, next: u64) -> Answers {
        self.first = next;
        std::mem::take(&mut self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::ClassPrediction;

    #[test]
    fn rows_without_an_answer_are_left_empty() {
        let mut record = Record::new(false);
        let sure =
            Answer { class: ClassPrediction { class: Some(1), probabilities: vec![0.2, 0.8] }, number: f64::NAN };
        record.put(0, &Answer::default());
        record.put(3, &sure);
        let taken = record.take(5);
        assert_eq!(taken.classes, [-1, -1, -1, 1]);
        assert!(taken.probabilities[..3].iter().all(|p| p.is_nan()));
        assert_eq!(taken.probabilities[3], 0.8);
        record.put(6, &sure);
        assert_eq!(record.take(7).classes, [-1, 1]);
        assert_eq!(record.take(7), Answers::default());
    }
}
