//! Combines the numbers that members predict: their mean, weighted by trust, or the median of those with a positive
//! weight.

use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::row::{bounded, Want};
use crate::task::Numbers;

use super::combined::Combine;

pub const AGGREGATION: Parameter = Parameter::new(
    "aggregation",
    Kind::Choice(&["mean", "median"]),
    DefaultValue::Text("mean"),
    "how the predictions of the models are combined",
);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    Mean,
    Median,
}

impl Aggregation {
    pub fn named(name: &str) -> Self {
        match name {
            "median" => Aggregation::Median,
            _ => Aggregation::Mean,
        }
    }

    /// Combine numbers, and reorder them; finite if they are. Weights are not negative, and some are positive.
    pub fn of(self, numbers: &mut [f64], weights: &[f64]) -> f64 {
        match self {
            Aggregation::Mean => {
                // The largest weight becomes 1, and each number is divided before it is added: no sum overflows.
                let largest = weights.iter().fold(0.0, |a: f64, &b| a.max(b));
                let total: f64 = weights.iter().map(|weight| weight / largest).sum();
                let shares = weights.iter().map(|weight| weight / largest / total);
                bounded(numbers.iter().zip(shares).map(|(number, share)| number * share).sum())
            }
            Aggregation::Median => {
                let mut count = 0;
                for index in 0..numbers.len() {
                    if weights[index] > 0.0 {
                        numbers[count] = numbers[index];
                        count += 1;
                    }
                }
                let numbers = &mut numbers[..count.max(1)];
                numbers.sort_unstable_by(f64::total_cmp);
                let middle = numbers.len() / 2;
                match numbers.len() % 2 {
                    1 => numbers[middle],
                    _ => numbers[middle - 1] / 2.0 + numbers[middle] / 2.0,
                }
            }
        }
    }
}

impl Combine<Numbers> for Aggregation {
    fn stride(&self, _truths: &[f64]) -> usize {
        1
    }

    fn combine<'v>(
        &self,
        votes: impl Iterator<Item = &'v [f64]>,
        trust: &[f64],
        _want: Want,
        out: &mut f64,
        numbers: &mut Vec<f64>,
    ) {
        numbers.clear();
        numbers.extend(votes.map(|votes| votes[0]));
        *out = self.of(numbers, trust);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_medians_by_hand() {
        // (1 · 2 + 3 · 6 + 0 · 100) / 4
        assert_eq!(Aggregation::Mean.of(&mut [2.0, 6.0, 100.0], &[1.0, 3.0, 0.0]), 5.0);
        assert_eq!(Aggregation::Mean.of(&mut [1e308, 1e308], &[1e300, 1e300]), 1e308);
        assert_eq!(Aggregation::Median.of(&mut [5.0, -1.0, 3.0], &[1.0; 3]), 3.0);
        assert_eq!(Aggregation::Median.of(&mut [5.0, -1.0, 3.0, 100.0], &[1.0, 0.0, 1.0, 2.0]), 5.0);
        assert_eq!(Aggregation::Median.of(&mut [5.0, -1e308, 3.0, 1e308], &[1.0; 4]), 4.0);
    }
}
